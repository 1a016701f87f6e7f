package autodiff

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// place is where a gradient belongs that is one of a slice.
type place struct {
	starts, sizes, steps []int64
	shape                ir.Shape // of all
}

// part is a gradient that is 0 outside of its place.
type part struct {
	v  *value
	at *place
}

// arrival takes a gradient apart that may be one of a part of an operand: the tensor,
// the shape it is to have, and where it belongs, nil for all of the operand.
func arrival(v ir.Value, shape ir.Shape) (*sinter.Tensor, ir.Shape, *place) {
	p, ok := v.(ir.Part)
	if !ok {
		return tensor(v), shape, nil
	}
	sizes := make(ir.Shape, len(p.Sizes))
	for i, n := range p.Sizes {
		sizes[i] = int(n)
	}
	return tensor(p.Value), sizes, &place{p.Starts, p.Sizes, p.Steps, shape}
}

// axis is the one along which a place does not have all elements, in steps of 1; -1
// if there are more, or others.
func (p *place) axis() int {
	axis := -1
	for i, n := range p.shape {
		switch {
		case p.sizes[i] == int64(n) && (n == 0 || p.starts[i] == 0) && p.steps[i] == 1:
		case axis >= 0 || p.steps[i] != 1 && p.sizes[i] > 1:
			return -1
		default:
			axis = i
		}
	}
	return axis
}

// place puts parts where they belong and calls plus for what they make. Those that
// leave out elements of one axis alone are laid side by side, with zeros in between
// only where nothing lies: one concat, as long as no two of them overlap.
func (w *walk) place(parts []part, plus func(*value)) {
	slices.Reverse(parts) // ascending, as recorded
	rows := map[int][]part{}
	var axes []int
	for _, p := range parts {
		axis := p.at.axis()
		if axis < 0 {
			plus(w.put(p))
			continue
		}
		if rows[axis] == nil {
			axes = append(axes, axis)
		}
		rows[axis] = append(rows[axis], p)
	}
	for _, axis := range axes {
		slices.SortStableFunc(rows[axis], func(a, b part) int { return cmp.Compare(a.at.starts[axis], b.at.starts[axis]) })
		for rest := rows[axis]; len(rest) > 0; {
			row, over, end := []part(nil), []part(nil), int64(0)
			for _, p := range rest {
				if p.at.starts[axis] < end {
					over = append(over, p)
					continue
				}
				row, end = append(row, p), p.at.starts[axis]+p.at.sizes[axis]
			}
			plus(w.beside(row, axis))
			rest = over
		}
	}
}

// put is a part amid zeros.
func (w *walk) put(p part) *value {
	zeros := filled(w.graph.At(p.v.t), ir.Type{DType: p.v.t.DType(), Shape: p.at.shape}, 0)
	t := tensor(w.graph.Apply("set_slice", []ir.Value{zeros, p.v.t}, ir.A("starts", p.at.starts, "sizes", p.at.sizes, "steps", p.at.steps)...))
	w.drop(p.v)
	return &value{t: t, holds: 1}
}

// beside is parts in ascending order along an axis, and zeros where there are none.
func (w *walk) beside(parts []part, axis int) *value {
	shape, t := parts[0].at.shape, parts[0].v.t
	var in []ir.Value
	next := int64(0)
	lay := func(start, end int64, t *sinter.Tensor) {
		if start > next {
			gap := shape.Clone()
			gap[axis] = int(start - next)
			in = append(in, filled(w.graph.At(t), ir.Type{DType: t.DType(), Shape: gap}, 0))
		}
		if end > start {
			in = append(in, t)
		}
		next = end
	}
	for _, p := range parts {
		if n := p.at.sizes[axis]; n > 0 {
			lay(p.at.starts[axis], p.at.starts[axis]+n, p.v.t)
		}
	}
	lay(int64(shape[axis]), int64(shape[axis]), t)
	if len(in) == 0 { // all of no elements
		in = append(in, filled(w.graph.At(t), ir.Type{DType: t.DType(), Shape: shape}, 0))
	}
	y := &value{t: tensor(in[0]), holds: 1}
	if len(in) > 1 {
		y.t = tensor(w.graph.Apply("concat", in, ir.A("axis", axis)...))
	}
	for _, p := range parts {
		if p.v.t == y.t { // all by itself
			y = p.v
			continue
		}
		w.drop(p.v)
	}
	return y
}
