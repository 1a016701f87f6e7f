package lower

import (
	"errors"

	"github.com/sinter-go/sinter/ir"
)

// source says where a value comes from: a load, or a result of a step.
type source struct {
	load         int // -1 for the result of a step
	step, result int
}

// load is a tensor from outside, read at a map.
type load struct {
	tensor ir.ID
	dtype  ir.DType
	access
}

// step is one emission of the body of a node, at one map.
type step struct {
	node   int
	at     imap // of the result
	in     []source
	linear form // the logical index of the element, if the body asks for it
	empty  bool // a reduction of nothing
	varies bool // computed per element of the reduced group
}

// known is a value at a map.
type known struct {
	at imap
	source
}

// wish is a reduction met before the reduced group is known.
type wish struct {
	node int
	at   imap
}

// eval evaluates the nodes over one domain: the steps in the order in which they
// were found, operands first.
type eval struct {
	*lowering
	*domain
	steps    []step
	loads    []load
	memo     [][]known // per node, result 0; of others the step is the same
	wishes   []wish
	stores   []store
	needed   []bool // steps that serve a stored result
	reducers []int  // nodes of the steps that reduce
}

// refuse makes a refusal at a node.
func refuse(rule Rule, node int, got, limit int64) error {
	return &Refusal{Rule: rule, Node: node, Got: float64(got), Limit: float64(limit)}
}

// value returns a tensor's element with coordinates m.
func (e *eval) value(t ir.Tensor, m imap) (source, error) {
	p, inside := e.origin(t.ID)
	if !inside {
		return e.load(t, m, e.extents, -1), nil
	}
	for _, k := range e.memo[p.node] {
		if k.at.equal(m) {
			k.result += p.result
			return k.source, nil
		}
	}
	if k := e.memo[p.node]; len(k) > 0 && e.constant(p.node) { // the same at any map
		e.memo[p.node] = append(k, known{m, k[0].source})
		s := k[0].source
		s.result += p.result
		return s, nil
	}
	s, err := e.compute(p.node, m)
	if err != nil {
		if errors.Is(err, errNotAffine) {
			err = &Refusal{Rule: NotAffine, Node: p.node}
		}
		return source{}, err
	}
	e.memo[p.node] = append(e.memo[p.node], known{m, s})
	s.result += p.result
	return s, nil
}

// compute evaluates a node at a map of its results.
func (e *eval) compute(i int, m imap) (source, error) {
	n := &e.nodes[i]
	switch n.Row.Access {
	case ir.View:
		v, err := e.view(i)
		if err != nil {
			return source{}, err
		}
		at, err := v.pull(n, m, e.extents)
		if err != nil {
			return source{}, err
		}
		return e.value(n.In[0], at)
	case ir.Join:
		return e.join(i, m)
	}
	s := step{node: i, at: m, in: make([]source, 0, len(n.In))}
	switch n.Row.Access {
	case ir.Elementwise, ir.Random:
		for _, t := range n.In {
			if err := e.operand(&s, t, e.broadcast(t.Shape, m)); err != nil {
				return source{}, err
			}
		}
		if e.usesIndex(i) {
			s.linear = linearOf(m, n.Out[0].Shape, len(e.extents))
		}
	case ir.Gather:
		if err := e.gather(&s, i, m); err != nil {
			return source{}, err
		}
	case ir.Reduce, ir.Scan, ir.Contraction:
		if met, err := e.reduce(&s, i, m); !met || err != nil {
			return source{load: -1, step: -1}, err
		}
	default:
		return source{}, &Refusal{Rule: NotLowered, Node: i, Detail: n.Row.Name}
	}
	for _, f := range m {
		s.varies = s.varies || e.domain.varies(f)
	}
	if len(e.steps) >= maxSteps {
		return source{}, refuse(Recomputed, i, int64(len(e.steps)+1), maxSteps)
	}
	e.steps = append(e.steps, s)
	return source{load: -1, step: len(e.steps) - 1}, nil
}

// constant reports whether all elements of a node are one value.
func (l *lowering) constant(i int) bool {
	return len(l.nodes[i].In) == 0 && l.nodes[i].Row.Access == ir.Elementwise && !l.usesIndex(i)
}

func (e *eval) operand(s *step, t ir.Tensor, at imap) error {
	v, err := e.value(t, at)
	s.in = append(s.in, v)
	return err
}

// broadcast maps the last dimensions of m to a tensor that broadcasts to them. Maps
// are not changed once they are made, so it may be m itself.
func (e *eval) broadcast(shape ir.Shape, m imap) imap {
	off := len(m) - len(shape)
	m = m[off:]
	same := true
	for d, n := range shape {
		same = same && (n != 1 || m[d].zero())
	}
	if same {
		return m
	}
	out := newMap(len(shape), len(e.extents))
	for d, n := range shape {
		if n != 1 {
			copy(out[d], m[d])
		}
	}
	return out
}

func linearOf(m imap, shape ir.Shape, axes int) form {
	f := newMap(1, axes)[0]
	for d, st := range shape.Strides() {
		f.add(st, m[d])
	}
	return f
}

// load reads a tensor from outside. Axes from gather on, if that is not -1, are
// the gathered one.
func (e *eval) load(t ir.Tensor, m imap, extents []int64, gather int) source {
	l := e.layouts(t.ID)
	f := newMap(1, len(extents))[0]
	for d, st := range l.Strides {
		f.add(st, m[d])
	}
	a := access{offset: l.Offset + f[0], strides: f[1:]}
	if gather >= 0 {
		a.gather, a.gatherStride, a.gatherExtent = true, f[1+gather], extents[gather]
		a.strides = f[1 : 1+gather : 1+gather]
	}
	for i := range e.loads {
		if e.loads[i].tensor == t.ID && equalAccess(&e.loads[i].access, &a) {
			return source{load: i}
		}
	}
	e.loads = append(e.loads, load{t.ID, t.DType, a})
	return source{load: len(e.loads) - 1}
}

// gather reads the first operand, which comes from outside, where the second says.
// The gathered coordinate is one more axis behind those of the domain.
func (e *eval) gather(s *step, i int, m imap) error {
	n := &e.nodes[i]
	x, index := n.In[0], n.In[1]
	ax, err := ir.Axis(int(n.Attr("axis").Int), len(x.Shape))
	if err != nil {
		return err
	}
	last := len(e.extents)
	at := newMap(len(x.Shape), last+1)
	var where imap
	if n.Row.Aligned {
		for d, f := range e.broadcast(x.Shape, m) {
			if d != ax {
				copy(at[d], f)
			}
		}
		where = e.broadcast(index.Shape, m)
	} else {
		for d := range x.Shape {
			switch {
			case d < ax:
				copy(at[d], m[d])
			case d > ax:
				copy(at[d], m[d+len(index.Shape)-1])
			}
		}
		where = m[ax : ax+len(index.Shape)]
	}
	if x.Shape[ax] != 1 {
		at[ax][1+last] = 1
	}
	extents := append(e.extents[:last:last], int64(x.Shape[ax]))
	for {
		p, inside := e.origin(x.ID)
		if !inside {
			break
		}
		v := &e.nodes[p.node]
		if v.Row.Access != ir.View {
			return &Refusal{Rule: GatherComputed, Node: i, Detail: v.Row.Name}
		}
		view, err := e.view(p.node)
		if err != nil {
			return err
		}
		if at, err = view.pull(v, at, extents); err != nil {
			if split, ok := err.(*splitAxis); ok && split.axis == last {
				err = errNotAffine
			}
			return err
		}
		x = v.In[0]
	}
	s.in = append(s.in, e.load(x, at, extents, last))
	return e.operand(s, index, where)
}

// join evaluates the operand that the map leads to, the last one if several cover
// each other. Where the map leads to more than one, the domain has to be cut.
func (e *eval) join(i int, m imap) (source, error) {
	n := &e.nodes[i]
	boxes, err := e.boxes(i)
	if err != nil {
		return source{}, err
	}
next:
	for j := len(boxes) - 1; j >= 0; j-- {
		b := boxes[j]
		if b == nil {
			continue
		}
		edge, at := -1, int64(0)
		for d, f := range m {
			low, high := f.span(e.extents)
			end := b.low[d] + b.n[d]
			switch {
			case high < b.low[d] || low >= end:
				continue next
			case low < b.low[d]:
				edge, at = d, b.low[d]
			case high >= end:
				edge, at = d, end
			}
		}
		if edge >= 0 {
			if c, ok := e.separate(m[edge], at); ok {
				return source{}, c
			}
			if e.domain.varies(m[edge]) {
				return source{}, &Refusal{Rule: JoinAlongGroup, Node: i}
			}
			return source{}, errNotAffine
		}
		x := newMap(len(n.In[j].Shape), len(e.extents))
		for d, f := range m {
			if o := b.dim[d]; o >= 0 {
				x[o].add(b.sign[d], f)
				if b.sign[d] > 0 {
					x[o][0] -= b.low[d]
				} else {
					x[o][0] += b.low[d] + b.n[d] - 1
				}
			}
		}
		return e.value(n.In[j], x)
	}
	if e.elements() == 0 { // nothing is read
		for j, b := range boxes {
			if b != nil {
				return e.value(n.In[j], newMap(len(n.In[j].Shape), len(e.extents)))
			}
		}
		return e.value(n.In[0], newMap(len(n.In[0].Shape), len(e.extents)))
	}
	return source{}, ir.Errorf(ir.ErrInternal, "%s does not cover its result", n.Row.Name)
}
