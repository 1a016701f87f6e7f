package lower

import "github.com/sinter-go/sinter/kernel"

// access is one operand or result seen from the iteration space: strides per axis.
type access struct {
	offset  int64
	strides []int64
	gather  bool
	// stride and extent of the gathered axis
	gatherStride, gatherExtent int64
}

func equalAccess(a, b *access) bool {
	if a.offset != b.offset || a.gather != b.gather || a.gatherStride != b.gatherStride || a.gatherExtent != b.gatherExtent {
		return false
	}
	for i := range a.strides {
		if a.strides[i] != b.strides[i] {
			return false
		}
	}
	return true
}

// classOf returns the access class of a stride.
func classOf(stride int64) kernel.Access {
	switch stride {
	case 0:
		return kernel.Broadcast
	case 1:
		return kernel.Unit
	}
	return kernel.Strided
}

// classes returns the access classes of an argument.
func (a *access) classes() []kernel.Access {
	out := make([]kernel.Access, len(a.strides))
	for i, st := range a.strides {
		out[i] = classOf(st)
	}
	return out
}

// space is a finished iteration space with everything that walks it: operands,
// results and logical indices.
type space struct {
	extents []int64
	kinds   []kernel.AxisKind
	walks   []*access
	along   bool // a result of a scan or row program has the reduced axes too
}

// collapse drops axes of extent 1 and merges neighbours that every walk takes as
// one, so that equal walks of different shapes share a kernel. At least one
// parallel axis stays, and one reduced axis if there was any.
func (s *space) collapse() {
	remove := func(i int) {
		s.extents = append(s.extents[:i], s.extents[i+1:]...)
		s.kinds = append(s.kinds[:i], s.kinds[i+1:]...)
		for _, a := range s.walks {
			a.strides = append(a.strides[:i], a.strides[i+1:]...)
		}
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
				for _, a := range s.walks {
					a.strides[i] = stride
				}
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
		for _, a := range s.walks {
			same = same && a.strides[i] == a.strides[i+1]*s.extents[i+1]
		}
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
	for _, a := range s.walks {
		a.strides = append([]int64{0}, a.strides...)
	}
}

// order returns the axes of a domain in loop order: those that are kept before the
// last reduced axis, the reduced group, the kept ones inside. What lies inside is
// told by the first node that reduces.
func (e *eval) order() []int {
	inside := make([]bool, len(e.extents))
	if len(e.reducers) > 0 {
		i := e.reducers[0]
		for _, j := range e.reducers {
			i = min(i, j)
		}
		r := e.facts[i].reduction
		for k := range e.steps {
			s := &e.steps[k]
			if s.node != i {
				continue
			}
			at, after := s.at, len(s.at)
			if r.contraction {
				if len(e.nodes[i].In[1].Shape) > 1 {
					after = len(s.at) - 1
				}
			} else {
				at, after = r.kept(s.at, len(e.extents)), 0
				for _, d := range r.axes {
					after = d + 1
				}
			}
			for d := len(at) - 1; d >= 0; d-- {
				for a, c := range at[d][1:] {
					if c != 0 {
						inside[a] = d >= after
					}
				}
			}
			break
		}
	}
	out := make([]int, 0, len(e.extents))
	for a := range e.extents {
		if !e.reduced[a] && !inside[a] {
			out = append(out, a)
		}
	}
	if e.grouped {
		from := len(out)
		f := linearOf(e.domain.group, e.shape, len(e.extents))
		for a := range e.extents {
			if !e.reduced[a] {
				continue
			}
			out = append(out, a)
			for i := len(out) - 1; i > from && f[1+out[i]] > f[1+out[i-1]]; i-- {
				out[i], out[i-1] = out[i-1], out[i]
			}
		}
	}
	for a := range e.extents {
		if !e.reduced[a] && inside[a] {
			out = append(out, a)
		}
	}
	return out
}
