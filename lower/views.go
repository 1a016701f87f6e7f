package lower

import "github.com/sinter-go/sinter/ir"

// viewMap is a View row as a map of coordinates: coordinate d of the operand is
// off[d] + Σ coef[d][o] · coordinate o of the result. A view that keeps the
// row-major order of all elements has none: [regroup] knows. Of one that is not
// linear in the strides of its operand, the only coordinate is the row-major index.
type viewMap struct {
	ordered bool
	index   bool
	off     []int64
	coef    [][]int64
}

// viewOf finds the map of a view node by asking the row for layouts: what it makes
// of strides that are 1 in one dimension and 0 elsewhere are the coefficients.
func viewOf(n *ir.Node) (*viewMap, bool) {
	in, out := n.In[0].Type, n.Out[0].Type
	rowMajor := in.Shape.Strides()
	whole, ok := n.Row.View(n.Row, in, ir.Layout{Strides: rowMajor}, n.Attrs, out)
	if !ok {
		return nil, false
	}
	v := &viewMap{}
	if in.Shape.Size() == out.Shape.Size() && whole.Offset == 0 {
		v.ordered = true
		for i, st := range out.Shape.Strides() {
			v.ordered = v.ordered && (out.Shape[i] == 1 || whole.Strides[i] == st)
		}
		if v.ordered {
			return v, true
		}
	}
	if v.linear(n, rowMajor, whole) {
		return v, true
	}
	return &viewMap{index: true, off: []int64{whole.Offset}, coef: [][]int64{whole.Strides}}, true
}

// linear asks for the layouts of units and reports whether they make up that of the
// row-major operand.
func (v *viewMap) linear(n *ir.Node, rowMajor []int64, whole ir.Layout) bool {
	in, out := n.In[0].Type, n.Out[0].Type
	v.off = make([]int64, len(in.Shape))
	unit := make([]int64, len(in.Shape))
	sum := ir.Layout{Strides: make([]int64, len(out.Shape))}
	for d := range in.Shape {
		unit[d] = 1
		l, ok := n.Row.View(n.Row, in, ir.Layout{Strides: unit}, n.Attrs, out)
		if !ok {
			return false
		}
		v.off[d] = l.Offset
		v.coef = append(v.coef, append([]int64(nil), l.Strides...))
		sum.Offset += l.Offset * rowMajor[d]
		for i, st := range l.Strides {
			sum.Strides[i] += st * rowMajor[d]
		}
		unit[d] = 0 // the layout may share it
	}
	same := sum.Offset == whole.Offset
	for i, st := range sum.Strides {
		same = same && (st == whole.Strides[i] || out.Shape[i] == 1)
	}
	return same
}

// pull returns the coordinates in the operand of a view of the element with
// coordinates m in its result.
func (v *viewMap) pull(n *ir.Node, m imap, extents []int64) (imap, error) {
	if v.ordered {
		return regroup(m, n.Out[0].Shape, n.In[0].Shape, extents)
	}
	out := newMap(len(v.off), len(extents))
	for d, f := range out {
		f[0] = v.off[d]
		for o, c := range v.coef[d] {
			if c != 0 && n.Out[0].Shape[o] != 1 {
				f.add(c, m[o])
			}
		}
	}
	if v.index {
		return regroup(out, []int{n.In[0].Shape.Size()}, n.In[0].Shape, extents)
	}
	return out, nil
}

// push is the inverse of pull: the coordinates in the result of the element with
// coordinates m in the operand. Only views that keep all elements have one.
func (v *viewMap) push(n *ir.Node, m imap, extents []int64) (imap, bool) {
	in, to := n.In[0].Shape, n.Out[0].Shape
	if in.Size() != to.Size() || v.index {
		return nil, false
	}
	if v.ordered {
		out, err := regroup(m, in, to, extents)
		return out, err == nil
	}
	out := newMap(len(to), len(extents))
	found := 0
	for d := range in {
		for o, c := range v.coef[d] {
			if c == 0 || to[o] == 1 {
				continue
			}
			if c != 1 && c != -1 || in[d] != to[o] {
				return nil, false
			}
			out[o].add(c, m[d])
			out[o][0] -= c * v.off[d]
			found++
		}
	}
	for _, n := range to {
		if n != 1 {
			found--
		}
	}
	return out, found == 0
}

// box is where an operand lies in the result of a join: per dimension of the
// result from low, n elements, in the direction sign along a dimension of the
// operand, or -1 if the operand has extent 1 there.
type box struct {
	low, n []int64
	dim    []int
	sign   []int64
}

// boxesOf returns the box of each operand of a join, nil for one without elements.
func boxesOf(i int, n *ir.Node) ([]*box, error) {
	shape := n.Out[0].Shape
	out := make([]*box, len(n.In))
	unit := make([]int64, len(shape))
	for j, t := range n.In {
		if t.Shape.Size() == 0 {
			continue
		}
		b := &box{}
		used := 0
		for d := range shape {
			unit[d] = 1
			l, err := JoinPart(n, j, ir.Layout{Strides: unit})
			if err != nil {
				return nil, err
			}
			low, count, dim, sign := l.Offset, int64(1), -1, int64(1)
			for o, st := range l.Strides {
				if st == 0 || t.Shape[o] == 1 {
					continue
				}
				if st != 1 && st != -1 || dim >= 0 {
					return nil, &Refusal{Rule: JoinStep, Node: i, Got: float64(st), Limit: 1}
				}
				dim, sign, count = o, st, int64(t.Shape[o])
				if st < 0 {
					low -= count - 1
				}
				used++
			}
			unit[d] = 0 // the layout may share it
			b.low, b.n, b.dim, b.sign = append(b.low, low), append(b.n, count), append(b.dim, dim), append(b.sign, sign)
		}
		for _, e := range t.Shape {
			if e != 1 {
				used--
			}
		}
		if used != 0 {
			return nil, &Refusal{Rule: NotAffine, Node: i, Detail: "part of a join"}
		}
		out[j] = b
	}
	return out, nil
}

// separate returns the cut of a parallel axis that has the points with f < at on
// one side and the others on the other one.
func (d *domain) separate(f form, at int64) (*cutAxis, bool) {
	for a, c := range f[1:] {
		if c == 0 || a >= len(d.extents) || d.reduced[a] {
			continue
		}
		rest := append(form(nil), f...)
		rest[1+a] = 0
		low, high := rest.span(d.extents)
		var t int64
		if c > 0 {
			t = floorDiv(at-low+c-1, c)
			if high+c*(t-1) >= at {
				continue
			}
		} else {
			t = floorDiv(low-at, -c) + 1
			if high+c*t >= at {
				continue
			}
		}
		if 0 < t && t < d.extents[a] {
			return &cutAxis{a, t}, true
		}
	}
	return nil, false
}
