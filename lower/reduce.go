package lower

import "github.com/sinter-go/sinter/ir"

// reduce evaluates a node that reduces: its operands over the rows of the map and
// the reduced axes of the domain. While the group is not known it only notes the
// wish, and met is false.
func (e *eval) reduce(s *step, i int, m imap) (met bool, err error) {
	n := &e.nodes[i]
	r, err := e.reduction(i)
	if err != nil {
		return false, err
	}
	if r.count == 0 {
		s.empty = true
		return true, nil
	}
	if !e.grouped {
		e.wishes = append(e.wishes, wish{i, m})
		return false, nil
	}
	if have := sizeOf(e.shape); r.count != have {
		return false, refuse(AnotherGroup, i, int64(r.count), int64(have))
	}
	if err := e.beside(i, r); err != nil {
		return false, err
	}
	element, err := regroup(e.domain.group, e.shape, r.extents, e.extents)
	if err != nil {
		return false, err
	}
	if r.along {
		for k, d := range r.axes {
			if !(imap{m[d]}).equal(imap{element[k]}) {
				return false, &Refusal{Rule: AlongAnother, Node: i}
			}
		}
	}
	if r.contraction {
		if err := e.perRow(i, m, n.Out[0].Shape.Size()); err != nil {
			return false, err
		}
		x, z := e.contracted(n, m, element[0])
		if err := e.operand(s, n.In[0], x); err != nil {
			return false, err
		}
		return true, e.operand(s, n.In[1], z)
	}
	at := r.kept(m, len(e.extents))
	if err := e.perRow(i, at, r.shape.Size()/r.count); err != nil {
		return false, err
	}
	for k, d := range r.axes {
		copy(at[d], element[k])
	}
	for _, t := range n.In {
		if err := e.operand(s, t, e.broadcast(t.Shape, at)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// beside checks a reduction against those that are there already. Sums share one
// tree, and a contraction is the only reduction of its kernel.
func (e *eval) beside(i int, r *reduction) error {
	for j := range e.reducers {
		o, _ := e.reduction(e.reducers[j])
		switch {
		case r.contraction && e.reducers[j] == i:
			return refuse(Recomputed, i, 2, 1)
		case r.contraction || o.contraction:
			return &Refusal{Rule: NotAlone, Node: i}
		case r.sums && o.sums && r.tree != o.tree:
			return &Refusal{Rule: MixedTrees, Node: i, Detail: r.tree.String() + " and " + o.tree.String()}
		}
	}
	e.reducers = append(e.reducers, i)
	return nil
}

// perRow checks that a reduction is computed once per row of the domain: its kept
// coordinates run over all parallel axes and over no reduced one.
func (e *eval) perRow(i int, at imap, size int) error {
	rows := e.rows()
	if rows == 0 {
		return nil
	}
	used := make([]bool, len(e.extents))
	for _, f := range at {
		for a, c := range f[1:] {
			if c == 0 || e.extents[a] == 1 {
				continue
			}
			if e.reduced[a] {
				return &Refusal{Rule: RowVaries, Node: i}
			}
			used[a] = true
		}
	}
	for a, ok := range used {
		if !ok && !e.reduced[a] {
			return refuse(RowSpread, i, rows, int64(size))
		}
	}
	if rows > int64(size) {
		return refuse(RowSpread, i, rows, int64(size))
	}
	return nil
}

// contracted maps the operands of a contraction.
func (e *eval) contracted(n *ir.Node, m imap, k form) (x, z imap) {
	xs, zs := n.In[0].Shape, n.In[1].Shape
	hasM, hasN := len(xs) > 1, len(zs) > 1
	batch := len(m)
	if hasM {
		batch--
	}
	if hasN {
		batch--
	}
	over := func(shape ir.Shape) imap {
		out := newMap(len(shape), len(e.extents))
		if len(shape) > 2 {
			copy(out, e.broadcast(shape[:len(shape)-2], m[:batch]))
		}
		return out
	}
	x, z = over(xs), over(zs)
	copy(x[len(xs)-1], k)
	copy(z[max(len(zs)-2, 0)], k)
	if hasM {
		copy(x[len(xs)-2], m[batch])
	}
	if hasN {
		copy(z[len(zs)-1], m[len(m)-1])
	}
	return x, z
}

// regrouped asks for the evaluation to start again over another domain.
type regrouped struct{ *domain }

func (*regrouped) Error() string { return "the reduced group is known now" }

// makeGroup declares the reduced group, which the wishes tell: the axes on which no
// reduction depends, if there are any (the root runs along the group); else axes
// of its own. It always returns an error: a refusal, or the domain to start again
// over.
func (e *eval) makeGroup() error {
	first, _ := e.reduction(e.wishes[0].node)
	used := make([]bool, len(e.extents))
	var order *wish // one that fixes the order of the group
	for w := range e.wishes {
		i, m := e.wishes[w].node, e.wishes[w].at
		r, err := e.reduction(i)
		if err != nil {
			return err
		}
		if r.count != first.count {
			return refuse(AnotherGroup, i, int64(r.count), int64(first.count))
		}
		if r.along && order == nil {
			order = &e.wishes[w]
		}
		if !r.contraction {
			m = r.kept(m, len(e.extents))
		}
		for _, f := range m {
			for a, c := range f[1:] {
				used[a] = used[a] || c != 0
			}
		}
	}
	var free []int
	points := int64(1)
	for a, ok := range used {
		if !ok {
			free = append(free, a)
			points *= e.extents[a]
		}
	}
	c := e.rewrite(func(f form) form { return append(form(nil), f...) })
	c.grouped = true
	if len(free) == 0 {
		for _, n := range first.extents {
			if n != 1 {
				c.shape = append(c.shape, n)
			}
		}
		if len(c.shape) == 0 {
			c.shape = []int{1}
		}
		for _, n := range c.shape {
			free = append(free, c.append(int64(n)))
		}
	} else {
		if points != int64(first.count) {
			return refuse(RowSpread, e.wishes[0].node, points, int64(first.count))
		}
		if order != nil {
			again, err := e.orderAlong(order, free)
			if err != nil || again != nil {
				if err == nil {
					err = &regrouped{again}
				}
				return err
			}
		} else {
			orderLike(free, first.extents, c.extents)
		}
		for _, a := range free {
			c.reduced[a] = true
			c.shape = append(c.shape, int(c.extents[a]))
		}
	}
	c.group = newMap(len(c.shape), len(c.extents))
	for k, a := range free {
		c.group[k][1+a] = 1
	}
	return &regrouped{c}
}

// orderAlong sorts the axes of the group as a scan or row program runs along them.
// An axis that it runs along backwards is turned round first: again is not nil.
func (e *eval) orderAlong(w *wish, free []int) (again *domain, err error) {
	r, _ := e.reduction(w.node)
	refusal := &Refusal{Rule: AlongAnother, Node: w.node}
	var at imap
	for _, d := range r.axes {
		at = append(at, w.at[d])
	}
	f := linearOf(at, r.extents, len(e.extents))
	for _, a := range free {
		if f[1+a] < 0 {
			return e.flip(a), nil
		}
	}
	for i := range free {
		for j := i; j > 0 && f[1+free[j]] > f[1+free[j-1]]; j-- {
			free[j], free[j-1] = free[j-1], free[j]
		}
	}
	stride := int64(1)
	for i := len(free) - 1; i >= 0; i-- {
		if f[1+free[i]] != stride {
			return nil, refusal
		}
		f[1+free[i]] = 0
		stride *= e.extents[free[i]]
	}
	for _, c := range f {
		if c != 0 {
			return nil, refusal
		}
	}
	return nil, nil
}

// orderLike sorts axes so that their extents are those of a group, if that can be:
// then no axis has to be split. Any order is right.
func orderLike(free []int, group []int, extents []int64) {
	k := 0
	for _, n := range group {
		if n == 1 {
			continue
		}
		for j := k; j < len(free); j++ {
			if extents[free[j]] == int64(n) {
				a := free[j]
				copy(free[k+1:j+1], free[k:j])
				free[k] = a
				k++
				break
			}
		}
	}
}
