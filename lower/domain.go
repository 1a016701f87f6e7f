package lower

// domain is an iteration space while it is being found: axes of extents other than
// 1, and the coordinates of the root, which the axes started from. Axes are split,
// cut, turned round and declared reduced until every map is affine over them.
type domain struct {
	extents []int64
	reduced []bool
	root    imap // coordinates of the root
	whole   bool // not a part of a domain that was cut

	// Once the reduced group is known: its extents in logical order, and the
	// coordinates of an element of the group, over the reduced axes.
	grouped bool
	shape   []int
	group   imap
}

// startDomain has an axis for each dimension of the root.
func startDomain(shape []int) *domain {
	d := &domain{whole: true}
	for _, n := range shape {
		if n != 1 {
			d.extents = append(d.extents, int64(n))
		}
	}
	d.reduced = make([]bool, len(d.extents))
	d.root = newMap(len(shape), len(d.extents))
	a := 0
	for i, n := range shape {
		if n != 1 {
			d.root[i][1+a] = 1
			a++
		}
	}
	return d
}

// rewrite returns a copy of the domain whose forms f has changed. f gets a form and
// returns a new one.
func (d *domain) rewrite(f func(form) form) *domain {
	c := *d
	c.extents = append([]int64(nil), d.extents...)
	c.reduced = append([]bool(nil), d.reduced...)
	each := func(m imap) imap {
		out := make(imap, len(m))
		for i := range m {
			out[i] = f(m[i])
		}
		return out
	}
	c.root, c.group = each(d.root), each(d.group)
	return &c
}

// split makes an axis two.
func (d *domain) split(s *splitAxis) *domain {
	a := s.axis
	c := d.rewrite(func(f form) form {
		out := append(make(form, 0, len(f)+1), f[:a+1]...)
		out = append(out, f[a+1]*s.inner, f[a+1])
		return append(out, f[a+2:]...)
	})
	c.extents = append(c.extents[:a], append([]int64{d.extents[a] / s.inner, s.inner}, d.extents[a+1:]...)...)
	c.reduced = append(c.reduced[:a], append([]bool{d.reduced[a], d.reduced[a]}, d.reduced[a+1:]...)...)
	return c.tidy()
}

// cut makes two parts of the domain along a parallel axis.
func (d *domain) cut(s *cutAxis) (low, high *domain) {
	same := func(f form) form { return append(form(nil), f...) }
	low, high = d.rewrite(same), d.rewrite(same)
	low.extents[s.axis] = s.at
	high.extents[s.axis] -= s.at
	for _, m := range []imap{high.root, high.group} {
		for _, f := range m {
			f[0] += s.at * f[1+s.axis]
		}
	}
	low.whole, high.whole = false, false
	return low.tidy(), high.tidy()
}

// flip turns an axis round.
func (d *domain) flip(a int) *domain {
	return d.rewrite(func(f form) form {
		out := append(form(nil), f...)
		out[0] += out[1+a] * (d.extents[a] - 1)
		out[1+a] = -out[1+a]
		return out
	})
}

// tidy drops axes of extent 1.
func (d *domain) tidy() *domain {
	for a := len(d.extents) - 1; a >= 0; a-- {
		if d.extents[a] == 1 && !d.reduced[a] {
			d.drop(a)
		}
	}
	return d
}

func (d *domain) drop(a int) {
	d.extents = append(d.extents[:a], d.extents[a+1:]...)
	d.reduced = append(d.reduced[:a], d.reduced[a+1:]...)
	for _, m := range []imap{d.root, d.group} {
		for i, f := range m {
			m[i] = append(f[:a+1], f[a+2:]...)
		}
	}
}

// append adds a reduced axis and returns its number.
func (d *domain) append(extent int64) int {
	for _, m := range []imap{d.root, d.group} {
		for i, f := range m {
			m[i] = append(f[:len(f):len(f)], 0)
		}
	}
	d.extents = append(d.extents, extent)
	d.reduced = append(d.reduced, true)
	return len(d.extents) - 1
}

// varies reports whether a form depends on reduced axes.
func (d *domain) varies(f form) bool {
	for a, r := range d.reduced {
		if r && f[1+a] != 0 {
			return true
		}
	}
	return false
}

// rows returns the number of points of the parallel axes, elements that of all.
func (d *domain) rows() int64 {
	n := int64(1)
	for a, e := range d.extents {
		if !d.reduced[a] {
			n *= e
		}
	}
	return n
}

func (d *domain) elements() int64 {
	n := int64(1)
	for _, e := range d.extents {
		n *= e
	}
	return n
}
