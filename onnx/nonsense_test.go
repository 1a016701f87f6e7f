package onnx

import (
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestNonsense: operators meet inputs and attributes that make no sense with an
// error, or with a result, but never with a fault of their own.
func TestNonsense(t *testing.T) {
	trials := 20
	if testing.Short() {
		trials = 5
	}
	keys := make([]opKey, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].domain+keys[i].name < keys[j].domain+keys[j].name })
	for i, k := range keys {
		for j, op := range table[k] {
			r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			for range trials {
				a := applied{domain: k.domain, op: k.name, opset: int64(max(op.since, 7)), attrs: someAttrs(r, op), outs: op.out.least}
				if a.domain == "" && op.until != 0 {
					a.opset = int64(min(int(a.opset), op.until))
				}
				n := op.in.least + r.IntN(3)
				if op.in.most >= 0 {
					n = min(n, op.in.most)
				}
				in := make([]*Value, n)
				alike := r.IntN(3) > 0 // of one rank, and floats or small integers: what gets furthest
				rank := r.IntN(6)
				for i := range in {
					if in[i] = someValue(r); alike && r.IntN(6) > 0 {
						in[i] = likely(r, rank)
					}
				}
				_, err := a.tryValues(in...)
				if err != nil && strings.Contains(err.Error(), "the operator failed") { // a panic
					t.Errorf("%s: %v\n\tattributes %s", k.name, err, describe(a.attrs))
					break
				}
			}
		}
	}
}

func describe(attrs []*Attr) (s string) {
	for _, a := range attrs {
		s += a.Name + "="
		switch a.Kind {
		case AttrInt:
			s += HostInts(int(a.Int)).text()
		case AttrInts:
			v := make([]int, len(a.Ints))
			for i, x := range a.Ints {
				v[i] = int(x)
			}
			s += HostInts(v...).text()
		case AttrString:
			s += a.Str
		default:
			s += a.Kind.String()
		}
		s += " "
	}
	return s
}

func (h *Host) text() string {
	return sinter.Array{DType: sinter.I64, Shape: h.Shape, Bytes: h.array().Bytes}.String()
}

func someInt(r *rand.Rand) int64 {
	switch r.IntN(12) {
	case 0:
		return 1 << 40
	case 1:
		return -1 << 40
	case 2:
		return 1000
	}
	return int64(r.IntN(7) - 2)
}

var someWords = []string{"", "linear", "nearest", "cubic", "SAME_UPPER", "VALID", "reverse", "bidirectional", "mean", "none", "constant", "edge", "reflect", "max",
	"ij,jk->ik", "...i->i...", "asymmetric", "tf_crop_and_resize", "align_corners", "gated", "DCR", "not_larger", "nonsense"}

func someAttrs(r *rand.Rand, op *opDef) []*Attr {
	var out []*Attr
	for _, s := range op.attrs {
		if !s.required && r.IntN(2) == 0 {
			continue
		}
		a := &Attr{Name: s.name, Kind: s.kind}
		if a.Kind == AttrUndefined { // the default says it
			switch s.def.(type) {
			case int64:
				a.Kind = AttrInt
			case float32:
				a.Kind = AttrFloat
			case string:
				a.Kind = AttrString
			}
		}
		switch a.Kind {
		case AttrInt:
			a.Int = someInt(r)
		case AttrFloat:
			a.Float = float32(r.NormFloat64())
		case AttrString:
			a.Str = someWords[r.IntN(len(someWords))]
		case AttrInts:
			for range r.IntN(5) {
				a.Ints = append(a.Ints, someInt(r))
			}
		case AttrFloats:
			for range r.IntN(5) {
				a.Floats = append(a.Floats, float32(r.NormFloat64()))
			}
		case AttrStrings:
			for range r.IntN(3) {
				a.Strs = append(a.Strs, someWords[r.IntN(len(someWords))])
			}
		case AttrTensor:
			a.Tensor = &Tensor{Elem: Int64, Dims: []int64{1}, ints: []int64{someInt(r)}, given: "int64_data"}
		case AttrGraph: // gives what it gets
			g := &Graph{}
			for _, n := range []string{"a", "b"}[:r.IntN(3)] {
				g.Inputs = append(g.Inputs, &ValueInfo{Name: n})
				g.Outputs = append(g.Outputs, &ValueInfo{Name: n})
			}
			a.Graph = g
		default:
			continue
		}
		out = append(out, a)
	}
	return out
}

// likely is a tensor that operators take.
func likely(r *rand.Rand, rank int) *Value {
	if r.IntN(4) == 0 { // sizes, axes, lengths
		v := make([]int64, 1+r.IntN(4))
		for i := range v {
			v[i] = someInt(r)
		}
		return TensorValue(sinter.FromSlice(v).Cast([]sinter.DType{sinter.I64, sinter.I32}[r.IntN(2)]))
	}
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 2 + r.IntN(4)/3
	}
	return TensorValue(noise(r.Uint64(), shape...).f32())
}

func someValue(r *rand.Rand) *Value {
	switch r.IntN(20) {
	case 0:
		return nil
	case 1:
		return SequenceValue(TensorValue(sinter.Ones(sinter.F32, 2)), TensorValue(sinter.Ones(sinter.F32, 3)))
	case 2:
		return HostValue(&Host{Elem: String, Shape: []int{2}, Strs: []string{"a b", "c"}})
	}
	shape := make([]int, r.IntN(6))
	for i := range shape {
		shape[i] = r.IntN(4)
		if r.IntN(8) > 0 {
			shape[i]++
		}
	}
	x := array{shape, make([]float64, product(shape))}
	whole := r.IntN(2) == 0
	for i := range x.v {
		if x.v[i] = r.NormFloat64(); whole {
			x.v[i] = float64(someInt(r))
		}
	}
	d := []sinter.DType{sinter.F32, sinter.F32, sinter.F32, sinter.F16, sinter.F64, sinter.BF16, sinter.I64, sinter.I64, sinter.I32, sinter.U8, sinter.I8, sinter.Bool}[r.IntN(12)]
	v := make([]float64, len(x.v))
	copy(v, x.v)
	t := sinter.FromSlice(v, shape...)
	if d == sinter.Bool {
		return TensorValue(t.Gt(0))
	}
	return TensorValue(t.Cast(d))
}
