package lower_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// TestHiddenFaults: a block that would not evaluate some elements of a row that may
// fault is refused, since the row's error would be lost.
func TestHiddenFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		refused bool
		build   func(b *draft) ts
	}{
		{"slice of a gather", true, func(b *draft) ts {
			return ts{b.do("neg", b.slice(b.do("gather", b.in(10, 3), b.indices(6), "axis", 0), []int{0, 0}, []int{5, 3}, []int{1, 1}))}
		}},
		{"gather, repeated", false, func(b *draft) ts {
			return ts{b.do("add", b.do("gather", b.in(10), b.indices(6), "axis", 0), b.in(4, 6))}
		}},
		{"gather in two parts", false, func(b *draft) ts {
			g := b.do("gather", b.in(10), b.indices(6), "axis", 0)
			low, high := b.slice(g, []int{0}, []int{2}, []int{1}), b.slice(g, []int{2}, []int{4}, []int{1})
			return ts{b.do("neg", b.do("concat", high, low, "axis", 0))}
		}},
		{"part of an integer quotient", true, func(b *draft) ts {
			b.d = ir.I32
			return ts{b.do("neg", b.slice(b.do("floor_div", b.in(6), b.in(6)), []int{0}, []int{2}, []int{3}))}
		}},
		{"part of a quotient of floats", false, func(b *draft) ts {
			return ts{b.do("neg", b.slice(b.do("floor_div", b.in(6), b.in(6)), []int{0}, []int{2}, []int{3}))}
		}},
		{"a quotient that nothing uses", true, func(b *draft) ts {
			b.d = ir.I32
			x := b.in(6)
			b.do("floor_div", x, b.in(6))
			return ts{b.do("neg", x)}
		}},
	} {
		b := &draft{t: t, d: ir.F32}
		_, err := lowered(b, c.build(b))
		var r *lower.Refusal
		switch {
		case !c.refused && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.refused && (!errors.As(err, &r) || r.Rule != lower.FaultHidden):
			t.Errorf("%s: %v, expected to be refused: %s", c.name, err, lower.FaultHidden)
		}
	}
}
