package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/kernel"
)

// slabRing walks the slabs in shared memory. One is in use; the last of those behind it,
// which is the one before it in the ring, is being filled, and the others are on their way.
type slabRing struct {
	e    *tiledEmitter
	used reg
	fill reg
	k    reg // first step of the slab to fill
	left reg // steps from there on, 32 bits; less than 0 behind the group
}

func (e *tiledEmitter) newSlabRing() *slabRing {
	return &slabRing{e, e.to(b32, "mov.b32", e.base), e.to(b32, "mov.b32", e.base), e.to(b64, "mov.b64", "0"), e.to(b32, "cvt.u32.u64", e.group)}
}

// next goes to the slab behind.
func (r *slabRing) next(at reg) {
	e := r.e
	n := e.form.bufferBytes(e.size)
	end := e.once("end of the ring", func() reg { return e.def(b32, "add.u32", e.base, fmt.Sprint(e.form.stages*n)) })
	e.nextInRing(at, n, e.base, end)
}

// load begins to bring the slab to fill: what passes the registers is in them when it
// returns.
func (r *slabRing) load() ([]*tile, error) {
	e := r.e
	var tiles []*tile
	for _, s := range []*side{e.x, e.z} {
		if s.plain {
			s.copies.load(e, r.left, r.fill)
			continue
		}
		tiles = append(tiles, e.fetch(s, r.k)...)
	}
	e.op("cp.async.commit_group")
	for _, t := range tiles {
		if err := e.evalTile(e.loadsOf(t.refs), t); err != nil {
			return nil, err
		}
	}
	return tiles, nil
}

// put writes to the slab to fill what passes the registers, and goes on in the group.
func (r *slabRing) put(tiles []*tile) error {
	e := r.e
	for _, t := range tiles {
		if err := e.evalTile(t.refs, t); err != nil {
			return err
		}
		t.put(r.fill)
	}
	for _, s := range []*side{e.x, e.z} {
		if s.plain {
			s.copies.put(e, r.fill)
		}
	}
	e.op("add.s64", r.k, r.k, fmt.Sprint(e.form.depth))
	e.op("sub.s32", r.left, r.left, fmt.Sprint(e.form.depth))
	return nil
}

// await waits until all threads have filled the slab after the one in use, or the first
// one, and have read what they need of the one in use; then the former is in use.
func (r *slabRing) await(first bool) {
	e := r.e
	e.op("cp.async.wait_group", fmt.Sprint(e.form.stages-2))
	if !first {
		e.op("mov.b32", r.fill, r.used)
		r.next(r.used)
	}
	if e.t.IsFloat() {
		e.padSteps(e.to(b32, "add.s32", r.left, fmt.Sprint(e.form.depth*(e.form.stages-1))), r.used)
	}
	e.op("bar.sync", "0")
	for _, s := range []*side{e.x, e.z} {
		e.op("add.u32", s.from, r.used, e.partOf(s))
	}
}

// multiply runs over the group and leaves the sums in acc.
func (e *tiledEmitter) multiply() error {
	e.acc = make([][]reg, e.form.rows)
	for i := range e.acc {
		e.acc[i] = make([]reg, e.form.cols)
		for j := range e.acc[i] {
			e.acc[i][j] = e.reg(classOf(e.t))
		}
	}
	e.clear()
	f := e.form
	ring := e.newSlabRing()
	kept := e.to(b32, "mov.b32", fmt.Sprint(0))     // steps of the chunk so far
	folded := e.to(pred, "setp.ne.u32", kept, kept) // a chunk was folded
	for _, s := range []*side{e.x, e.z} {
		s.from, s.held = e.reg(b32), map[int][]reg{}
		if s.plain {
			s.copies = e.newCopies(s)
		}
	}
	for range f.stages - 1 {
		tiles, err := ring.load()
		if err != nil {
			return err
		}
		if err := ring.put(tiles); err != nil {
			return err
		}
		ring.next(ring.fill)
	}
	ring.await(true)
	for kk := range f.ahead {
		e.readStep(e.x, kk, e.x.held)
		e.readStep(e.z, kk, e.z.held)
	}
	// Of a slab that the loop's body passes in several turns the first one brings the next
	// slab on its way, and the last one goes on to it.
	u, turns := f.unroll, f.depth/f.unroll
	turn := e.to(b32, "mov.b32", "0")
	on := func(t int, do func() error) error {
		if turns == 1 {
			return do()
		}
		skip := e.label()
		e.opIf(e.to(pred, "setp.ne.u32", turn, fmt.Sprint(t)), "bra", skip)
		defer e.place(skip)
		return do()
	}
	loop := e.label()
	e.place(loop)
	var tiles []*tile
	err := on(0, func() (err error) {
		tiles, err = ring.load()
		return err
	})
	if err != nil {
		return err
	}
	x, z := e.steps(e.x), e.steps(e.z)
	for kk := range u {
		if kk == u-f.ahead {
			if turns > 1 {
				e.onward(e.x)
				e.onward(e.z)
			}
			err := on(turns-1, func() error {
				if err := ring.put(tiles); err != nil {
					return err
				}
				ring.await(false)
				return nil
			})
			if err != nil {
				return err
			}
		}
		if next := kk + f.ahead; next < u { // on their way while these are multiplied
			e.readStep(e.x, next, x)
			e.readStep(e.z, next, z)
		} else {
			e.readStep(e.x, next-u, e.x.held)
			e.readStep(e.z, next-u, e.z.held)
		}
		e.step(x[kk], z[kk])
	}
	if turns > 1 {
		e.op("add.u32", turn, turn, "1")
		e.opIf(e.to(pred, "setp.ne.u32", turn, fmt.Sprint(turns)), "bra", loop)
		e.op("mov.b32", turn, "0")
	}
	more := e.to(pred, "setp.gt.s32", ring.left, fmt.Sprint(-f.depth*(f.stages-1)))
	if !f.one {
		e.op("add.u32", kept, kept, fmt.Sprint(f.depth))
		within := e.to(pred, "setp.lt.u32", kept, fmt.Sprint(e.chunk))
		e.opIf(e.to(pred, "and.pred", more, within), "bra", loop)
		e.fold(folded)
		e.op("setp.eq.u32", folded, kept, kept)
		e.op("mov.b32", kept, "0")
		e.clear()
	}
	e.opIf(more, "bra", loop)
	if !f.one {
		for i := range e.acc {
			for j := range e.acc[i] {
				e.op("ld.shared"+classType[classOf(e.t)], e.acc[i][j], e.total(i, j))
			}
		}
	}
	return nil
}

// onward goes on in the slab in use by the steps of the loop's body.
func (e *tiledEmitter) onward(s *side) {
	e.op("add.u32", s.from, s.from, fmt.Sprint(e.form.unroll*s.pitch(e.form.depth)*e.size))
}

// steps begins the table of a side's elements in one slab with those that the loop
// carries.
func (e *tiledEmitter) steps(s *side) map[int][]reg {
	out := map[int][]reg{}
	for kk, r := range s.held {
		out[kk] = r
	}
	return out
}

// partOf is where the thread's lines of a slab begin in a buffer.
func (e *tiledEmitter) partOf(s *side) reg {
	return e.once(fmt.Sprintf("part at %d", s.at), func() reg {
		n := s.vector()
		if s.along == kept {
			n *= e.form.depth
		}
		return e.def(b32, "mad.lo.u32", s.lane, fmt.Sprint(n*e.size), fmt.Sprint(s.at))
	})
}

// readStep reads the thread's elements of a step of the slab in use into the registers that
// the table has for it, or into fresh ones. Of a slab that keeps its order they come four
// steps at a time.
func (e *tiledEmitter) readStep(s *side, kk int, to map[int][]reg) {
	c := classOf(e.t)
	fresh := func(kk int) []reg {
		if to[kk] == nil {
			to[kk] = make([]reg, s.lines)
			for i := range to[kk] {
				to[kk][i] = e.reg(c)
			}
		}
		return to[kk]
	}
	if s.along != kept {
		r, n := fresh(kk), s.vector()
		for i := 0; i < s.lines; i += n {
			e.readShared(r[i:i+n], s.from, int64(e.size*(kk*s.pitch(e.form.depth)+i*s.lanes)))
		}
		return
	}
	if kk%4 != 0 {
		return
	}
	p := e.to(b32, "add.u32", s.from, e.fourAt(s, kk/4))
	for i := range s.lines {
		four := make([]reg, 4)
		for q := range four {
			four[q] = fresh(kk + q)[i]
		}
		e.readShared(four, p, int64(e.size*e.form.depth*(i/4*4*s.lanes+i%4)))
	}
}

// fourAt is how many bytes a four of the thread's lines lies behind their beginning.
func (e *tiledEmitter) fourAt(s *side, four int) reg {
	turn := e.once(fmt.Sprintf("turn at %d", s.at), func() reg {
		return e.def(b32, "and.b32", s.lane, fmt.Sprint(e.turns(s)-1))
	})
	return e.once(fmt.Sprintf("four %d at %d", four, s.at), func() reg {
		return e.def(b32, "mul.lo.u32", e.def(b32, "xor.b32", turn, fmt.Sprint(four)), fmt.Sprint(4*e.size))
	})
}

// readShared reads elements that lie side by side: one, two or four.
func (e *tiledEmitter) readShared(r []reg, p reg, off int64) {
	t := classType[classOf(e.t)]
	switch {
	case len(r) == 1:
		e.op("ld.shared"+t, r[0], mem(p, off))
	case len(r)*e.size <= 16:
		e.op(fmt.Sprintf("ld.shared.v%d%s", len(r), t), group(r), mem(p, off))
	default:
		e.readShared(r[:2], p, off)
		e.readShared(r[2:], p, off+int64(2*e.size))
	}
}

// sharedFour reads four elements that lie side by side.
func (e *tiledEmitter) sharedFour(p reg, off int64) []reg {
	c := classOf(e.t)
	r := []reg{e.reg(c), e.reg(c), e.reg(c), e.reg(c)}
	e.readShared(r, p, off)
	return r
}

// padSteps makes the steps of a slab beyond the group, of which so many are left, -0 in
// the first operand: as they are 0 in the second, each adds -0, which changes no sum, be
// it -0 itself.
func (e *tiledEmitter) padSteps(left, buffer reg) {
	done := e.label()
	s, f := e.x, e.form
	// Less than 1 is a large number here.
	e.opIf(e.to(pred, "setp.ge.u32", e.to(b32, "sub.u32", left, "1"), fmt.Sprint(f.depth-1)), "bra", done)
	e.op("bar.sync", "0") // zeros of other threads are there
	c := classOf(e.t)
	minus := e.constant(c, 1<<(8*e.size-1))
	for at := 0; at < s.wide*f.depth; at += f.threads() {
		i := e.to(b32, "add.u32", e.tid, fmt.Sprint(at))
		step := e.to(b32, "shr.u32", i, fmt.Sprint(bits.TrailingZeros(uint(s.wide))))
		line := e.to(b32, "and.b32", i, fmt.Sprint(s.wide-1))
		var place reg
		if s.along == kept {
			four := e.to(b32, "xor.b32", e.to(b32, "shr.u32", step, "2"), e.turnOf(s, line))
			place = e.to(b32, "mad.lo.u32", four, "4", e.to(b32, "and.b32", step, "3"))
			place = e.to(b32, "mad.lo.u32", line, fmt.Sprint(f.depth), place)
		} else {
			place = e.to(b32, "mad.lo.u32", step, fmt.Sprint(s.pitch(f.depth)), line)
		}
		p := e.to(b32, "mad.lo.u32", place, fmt.Sprint(e.size), buffer)
		e.opIf(e.to(pred, "setp.ge.u32", step, left), "st.shared"+classType[c], mem(p, int64(s.at)), minus)
	}
	e.place(done)
}

// turns is in how many orders lines keep their fours of steps, so that those which a warp
// reads at once lie in different banks: the place of a four in its line is its number
// with that of the thread whose line it is put in by exclusive or.
func (e *tiledEmitter) turns(s *side) int { return min(8, e.form.depth/4, s.lanes) }

// turnOf is the order of a line of the tile.
func (e *tiledEmitter) turnOf(s *side, line reg) reg {
	lane := e.to(b32, "shr.u32", line, fmt.Sprint(bits.TrailingZeros(uint(s.vector()))))
	return e.to(b32, "and.b32", lane, fmt.Sprint(e.turns(s)-1))
}

// total is where the sum of the chunks before has its place.
func (e *tiledEmitter) total(i, j int) string {
	p := e.once("totals", func() reg {
		return e.def(b32, "mad.lo.u32", e.tid, fmt.Sprint(e.size), e.base)
	})
	return mem(p, int64(e.form.stages*e.form.bufferBytes(e.size)+e.form.threads()*e.size*(i*e.form.cols+j)))
}

// fold adds the chunk in the accumulators to the totals; the first one is taken as
// it is.
func (e *tiledEmitter) fold(folded reg) {
	c := classOf(e.t)
	for i := range e.acc {
		for j, r := range e.acc[i] {
			old := e.reg(c)
			e.op("mov"+classType[c], old, "0")
			e.opIf(folded, "ld.shared"+classType[c], old, e.total(i, j))
			sum, _ := e.arith(kernel.OpAdd, e.t, old, r)
			e.op("st.shared"+classType[c], e.total(i, j), e.to(c, "selp"+classType[c], sum, r, folded))
		}
	}
}
