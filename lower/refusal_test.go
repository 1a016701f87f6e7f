package lower_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// lowered lowers what a draft makes, over row-major tensors.
func lowered(b *draft, stored ts) (*lower.Block, error) {
	types, keep := map[ir.ID]ir.Type{}, map[ir.ID]bool{}
	for i := range b.p.Nodes {
		for _, x := range append(slices.Clone(b.p.Nodes[i].In), b.p.Nodes[i].Out...) {
			types[x.ID] = x.Type
		}
	}
	for _, x := range stored {
		keep[x.ID] = true
	}
	return lower.New(b.p.Nodes, func(id ir.ID) ir.Layout { return ir.Layout{Strides: types[id].Shape.Strides()} },
		func(id ir.ID) bool { return keep[id] })
}

// TestRefusals: what one function cannot compute is refused by the rule that says why.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  lower.Rule
		build func(b *draft) ts
	}{
		{"scatter", lower.NotLowered, func(b *draft) ts {
			return ts{b.do("scatter_add", b.in(5, 3), b.indices(4), b.in(4, 3), "axis", 0)}
		}},
		{"reshape of a slice", lower.NotAffine, func(b *draft) ts {
			x := b.slice(b.do("reshape", b.do("exp", b.in(3, 5)), "shape", []int{15}), []int{0}, []int{7}, []int{2})
			return ts{b.do("neg", x)}
		}},
		{"sums of sums", lower.AnotherGroup, func(b *draft) ts {
			return ts{b.do("sum", b.do("sum", b.in(4, 5, 6), "axes", []int{2}), "axes", []int{1})}
		}},
		{"scans of opposite directions", lower.AlongAnother, func(b *draft) ts {
			x := b.in(4, 6)
			y := b.slice(b.do("cumsum", x, "axis", 1), []int{0, 5}, []int{4, 6}, []int{1, -1})
			return ts{b.do("add", b.do("cumsum", b.in(4, 6), "axis", 1), y)}
		}},
		{"mean of all rows, per row", lower.RowSpread, func(b *draft) ts {
			return ts{b.do("mul", b.in(7, 4, 5), b.keep("mean", b.in(4, 5), 1))}
		}},
		{"sum of a sum of equal extents", lower.RowVaries, func(b *draft) ts {
			return ts{b.do("sum", b.do("sum", b.in(4, 5, 5), "axes", []int{2}), "axes", []int{1})}
		}},
		{"trees of rows and columns", lower.MixedTrees, func(b *draft) ts {
			return ts{b.do("add", b.do("sum", b.in(40, 20), "axes", []int{1}), b.do("sum", b.in(20, 40), "axes", []int{0}))}
		}},
		{"matmul of a matmul", lower.NotAlone, func(b *draft) ts {
			return ts{b.do("matmul", b.do("matmul", b.in(4, 5), b.in(5, 5)), b.in(5, 5))}
		}},
		{"matmul and a maximum", lower.NotAlone, func(b *draft) ts {
			return ts{b.do("add", b.do("matmul", b.in(4, 5), b.in(5, 6)), b.do("max", b.in(4, 6, 5), "axes", []int{2}))}
		}},
		{"gather from a sum", lower.GatherComputed, func(b *draft) ts {
			return ts{b.do("gather", b.do("add", b.in(5), b.in(5)), b.indices(4), "axis", 0)}
		}},
		{"sum over a concat", lower.JoinAlongGroup, func(b *draft) ts {
			return ts{b.do("sum", b.do("concat", b.in(4, 5), b.in(4, 3), "axis", 1), "axes", []int{1})}
		}},
		{"every other element set", lower.JoinStep, func(b *draft) ts {
			return ts{b.do("set_slice", b.in(6), b.do("exp", b.in(3)), "starts", []int{0}, "sizes", []int{3}, "steps", []int{2})}
		}},
		{"concat of many", lower.ManyPieces, func(b *draft) ts {
			var in []any
			for range lower.MaxPieces + 1 {
				in = append(in, b.in(2, 3))
			}
			return ts{b.do("concat", append(in, "axis", 0)...)}
		}},
		{"sum of many", lower.ManyArguments, func(b *draft) ts {
			x := b.in(3)
			for range lower.MaxArguments {
				x = b.do("add", x, b.in(3))
			}
			return ts{x}
		}},
		{"another size", lower.NotCovered, func(b *draft) ts { return ts{b.do("neg", b.in(4, 5)), b.do("neg", b.in(7))} }},
		{"a part and the whole", lower.NotCovered, func(b *draft) ts {
			x := b.do("exp", b.in(6))
			return ts{b.do("neg", b.do("expand", b.slice(x, []int{0}, []int{5}, []int{1}), "shape", []int{3, 5})), x}
		}},
	} {
		b := &draft{t: t, d: ir.F32}
		_, err := lowered(b, c.build(b))
		var r *lower.Refusal
		if !errors.As(err, &r) || r.Rule != c.rule {
			t.Errorf("%s: %v, expected to be refused: %s", c.name, err, c.rule)
		}
	}
}

// TestWork: evaluations and bytes of blocks, counted by hand.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		name          string
		work          []float64
		read, written int64
		build         func(b *draft) ts
	}{
		{"broadcast along an axis", []float64{20, 20}, 4 * (5 + 20), 4 * 20, func(b *draft) ts {
			return ts{b.do("add", b.do("exp", b.in(5)), b.in(4, 5))}
		}},
		{"two maps", []float64{20, 0, 0, 10}, 4 * 20, 4 * 10, func(b *draft) ts {
			x := b.do("exp", b.in(20))
			return ts{b.do("add", b.slice(x, []int{0}, []int{10}, []int{1}), b.slice(x, []int{19}, []int{10}, []int{-1}))}
		}},
		{"rows and elements", []float64{20, 20, 4, 4}, 4 * 20, 4 * 4, func(b *draft) ts {
			return ts{b.do("sqrt", b.do("sqrt", b.do("sum", b.do("exp", b.in(4, 5)), "axes", []int{1})))}
		}},
		{"matmul", []float64{4 * 6 * 5, 4 * 6 * 5, 4 * 6}, 4 * (4*5 + 5*6), 4 * 4 * 6, func(b *draft) ts {
			return ts{b.do("relu", b.do("matmul", b.do("neg", b.in(4, 5)), b.in(5, 6)))}
		}},
		{"pieces", []float64{6, 0, 10}, 4 * (6 + 4), 4 * 10, func(b *draft) ts {
			return ts{b.do("neg", b.do("concat", b.do("exp", b.in(6)), b.in(4), "axis", 0))}
		}},
		{"a slice of an operand", []float64{0, 3}, 4 * 3, 4 * 3, func(b *draft) ts {
			return ts{b.do("neg", b.slice(b.in(20), []int{3}, []int{3}, []int{2}))}
		}},
	} {
		b := &draft{t: t, d: ir.F32}
		l, err := lowered(b, c.build(b))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		work := l.Work(false)
		if !slices.Equal(work, c.work) {
			t.Errorf("%s: work %v, expected %v", c.name, work, c.work)
		}
		if l.Read() != c.read || l.Written() != c.written {
			t.Errorf("%s: %d bytes read and %d written, expected %d and %d", c.name, l.Read(), l.Written(), c.read, c.written)
		}
	}
}
