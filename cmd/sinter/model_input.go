package main

import (
	endian "encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data/npy"
	"github.com/sinter-go/sinter/data/wav"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/onnx"
)

// inputFlags say what goes into a model.
type inputFlags struct {
	Input []string `name:"input" short:"i" sep:"none" placeholder:"NAME=WHAT" help:"An input: a file (.npy, .npz, .json, .wav, a picture), a number or list, random:SHAPE or zeros:SHAPE. NAME= may be left out if the model takes one input."`
	Cast  bool     `name:"cast" help:"Convert elements of .npy and .npz files to the type that the model takes."`
	Seed  uint64   `name:"seed" default:"1" help:"Seed of random: inputs. (default ${default})"`
	pictureFlags
}

// inputHelp explains --input in the help of commands.
const inputHelp = `An input is one of these:

  a.npy  a.npz  a.npz:KEY    numpy's files; the array of an archive is that of the input's name, or KEY
  a.json  3.5  [[1,2],[3,4]] numbers, bools or texts as JSON, in the type that the model takes
  a.png  a.jpg  a.gif        a picture: red, green, blue or grey values from 0 to 1 (0 to 255 for
                             integers), scaled by --resize, by (v - mean) / std of --normalize
  a.wav                      samples from -1 to 1 of one channel
  random:1x3x224x224         draws from 0 to 1 (integers: 0 or 1); zeros:SHAPE likewise; without a
                             SHAPE the one that the model declares, unknown extents 1`

// values returns the inputs that were given, checked against the program.
func (f *inputFlags) values(p *onnx.Program) (map[string]*onnx.Value, error) {
	in := modelInputs(p)
	if err := f.check(); err != nil {
		return nil, err
	}
	out := map[string]*onnx.Value{}
	for i, spec := range f.Input {
		to, what, err := splitInput(spec, in)
		if err != nil {
			return nil, err
		}
		if out[to.Name] != nil {
			return nil, usage("--input %s: %q was given before", spec, to.Name)
		}
		v, err := f.value(to, what, f.Seed+uint64(i))
		if err != nil {
			return nil, fmt.Errorf("input %q (%s): %w", to.Name, to.Type, err)
		}
		out[to.Name] = v
	}
	return out, missingInputs(in, out)
}

// splitInput finds the input that a flag names.
func splitInput(spec string, in []modelInput) (modelInput, string, error) {
	for _, v := range in {
		if what, ok := strings.CutPrefix(spec, v.Name+"="); ok {
			return v, what, nil
		}
	}
	name, _, named := strings.Cut(spec, "=")
	if len(in) == 1 && (!named || strings.ContainsAny(name, "/.[")) {
		return in[0], spec, nil
	}
	return modelInput{}, "", usage("--input %s: expected NAME=WHAT, where NAME is an input of the model:\n%s", spec, listInputs(in))
}

func listInputs(in []modelInput) string {
	var b strings.Builder
	for _, v := range in {
		fmt.Fprintf(&b, "  %s  %s", v.Name, v.Type)
		if v.optional {
			b.WriteString("  (has a default)")
		}
		b.WriteByte('\n')
	}
	if len(in) == 0 {
		b.WriteString("  (it has none)\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func missingInputs(in []modelInput, given map[string]*onnx.Value) error {
	var missing []string
	for _, v := range in {
		if given[v.Name] == nil && !v.optional && (v.Type == nil || v.Type.Optional == nil) {
			missing = append(missing, v.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usage("no --input for %s; the model takes:\n%s", strings.Join(missing, ", "), listInputs(in))
}

// value makes the value of an input.
func (f *inputFlags) value(to modelInput, what string, seed uint64) (*onnx.Value, error) {
	t := to.Type
	if t != nil && (t.Sequence != nil || t.Optional != nil) {
		return nil, fmt.Errorf("sequences and optional values cannot be given on the command line")
	}
	if kind, shape, ok := strings.Cut(what, ":"); ok && (kind == "random" || kind == "zeros") {
		return madeValue(kind, shape, t, seed)
	} else if what == "random" || what == "zeros" {
		return madeValue(what, "", t, seed)
	}
	path, key, _ := strings.Cut(what, ".npz:")
	if key != "" {
		return f.archive(path+".npz", key, t)
	}
	switch strings.ToLower(filepath.Ext(what)) {
	case ".npy":
		a, err := npy.ReadFile(what)
		if err != nil {
			return nil, err
		}
		return f.arrayValue(a, t)
	case ".npz":
		return f.archive(what, to.Name, t)
	case ".json":
		b, err := os.ReadFile(what)
		if err != nil {
			return nil, err
		}
		v, err := jsonValue(b, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return v, nil
	case ".wav":
		return soundValue(what, t)
	case ".png", ".jpg", ".jpeg", ".gif":
		return f.picture(what, t)
	}
	if json.Valid([]byte(what)) {
		return jsonValue([]byte(what), t)
	}
	_, err := jsonValue([]byte(what), t)
	return nil, fmt.Errorf("%q is no file that is known by its ending (.npy, .npz, .json, .wav, .png, .jpg, .gif), no random:SHAPE, and as JSON: %w", what, err)
}

func (f *inputFlags) archive(path, name string, t *onnx.Type) (*onnx.Value, error) {
	all, err := npy.ReadZipFile(path)
	if err != nil {
		return nil, err
	}
	a, ok := all[name]
	if !ok && len(all) == 1 {
		for _, a = range all {
			ok = true
		}
	}
	if !ok {
		return nil, fmt.Errorf("%s has no array %q, only %s; name one with %s:KEY", path, name, strings.Join(slices.Sorted(maps.Keys(all)), ", "), path)
	}
	return f.arrayValue(a, t)
}

// arrayValue checks an array of a file against the declared type.
func (f *inputFlags) arrayValue(a npy.Array, t *onnx.Type) (*onnx.Value, error) {
	have := onnx.ElemOf(a.DType)
	if t == nil || t.Elem == onnx.Undefined || t.Elem == have {
		return checked(onnx.ArrayValue(have, sinter.Array(a)), t)
	}
	if !f.Cast {
		return nil, fmt.Errorf("the array is %s%v, the model takes %s; --cast converts it", have, a.Shape, t.Elem)
	}
	out, err := encoderOf(t.Elem, len(a.Bytes)/a.DType.Size())
	if err != nil {
		return nil, err
	}
	for i := range len(a.Bytes) / a.DType.Size() {
		if a.DType.IsFloat() {
			err = out.float(floatAt(a.DType, a.Bytes, i))
		} else {
			err = out.integer(intAt(a.DType, a.Bytes, i))
		}
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return checked(out.value(a.Shape), t)
}

// checked compares a value with a declared type.
func checked(v *onnx.Value, t *onnx.Type) (*onnx.Value, error) {
	if t == nil || !t.HasShape {
		return v, nil
	}
	shape := v.Shape()
	bad := len(shape) != len(t.Dims)
	for i := 0; i < len(shape) && !bad; i++ {
		bad = t.Dims[i].Size >= 0 && t.Dims[i].Size != int64(shape[i])
	}
	if bad {
		return nil, fmt.Errorf("the shape is %v", shape)
	}
	return v, nil
}

// encoder appends elements of a type.
type encoder struct {
	elem  onnx.Elem
	dtype sinter.DType
	bytes []byte
	texts []string
}

func encoderOf(e onnx.Elem, size int) (*encoder, error) {
	if e == onnx.Undefined {
		e = onnx.Float
	}
	if e == onnx.String {
		return &encoder{elem: e}, nil
	}
	d := e.DType()
	if !d.Valid() || e.Narrow() {
		return nil, fmt.Errorf("elements of type %s cannot be given on the command line", e)
	}
	return &encoder{elem: e, dtype: d, bytes: make([]byte, 0, size*d.Size())}, nil
}

func (e *encoder) value(shape []int) *onnx.Value {
	if e.elem == onnx.String {
		return onnx.HostValue(&onnx.Host{Elem: e.elem, Shape: shape, Strs: e.texts})
	}
	return onnx.ArrayValue(e.elem, sinter.Array{DType: e.dtype, Shape: shape, Bytes: e.bytes})
}

// put appends the bits of an element.
func (e *encoder) put(bits uint64) {
	switch ne := endian.NativeEndian; e.dtype.Size() {
	case 1:
		e.bytes = append(e.bytes, byte(bits))
	case 2:
		e.bytes = ne.AppendUint16(e.bytes, uint16(bits))
	case 4:
		e.bytes = ne.AppendUint32(e.bytes, uint32(bits))
	default:
		e.bytes = ne.AppendUint64(e.bytes, bits)
	}
}

func (e *encoder) float(v float64) error {
	switch {
	case e.elem == onnx.String:
		return fmt.Errorf("%v is no text", v)
	case e.dtype.IsFloat():
		e.put(ir.MakeScalar(e.dtype, v).Bits)
		return nil
	case v == math.Trunc(v) && math.Abs(v) < 1<<63:
		return e.integer(int64(v))
	}
	return fmt.Errorf("%v is no %s", v, e.elem)
}

func (e *encoder) integer(v int64) error {
	switch {
	case e.elem == onnx.String:
		return fmt.Errorf("%d is no text", v)
	case e.dtype.IsFloat():
		e.put(ir.MakeScalar(e.dtype, float64(v)).Bits)
		return nil
	}
	bits := 8 * e.dtype.Size()
	low, high := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits)
	if e.dtype == sinter.Bool {
		low, high = 0, 1
	} else if e.dtype.Kind() == ir.KindUint {
		low, high = 0, int64(math.MaxInt64)
		if bits < 64 {
			high = 1<<bits - 1
		}
	}
	if v < low || v > high {
		return fmt.Errorf("%d is no %s", v, e.elem)
	}
	e.put(uint64(v))
	return nil
}

// jsonValue reads numbers, bools or texts in nested lists.
func jsonValue(b []byte, t *onnx.Type) (*onnx.Value, error) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("something follows the value")
	}
	elem := onnx.Undefined
	if t != nil {
		elem = t.Elem
	}
	if elem == onnx.Undefined {
		elem = onnx.Float
	}
	e, err := encoderOf(elem, 0)
	if err != nil {
		return nil, err
	}
	shape := []int{}
	for v := tree; ; {
		list, ok := v.([]any)
		if !ok {
			break
		}
		if shape = append(shape, len(list)); len(list) == 0 {
			break
		}
		v = list[0]
	}
	if err := e.tree(tree, shape, nil); err != nil {
		return nil, err
	}
	if t != nil && t.HasShape && len(shape) == 0 && len(t.Dims) == 1 && t.Dims[0].Size <= 1 { // a number for one element
		shape = []int{1}
	}
	return checked(e.value(shape), t)
}

func (e *encoder) tree(v any, shape, at []int) error {
	if len(shape) > 0 {
		list, ok := v.([]any)
		if !ok || len(list) != shape[0] {
			return fmt.Errorf("at %v: expected a list of %d", at, shape[0])
		}
		for i, x := range list {
			if err := e.tree(x, shape[1:], append(at, i)); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	switch x := v.(type) {
	case json.Number:
		if i, e2 := strconv.ParseInt(x.String(), 10, 64); e2 == nil {
			err = e.integer(i)
		} else if f, e2 := x.Float64(); e2 == nil {
			err = e.float(f)
		} else {
			err = e2
		}
	case bool:
		i := int64(0)
		if x {
			i = 1
		}
		err = e.integer(i)
	case string:
		if f, e2 := strconv.ParseFloat(x, 64); e.elem == onnx.String {
			e.texts = append(e.texts, x)
		} else if e2 == nil && e.dtype.IsFloat() && (math.IsNaN(f) || math.IsInf(f, 0)) { // "NaN", "-Inf"
			err = e.float(f)
		} else {
			err = fmt.Errorf("%q is no %s", x, e.elem)
		}
	default:
		err = fmt.Errorf("expected a value, got %T", v)
	}
	if err != nil && len(at) > 0 {
		return fmt.Errorf("at %v: %w", at, err)
	}
	return err
}

// soundValue reads a WAV file as one channel, with axes of extent 1 before it.
func soundValue(path string, t *onnx.Type) (*onnx.Value, error) {
	s, err := wav.ReadFile(path)
	if err != nil {
		return nil, err
	}
	samples := s.Mono()
	shape := []int{1, len(samples)}
	elem := onnx.Float
	if t != nil {
		if t.HasShape && len(t.Dims) >= 1 {
			shape = make([]int, len(t.Dims))
			for i := range shape {
				shape[i] = 1
			}
			shape[len(shape)-1] = len(samples)
		}
		elem = t.Elem
	}
	e, err := encoderOf(elem, len(samples))
	if err != nil {
		return nil, err
	}
	if e.elem == onnx.String || !e.dtype.IsFloat() {
		return nil, fmt.Errorf("sound is floats from -1 to 1")
	}
	for _, v := range samples {
		e.float(float64(v))
	}
	return checked(e.value(shape), t)
}
