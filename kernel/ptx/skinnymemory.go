package ptx

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// A step behind the end of a chunk must change no sum, be it -0. The few are -0 there,
// the many +0: their product, -0, is what addition leaves everything as it is with.

// walker holds the addresses of an operand's arguments for the next stretch. In a group of
// several axes they are found anew for each one, from where its line begins.
type walker struct {
	e    *skinnyEmitter
	at   map[int]reg
	line map[int]reg
}

// newWalker begins at a line, whose place idx is, and so many steps behind the start of the
// first stretch; "" for none.
func (e *skinnyEmitter) newWalker(s *strip, idx []reg, step reg) walker {
	w := walker{e, map[int]reg{}, map[int]reg{}}
	for _, r := range s.loads {
		arg := int(e.k.Body[r].Imm)
		if w.at[arg] != "" {
			continue
		}
		p := e.ptr[arg]
		move := func(axis int, by reg) { p = e.shifted(p, arg, axis, by) }
		for _, axis := range s.axes {
			move(axis, idx[axis])
		}
		if len(e.p.reduced) == 1 {
			move(e.inner, e.position)
		}
		if step != "" {
			move(e.inner, step)
		}
		w.line[arg] = p
		w.at[arg] = e.to(b64, "mov.b64", w.start(arg))
	}
	return w
}

// seek finds the place of a stretch in a group of several axes.
func (e *skinnyEmitter) seek(position reg) {
	if len(e.p.reduced) > 1 {
		e.stretchAt, e.offsets = make([]reg, len(e.k.Axes)), map[int]reg{}
		e.decodeWide(position, e.p.reduced, e.stretchAt)
	}
}

// start is the address of an argument in the stretch whose place was found last.
func (w walker) start(arg int) reg {
	e := w.e
	if len(e.p.reduced) == 1 {
		return w.line[arg]
	}
	if _, ok := e.offsets[arg]; !ok {
		offset := reg("")
		for _, axis := range e.p.reduced {
			var by reg
			switch a := e.k.Args[arg]; a.Access[axis] {
			case kernel.Unit:
				by = e.to(b64, "mul.lo.s64", e.stretchAt[axis], fmt.Sprint(a.Type.Size()))
			case kernel.Strided:
				by = e.to(b64, "mul.lo.s64", e.stretchAt[axis], e.slotReg(slotStride, arg, axis))
			default:
				continue
			}
			if offset != "" {
				by = e.to(b64, "add.s64", by, offset)
			}
			offset = by
		}
		e.offsets[arg] = offset
	}
	if e.offsets[arg] == "" {
		return w.line[arg]
	}
	return e.to(b64, "add.s64", w.line[arg], e.offsets[arg])
}

// several is a multiple of the way from one step to the next.
func (w walker) several(arg, n int) reg {
	e := w.e
	stride := e.slotReg(slotStride, arg, e.inner)
	return e.once(fmt.Sprintf("stride of %d times %d", arg, n), func() reg {
		return e.def(b64, "mul.lo.s64", stride, fmt.Sprint(n))
	})
}

// advance goes on by a stretch.
func (w walker) advance(s *strip) {
	done := map[int]bool{}
	for _, r := range s.loads {
		arg := int(w.e.k.Body[r].Imm)
		if done[arg] {
			continue
		}
		done[arg] = true
		p := w.at[arg]
		if len(w.e.p.reduced) > 1 {
			w.e.op("mov.b64", p, w.start(arg))
			continue
		}
		switch a := w.e.k.Args[arg]; a.Access[w.e.inner] {
		case kernel.Unit:
			w.e.op("add.s64", p, p, fmt.Sprint(w.e.steps*a.Type.Size()))
		case kernel.Strided:
			w.e.op("add.s64", p, p, w.several(arg, w.e.steps))
		}
	}
}

// indexAt is the logical index of an element: along the group, `by` steps behind the
// place of the stretch.
func (e *skinnyEmitter) indexAt(idx []reg, by func(lane int) reg) func(axis, lane int) reg {
	return func(axis, lane int) reg {
		at := idx[axis]
		if axis == e.inner {
			at = e.to(b64, "add.s64", e.position, by(lane))
		}
		if at == "" {
			return ""
		}
		return e.to(b64, "add.s64", e.slotReg(slotStart, axis, 0), at)
	}
}

// fewWalk brings the few lines: the lanes of a warp share the elements of a stretch.
type fewWalk struct {
	e     *skinnyEmitter
	parts []fewPart
}

type fewPart struct {
	walker
	idx    []reg
	step   reg // in the stretch
	inside reg // predicate: there is such a line; "" if there always is
	stored reg // and it has a place
}

func (e *skinnyEmitter) newFew() *fewWalk {
	f := &fewWalk{e: e}
	total := e.f.lines * e.steps
	for n := 0; n < total; n += 32 {
		linear := e.to(b32, "add.u32", e.lane, fmt.Sprint(n))
		p := fewPart{step: e.to(b32, "and.b32", linear, fmt.Sprint(e.steps-1)), idx: append([]reg(nil), e.batch...)}
		line := e.to(b64, "cvt.u64.u32", e.to(b32, "shr.u32", linear, fmt.Sprint(bits.TrailingZeros(uint(e.steps)))))
		if e.f.lines > 1 || total < 32 {
			p.inside = e.to(pred, "setp.lt.s64", line, e.few.extent)
		}
		if total < 32 {
			p.stored = e.to(pred, "setp.lt.u32", linear, fmt.Sprint(total))
		}
		e.locate(line, e.few, p.idx)
		p.walker = e.newWalker(e.few, p.idx, e.to(b64, "cvt.u64.u32", p.step))
		f.parts = append(f.parts, p)
	}
	return f
}

func (f *fewWalk) advance() {
	for _, p := range f.parts {
		p.walker.advance(f.e.few)
	}
}

// tile makes a part of a stretch.
func (f *fewWalk) tile(i int) *tile {
	p, e := f.parts[i], f.e
	t := &tile{n: 1, vals: map[kernel.Ref][]reg{}, refs: e.few.refs}
	t.guard = e.to(pred, "setp.lt.s32", p.step, e.rest)
	if p.inside != "" {
		t.guard = e.to(pred, "and.pred", t.guard, p.inside)
	}
	t.address = func(arg int) (reg, int64) { return p.at[arg], 0 }
	t.index = e.indexAt(p.idx, func(int) reg { return e.to(b64, "cvt.u64.u32", p.step) })
	return t
}

// put computes a stretch from what was loaded, and writes it to the buffer.
func (f *fewWalk) put(held []map[kernel.Ref][]reg) error {
	e := f.e
	c := classOf(e.t)
	nothing := uint64(0)
	if e.t.IsFloat() { // -0
		nothing = 1 << (e.t.Bits() - 1)
	}
	to := e.to(b64, "add.s64", e.buffer, e.to(b64, "mul.wide.u32", e.lane, fmt.Sprint(e.size)))
	for i := range f.parts {
		t := f.tile(i)
		for r, v := range held[i] {
			t.vals[r] = v
		}
		if err := e.evalTile(t.refs, t); err != nil {
			return err
		}
		v := e.to(c, "selp"+classType[c], e.value(e.few.value, t, 0), e.constant(c, nothing), t.guard)
		e.opIf(f.parts[i].stored, "st.shared"+classType[c], mem(to, int64(32*i*e.size)), v)
	}
	return nil
}

// manyWalk brings the many lines, one to a thread.
type manyWalk struct {
	walker
	n int // steps read at once
}

func (e *skinnyEmitter) newMany() *manyWalk {
	return &manyWalk{e.newWalker(e.many, e.at, ""), e.f.along}
}

// load brings a stretch: elements in the words they travel in, and once what all steps
// share. What says whether there is a step stands beside its loads:
// there are few registers for that.
func (m *manyWalk) load() ([]*tile, error) {
	e := m.e
	var out []*tile
	eights := map[[2]int]reg{} // addresses of every eighth step, by argument and step
	same := map[int]reg{}      // what all steps of a stretch read, by argument
	for u := 0; u < e.steps; u += m.n {
		t := m.tile(u)
		t.address = func(arg int) (reg, int64) {
			a := e.k.Args[arg]
			switch a.Access[e.inner] {
			case kernel.Unit:
				return m.at[arg], int64(u * a.Type.Size())
			case kernel.Broadcast:
				return m.at[arg], 0
			}
			// Multiples of the stride are at hand, so that no long chain of additions
			// holds the loads back.
			base, at := m.at[arg], u&^7
			if at > 0 {
				key := [2]int{arg, at}
				if eights[key] == "" {
					eights[key] = e.to(b64, "add.s64", base, m.several(arg, at))
				}
				base = eights[key]
			}
			if u > at {
				base = e.to(b64, "add.s64", base, m.several(arg, u-at))
			}
			return base, 0
		}
		t.load = func(in *kernel.Instr) []reg {
			arg := int(in.Imm)
			p, off := t.address(arg)
			if e.k.Args[arg].Access[e.inner] != kernel.Broadcast {
				return e.loadPacked(in.Type, m.n, p, off, t.guard)
			}
			if same[arg] == "" { // the first step is there if any is
				same[arg] = e.loadOne(in.Type, p, off, t.guard)
			}
			return []reg{same[arg]}
		}
		if err := e.evalTile(e.many.loads, t); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	m.advance(e.many)
	return out, nil
}

// tile makes the part of a stretch that begins at a step of it.
func (m *manyWalk) tile(u int) *tile {
	e := m.e
	t := &tile{n: m.n, vals: map[kernel.Ref][]reg{}, refs: e.many.refs}
	t.guard = e.to(pred, "setp.gt.s32", e.left, fmt.Sprint(u))
	t.index = e.indexAt(e.at, func(lane int) reg { return reg(fmt.Sprint(u + lane)) })
	return t
}

// values computes a stretch from what was loaded.
func (m *manyWalk) values(held []map[kernel.Ref][]reg) ([]reg, error) {
	e := m.e
	c := classOf(e.t)
	zero := e.zeroOutside(e.many.value)
	var out []reg
	for i := range held {
		t := m.tile(i * m.n)
		for _, r := range e.many.loads { // in order: equal kernels have equal texts
			in, v := &e.k.Body[r], held[i][r]
			if e.k.Args[in.Imm].Access[e.inner] == kernel.Broadcast {
				t.vals[r] = slices.Repeat(v, m.n)
			} else {
				t.vals[r] = e.apart(in.Type, m.n, v)
			}
		}
		if err := e.evalTile(t.refs, t); err != nil {
			return nil, err
		}
		for n := range m.n {
			v := e.value(e.many.value, t, n)
			if zero {
				v = e.to(c, "mov"+classType[c], v) // its own register takes the next stretch
			} else {
				v = e.to(c, "selp"+classType[c], v, e.constant(c, 0), t.guard)
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// zeroOutside reports whether a value is +0 where a guard keeps its loads from
// reading memory.
func (e *skinnyEmitter) zeroOutside(v kernel.Ref) bool {
	in := &e.k.Body[v]
	if in.Op == kernel.OpCvt {
		in = &e.k.Body[in.A]
	}
	return in.Op == kernel.OpLoad && e.depth[v] >= elementDepth && in.Type != ir.Bool && e.k.Args[in.Imm].Access[e.inner] != kernel.Broadcast
}
