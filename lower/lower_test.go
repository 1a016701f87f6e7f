package lower_test

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// TestUnitExtents: every row that reduces or scans lowers over a scalar and over
// an axis of extent 1.
func TestUnitExtents(t *testing.T) {
	for _, r := range ir.Rows() {
		if len(r.Operands) != 1 || r.Access != ir.Reduce && r.Access != ir.Scan || r.Decompose != nil {
			continue
		}
		for _, s := range []ir.Shape{{}, {1}, {1, 1}, {3, 1}, {1, 3}} {
			attrs := []any{}
			if r.HasAttr("axis") {
				attrs = append(attrs, "axis", -1)
			}
			a, err := r.MakeAttrs(ir.A(attrs...))
			if err != nil {
				t.Fatal(err)
			}
			in := ir.Type{DType: ir.F32, Shape: s}
			out, err := ir.Infer(r, []ir.Type{in}, a)
			if err != nil {
				continue // an axis of a scalar
			}
			n := ir.Node{Row: r, Attrs: a, In: []ir.Tensor{{ID: 1, Type: in}}, Out: []ir.Tensor{{ID: 2, Type: out[0]}}}
			b, err := lower.New([]ir.Node{n}, func(id ir.ID) ir.Layout {
				if id == 1 {
					return ir.Layout{Strides: in.Shape.Strides()}
				}
				return ir.Layout{Strides: out[0].Shape.Strides()}
			}, nil)
			if err == nil {
				_, _, err = b.Pieces[0].Build()
			}
			if err != nil && ir.Lookup("exp") != nil {
				t.Errorf("%s(%v): %v", r.Name, in, err)
			}
		}
	}
}
