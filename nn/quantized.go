package nn

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/safetensors"
)

// QuantizedWeight is a quantized matrix [out, in] of a [Linear] layer. Its parts
// are buffers: saved and loaded with the model, left alone by optimizers.
type QuantizedWeight struct {
	Type   sinter.QuantizedType `nn:"-"`
	Codes  *sinter.Var          `nn:",buffer"`
	Scales *sinter.Var          `nn:",buffer"`
	Zeros  *sinter.Var          `nn:",buffer"` // nil: none

	// Dynamic makes the layer round its input to codes too: see
	// [sinter.Quantized.LinearDynamic]. Such a layer passes no gradient.
	Dynamic bool `nn:"-"`
}

// NewQuantizedWeight takes over a quantized matrix.
func NewQuantizedWeight(q *sinter.Quantized) (*QuantizedWeight, error) {
	if err := q.Err(); err != nil {
		return nil, err
	}
	if len(q.Shape()) != 2 {
		return nil, fmt.Errorf("nn: weights of %s, expected a matrix [out, in]", q.Type())
	}
	p := q.Parts()
	w := &QuantizedWeight{Type: q.Type(), Codes: sinter.NewVar(p.Codes), Scales: frozen(p.Scales)}
	if p.Zeros != nil {
		w.Zeros = sinter.NewVar(p.Zeros)
	}
	return w, nil
}

// frozen makes a variable that is no leaf of gradients.
func frozen(t *sinter.Tensor) *sinter.Var {
	v := sinter.NewVar(t)
	v.Freeze()
	return v
}

// Use returns the matrix for use with x: see [Use].
func (w *QuantizedWeight) Use(x *sinter.Tensor) *sinter.Quantized {
	p := sinter.QuantizedParts{Codes: present(w.Codes, x), Scales: present(w.Scales, x)}
	if w.Zeros != nil {
		p.Zeros = present(w.Zeros, x)
	}
	return sinter.NewQuantized(w.Type, p)
}

// linear returns x·Wᵀ.
func (w *QuantizedWeight) linear(x *sinter.Tensor) *sinter.Tensor {
	if w.Dynamic {
		return w.Use(x).LinearDynamic(x)
	}
	return w.Use(x).Linear(x)
}

// Quantize replaces the weights of every [Linear] layer that the exported fields of
// a model lead to by quantized ones, and returns how many there were. Layers with
// less than two blocks' worth of inputs, or that are quantized already, stay as they
// are. Weights that layers share stay shared. It does not wait; on an error, which
// names the layer, the model is as it was.
//
// What remains is for inference, or for training what is before and beside: x gets
// its gradient, the weights have none.
func Quantize(model any, scheme sinter.Scheme) (int, error) { return quantize(model, scheme, false) }

// QuantizeDynamic is [Quantize] for layers that round their input to codes as well:
// faster, less exact, without gradients.
func QuantizeDynamic(model any, scheme sinter.Scheme) (int, error) {
	return quantize(model, scheme, true)
}

func quantize(model any, scheme sinter.Scheme, dynamic bool) (int, error) {
	f := linears{open: map[visit]bool{}}
	f.walk("", reflect.ValueOf(model))
	made := map[*sinter.Var]*QuantizedWeight{}
	for i, l := range f.found {
		if made[l.Weight] != nil {
			continue
		}
		q, err := NewQuantizedWeight(l.Weight.Borrow().Quantize(scheme))
		if err != nil {
			return 0, fmt.Errorf("nn: quantizing %s: %w", f.names[i], err)
		}
		q.Dynamic = dynamic
		made[l.Weight] = q
	}
	for _, l := range f.found {
		l.Weight, l.Quantized = nil, made[l.Weight]
	}
	return len(f.found), nil
}

// linears finds the layers of a model that have weights to quantize.
type linears struct {
	found []*Linear
	names []string
	open  map[visit]bool
}

func (f *linears) walk(name string, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		at := visit{v.Pointer(), v.Type()}
		if v.IsNil() || f.open[at] || v.Type() == varType {
			return
		}
		f.open[at] = true // for good: each layer once
		if l, ok := v.Interface().(*Linear); ok {
			if l.Weight != nil {
				f.found, f.names = append(f.found, l), append(f.names, name)
			}
			return
		}
		f.walk(name, v.Elem())
	case reflect.Interface:
		f.walk(name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.IsExported() {
				f.walk(join(name, snake(t.Name)), v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			f.walk(join(name, fmt.Sprint(i)), v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			f.walk(join(name, fmt.Sprint(k.Interface())), v.MapIndex(k))
		}
	}
}

// quantizedKey begins the names under which files describe quantized tensors.
const quantizedKey = "quantized:"

// SaveQuantized waits for quantized tensors and writes them, with metadata, to a
// safetensors file: the parts of w as w.codes, w.scales and w.zeros, and what they
// are as metadata of the name "quantized:w". Equal tensors give equal bytes.
func SaveQuantized(ctx context.Context, path string, tensors map[string]*sinter.Quantized, metadata map[string]string) error {
	about := map[string]string{}
	for k, v := range metadata {
		if strings.HasPrefix(k, quantizedKey) {
			return fmt.Errorf("nn: metadata of the name %q: %q is for quantized tensors", k, quantizedKey)
		}
		about[k] = v
	}
	var out []safetensors.Tensor
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		q := tensors[name]
		if err := q.Err(); err != nil {
			return fmt.Errorf("nn: %s: %w", name, err)
		}
		about[quantizedKey+name] = q.Type().String()
		parts, suffix := q.Parts(), partNames(q.Type())
		values := []*sinter.Tensor{parts.Codes, parts.Scales, parts.Zeros}[:len(suffix)]
		arrays, err := sinter.Read(ctx, values...)
		if err != nil {
			return fmt.Errorf("nn: %s: %w", name, err)
		}
		for i, a := range arrays {
			out = append(out, safetensors.Tensor{Name: name + suffix[i], DType: a.DType, Shape: a.Shape, Data: littleEndian(a.DType, a.Bytes)})
		}
	}
	return safetensors.WriteFile(path, out, about)
}

// partNames are what names of parts end in.
func partNames(t sinter.QuantizedType) []string {
	if t.Scheme.Affine {
		return []string{".codes", ".scales", ".zeros"}
	}
	return []string{".codes", ".scales"}
}

// LoadQuantized reads the quantized tensors of a safetensors file to a device or
// stream, and returns them with the other metadata. Tensors of the file that are
// not quantized are left alone. A description that cannot be read, and parts that are
// missing or do not fit it, are errors.
func LoadQuantized(path string, on sinter.Of) (tensors map[string]*sinter.Quantized, metadata map[string]string, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors, metadata = map[string]*sinter.Quantized{}, map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(f.Metadata())) {
		text := f.Metadata()[k]
		name, is := strings.CutPrefix(k, quantizedKey)
		if !is {
			metadata[k] = text
			continue
		}
		q, err := loadQuantized(f, name, text, on)
		if err != nil {
			for _, q := range tensors {
				q.Release()
			}
			return nil, nil, fmt.Errorf("nn: %s: quantized tensor %s: %w", path, quoteName(name), err)
		}
		tensors[name] = q
	}
	return tensors, metadata, nil
}

func loadQuantized(f *safetensors.File, name, text string, on sinter.Of) (*sinter.Quantized, error) {
	typ, err := sinter.ParseQuantizedType(text)
	if err != nil {
		return nil, err
	}
	var parts [3]*sinter.Tensor
	release := func() {
		for _, p := range parts {
			p.Release()
		}
	}
	suffix := partNames(typ)
	for i, end := range suffix {
		t, err := f.Tensor(name + end)
		if err == nil {
			parts[i] = sinter.FromBytes(on, t.DType, littleEndian(t.DType, t.Data), t.Shape...)
			err = parts[i].Err()
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	q := sinter.NewQuantized(typ, sinter.QuantizedParts{Codes: parts[0], Scales: parts[1], Zeros: parts[2]})
	err = q.Err()
	if _, missing := f.Info(name + ".zeros"); err == nil && missing == nil && !typ.Scheme.Affine {
		err = fmt.Errorf("the file has zero points, but %s has none", typ)
	}
	if err != nil {
		release()
		return nil, err
	}
	return q, nil
}
