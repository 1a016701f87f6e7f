package autodiff

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// value is a gradient on its way. Operations such as add pass theirs on as it
// is, so several sums may hold one.
type value struct {
	t     *sinter.Tensor
	holds int
	lent  bool // the memory handle is also someone else's: never released here
}

// drop gives up one hold, and releases the memory with the last.
func (w *walk) drop(v *value) {
	if v.holds--; v.holds == 0 && !v.lent && !w.track {
		v.t.Release()
	}
}

// sum collects the gradients that arrive at one result. They arrive in
// descending order of recording and are summed in ascending order, those of slices
// last.
type sum struct {
	whole []*value
	parts []part
}

// add is called with where the gradient belongs, nil if it is of all of the result.
func (s *sum) add(v *value, at *place) {
	v.holds++
	if at == nil {
		s.whole = append(s.whole, v)
	} else {
		s.parts = append(s.parts, part{v, at})
	}
}

// total adds up what has arrived and keeps the result as the only one; nil if
// nothing has.
func (w *walk) total(s *sum) *value {
	var acc *value
	plus := func(v *value) {
		if acc == nil {
			acc = v
			return
		}
		next := &value{t: tensor(w.graph.Apply("add", []ir.Value{acc.t, v.t})), holds: 1}
		w.drop(acc)
		w.drop(v)
		acc = next
	}
	for i := len(s.whole) - 1; i >= 0; i-- {
		plus(s.whole[i])
	}
	w.place(s.parts, plus)
	if acc == nil {
		return nil
	}
	*s = sum{whole: []*value{acc}}
	return acc
}

// tensor unwraps a value of a graph over tensors.
func tensor(v ir.Value) *sinter.Tensor {
	t, _ := v.(*sinter.Tensor)
	return t
}

func apply(g sinter.Graph, row string, in *sinter.Tensor, attrs ...any) *sinter.Tensor {
	return tensor(g.Apply(row, []ir.Value{in}, ir.A(attrs...)...))
}

// filled is a constant tensor in the scope of the graph.
func filled(g sinter.Graph, t ir.Type, v float64) *sinter.Tensor {
	c := tensor(g.Scalar(v, t.DType))
	if len(t.Shape) == 0 {
		return c
	}
	return apply(g, "expand", c, "shape", t.Shape)
}

// fit brings a gradient to the shape of its operand: the transpose of
// broadcasting, a sum over the axes that were added or stretched. A gradient that
// is itself smaller, as that of a constant derivative, is expanded.
func fit(g sinter.Graph, v *sinter.Tensor, want ir.Shape) *sinter.Tensor {
	have := ir.Shape(v.Shape())
	if have.Equal(want) {
		return v
	}
	added := len(have) - len(want)
	var axes []int
	for i, n := range have {
		if i < added || want[i-added] == 1 && n != 1 {
			axes = append(axes, i)
		}
	}
	if len(axes) > 0 {
		v = apply(g, "sum", v, "axes", axes)
		reduced := ir.Shape{} // the shape with stretched axes put back
		for i := max(added, 0); i < len(have); i++ {
			if want[i-added] == 1 {
				reduced = append(reduced, 1)
			} else {
				reduced = append(reduced, have[i])
			}
		}
		if !reduced.Equal(v.Shape()) {
			v = apply(g, "reshape", v, "shape", reduced)
		}
	}
	if !want.Equal(v.Shape()) {
		v = apply(g, "expand", v, "shape", want)
	}
	return v
}
