package lower_test

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/lower"
)

// TestRowPrograms: reductions and row programs with operands that broadcast to
// the first lower to one kernel, in which these operands walk the reduced and the
// kept axes as they lie, and which the amd64 generator takes.
func TestRowPrograms(t *testing.T) {
	type shapes = []ir.Shape
	for _, c := range []struct {
		row    string
		shapes shapes
		attrs  []any
		kinds  []kernel.AxisKind
		second []kernel.Access // of the second operand
	}{
		{"layer_norm", shapes{{6, 5}, {5}, {5}}, nil,
			[]kernel.AxisKind{kernel.Parallel, kernel.Reduced}, []kernel.Access{kernel.Broadcast, kernel.Unit}},
		{"layer_norm", shapes{{6, 5}, {6, 1}, {}}, nil,
			[]kernel.AxisKind{kernel.Parallel, kernel.Reduced}, []kernel.Access{kernel.Unit, kernel.Broadcast}},
		{"layer_norm", shapes{{2, 3, 4, 5}, {3, 1, 1}, {3, 1, 1}}, []any{"axes", []int{0, 2, 3}},
			[]kernel.AxisKind{kernel.Parallel, kernel.Reduced, kernel.Reduced}, []kernel.Access{kernel.Unit, kernel.Broadcast, kernel.Broadcast}},
		{"rms_norm", shapes{{6, 5, 7}, {5, 7}}, []any{"axes", []int{1, 2}},
			[]kernel.AxisKind{kernel.Parallel, kernel.Reduced}, []kernel.Access{kernel.Broadcast, kernel.Unit}},
		{"cross_entropy", shapes{{6, 5}, {6, 1}, {5}}, nil,
			[]kernel.AxisKind{kernel.Parallel, kernel.Reduced}, []kernel.Access{kernel.Unit, kernel.Broadcast}},
		{"softmax_masked", shapes{{6, 5}}, nil, []kernel.AxisKind{kernel.Parallel, kernel.Reduced}, nil},
	} {
		for _, d := range []ir.DType{ir.F32, ir.F64, ir.F16} {
			r := ir.Lookup(c.row)
			a, err := r.MakeAttrs(ir.A(c.attrs...))
			if err != nil {
				t.Fatal(err)
			}
			n := ir.Node{Row: r, Attrs: a}
			for i, s := range c.shapes {
				typ := ir.Type{DType: d, Shape: s}
				if r.Operands[i].Class == ir.I64Class {
					typ.DType = ir.I64
				}
				n.In = append(n.In, ir.Tensor{ID: ir.ID(i + 1), Type: typ})
			}
			out, err := ir.Infer(r, n.InTypes(), a)
			if err != nil {
				t.Fatal(err)
			}
			for i := range out {
				n.Out = append(n.Out, ir.Tensor{ID: ir.ID(9 + i), Type: out[i]})
			}
			layouts := func(id ir.ID) ir.Layout {
				if id >= 9 {
					return ir.Layout{Strides: out[id-9].Shape.Strides()}
				}
				return ir.Layout{Strides: c.shapes[id-1].Strides()}
			}
			b, err := lower.New([]ir.Node{n}, layouts, nil)
			if err != nil {
				t.Fatalf("%s %v: %v", c.row, c.shapes, err)
			}
			k, _, err := b.Pieces[0].Build()
			if err != nil {
				t.Fatalf("%s %v: %v", c.row, c.shapes, err)
			}
			if len(k.Axes) != len(c.kinds) {
				t.Fatalf("%s %v: axes %v, expected %v", c.row, c.shapes, k.Axes, c.kinds)
			}
			for i := range c.kinds {
				if k.Axes[i] != c.kinds[i] || c.second != nil && k.Args[1].Access[i] != c.second[i] {
					t.Errorf("%s %v: axes %v and accesses %v, expected %v and %v", c.row, c.shapes, k.Axes, k.Args[1].Access, c.kinds, c.second)
					break
				}
			}
			if len(c.kinds) > 2 {
				continue // sums over axes that cannot be walked as one are interpreted
			}
			for _, level := range []amd64.Level{amd64.AVX2, amd64.AVX512} {
				if !amd64.Available(level) {
					continue
				}
				_, err := amd64.Compile(k, level)
				if err != nil {
					t.Errorf("%s %s %v at %s: %v", c.row, d, c.shapes, level, err)
					continue
				}
			}
		}
	}
}
