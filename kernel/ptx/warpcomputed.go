package ptx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/kernel"
)

// warpComputed computes an operand on its way to a slab, as codes with scales are: what is
// read is what lies in memory, and each element is computed once, as the lines are the many
// of a thin product. The elements of a thread's vectors are neighbours along the last axis of
// the group. What they are computed from is in registers some slabs ahead: see [heldSlab].
type warpComputed struct {
	*warpEmitter
	slabPart
	value  kernel.Ref
	refs   []kernel.Ref // what it is computed from
	loads  []kernel.Ref // those that are read for each slab
	once   []kernel.Ref // and those that are read for all of them
	steady []map[kernel.Ref][]reg
	axis   int         // of the lines, -1 if there is none
	inner  int         // the last axis of the group
	step   reg         // of the thread's vectors in a slab, 32 bits
	at     reg         // step of the group where they are in the slab to be read next, 32 bits
	last   reg         // step of the last vector of the group: what lies behind it is read there
	left   reg         // steps from the thread's vectors on in the slab to be put next, none or less behind the group
	room   reg         // lines from the thread's first one on that there are, "" if all are there
	from   map[int]reg // address in that line, by argument
	apart  map[int]reg // and bytes from one of its lines to the next
}

// heldSlab is what a thread has read for a slab, by vector.
type heldSlab []map[kernel.Ref][]reg

const (
	heldWords = 48 // registers for what is held, which leaves room for two blocks and more
	heldMost  = 4  // slabs
)

func (e *warpEmitter) newWarpComputed(s *warpSide) *warpComputed {
	c := &warpComputed{warpEmitter: e, slabPart: e.newSlabPart(s), value: e.k.Body[[]kernel.Ref{e.p.x, e.p.z}[s.number]].A,
		inner: e.p.reduced[len(e.p.reduced)-1], axis: -1, from: map[int]reg{}, apart: map[int]reg{}}
	if axes := [][]int{e.p.rows, e.p.cols}[s.number]; len(axes) > 0 {
		c.axis = axes[0]
	}
	c.refs = e.upTo(c.value)
	c.step = e.to(b32, "mul.lo.u32", c.vector, fmt.Sprint(copyHalves))
	c.at = e.to(b32, "mov.b32", c.step)
	group := e.to(b32, "cvt.u32.u64", e.group)
	c.last = e.to(b32, "sub.u32", group, fmt.Sprint(copyHalves))
	c.left = e.to(b32, "sub.u32", group, c.step)
	first := e.to(b64, "add.s64", s.origin, e.to(b64, "cvt.u64.u32", c.row))
	if !e.f.full {
		first = e.to(b64, "min.s64", first, e.to(b64, "sub.s64", s.extent, "1"))
		c.room = e.to(b32, "cvt.u32.u64", e.to(b64, "sub.s64", s.extent, first))
	}
	for _, r := range e.loadsOf(c.refs) {
		arg := int(e.k.Body[r].Imm)
		if slices.ContainsFunc(e.p.reduced, func(axis int) bool { return e.k.Args[arg].Access[axis] != kernel.Broadcast }) {
			c.loads = append(c.loads, r)
		} else {
			c.once = append(c.once, r)
		}
		if _, ok := c.from[arg]; ok {
			continue
		}
		c.from[arg] = e.ptr[arg]
		if c.moves(arg) {
			c.from[arg] = e.shifted(e.ptr[arg], arg, c.axis, first)
			c.apart[arg] = e.strideTimes(arg, c.axis, c.by)
		}
	}
	return c
}

// readOnce reads what does not move along the group.
func (c *warpComputed) readOnce() {
	for _, t := range c.read(c.once, make([]reg, len(c.k.Axes))) {
		c.steady = append(c.steady, t.vals)
	}
}

// moves reports whether an argument moves from line to line.
func (c *warpComputed) moves(arg int) bool {
	return c.axis >= 0 && c.k.Args[arg].Access[c.axis] != kernel.Broadcast
}

// held is how many slabs are in registers.
func (c *warpComputed) held() int {
	words := 0
	for _, r := range c.loads {
		in, n := &c.k.Body[r], 1
		if c.k.Args[in.Imm].Access[c.inner] != kernel.Broadcast {
			n = copyHalves * max(1, in.Type.Size()) / 4
		}
		if c.moves(int(in.Imm)) {
			n *= c.count
		}
		words += n
	}
	return max(1, min(heldMost, heldWords/max(1, words)))
}

// next begins to read what the next slab is computed from.
func (c *warpComputed) next() []*tile {
	idx := make([]reg, len(c.k.Axes))
	c.decodeWide(c.to(b64, "cvt.u64.u32", c.to(b32, "min.u32", c.at, c.last)), c.p.reduced, idx)
	c.op("add.u32", c.at, c.at, fmt.Sprint(c.f.depth))
	return c.read(c.loads, idx)
}

// read makes the tiles of the thread's vectors, with what lies at an index of the group. A
// line that is none is read like the last.
func (c *warpComputed) read(loads []kernel.Ref, idx []reg) []*tile {
	at := map[int]reg{}
	same := map[kernel.Ref][]reg{} // for all lines
	tiles := make([]*tile, c.count)
	for i := range tiles {
		var there reg
		if i > 0 && c.room != "" {
			there = c.to(pred, "setp.gt.s32", c.room, fmt.Sprint(i*c.by))
		}
		t := &tile{n: copyHalves, vals: map[kernel.Ref][]reg{}, refs: c.refs}
		moved := map[int]bool{}
		for _, r := range loads {
			in := &c.k.Body[r]
			arg := int(in.Imm)
			if v, ok := same[r]; ok {
				t.vals[r] = v
				continue
			}
			switch {
			case moved[arg]:
			case i == 0:
				p := c.from[arg]
				for _, axis := range c.p.reduced {
					if idx[axis] != "" {
						p = c.shifted(p, arg, axis, idx[axis])
					}
				}
				at[arg] = p
			default:
				by := c.apart[arg]
				if there != "" {
					by = c.to(b64, "selp.b64", by, c.constant(b64, 0), there)
				}
				at[arg] = c.to(b64, "add.s64", at[arg], by)
			}
			moved[arg] = true
			if c.k.Args[arg].Access[c.inner] == kernel.Broadcast {
				t.vals[r] = []reg{c.loadOne(in.Type, at[arg], 0, "")}
			} else {
				t.vals[r] = c.loadPacked(in.Type, copyHalves, at[arg], 0, "")
			}
			if !c.moves(arg) {
				same[r] = t.vals[r]
			}
		}
		tiles[i] = t
	}
	return tiles
}

// put computes the thread's part of a slab from what was read, and writes it: zeros behind
// the group.
func (c *warpComputed) put(slab reg, read heldSlab) error {
	inside := c.to(pred, "setp.gt.s32", c.left, "0")
	c.op("sub.s32", c.left, c.left, fmt.Sprint(c.f.depth))
	place := c.places(&c.slabPart, slab)
	for i := range c.count {
		t := &tile{n: copyHalves, vals: map[kernel.Ref][]reg{}}
		take := func(refs []kernel.Ref, from map[kernel.Ref][]reg) {
			for _, r := range refs { // in order: equal kernels have equal texts
				in := &c.k.Body[r]
				if c.k.Args[in.Imm].Access[c.inner] == kernel.Broadcast {
					t.vals[r] = slices.Repeat(from[r], copyHalves)
				} else {
					t.vals[r] = c.asm.apart(in.Type, copyHalves, from[r])
				}
			}
		}
		take(c.loads, read[i])
		take(c.once, c.steady[i])
		if err := c.evalTile(c.refs, t); err != nil {
			return err
		}
		words := make([]reg, copyHalves/2)
		for j := range words {
			pair := c.pack(c.unit, []reg{c.warpEmitter.value(c.value, t, 2*j), c.warpEmitter.value(c.value, t, 2*j+1)})
			words[j] = c.to(b32, "selp.b32", pair, c.constant(b32, 0), inside)
		}
		c.op("st.shared.v4.b32", place(i), group(words))
	}
	return nil
}
