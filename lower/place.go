package lower

import "github.com/sinter-go/sinter/ir"

// store writes a value to a stored result at a map.
type store struct {
	want int // number of the stored result
	at   imap
	source
}

// root is a stored result that an iteration space may start from.
type target struct {
	node, result int
	ir.Tensor
}

// evaluate evaluates all stored results over a domain that started at the result
// number root. An error of type *splitAxis, *cutAxis or *regrouped asks for another
// domain.
func (l *lowering) evaluate(d *domain, root int) (*eval, error) {
	e := &eval{lowering: l, domain: d, memo: make([][]known, len(l.nodes)), steps: make([]step, 0, len(l.nodes))}
	placed := make([]bool, len(l.wanted))
	if err := e.put(root, d.root); err != nil {
		return nil, err
	}
	placed[root] = true
	for {
		e.settle(placed)
		open := -1
		var refusal error
		for w, ok := range placed {
			if ok {
				continue
			}
			ok, err := e.place(w)
			if err != nil {
				return nil, err
			}
			if ok {
				placed[w], open = true, w
				break
			}
			refusal = &Refusal{Rule: NotCovered, Node: l.wanted[w].node, Limit: float64(l.wanted[w].Shape.Size()),
				Detail: "no map from the iteration space to it is known"}
		}
		if open >= 0 {
			continue
		}
		if len(e.wishes) > 0 {
			return nil, e.makeGroup()
		}
		if refusal != nil && e.whole { // else another piece may cover it
			return nil, refusal
		}
		return e, nil
	}
}

func (e *eval) put(w int, at imap) error {
	v, err := e.value(e.wanted[w].Tensor, at)
	if err == nil {
		e.stores = append(e.stores, store{w, at, v})
	}
	return err
}

// settle stores results at maps at which they are known already.
func (e *eval) settle(placed []bool) {
	for w := range e.wanted {
		if placed[w] {
			continue
		}
		t := &e.wanted[w]
		best := -1
		for k, v := range e.memo[t.node] {
			b, ok := e.image(t.Shape, v.at)
			if !ok {
				continue
			}
			if b.full(t.Shape) {
				best = k
				break
			}
			if best < 0 && !e.whole {
				best = k
			}
		}
		if best >= 0 {
			k := e.memo[t.node][best]
			k.result += t.result
			e.stores = append(e.stores, store{w, k.at, k.source})
			placed[w] = true
		}
	}
}

// place evaluates a result that nothing has evaluated where it can be stored, at
// the map that its shape suggests.
func (e *eval) place(w int) (bool, error) {
	t := &e.wanted[w]
	n := &e.nodes[t.node]
	if n.Row.Access == ir.View { // beside the operand it is a view of
		if p, inside := e.origin(n.In[0].ID); inside {
			v, err := e.view(t.node)
			if err != nil {
				return false, err
			}
			for _, k := range e.memo[p.node] {
				if at, ok := v.push(n, k.at, e.extents); ok {
					if b, ok := e.image(t.Shape, at); ok && (b.full(t.Shape) || !e.whole) {
						return true, e.put(w, at)
					}
				}
			}
		}
	}
	try := func(m imap, shape []int) (bool, error) {
		if sizeOf(shape) != t.Shape.Size() {
			return false, nil
		}
		at, err := regroup(m, shape, t.Shape, e.extents)
		if err == errNotAffine {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if _, ok := e.image(t.Shape, at); !ok {
			return false, nil
		}
		return true, e.put(w, at)
	}
	if ok, err := try(e.domain.root, e.rootShape); ok || err != nil {
		return ok, err
	}
	if !e.grouped {
		return false, nil
	}
	var kept imap
	var shape []int
	for i, f := range e.domain.root {
		if !e.domain.varies(f) {
			kept, shape = append(kept, f), append(shape, e.rootShape[i])
		}
	}
	if ok, err := try(kept, shape); ok || err != nil {
		return ok, err
	}
	for i := range e.steps { // the operand of a reduction
		s := &e.steps[i]
		r, err := e.reduction(s.node)
		if err != nil || r == nil || s.empty || r.contraction {
			continue
		}
		at := r.kept(s.at, len(e.extents))
		element, err := regroup(e.domain.group, e.shape, r.extents, e.extents)
		if err != nil {
			return false, err
		}
		for k, d := range r.axes {
			copy(at[d], element[k])
		}
		return try(at, r.shape)
	}
	return false, nil
}

// region is a part of a tensor: per dimension from low to high in steps.
type region struct {
	low, high, step []int64
}

func (b *region) full(shape ir.Shape) bool {
	for d, n := range shape {
		if b.low[d] != 0 || b.high[d] != int64(n)-1 && n != 0 {
			return false
		}
	}
	return b.size() == int64(shape.Size())
}

func (b *region) size() int64 {
	n := int64(1)
	for d := range b.low {
		n *= (b.high[d]-b.low[d])/b.step[d] + 1
	}
	return n
}

// overlaps reports whether two regions meet.
func (b *region) overlaps(o *region) bool {
	for d := range b.low {
		if b.high[d] < o.low[d] || o.high[d] < b.low[d] || (b.low[d]-o.low[d])%gcd(b.step[d], o.step[d]) != 0 {
			return false
		}
	}
	return true
}

// within reports whether b lies in o.
func (b *region) within(o *region) bool {
	for d := range b.low {
		if b.low[d] < o.low[d] || b.high[d] > o.high[d] || b.step[d]%o.step[d] != 0 || (b.low[d]-o.low[d])%o.step[d] != 0 {
			return false
		}
	}
	return true
}

// image returns the part of a tensor that a map covers; ok is false if it does not
// meet each element of that part once.
func (e *eval) image(shape ir.Shape, m imap) (*region, bool) {
	b := &region{}
	for _, f := range m {
		low, high := f.span(e.extents)
		step := int64(0)
		for a, c := range f[1:] {
			if e.extents[a] > 1 {
				step = gcd(step, abs(c))
			}
		}
		b.low, b.high, b.step = append(b.low, low), append(b.high, high), append(b.step, max(step, 1))
	}
	if e.elements() == 0 {
		return b, shape.Size() == 0
	}
	f := linearOf(m, shape, len(e.extents))
	points := e.rows()
	for _, g := range m {
		if e.domain.varies(g) {
			points = e.elements()
			break
		}
	}
	if points != b.size() {
		return nil, false
	}
	// Distinct points have distinct elements if each coefficient, in ascending
	// order, exceeds what the ones before it span.
	axes := make([]int, 0, len(e.extents))
	for a, c := range f[1:] {
		if e.extents[a] == 1 || points != e.elements() && e.reduced[a] {
			continue
		}
		if c == 0 {
			return nil, false
		}
		axes = append(axes, a)
		for i := len(axes) - 1; i > 0 && abs(f[1+axes[i]]) < abs(f[1+axes[i-1]]); i-- {
			axes[i], axes[i-1] = axes[i-1], axes[i]
		}
	}
	span := int64(0)
	for _, a := range axes {
		if abs(f[1+a]) <= span {
			return nil, false
		}
		span += abs(f[1+a]) * (e.extents[a] - 1)
	}
	return b, true
}

func abs(x int64) int64 { return max(x, -x) }

// cover decides which piece stores which part of each result, so that every
// element is written once. Stores that others make needless are dropped.
func (l *lowering) cover(pieces []*eval) error {
	for w := range l.wanted {
		shape := l.wanted[w].Shape
		var have []*region
		var where []*eval
		for _, e := range pieces {
			for i := range e.stores {
				if s := &e.stores[i]; s.want == w {
					b, ok := e.image(shape, s.at)
					if !ok {
						return &Refusal{Rule: NotCovered, Node: l.wanted[w].node}
					}
					have, where = append(have, b), append(where, e)
				}
			}
		}
		drop := func(e *eval) {
			for i := range e.stores {
				if e.stores[i].want == w {
					e.stores = append(e.stores[:i], e.stores[i+1:]...)
					return
				}
			}
		}
		for i := range have {
			if !have[i].full(shape) {
				continue
			}
			for j := range have {
				if j != i {
					drop(where[j])
				}
			}
			have = have[i : i+1]
			break
		}
		covered := int64(0)
		for i := range have {
			within := false
			for j := 0; j < i && !within; j++ {
				if have[j] == nil || !have[i].overlaps(have[j]) {
					continue
				}
				if within = have[i].within(have[j]); !within {
					return &Refusal{Rule: NotCovered, Node: l.wanted[w].node, Detail: "pieces overlap in it"}
				}
			}
			if within {
				drop(where[i])
				have[i] = nil
				continue
			}
			covered += have[i].size()
		}
		if size := int64(shape.Size()); size > 0 && covered != size {
			return refuse(NotCovered, l.wanted[w].node, covered, size)
		}
	}
	return nil
}

// mayFault reports whether the values of a node can make an error of its result.
func mayFault(n *ir.Node) bool {
	if n.Row.Effects&ir.EffectFault == 0 {
		return false
	}
	return n.Row.Access == ir.Gather || n.Row.ComputeType(n.InTypes(), n.OutTypes()).IsInt()
}

// faults checks that the pieces evaluate every element of a node that may fault: its
// error must not depend on what is fused with it.
func (l *lowering) faults(pieces []*eval) error {
	for i := range l.nodes {
		n := &l.nodes[i]
		if !mayFault(n) {
			continue
		}
		shape := n.Out[0].Shape
		var have []*region
		covered := int64(0)
		for _, e := range pieces {
			for k := range e.steps {
				s := &e.steps[k]
				if s.node != i || !e.needed[k] {
					continue
				}
				b, ok := e.reached(shape, s.at)
				for _, o := range have {
					ok = ok && !b.overlaps(o)
				}
				if ok {
					have, covered = append(have, b), covered+b.size()
				}
				if ok && b.full(shape) {
					covered = int64(shape.Size())
				}
			}
		}
		if size := int64(shape.Size()); covered < size {
			return refuse(FaultHidden, i, covered, size)
		}
	}
	return nil
}

// reached returns the part of a tensor whose elements a map meets, once or often.
func (e *eval) reached(shape ir.Shape, m imap) (*region, bool) {
	c := *e
	d := *e.domain
	c.domain = &d
	d.extents = append([]int64(nil), d.extents...)
	for a := range d.extents {
		used := false
		for _, f := range m {
			used = used || f[1+a] != 0
		}
		if !used && d.extents[a] > 0 {
			d.extents[a] = 1
		}
	}
	return c.image(shape, m)
}
