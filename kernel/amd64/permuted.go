package amd64

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
)

// permuted runs an elementwise kernel whose arguments are adjacent along different
// axes, as a transposition's are, in tiles of two axes: the one along which lanes
// run, and the one along which other arguments are adjacent. Of those, a tile is
// turned into a buffer, or out of one, where lanes find their elements adjacent.
type permuted struct {
	k            *kernel.Kernel // over the axes in order; turned arguments are buffers
	order        []int          // axes of the whole: along and lanes last
	along, lanes int
	turned       []int
	compile      func() *Code
	made         atomic.Pointer[Code] // by compile, to be saved
	pool         sync.Pool            // of *[]byte
}

// A tile has so many elements along the two axes. Buffers then fit into the
// second-level cache, and a call takes a microsecond or more.
const (
	turnAlong = 64
	turnLanes = 256
	// Below these extents the blocks of a transposition are few.
	permutedAlong = 8
	permutedLanes = 16
)

// newPermuted returns the tiled form of a kernel whose lanes run along an axis, nil
// if that would not help.
func newPermuted(k *kernel.Kernel, lanes int, level Level) *permuted {
	if from, to := k.ReducedAxes(); from != to || lanes < 0 || len(k.Axes) < 2 {
		return nil
	}
	best := &permuted{}
	for axis := range k.Axes {
		p := &permuted{along: axis, lanes: lanes}
		for i, a := range k.Args {
			if size := a.Type.Size(); !a.Gather && (size == 4 || size == 8) && a.Access[lanes] == kernel.Strided && a.Access[axis] == kernel.Unit {
				p.turned = append(p.turned, i)
			}
		}
		if len(p.turned) > len(best.turned) {
			best = p
		}
	}
	p := best
	if len(p.turned) == 0 {
		return nil
	}
	place := make([]int, len(k.Axes)) // of an axis of the whole
	for axis := range k.Axes {
		if axis != p.along && axis != p.lanes {
			place[axis] = len(p.order)
			p.order = append(p.order, axis)
		}
	}
	place[p.along], place[p.lanes] = len(p.order), len(p.order)+1
	p.order = append(p.order, p.along, p.lanes)

	out := *k
	out.Args, out.Body = slices.Clone(k.Args), slices.Clone(k.Body)
	for i := range out.Args {
		access := make([]kernel.Access, len(p.order))
		for at, axis := range p.order {
			access[at] = k.Args[i].Access[axis]
			if slices.Contains(p.turned, i) {
				access[at] = [...]kernel.Access{kernel.Broadcast, kernel.Strided, kernel.Unit}[max(0, at-len(p.order)+3)]
			}
		}
		out.Args[i].Access = access
	}
	for i := range out.Body {
		if in := &out.Body[i]; in.Op == kernel.OpIndex || in.Op == kernel.OpExtent {
			in.Imm = uint64(place[in.Imm])
		}
	}
	p.k = &out
	p.compile = sync.OnceValue(func() *Code {
		q, err := generate(p.k, level, false)
		if err != nil || q.vAxis != len(p.order)-1 {
			return nil
		}
		c, err := load(q)
		if err != nil {
			return nil
		}
		c.nest, c.permuted = nil, nil
		p.made.Store(c)
		return c
	})
	return p
}

// permuting returns the code that should run a launch in tiles, nil if c should.
func (c *Code) permuting(l *kernel.Launch) *Code {
	p := c.permuted
	if p == nil || l.Extents[p.along] < permutedAlong || l.Extents[p.lanes] < permutedLanes {
		return nil
	}
	return p.compile()
}

// run executes a launch with the code s, and reports whether data was at fault.
func (p *permuted) run(s *Code, l *kernel.Launch) (fault bool) {
	axes := len(p.order)
	in := &kernel.Launch{Extents: make([]int64, axes), Start: make([]int64, axes), Full: make([]int64, axes), Params: l.Params,
		Args: slices.Clone(l.Args)}
	full := l.Full
	if full == nil {
		full = l.Extents
	}
	for at, axis := range p.order {
		in.Extents[at], in.Full[at] = 1, full[axis]
	}
	bytes := func(i int) int { return (turnAlong*turnLanes*p.k.Args[i].Type.Size() + 63) &^ 63 }
	need := 0
	for _, i := range p.turned {
		need += bytes(i)
	}
	buf, ok := p.pool.Get().(*[]byte)
	if !ok {
		b := aligned(need)
		buf = &b
	}
	defer p.pool.Put(buf)
	for i := range in.Args {
		o := &in.Args[i]
		strides := make([]int64, axes)
		for at, axis := range p.order {
			strides[at] = l.Args[i].Strides[axis]
		}
		o.Strides = strides
	}
	at := 0
	for _, i := range p.turned {
		o := &in.Args[i]
		clear(o.Strides)
		o.Strides[axes-2], o.Strides[axes-1] = turnLanes, 1
		o.Base, o.Size, o.Offset = unsafe.Pointer(&(*buf)[at]), int64(bytes(i)), 0
		at += bytes(i)
	}
	idx := make([]int64, axes) // along the axes of the whole
	for {
		for idx[p.along] = 0; idx[p.along] < l.Extents[p.along]; idx[p.along] += turnAlong {
			for idx[p.lanes] = 0; idx[p.lanes] < l.Extents[p.lanes]; idx[p.lanes] += turnLanes {
				in.Extents[axes-2] = min(turnAlong, l.Extents[p.along]-idx[p.along])
				in.Extents[axes-1] = min(turnLanes, l.Extents[p.lanes]-idx[p.lanes])
				fault = p.tile(s, l, in, idx) || fault
			}
		}
		idx[p.along], idx[p.lanes] = 0, 0
		if !p.next(l, idx) {
			return fault
		}
	}
}

// tile runs the tile at idx.
func (p *permuted) tile(s *Code, l, in *kernel.Launch, idx []int64) (fault bool) {
	axes := len(p.order)
	for at, axis := range p.order {
		in.Start[at] = idx[axis]
		if l.Start != nil {
			in.Start[at] += l.Start[axis]
		}
	}
	next := 0 // of turned
	for i := range l.Args {
		if next < len(p.turned) && p.turned[next] == i {
			next++
			continue
		}
		in.Args[i].Offset = offsetAt(&l.Args[i], idx)
	}
	along, lanes := in.Extents[axes-2], in.Extents[axes-1]
	for _, dir := range []kernel.Direction{kernel.In, kernel.Out} {
		if dir == kernel.Out {
			fault = s.run(in)
		}
		for _, i := range p.turned {
			o, a := &l.Args[i], &p.k.Args[i]
			if a.Dir != dir {
				continue
			}
			size := a.Type.Size()
			at, row, stride := unsafe.Add(o.Base, offsetAt(o, idx)*int64(size)), int64(turnLanes*size), o.Strides[p.lanes]*int64(size)
			if dir == kernel.In {
				transpose(in.Args[i].Base, row, at, stride, lanes, along, size)
			} else {
				transpose(at, stride, in.Args[i].Base, row, along, lanes, size)
			}
		}
	}
	return fault
}

// next steps through the axes outside of tiles.
func (p *permuted) next(l *kernel.Launch, idx []int64) bool {
	for at := len(p.order) - 3; at >= 0; at-- {
		axis := p.order[at]
		if idx[axis]++; idx[axis] < l.Extents[axis] {
			return true
		}
		idx[axis] = 0
	}
	return false
}
