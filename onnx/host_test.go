package onnx

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
)

// hostCases are nodes of operators that compute on the host, over inputs of the
// given shapes: n of small numbers, i of indices below 3, c of bools.
var hostCases = []struct {
	op     string
	inputs string // one letter each
	shapes [][]int
	attrs  []*Attr
	elems  []Elem
}{
	{op: "Add", inputs: "nn", shapes: [][]int{{2, 1, 3}, {4, 1}}},
	{op: "Sub", inputs: "nn", shapes: [][]int{{3}, {}}},
	{op: "Mul", inputs: "nn", shapes: [][]int{{}, {2, 2}}},
	{op: "Div", inputs: "nn", shapes: [][]int{{5}, {5}}},
	{op: "Mod", inputs: "nn", shapes: [][]int{{5}, {5}}, elems: []Elem{Int64, Int32, Int8, Uint8, Uint32}},
	{op: "Max", inputs: "nn", shapes: [][]int{{5}, {2, 1}}},
	{op: "Min", inputs: "nn", shapes: [][]int{{5}, {2, 1}}},
	{op: "Max", inputs: "n", shapes: [][]int{{5}}},
	{op: "Neg", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Int64, Int32, Int8, Float, Double}},
	{op: "Abs", inputs: "n", shapes: [][]int{{5}}},
	{op: "Sqrt", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Float, Double, Float16}},
	{op: "Reciprocal", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Float, Double, BFloat16}},
	{op: "Floor", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Float, Double}},
	{op: "Ceil", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Float, Double}},
	{op: "Round", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Float, Double}},
	{op: "Equal", inputs: "nn", shapes: [][]int{{5}, {5, 1}}},
	{op: "Equal", inputs: "cc", shapes: [][]int{{5}, {5, 1}}, elems: []Elem{Bool}},
	{op: "Less", inputs: "nn", shapes: [][]int{{5}, {5, 1}}},
	{op: "LessOrEqual", inputs: "nn", shapes: [][]int{{5}, {5, 1}}},
	{op: "Greater", inputs: "nn", shapes: [][]int{{5}, {5, 1}}},
	{op: "GreaterOrEqual", inputs: "nn", shapes: [][]int{{5}, {5, 1}}},
	{op: "And", inputs: "cc", shapes: [][]int{{5}, {5, 1}}, elems: []Elem{Bool}},
	{op: "Or", inputs: "cc", shapes: [][]int{{5}, {5, 1}}, elems: []Elem{Bool}},
	{op: "Xor", inputs: "cc", shapes: [][]int{{5}, {5, 1}}, elems: []Elem{Bool}},
	{op: "Not", inputs: "c", shapes: [][]int{{5}}, elems: []Elem{Bool}},
	{op: "Where", inputs: "cnn", shapes: [][]int{{2, 1}, {3}, {}}},
	{op: "Cast", inputs: "n", shapes: [][]int{{2, 3}}, attrs: []*Attr{intA("to", int64(Int64))}},
	{op: "Cast", inputs: "n", shapes: [][]int{{2, 3}}, attrs: []*Attr{intA("to", int64(Uint8))}},
	{op: "Cast", inputs: "n", shapes: [][]int{{2, 3}}, attrs: []*Attr{intA("to", int64(Float16))}},
	{op: "Cast", inputs: "n", shapes: [][]int{{2, 3}}, attrs: []*Attr{intA("to", int64(Float))}},
	{op: "Cast", inputs: "n", shapes: [][]int{{2, 3}}, attrs: []*Attr{intA("to", int64(Bool))}},
	{op: "Cast", inputs: "c", shapes: [][]int{{2, 3}}, attrs: []*Attr{intA("to", int64(Int32))}, elems: []Elem{Bool}},
	{op: "CastLike", inputs: "nf", shapes: [][]int{{2, 3}, {1}}},
	{op: "Gather", inputs: "ni", shapes: [][]int{{3}, {2, 2}}},
	{op: "Gather", inputs: "ni", shapes: [][]int{{3}, {}}},
	{op: "Gather", inputs: "ni", shapes: [][]int{{3, 2}, {2}}},
	{op: "Concat", inputs: "nnn", shapes: [][]int{{3}, {0}, {2}}, attrs: []*Attr{intA("axis", -1)}},
	{op: "Expand", inputs: "ni", shapes: [][]int{{3, 1}, {2}}},
	{op: "Identity", inputs: "n", shapes: [][]int{{3, 1}}},
	{op: "Squeeze", inputs: "n", shapes: [][]int{{1, 3, 1}}},
	{op: "Split", inputs: "n", shapes: [][]int{{5}}, attrs: []*Attr{intA("num_outputs", 2)}},
	{op: "Split", inputs: "n", shapes: [][]int{{2, 5}}, attrs: []*Attr{intA("num_outputs", 2), intA("axis", 1)}},
	{op: "ReduceSum", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Int64, Int32}},
	{op: "ReduceProd", inputs: "n", shapes: [][]int{{5}}, attrs: []*Attr{intA("keepdims", 0)}, elems: []Elem{Int64, Int32}},
	{op: "ReduceMax", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Int64, Int32}},
	{op: "ReduceMin", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Int64, Int32}},
	{op: "ReduceL1", inputs: "n", shapes: [][]int{{5}}, elems: []Elem{Int64, Int32}},
	{op: "Range", inputs: "nnn", shapes: [][]int{{}, {}, {}}, elems: []Elem{Int64, Int32, Float, Double}},
	{op: "Shape", inputs: "n", shapes: [][]int{{2, 3}}, attrs: []*Attr{intA("start", 1)}},
	{op: "Size", inputs: "n", shapes: [][]int{{2, 3}}},
}

var plainElems = []Elem{Int64, Int32, Int8, Uint8, Uint32, Float, Double, Float16, BFloat16}

// What is computed on the host has the bits that the device gives.
func TestHostComputesWhatTheDeviceDoes(t *testing.T) {
	ctx := context.Background()
	for _, tc := range hostCases {
		elems := tc.elems
		if elems == nil {
			elems = plainElems
		}
		for _, e := range elems {
			t.Run(fmt.Sprintf("%s of %s", tc.op, e), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(e)))
				g := &Graph{Outputs: []*ValueInfo{{Name: "y0"}}}
				n := node(tc.op, nil, list("y0"), tc.attrs...)
				if tc.op == "Split" {
					n.Outputs = append(n.Outputs, "y1")
					g.Outputs = append(g.Outputs, &ValueInfo{Name: "y1"})
				}
				hosts, devices := map[string]*Value{}, map[string]*Value{}
				for i, kind := range tc.inputs {
					h := sample(rng, kind, e, tc.shapes[i])
					if tc.op == "Range" && i == 2 && h.Ints != nil && h.Ints[0] == 0 {
						h.Ints[0] = 2
					}
					name := fmt.Sprint("x", i)
					n.Inputs = append(n.Inputs, name)
					g.Inputs = append(g.Inputs, &ValueInfo{Name: name})
					hosts[name], devices[name] = HostValue(h), TensorValue(h.tensor(sinter.DefaultDevice()))
				}
				g.Nodes = []*Node{n}
				p := compiled(t, modelOf(g))
				onHost, herr := p.RunValues(ctx, hosts)
				onDevice, derr := p.RunValues(ctx, devices)
				if (herr == nil) != (derr == nil) {
					t.Fatalf("host: %v, device: %v", herr, derr)
				}
				for name, want := range onDevice {
					got := onHost[name]
					a, err := got.Array(ctx)
					if err != nil {
						t.Fatal(err)
					}
					b, err := want.Array(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if got.Elem != want.Elem || !slices.Equal(a.Shape, b.Shape) || !equalBits(a, b) {
						t.Errorf("%s: host %s %v, device %s %v; inputs %v", name, got, a, want, b, devices)
					}
				}
			})
		}
	}
}

// equalBits compares arrays; any NaN counts as any NaN.
func equalBits(a, b sinter.Array) bool {
	x, y := hostOf(ElemOf(a.DType), a), hostOf(ElemOf(b.DType), b)
	return slices.Equal(x.Ints, y.Ints) && slices.EqualFunc(x.Floats, y.Floats, func(p, q float64) bool {
		return math.Float64bits(p) == math.Float64bits(q) || math.IsNaN(p) && math.IsNaN(q)
	})
}

func sample(rng *rand.Rand, kind rune, e Elem, shape []int) *Host {
	h := &Host{Elem: e, Shape: append([]int{}, shape...)}
	switch kind {
	case 'i':
		h.Elem = Int64
	case 'c':
		h.Elem = Bool
	case 'f':
		h.Elem = Float
	}
	for range product(shape) {
		switch {
		case h.IsFloat():
			v := rng.NormFloat64() * 4
			switch rng.IntN(8) {
			case 0:
				v = math.Trunc(v) + 0.5
			case 1:
				v = 0
			}
			h.Floats = append(h.Floats, round(h.Elem, v))
		case kind == 'i':
			h.Ints = append(h.Ints, int64(1+rng.IntN(2)))
		case kind == 'c':
			h.Ints = append(h.Ints, int64(rng.IntN(2)))
		default:
			v := int64(rng.IntN(200) - 100)
			if rng.IntN(3) > 0 {
				v = v/10 + 1
			}
			if v == 0 {
				v = 3
			}
			h.Ints = append(h.Ints, wrap(h.Elem, v))
		}
	}
	if h.Ints == nil && h.Floats == nil { // an empty list
		h.Ints, h.Floats = []int64{}, []float64{}
	}
	return h
}
