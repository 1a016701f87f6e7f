package amd64

import (
	"slices"
	"sort"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// step is one instruction of a straight-line program, for one copy.
type step struct {
	ref  kernel.Ref
	copy int
	kind stepKind
}

// stepKind says what a step does with its value.
type stepKind uint8

const (
	plain   stepKind = iota // computes it
	keep                    // stores it to its slot
	save                    // stores it to its row buffer, for later passes
	restore                 // loads it from there
)

// alloc assigns vector registers over one straight-line program at a time. At
// the start of a program only pinned registers hold something, so a program may
// be the body of a loop.
type alloc struct {
	own    []bool             // values that differ per copy
	mem    map[val]asm.Mem    // values that lie in memory, complete
	spill  map[val]asm.Mem    // temporaries of this program that do
	unused []asm.Mem          // spill slots to use again
	where  []int8             // the register of a value, or -1
	pins   map[val]asm.Vec    // of these, for as long as the loop runs
	accs   map[[2]int]asm.Vec // accumulators, by reduction and copy
	owner  [32]val            // what a register holds
	state  [32]uint8          // free, busy, pinned
	lock   [32]bool           // operands of the current instruction
	heads  []int32            // first use of a value in links that is not yet past, or -1
	links  []useLink
	used   []val              // values with a head
	bufs   map[[2]int]asm.Mem // partial results of a striped reduction
	temps  []asm.Vec          // given back at the end of the instruction
	preds  map[val]asm.Mask   // bools that live in a predicate register, AVX-512 only
	kFree  []asm.Mask         // predicate registers for them
	masks  map[val]bool       // bools that the program uses as select masks only
	pos    int
	limit  int // registers there are
}

// useLink is a use of a value, and the next one.
type useLink struct{ at, next int32 }

const (
	free = iota
	busy
	pinned
)

func (g *gen) initAlloc() {
	g.alloc.mem = map[val]asm.Mem{}
	g.alloc.bufs = map[[2]int]asm.Mem{}
	g.where, g.heads = make([]int8, len(g.k.Body)<<4), make([]int32, len(g.k.Body)<<4)
	for i := range g.where {
		g.where[i], g.heads[i] = -1, -1
	}
	for i := range g.owner {
		g.owner[i] = -1
	}
	g.limit = 16
	if g.wide {
		g.limit = 32
	}
	g.unpin()
}

// unpin forgets everything in registers.
func (g *gen) unpin() {
	for i := range g.owner {
		g.forget(i)
	}
	g.pins, g.accs, g.spill = map[val]asm.Vec{}, map[[2]int]asm.Vec{}, map[val]asm.Mem{}
	g.countUses(nil)
	for i := range g.state {
		g.state[i], g.lock[i] = free, false
	}
}

// pin takes a register out of the allocator's hands.
func (g *gen) pin() asm.Vec {
	for i := range g.limit {
		if g.state[i] == free {
			g.state[i] = pinned
			g.forget(i)
			return asm.Vec(i)
		}
	}
	panic("amd64: no register left to pin")
}

// place returns where a value lies in memory.
func (g *gen) place(v val) (asm.Mem, bool) {
	if m, ok := g.alloc.mem[v]; ok {
		return m, true
	}
	m, ok := g.spill[v]
	return m, ok
}

func (g *gen) typeOf(v val) ir.DType { return g.k.Body[v.ref()].Type }

// begin prepares the registers for a program.
func (g *gen) begin(prog []step) {
	g.countUses(prog)
	g.pos = 0
	if g.wide {
		g.findMasks(prog)
	}
	g.spill = map[val]asm.Mem{}
	for i := range g.limit {
		if g.state[i] == busy {
			g.state[i] = free
			g.forget(i)
		}
	}
}

// findMasks finds the bools that a program computes and uses in selects only.
func (g *gen) findMasks(prog []step) {
	g.preds, g.masks = map[val]asm.Mask{}, map[val]bool{}
	g.kFree = []asm.Mask{2, 3, 4, 5, 6}
	for _, used := range g.tracked {
		g.kFree = slices.DeleteFunc(g.kFree, func(k asm.Mask) bool { return slices.Contains(used, k) })
	}
	for _, s := range prog {
		in := &g.k.Body[s.ref]
		if s.kind == plain && in.Type == ir.Bool && in.Op != kernel.OpStore && in.Op != kernel.OpReduce {
			g.masks[g.value(s.ref, s.copy)] = true
		}
	}
	for _, s := range prog {
		if s.kind != plain {
			delete(g.masks, g.value(s.ref, s.copy))
			continue
		}
		in := &g.k.Body[s.ref]
		if in.Op != kernel.OpSelect && in.A != kernel.None {
			delete(g.masks, g.value(in.A, s.copy))
		}
		for _, r := range [...]kernel.Ref{in.B, in.C} {
			if r != kernel.None {
				delete(g.masks, g.value(r, s.copy))
			}
		}
	}
}

// predicate gives a compared bool a predicate register if it can live in one.
func (g *gen) predicate(v val) (asm.Mask, bool) {
	if !g.masks[v] || len(g.kFree) == 0 {
		return 0, false
	}
	k := g.kFree[0]
	g.kFree = g.kFree[1:]
	g.preds[v] = k
	return k, true
}

// countUses notes where a program uses values.
func (g *gen) countUses(prog []step) {
	for _, v := range g.used {
		g.heads[v] = -1
	}
	g.used, g.links = g.used[:0], g.links[:0]
	for i := len(prog) - 1; i >= 0; i-- {
		s := &prog[i]
		switch s.kind {
		case keep, save:
			g.addUse(g.value(s.ref, s.copy), i)
			continue
		case restore:
			continue
		}
		in := &g.k.Body[s.ref]
		for _, r := range [...]kernel.Ref{in.A, in.B, in.C} {
			if r != kernel.None {
				g.addUse(g.value(r, s.copy), i)
			}
		}
	}
}

func (g *gen) addUse(v val, at int) {
	h := g.heads[v]
	if h < 0 {
		g.used = append(g.used, v)
	} else if int(g.links[h].at) == at {
		return
	}
	g.heads[v] = int32(len(g.links))
	g.links = append(g.links, useLink{int32(at), h})
}

// never is the position of a use that there is not.
const never = 1 << 30

// next returns the position of the next use of a value, the current one
// included.
func (g *gen) next(v val) int {
	h := g.heads[v]
	for h >= 0 && int(g.links[h].at) < g.pos {
		h = g.links[h].next
	}
	g.heads[v] = h
	if h < 0 {
		return never
	}
	return int(g.links[h].at)
}

// nextAfter returns the position of the use after the current one.
func (g *gen) nextAfter(v val) int {
	p := g.next(v)
	if p > g.pos {
		return p
	}
	if h := g.links[g.heads[v]].next; h >= 0 {
		return int(g.links[h].at)
	}
	return never
}

// hold says that a register holds a value.
func (g *gen) hold(r asm.Vec, v val) {
	g.where[v], g.owner[r] = int8(r), v
}

// forget says that a register holds no value.
func (g *gen) forget(r int) {
	if v := g.owner[r]; v >= 0 && g.where[v] == int8(r) {
		g.where[v] = -1
	}
	g.owner[r] = -1
}

// pinInvariants keeps the most used values from memory in registers over a loop
// with the given body.
func (g *gen) pinInvariants(prog []step) {
	g.countUses(prog)
	live, most := 0, 0
	ends := make([]int8, len(prog))
	count := map[val]int{}
	var inv []val
	for _, v := range g.used {
		n, last := 0, int32(0)
		for h := g.heads[v]; h >= 0; h = g.links[h].next {
			n, last = n+1, g.links[h].at
		}
		if _, ok := g.alloc.mem[v]; ok {
			inv = append(inv, v)
			count[v] = n
		} else {
			ends[last]++
		}
	}
	for i, s := range prog {
		op := g.k.Body[s.ref].Op
		if s.kind == restore || s.kind == plain && op != kernel.OpStore && op != kernel.OpReduce {
			live++
		}
		most = max(most, live)
		live -= int(ends[i])
	}
	// Folding the partials of a striped reduction takes up to nine registers,
	// which may be those of the accumulators.
	avail := -max(most+4+8*g.attempt, 9-len(g.accs), 6)
	for i := range g.limit {
		if g.state[i] == free {
			avail++
		}
	}
	sort.Slice(inv, func(i, j int) bool {
		a, b := count[inv[i]], count[inv[j]]
		if a != b {
			return a > b
		}
		return inv[i] < inv[j]
	})
	for _, v := range inv {
		if avail--; avail < 0 {
			return
		}
		r := g.pin()
		g.a.RM(asm.VMOVUPS, g.length(g.typeOf(v)), r, asm.M(g.alloc.mem[v]))
		g.pins[v] = r
		g.hold(r, v)
	}
}

// take returns a register that the current instruction may overwrite.
func (g *gen) take() asm.Vec {
	for i := range g.limit {
		if g.state[i] == free {
			g.state[i], g.lock[i] = busy, true
			g.forget(i)
			return asm.Vec(i)
		}
	}
	best, far := -1, -1
	for i := range g.limit {
		if g.state[i] != busy || g.lock[i] {
			continue
		}
		if n := g.next(g.owner[i]); n > far {
			best, far = i, n
		}
	}
	if best < 0 {
		refuse(shortage)
	}
	v := g.owner[best]
	if _, ok := g.place(v); !ok {
		m := g.spillSlot()
		g.a.MR(asm.VMOVUPSST, g.length(g.typeOf(v)), asm.M(m), asm.Vec(best))
		g.spill[v] = m
	}
	g.forget(best)
	g.lock[best] = true
	return asm.Vec(best)
}

func (g *gen) spillSlot() asm.Mem {
	used := map[asm.Mem]bool{}
	for _, m := range g.spill {
		used[m] = true
	}
	for _, m := range g.unused {
		if !used[m] {
			return m
		}
	}
	m := g.slot()
	g.unused = append(g.unused, m)
	return m
}

// tmp returns a register that is free again after the current instruction.
func (g *gen) tmp() asm.Vec {
	r := g.take()
	g.temps = append(g.temps, r)
	return r
}

// drop gives temporaries back before the end of the instruction: those taken since
// there were mark of them, except some.
func (g *gen) drop(mark int, except ...asm.Vec) {
	kept := g.temps[:mark:mark]
	for _, r := range g.temps[mark:] {
		if slices.Contains(except, r) {
			kept = append(kept, r)
		} else if g.owner[r] < 0 {
			g.state[r], g.lock[r] = free, false
		}
	}
	g.temps = kept
}

// reg brings a value into a register.
func (g *gen) reg(v val) asm.Vec {
	r := asm.Vec(0)
	if w := g.where[v]; w >= 0 {
		r = asm.Vec(w)
	} else {
		m, ok := g.place(v)
		if !ok {
			panic("amd64: value " + g.k.Body[v.ref()].Op.String() + " is nowhere")
		}
		r = g.take()
		g.a.RM(asm.VMOVUPS, g.length(g.typeOf(v)), r, asm.M(m))
		g.hold(r, v)
	}
	g.lock[r] = true
	return r
}

// arg returns a value as an operand that may lie in memory.
func (g *gen) arg(v val) asm.Arg {
	if r := g.where[v]; r >= 0 {
		g.lock[r] = true
		return asm.V(asm.Vec(r))
	}
	if m, ok := g.place(v); ok && g.nextAfter(v) > g.pos+64 {
		return asm.M(m)
	}
	return asm.V(g.reg(v))
}

// dies reports whether a register holds a temporary that this step uses last.
func (g *gen) dies(v val) bool {
	r := g.where[v]
	return r >= 0 && g.state[r] == busy && g.nextAfter(v) == never
}

// release frees the operands that the current step used last, so that its
// result may take their place. Instruction sequences write their result last.
func (g *gen) release(ops ...val) {
	for _, v := range ops {
		if g.dies(v) {
			r := g.where[v]
			g.forget(int(r))
			g.state[r], g.lock[r] = free, false
		}
	}
}

// define takes a register for the result of the current step.
func (g *gen) define(v val) asm.Vec {
	r := g.take()
	g.hold(r, v)
	return r
}

// done ends a step.
func (g *gen) done() {
	for _, r := range g.temps {
		if g.owner[r] < 0 {
			g.state[r] = free
		}
	}
	g.temps = g.temps[:0]
	for i := range g.lock {
		g.lock[i] = false
	}
	g.pos++
	for r := range g.limit {
		if v := g.owner[r]; g.state[r] == busy && v >= 0 && g.next(v) == never {
			g.state[r] = free
			g.forget(r)
		}
	}
	if len(g.preds) == 0 {
		return
	}
	for k := asm.Mask(2); k <= 6; k++ { // in order, so that code is reproducible
		for v, p := range g.preds {
			if p == k && g.next(v) == never {
				g.kFree = append(g.kFree, k)
				delete(g.preds, v)
			}
		}
	}
}
