package contract

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// walk is an elementwise part bound to a launch of the whole: it runs over ranges
// of two spans, at one place of the loops.
type walk struct {
	*part
	code    *amd64.Code
	l       *kernel.Launch // of the whole
	strides [][]int64      // of the arguments without the block, by axis of the part
	spans   [2]span        // axes numbered in the part, merged where all arguments allow it
	steps   [2]int64       // of the block, in elements
	block   []int64        // strides of the block, by axis of the part
	loops   []int          // axis of the part for each axis of the loops, or -1
	params  []uint64
	fault   *kernel.Fault
}

// newWalk binds a part to a launch. The spans are those of the whole; steps says
// how the block lies. It returns nil if there is no code.
func (p *part) newWalk(of *problem, spans [2]span, steps [2]int64) *walk {
	l, loops := of.l, of.loops
	w := &walk{part: p, code: p.compile(), l: l, steps: steps, params: l.Params, fault: of.fault}
	if w.code == nil {
		return nil
	}
	for _, a := range p.Args {
		s := make([]int64, len(p.Axes))
		for i, axis := range p.Axes {
			s[i] = l.Args[a].Strides[axis]
		}
		w.strides = append(w.strides, s)
	}
	w.block = make([]int64, len(p.Axes))
	for i, s := range spans {
		mine := span{extents: slices.Clone(s.extents)}
		for _, axis := range s.axes {
			mine.axes = append(mine.axes, slices.Index(p.Axes, axis))
		}
		mine.linear(steps[i], w.block)
		w.spans[i] = w.merge(mine)
	}
	for _, axis := range loops.axes {
		w.loops = append(w.loops, slices.Index(p.Axes, axis))
	}
	if len(p.Extents) > 0 {
		full := l.Full
		if full == nil {
			full = l.Extents
		}
		w.params = slices.Clone(l.Params)
		for _, axis := range p.Extents {
			w.params = append(w.params, uint64(full[axis]))
		}
	}
	return w
}

// merge joins neighbours of a span that every argument walks as one, so that ranges
// of it are fewer and larger boxes. The block walks the whole span as one.
func (w *walk) merge(s span) span {
	for i := len(s.axes) - 2; i >= 0; i-- {
		outer, inner := s.axes[i], s.axes[i+1]
		ok := !w.Indexed[outer] && !w.Indexed[inner]
		for _, st := range w.strides {
			ok = ok && st[outer] == st[inner]*s.extents[i+1]
		}
		if ok {
			s.extents[i+1] *= s.extents[i]
			s.axes = slices.Delete(s.axes, i, i+1)
			s.extents = slices.Delete(s.extents, i, i+1)
		}
	}
	return s
}

// run executes the part over [from, to) of its spans; the block at base holds just
// that. at are the coordinates of the loops.
func (w *walk) run(base unsafe.Pointer, size int64, at []int64, from, to [2]int64) {
	r, _ := w.runs.Get().(*kernel.Launch)
	if r == nil {
		n := len(w.Axes)
		r = &kernel.Launch{Extents: make([]int64, n), Start: make([]int64, n), Full: make([]int64, n)}
		r.Args = make([]kernel.Operand, len(w.strides)+1)
	}
	full := w.l.Full
	if full == nil {
		full = w.l.Extents
	}
	for i, axis := range w.Axes {
		r.Full[i] = full[axis]
	}
	r.Params, r.Fault = w.params, w.fault
	last := len(w.strides)
	for i, a := range w.Args {
		r.Args[i] = w.l.Args[a]
		r.Args[i].Strides = w.strides[i]
	}
	r.Args[last] = kernel.Operand{Base: base, Size: size, Strides: w.block}
	w.spans[0].boxes(from[0], to[0], func(start0, extents0 []int64) {
		w.spans[1].boxes(from[1], to[1], func(start1, extents1 []int64) {
			for i := range r.Extents {
				r.Extents[i], r.Start[i] = 1, 0
			}
			for i, axis := range w.loops {
				if axis >= 0 {
					r.Start[axis] = at[i]
				}
			}
			for i, axis := range w.spans[0].axes {
				r.Extents[axis], r.Start[axis] = extents0[i], start0[i]
			}
			for i, axis := range w.spans[1].axes {
				r.Extents[axis], r.Start[axis] = extents1[i], start1[i]
			}
			for i := range r.Args {
				o := &r.Args[i]
				o.Offset = 0
				if i < last {
					o.Offset = w.l.Args[w.Args[i]].Offset
				} else {
					o.Offset = -from[0]*w.steps[0] - from[1]*w.steps[1]
				}
				for axis, s := range o.Strides {
					o.Offset += r.Start[axis] * s
				}
			}
			if w.l.Start != nil {
				for i, axis := range w.Axes {
					r.Start[i] += w.l.Start[axis]
				}
			}
			w.code.Run(r)
		})
	})
	clear(r.Args)
	r.Params, r.Fault = nil, nil
	w.runs.Put(r)
}
