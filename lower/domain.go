package lower

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// domain is the iteration space of a block: its axes in loop order, and how the
// shape of the node's operand (reductions, contractions) or result (all others)
// maps to them.
type domain struct {
	extents []int64
	kinds   []kernel.AxisKind
	// keptInside counts the kept elements after the last reduced axis.
	keptInside int64
}

// reducedCount returns the number of elements of the reduced group.
func (d *domain) reducedCount() int64 {
	n := int64(1)
	for i, k := range d.kinds {
		if k == kernel.Reduced {
			n *= d.extents[i]
		}
	}
	return n
}

// access is one operand or result seen from the domain: strides per axis.
type access struct {
	offset  int64
	strides []int64
	gather  bool
	// stride and extent of the gathered axis
	gatherStride, gatherExtent int64
}

// space is a domain with every operand and result of one node laid over it.
type space struct {
	domain
	in, out []access
	along   bool // the result has the reduced axes too: scans and row programs
}

// spread maps a tensor that broadcasts to shape: stride 0 where it repeats.
func spread(t ir.Type, l ir.Layout, shape ir.Shape) access {
	a := access{offset: l.Offset, strides: make([]int64, len(shape))}
	off := len(shape) - len(t.Shape)
	for i, d := range t.Shape {
		if d != 1 {
			a.strides[off+i] = l.Strides[i]
		}
	}
	return a
}

// spaceOf lays out the iteration space of a node.
func spaceOf(n *ir.Node, in, out []ir.Layout) (*space, error) {
	switch n.Row.Access {
	case ir.Elementwise, ir.Random:
		return elementwiseSpace(n, in, out), nil
	case ir.Reduce, ir.Scan:
		return reduceSpace(n, in, out)
	case ir.Contraction:
		return contractionSpace(n, in, out), nil
	case ir.Gather:
		return gatherSpace(n, in, out)
	}
	return nil, ir.Errorf(ir.ErrInternal, "%s has no iteration space", n.Row.Name)
}

func elementwiseSpace(n *ir.Node, in, out []ir.Layout) *space {
	shape := n.Out[0].Shape
	s := &space{}
	for _, d := range shape {
		s.extents = append(s.extents, int64(d))
		s.kinds = append(s.kinds, kernel.Parallel)
	}
	for i := range in { // none for a gather, which lays out its own
		s.in = append(s.in, spread(n.In[i].Type, in[i], shape))
	}
	for i, t := range n.Out {
		s.out = append(s.out, spread(t.Type, out[i], shape))
	}
	return s
}

// reduceSpace makes one group of all reduced axes, in logical order, and puts it
// where the last of them stands: the kept axes after it stay inside.
func reduceSpace(n *ir.Node, in, out []ir.Layout) (*space, error) {
	shape := n.In[0].Shape
	axes, err := ir.ReduceAxes(n.Row, n.In[0].Type, n.Attrs)
	if err != nil {
		return nil, err
	}
	var reduced [ir.MaxRank]bool
	last := -1
	for _, a := range axes {
		reduced[a] = true
		last = a
	}
	order := make([]int, 0, len(shape))
	for i := range shape {
		if !reduced[i] && i < last {
			order = append(order, i)
		}
	}
	order = append(order, axes...)
	s := &space{}
	s.keptInside = 1
	for i := last + 1; i < len(shape); i++ {
		order = append(order, i)
		s.keptInside *= int64(shape[i])
	}
	for _, a := range order {
		s.extents = append(s.extents, int64(shape[a]))
		kind := kernel.Parallel
		if reduced[a] {
			kind = kernel.Reduced
		}
		s.kinds = append(s.kinds, kind)
	}
	// A scalar has no axis: it is a group of one element, walked by nobody.
	scalar := len(axes) == 0
	if scalar {
		s.extents, s.kinds = append(s.extents, 1), append(s.kinds, kernel.Reduced)
	}
	reorder := func(st []int64, offset int64) access {
		a := access{offset: offset, strides: make([]int64, len(s.extents))}
		for i, x := range order {
			a.strides[i] = st[x]
		}
		return a
	}
	for i, t := range n.In { // operands after the first broadcast to it
		a := spread(t.Type, in[i], shape)
		if i == 0 { // keeps the strides of extents 1 as they are
			a.strides = in[i].Strides
		}
		s.in = append(s.in, reorder(a.strides, a.offset))
	}
	for i, t := range n.Out {
		st := make([]int64, len(shape))
		switch {
		case t.Shape.Equal(shape) && !n.Row.HasAttr("keepdims"):
			copy(st, out[i].Strides)
			s.along = true
		case len(t.Shape) == len(shape): // reduced axes kept, of extent 1
			for j := range st {
				if !reduced[j] {
					st[j] = out[i].Strides[j]
				}
			}
		default:
			k := 0
			for j := range st {
				if !reduced[j] {
					st[j] = out[i].Strides[k]
					k++
				}
			}
		}
		s.out = append(s.out, reorder(st, out[i].Offset))
	}
	return s, nil
}

// contractionSpace is batch axes, rows, the contracted axis, columns.
func contractionSpace(n *ir.Node, in, out []ir.Layout) *space {
	x, z, y := n.In[0].Shape, n.In[1].Shape, n.Out[0].Shape
	hasM, hasN := len(x) > 1, len(z) > 1
	batch := len(y)
	if hasM {
		batch--
	}
	if hasN {
		batch--
	}
	s := &space{}
	xs, zs, ys := access{offset: in[0].Offset}, access{offset: in[1].Offset}, access{offset: out[0].Offset}
	add := func(extent int64, kind kernel.AxisKind, sx, sz, sy int64) {
		s.extents = append(s.extents, extent)
		s.kinds = append(s.kinds, kind)
		xs.strides = append(xs.strides, sx)
		zs.strides = append(zs.strides, sz)
		ys.strides = append(ys.strides, sy)
	}
	stride := func(shape ir.Shape, l ir.Layout, trailing, i int) int64 {
		j := i - (batch - (len(shape) - trailing))
		if len(shape) < trailing || j < 0 || shape[j] == 1 {
			return 0
		}
		return l.Strides[j]
	}
	for i := 0; i < batch; i++ {
		add(int64(y[i]), kernel.Parallel, stride(x, in[0], 2, i), stride(z, in[1], 2, i), out[0].Strides[i])
	}
	at := batch
	if hasM {
		add(int64(y[at]), kernel.Parallel, in[0].Strides[len(x)-2], 0, out[0].Strides[at])
		at++
	}
	add(int64(x[len(x)-1]), kernel.Reduced, in[0].Strides[len(x)-1], in[1].Strides[max(len(z)-2, 0)], 0)
	if hasN {
		add(int64(y[at]), kernel.Parallel, 0, in[1].Strides[len(z)-1], out[0].Strides[at])
	}
	s.in, s.out = []access{xs, zs}, []access{ys}
	return s
}

func gatherSpace(n *ir.Node, in, out []ir.Layout) (*space, error) {
	s := elementwiseSpace(n, nil, out)
	x, index := n.In[0].Shape, n.In[1].Shape
	ax, err := ir.Axis(int(n.Attr("axis").Int), len(x))
	if err != nil {
		return nil, err
	}
	xs := access{offset: in[0].Offset, strides: make([]int64, len(s.extents)), gather: true,
		gatherStride: in[0].Strides[ax], gatherExtent: int64(x[ax])}
	is := access{offset: in[1].Offset, strides: make([]int64, len(s.extents))}
	if n.Row.Aligned { // both run beside the result; the axis itself goes by the index
		shape := n.Out[0].Shape
		xs.strides = spread(n.In[0].Type, in[0], shape).strides
		xs.strides[ax] = 0
		s.in = []access{xs, spread(n.In[1].Type, in[1], shape)}
		return s, nil
	}
	copy(xs.strides, in[0].Strides[:ax])
	copy(xs.strides[ax+len(index):], in[0].Strides[ax+1:])
	copy(is.strides[ax:], in[1].Strides)
	s.in = []access{xs, is}
	return s, nil
}

// collapse drops axes of extent 1 and merges neighbours that every access walks
// as one, so that equal walks of different shapes share a kernel. At least one
// parallel axis stays, and one reduced axis if there was any.
func (s *space) collapse() {
	all := func(f func(*access)) {
		for i := range s.in {
			f(&s.in[i])
		}
		for i := range s.out {
			f(&s.out[i])
		}
	}
	remove := func(i int) {
		s.extents = append(s.extents[:i], s.extents[i+1:]...)
		s.kinds = append(s.kinds[:i], s.kinds[i+1:]...)
		all(func(a *access) { a.strides = append(a.strides[:i], a.strides[i+1:]...) })
	}
	reduced := 0
	for _, k := range s.kinds {
		if k == kernel.Reduced {
			reduced++
		}
	}
	for i := len(s.extents) - 1; i >= 0; i-- {
		if s.extents[i] != 1 {
			continue
		}
		if s.kinds[i] == kernel.Reduced {
			if reduced == 1 { // keep it, walked by nobody, but where the result has it
				stride := int64(0)
				if s.along {
					stride = 1
				}
				all(func(a *access) { a.strides[i] = stride })
				continue
			}
			reduced--
		}
		remove(i)
	}
	for i := len(s.extents) - 2; i >= 0; i-- {
		if s.kinds[i] != s.kinds[i+1] {
			continue
		}
		same := true
		all(func(a *access) { same = same && a.strides[i] == a.strides[i+1]*s.extents[i+1] })
		if same {
			n := s.extents[i]
			s.extents[i+1] *= n
			remove(i)
		}
	}
	for _, k := range s.kinds {
		if k == kernel.Parallel {
			return
		}
	}
	s.extents = append([]int64{1}, s.extents...)
	s.kinds = append([]kernel.AxisKind{kernel.Parallel}, s.kinds...)
	all(func(a *access) { a.strides = append([]int64{0}, a.strides...) })
}

// classes returns the access classes of an argument.
func (a *access) classes() []kernel.Access {
	out := make([]kernel.Access, len(a.strides))
	for i, st := range a.strides {
		switch st {
		case 0:
			out[i] = kernel.Broadcast
		case 1:
			out[i] = kernel.Unit
		}
	}
	return out
}
