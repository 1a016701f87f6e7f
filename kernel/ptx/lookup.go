package ptx

import (
	"fmt"
	"maps"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// A function of one number of 16 bits has 65,536 results. Where much is computed from such
// a number and rounded to 16 bits again, as an activation of bf16 is, a large launch makes
// a table of the results first, by the same instructions, and looks them up in shared
// memory: an element then takes a few instructions where a gelu has 70.

// lookup is a value of the body that is a function of one other, both of half types.
type lookup struct {
	in, out kernel.Ref
	cost    int // instructions between
}

const (
	lookupEntries = 1 << 16
	lookupBytes   = 2 * lookupEntries
	lookupThreads = 1024
	// lookupTurn is how many vectors a thread has in flight.
	lookupTurn = 2
	// lookupWorth is the cost from which on a table pays: below, memory is what binds.
	lookupWorth = 40
	// lookupElements is the size of launches from which on making the table and filling
	// shared memory, some 5 µs, is less than what it saves, 1 µs in a million elements.
	lookupElements = 1 << 24
)

// lookupOf finds the costliest function of one number in the body, nil if none is worth a
// table.
func lookupOf(k *kernel.Kernel, depth []int) *lookup {
	if k.HasFault() {
		return nil
	}
	const uniform, many = -1, -2
	of := make([]int, len(k.Body)) // the one number that a value depends on
	var best *lookup
	for i := range k.Body {
		in := &k.Body[i]
		half := in.Type == ir.BF16 || in.Type == ir.F16
		of[i] = uniform
		switch in.Op {
		case kernel.OpConst, kernel.OpParam, kernel.OpExtent:
		case kernel.OpLoad, kernel.OpGather, kernel.OpIndex, kernel.OpReduce, kernel.OpScan, kernel.OpStore:
			of[i] = many
		default:
			in.Operands(func(r kernel.Ref) {
				switch {
				case of[r] == uniform || of[r] == of[i]:
				case of[i] == uniform:
					of[i] = of[r]
				default:
					of[i] = many
				}
			})
		}
		if of[i] >= 0 && half {
			l := &lookup{in: kernel.Ref(of[i]), out: kernel.Ref(i)}
			if l.cost = l.count(k); l.cost >= lookupWorth && (best == nil || l.cost > best.cost) {
				best = l
			}
		}
		if of[i] == many && half && depth[i] >= elementDepth && in.Op != kernel.OpStore {
			of[i] = i
		}
	}
	return best
}

// between lists, in body order, what leads from the number to the function of it.
func (l *lookup) between(k *kernel.Kernel) []kernel.Ref {
	need := map[kernel.Ref]bool{l.out: true}
	for r := l.out; r >= 0; r-- {
		if need[r] && r != l.in {
			k.Body[r].Operands(func(o kernel.Ref) { need[o] = true })
		}
	}
	var out []kernel.Ref
	for r := range l.out + 1 {
		if need[r] && r != l.in {
			out = append(out, r)
		}
	}
	return out
}

// count is about how many instructions an element takes.
func (l *lookup) count(k *kernel.Kernel) int {
	n := 0
	for _, r := range l.between(k) {
		switch k.Body[r].Op {
		case kernel.OpConst, kernel.OpParam, kernel.OpExtent, kernel.OpBitcast:
		case kernel.OpDiv, kernel.OpRem, kernel.OpSqrt:
			n += 10
		default:
			n++
		}
	}
	return n
}

// emitTable writes the entry that makes the table in scratch memory. A thread has two
// numbers.
func emitTable(k *kernel.Kernel, l *lookup) (*emitter, error) {
	e := newEmitter(k)
	e.setInnermostDepths()
	item := e.to(b32, "mad.lo.u32", e.to(b32, "mov.u32", "%ctaid.x"), fmt.Sprint(elementwiseThreads), e.tidHead())
	numbers := e.to(b32, "mad.lo.u32", item, "0x20002", "0x10000")
	t := &tile{n: 2, vals: map[kernel.Ref][]reg{l.in: e.unpack(k.Body[l.in].Type, numbers)}}
	var refs []kernel.Ref
	for _, r := range l.between(k) {
		if e.depth[r] >= elementDepth {
			refs = append(refs, r)
			continue
		}
		v, err := e.instr(&k.Body[r], nil, 0)
		if err != nil {
			return nil, err
		}
		e.outer[r] = v
	}
	if err := e.evalTile(refs, t); err != nil {
		return nil, err
	}
	at := e.to(b64, "add.s64", e.slotReg(slotScratch, 0, 0), e.to(b64, "mul.wide.u32", item, "4"))
	e.op("st.global.b32", mem(at, 0), e.pack(k.Body[l.out].Type, t.vals[l.out]))
	return e, nil
}

// emitLookedUp writes the entry that looks the function up. Blocks go on until nothing is
// left, as each fills its shared memory first; what a turn of a block takes is lookupTurn
// vectors of a thread.
func emitLookedUp(k *kernel.Kernel, target Target, width int, l *lookup) (*emitter, error) {
	e := newEmitter(k)
	e.setInnermostDepths()
	e.halves = halvesOf(k, target)
	e.lookup, e.dynamic = l, lookupBytes
	e.fillTable()
	refs := e.elementRefs(func(int) bool { return true })
	extent := e.slotReg(slotExtent, len(k.Axes)-1, 0)
	items := e.slotReg(slotItems, 0, 0)
	last := e.to(b64, "sub.u64", items, "1")
	tid := e.to(b64, "cvt.u64.u32", e.tidHead())
	turn := e.to(b32, "mov.u32", "%ctaid.x")
	blocks := e.to(b32, "mov.u32", "%nctaid.x")
	loop := e.label()
	e.place(loop)
	start := e.to(b64, "add.u64", e.to(b64, "mul.wide.u32", turn, fmt.Sprint(lookupTurn*lookupThreads)), tid)

	// A vector that is whole is loaded and stored under a guard, so that the loads of all
	// come first; another is done one by one behind them.
	type vector struct {
		tile        *tile
		first, part reg
		outer       map[kernel.Ref]reg
		ptr         []reg
	}
	var vectors []*vector
	for u := range lookupTurn {
		item := start
		if u > 0 {
			item = e.to(b64, "add.u64", start, fmt.Sprint(u*lookupThreads))
		}
		inside := e.to(pred, "setp.lt.u64", item, items)
		v := &vector{first: e.locate(e.to(b64, "min.u64", item, last), width)}
		e.outer = map[kernel.Ref]reg{}
		if err := e.evalOuter(0); err != nil {
			return nil, err
		}
		v.outer, v.ptr = maps.Clone(e.outer), e.ptr
		v.tile = e.vectorAt(width, v.first, 0)
		whole := e.to(pred, "setp.ge.s64", e.to(b64, "sub.s64", extent, v.first), fmt.Sprint(width))
		v.tile.guard = e.to(pred, "and.pred", inside, whole)
		v.part = e.to(pred, "and.pred", inside, e.to(pred, "not.pred", whole))
		if err := e.evalTile(e.loadsOf(refs), v.tile); err != nil {
			return nil, err
		}
		vectors = append(vectors, v)
	}
	for _, v := range vectors {
		e.outer, e.ptr = v.outer, v.ptr
		if err := e.evalTile(refs, v.tile); err != nil {
			return nil, err
		}
	}
	for _, v := range vectors {
		e.outer, e.ptr = v.outer, v.ptr
		next := e.label()
		e.opUnless(v.part, "bra", next)
		if err := e.tail(refs, v.first, extent); err != nil {
			return nil, err
		}
		e.place(next)
	}
	e.op("add.u32", turn, turn, blocks)
	e.opIf(e.to(pred, "setp.lt.u32", turn, e.slotReg32(slotChunks, 0)), "bra", loop)
	return e, nil
}

// fillTable copies the table from scratch memory to shared memory.
func (e *emitter) fillTable() {
	from := e.to(b64, "add.s64", e.slotReg(slotScratch, 0, 0), e.to(b64, "mul.wide.u32", e.tidHead(), "16"))
	to := e.to(b32, "mad.lo.u32", e.tidHead(), "16", e.tableBase())
	const step = 16 * lookupThreads
	var words [][]reg
	for at := 0; at < lookupBytes; at += step {
		w := []reg{e.reg(b32), e.reg(b32), e.reg(b32), e.reg(b32)}
		e.op("ld.global.v4.b32", group(w), mem(from, int64(at)))
		words = append(words, w)
	}
	for i, w := range words {
		e.op("st.shared.v4.b32", mem(to, int64(i*step)), group(w))
	}
	e.op("bar.sync", "0")
}

// tableBase is the address of the table in shared memory.
func (e *emitter) tableBase() reg {
	return e.once("table", func() reg { return e.def(b32, "mov.u32", "dyn") })
}

// look looks up the results of all elements of a tile.
func (e *emitter) look(t *tile) []reg {
	typ := e.k.Body[e.lookup.in].Type
	find := func(word reg, op, shift string) reg {
		at := e.to(b32, "and.b32", e.to(b32, op, word, shift), fmt.Sprintf("%#x", lookupBytes-2))
		return e.to(b16, "ld.shared.b16", mem(e.to(b32, "add.u32", at, e.tableBase()), 0))
	}
	var out []reg
	for lane := 0; lane < t.n; lane += 2 {
		x := e.value(e.lookup.in, t, lane)
		if t.n == 1 {
			return []reg{find(e.to(b32, "cvt.u32.u16", x), "shl.b32", "1")}
		}
		word := e.pack(typ, []reg{x, e.value(e.lookup.in, t, lane+1)})
		out = append(out, find(word, "shl.b32", "1"), find(word, "shr.u32", "15"))
	}
	return out
}
