package amd64

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Registers with fixed uses. The rest hold argument pointers.
const (
	rIdx  = asm.CX  // lanes done along the vector axis
	rTmp  = asm.AX  // scratch of one instruction
	rTmp2 = asm.DX  // scratch of one instruction
	rAddr = asm.BX  // pointer of an argument without a register
	rLoop = asm.R15 // steps left along a reduced axis
	kTail = asm.Mask(7)
)

var ptrRegs = [...]asm.Reg{asm.SI, asm.R8, asm.R9, asm.R10, asm.R11, asm.R12, asm.R13, asm.R14}

// loadPointers brings the row pointers of a program's arguments into registers,
// as far as there are any. With running, the others get a running copy.
func (g *gen) loadPointers(prog []step, running bool) {
	g.ptr, g.running = map[int]asm.Reg{}, running
	for _, s := range prog {
		in := &g.k.Body[s.ref]
		if s.kind == save || s.kind == restore {
			key := -1 - int(s.ref)
			if _, ok := g.ptr[key]; !ok && len(g.ptr) < len(ptrRegs) {
				r := ptrRegs[len(g.ptr)]
				g.ptr[key] = r
				g.a.Load(r, g.saved[s.ref].word)
			}
			continue
		}
		if s.kind != plain || !touches(in) {
			continue
		}
		arg := int(in.Imm)
		if _, ok := g.ptr[arg]; ok {
			continue
		}
		if n := len(g.ptr); n < len(ptrRegs) {
			g.ptr[arg] = ptrRegs[n]
			g.a.Load(ptrRegs[n], g.argWord(arg, argPtr))
		} else if running {
			g.a.Load(rTmp, g.argWord(arg, argPtr))
			g.a.Store(g.argWord(arg, argCur), rTmp)
		}
	}
}

// touches reports whether an instruction reads or writes an argument.
func touches(in *kernel.Instr) bool {
	return in.Op == kernel.OpLoad || in.Op == kernel.OpStore || in.Op == kernel.OpGather
}

// advance moves the pointers of a program's arguments, and the indices, one step
// along the reduced axes. It reports whether the program uses such indices.
func (g *gen) advance(prog []step) (indexed bool) {
	a, p := g.a, g.p
	var args []int
	seen := map[int]bool{}
	for _, s := range prog {
		in := &g.k.Body[s.ref]
		indexed = indexed || in.Op == kernel.OpIndex && g.k.Axes[in.Imm] == kernel.Reduced
		if s.kind == plain && touches(in) && !seen[int(in.Imm)] {
			seen[int(in.Imm)] = true
			args = append(args, int(in.Imm))
		}
	}
	move := func(arg int, field int32) {
		if r, ok := g.ptr[arg]; ok {
			a.AluMem(asm.ADD, r, g.argWord(arg, field))
		} else {
			a.Load(rTmp, g.argWord(arg, field))
			a.MemAlu(asm.ADD, g.argWord(arg, argCur), rTmp)
		}
	}
	for _, arg := range args {
		r, inReg := g.ptr[arg]
		switch access := g.along(arg, p.rAxis); {
		case access == kernel.Broadcast:
		case access == kernel.Unit && inReg:
			a.AluImm(asm.ADD, r, int32(g.k.Args[arg].Type.Size()))
		default:
			move(arg, argRed)
		}
	}
	if indexed {
		a.MemAluImm(asm.ADD, g.word(wIndex+8*int32(p.rAxis)), 1)
	}
	if p.rFrom == p.rAxis {
		return indexed
	}
	done := a.NewLabel()
	for axis := p.rAxis; axis > p.rFrom; axis-- {
		at := 8 * int32(axis)
		a.MemAluImm(asm.SUB, g.word(wCarry+at), 1)
		a.Jcc(asm.NotEq, done)
		a.Load(rTmp, g.word(wExtent+at))
		a.Store(g.word(wCarry+at), rTmp)
		if indexed {
			a.MemAlu(asm.SUB, g.word(wIndex+at), rTmp)
			a.MemAluImm(asm.ADD, g.word(wIndex+at-8), 1)
		}
		for _, arg := range args {
			if g.along(arg, axis) != kernel.Broadcast || g.along(arg, axis-1) != kernel.Broadcast {
				move(arg, argWrap+at)
			}
		}
	}
	a.Bind(done)
	return indexed
}

func (g *gen) pointer(arg int) asm.Reg {
	if r, ok := g.ptr[arg]; ok {
		return r
	}
	field := int32(argPtr)
	if g.running {
		field = argCur
	}
	g.a.Load(rAddr, g.argWord(arg, field))
	return rAddr
}

// first returns the distance in lanes from CX to a copy.
func (g *gen) first(copy int) int32 { return int32(copy * g.n) }

// load emits the load of an argument into r.
func (g *gen) load(arg, copy int, r asm.Vec) {
	t := g.k.Args[arg].Type
	if g.turning[arg] {
		g.loadVector(t, g.turnedVector(arg, copy), r, false)
		return
	}
	switch g.along(arg, g.p.vAxis) {
	case kernel.Broadcast:
		g.loadScalar(t, asm.Ptr(g.pointer(arg), 0), r)
		return
	case kernel.Unit:
		if !g.masked || g.wide || t.Size() >= 4 {
			size := uint8(t.Size())
			m := asm.Idx(g.pointer(arg), rIdx, size, g.first(copy)*int32(size))
			g.loadVector(t, m, r, g.masked)
			g.fetch(arg, m)
			return
		}
	}
	g.laneCopy(arg, copy, true)
	g.loadVector(t, g.lane, r, false)
}

// store emits the store of r to an argument; scalars store one lane.
func (g *gen) store(arg, copy int, r asm.Vec, lanes bool) {
	t := g.k.Args[arg].Type
	access := g.along(arg, g.p.vAxis)
	if !lanes || access == kernel.Broadcast {
		g.storeScalar(t, asm.Ptr(g.pointer(arg), 0), r)
		return
	}
	if access == kernel.Unit && (!g.masked || g.wide || t.Size() >= 4) {
		size := uint8(t.Size())
		m := asm.Idx(g.pointer(arg), rIdx, size, g.first(copy)*int32(size))
		if g.stream && !g.masked && streams(t) {
			g.a.MR(asm.VMOVNTPS, g.length(t), asm.M(m), r)
			return
		}
		g.storeVector(t, m, r, g.masked)
		return
	}
	g.storeVector(t, g.lane, r, false)
	g.laneCopy(arg, copy, false)
}

// laneCopy moves the elements of one vector between an argument and the lane
// buffer, one by one.
func (g *gen) laneCopy(arg, copy int, in bool) {
	a := g.a
	size := int32(g.k.Args[arg].Type.Size())
	p := g.pointer(arg)
	a.Lea(rTmp2, asm.Ptr(rIdx, g.first(copy)))
	a.ImulMem(rTmp2, g.argWord(arg, argVec))
	a.Lea(rTmp, asm.Idx(p, rTmp2, 1, 0))
	a.Load(rAddr, g.argWord(arg, argVec))
	end := a.NewLabel()
	for i := range int32(g.n) {
		if g.masked && i > 0 {
			a.MemAluImm(asm.CMP, g.word(wCount), i)
			a.Jcc(asm.LessEq, end)
		}
		buf := g.lane
		buf.Disp += i * size
		from, to := asm.Ptr(rTmp, 0), buf
		if !in {
			from, to = buf, from
		}
		g.copyElement(size, to, from)
		a.Alu(asm.ADD, rTmp, rAddr)
	}
	a.Bind(end)
}

// copyElement copies one element through DX.
func (g *gen) copyElement(size int32, to, from asm.Mem) { g.moveElement(rTmp2, size, to, from) }

// loadVector loads lanes of storage type t.
func (g *gen) loadVector(t ir.DType, m asm.Mem, r asm.Vec, masked bool) {
	a, l := g.a, g.length(t)
	if masked {
		if !g.wide { // only for types of 4 or 8 bytes
			a.RM(asm.VMOVUPS, l, r, asm.M(g.laneMask(t)))
			a.RVM(pick(t, asm.VMASKMOVPS, asm.VPMASKMOVQ), l, r, r, asm.M(m))
			return
		}
		a.Masked(kTail, true)
	}
	switch t {
	case ir.F32, ir.I32, ir.U32:
		a.RM(asm.VMOVUPS, l, r, asm.M(m))
	case ir.F64, ir.I64, ir.U64:
		a.RM(asm.VMOVDQU64, l, r, asm.M(m))
	case ir.I8:
		a.RM(asm.VPMOVSXBD, l, r, asm.M(m))
	case ir.U8:
		a.RM(asm.VPMOVZXBD, l, r, asm.M(m))
	case ir.I16:
		a.RM(asm.VPMOVSXWD, l, r, asm.M(m))
	case ir.U16:
		a.RM(asm.VPMOVZXWD, l, r, asm.M(m))
	case ir.F16:
		a.RM(asm.VCVTPH2PS, l, r, asm.M(m))
	case ir.BF16:
		a.RM(asm.VPMOVZXWD, l, r, asm.M(m))
		a.VMI(asm.VPSLLD, l, r, r, 16)
	case ir.Bool:
		a.RM(asm.VPMOVZXBD, l, r, asm.M(m))
		g.nonZero(l, r)
	default:
		refuse("load of %s", t)
	}
}

// nonZero turns lanes of small integers into lanes of a bool.
func (g *gen) nonZero(l asm.Len, r asm.Vec) {
	if g.wide {
		g.a.KVM(asm.VPTESTMD, l, 1, r, asm.V(r), -1)
		g.a.RK(asm.VPMOVM2D, l, r, 1)
		return
	}
	g.a.RVM(asm.VPCMPGTD, l, r, r, asm.M(g.bits(4, 0)))
}

// laneMask is the mask of the current masked step, AVX2 only.
func (g *gen) laneMask(t ir.DType) asm.Mem {
	if laneSize(t) == 8 {
		return g.maskQ
	}
	return g.maskD
}

// loadScalar loads one element into all lanes.
func (g *gen) loadScalar(t ir.DType, m asm.Mem, r asm.Vec) {
	a, l := g.a, g.length(t)
	switch t.Size() {
	case 4:
		a.RM(asm.VBROADCASTSS, l, r, asm.M(m))
		return
	case 8:
		a.RM(asm.VBROADCASTSD, l, r, asm.M(m))
		return
	case 2:
		a.LoadWord(rTmp, m)
	default:
		a.LoadByte(rTmp, m)
	}
	a.RM(asm.VMOVD, asm.L128, r, asm.G(rTmp))
	if t == ir.F16 {
		a.RM(asm.VCVTPH2PS, asm.L128, r, asm.V(r))
	}
	a.RM(asm.VBROADCASTSS, l, r, asm.V(r))
	switch t {
	case ir.I8, ir.I16:
		a.VMI(asm.VPSLLD, l, r, r, uint8(32-t.Bits()))
		a.VMI(asm.VPSRAD, l, r, r, uint8(32-t.Bits()))
	case ir.BF16:
		a.VMI(asm.VPSLLD, l, r, r, 16)
	case ir.Bool:
		g.nonZero(l, r)
	}
}

// storeScalar stores the first lane.
func (g *gen) storeScalar(t ir.DType, m asm.Mem, r asm.Vec) {
	a := g.a
	switch t.Size() {
	case 4:
		a.MR(asm.VMOVSSST, asm.L128, asm.M(m), r)
		return
	case 8:
		a.MR(asm.VMOVSDST, asm.L128, asm.M(m), r)
		return
	}
	u := g.tmp()
	switch t {
	case ir.F16:
		a.MRI(asm.VCVTPS2PH, asm.L128, asm.V(u), r, 0)
	case ir.BF16:
		a.VMI(asm.VPSRLD, asm.L128, u, r, 16)
	case ir.Bool:
		a.VMI(asm.VPSRLD, asm.L128, u, r, 31)
	default:
		u = r
	}
	a.MR(asm.VMOVDST, asm.L128, asm.G(rTmp), u)
	if t.Size() == 2 {
		a.StoreWord(m, rTmp)
	} else {
		a.StoreByte(m, rTmp)
	}
}

// storeVector stores lanes as storage type t.
func (g *gen) storeVector(t ir.DType, m asm.Mem, r asm.Vec, masked bool) {
	a, l := g.a, g.length(t)
	if masked && !g.wide { // only for types of 4 or 8 bytes
		u := g.tmp()
		a.RM(asm.VMOVUPS, l, u, asm.M(g.laneMask(t)))
		a.MVR(pick(t, asm.VMASKMOVPSST, asm.VPMASKMOVQST), l, m, u, r)
		return
	}
	mask := func() {
		if masked {
			a.Masked(kTail, false)
		}
	}
	switch t {
	case ir.F32, ir.I32, ir.U32:
		mask()
		a.MR(asm.VMOVUPSST, l, asm.M(m), r)
		return
	case ir.F64, ir.I64, ir.U64:
		mask()
		a.MR(asm.VMOVDQU64ST, l, asm.M(m), r)
		return
	case ir.F16:
		mask()
		a.MRI(asm.VCVTPS2PH, l, asm.M(m), r, 0)
		return
	}
	u := r
	switch t {
	case ir.BF16:
		u = g.tmp()
		a.VMI(asm.VPSRLD, l, u, r, 16)
	case ir.Bool:
		u = g.tmp()
		a.VMI(asm.VPSRLD, l, u, r, 31)
	}
	if g.wide {
		mask()
		if t.Size() == 2 {
			a.MR(asm.VPMOVDW, l, asm.M(m), u)
		} else {
			a.MR(asm.VPMOVDB, l, asm.M(m), u)
		}
		return
	}
	g.pack(t.Size(), m, u)
}

// pack stores the low bytes of 32-bit lanes, AVX2 only.
func (g *gen) pack(size int, m asm.Mem, r asm.Vec) {
	a := g.a
	u, v := g.tmp(), g.tmp()
	a.RVM(asm.VPAND, g.lengthOf(4), u, r, asm.M(g.bits(4, 1<<(8*size)-1)))
	if g.n == 8 {
		a.MRI(asm.VEXTRACTF128, asm.L256, asm.V(v), u, 1)
		a.RVM(asm.VPACKUSDW, asm.L128, u, u, asm.V(v))
	} else {
		a.RVM(asm.VPACKUSDW, asm.L128, u, u, asm.V(u))
	}
	if size == 1 {
		a.RVM(asm.VPACKUSWB, asm.L128, u, u, asm.V(u))
	}
	switch g.n * size {
	case 16:
		a.MR(asm.VMOVUPSST, asm.L128, asm.M(m), u)
	case 8:
		a.MR(asm.VMOVQST, asm.L128, asm.M(m), u)
	default:
		a.MR(asm.VMOVDST, asm.L128, asm.M(m), u)
	}
}

// index emits the logical index along an axis.
func (g *gen) index(axis, copy int, r asm.Vec) {
	a := g.a
	at := g.word(wIndex + 8*int32(axis))
	if axis != g.p.vAxis {
		a.RM(asm.VBROADCASTSD, g.lengthOf(8), r, asm.M(at))
		return
	}
	a.Lea(rTmp, asm.Ptr(rIdx, g.first(copy)))
	a.AluMem(asm.ADD, rTmp, at)
	a.RM(asm.VMOVQ, asm.L128, r, asm.G(rTmp))
	a.RM(asm.VBROADCASTSD, g.lengthOf(8), r, asm.V(r))
	iota := make([]byte, g.n*8)
	for i := range g.n {
		iota[8*i] = byte(i)
	}
	a.RVM(asm.VPADDQ, g.lengthOf(8), r, r, asm.M(a.Const(iota)))
}

// setMask makes the mask of a step that begins at CX and ends at the word end.
func (g *gen) setMask(end int32) {
	a := g.a
	a.Load(rTmp, g.word(end))
	a.Alu(asm.SUB, rTmp, rIdx)
	a.MovImm(rTmp2, int64(g.n))
	a.Alu(asm.CMP, rTmp, rTmp2)
	a.Cmov(asm.Greater, rTmp, rTmp2)
	a.Store(g.word(wCount), rTmp)
	if g.wide {
		a.MovImm(rTmp2, 0xffff)
		a.Bzhi(rTmp2, rTmp2, rTmp)
		a.KMov(kTail, rTmp2)
		return
	}
	// A window into n lanes of ones and n lanes of zeros, copied through general
	// registers because a loop may hold all vector registers.
	g.copyMask(4, g.maskD)
	if g.n == 4 {
		a.Load(rTmp, g.word(wCount))
		g.copyMask(8, g.maskQ)
	}
}

func (g *gen) copyMask(lane int, to asm.Mem) {
	a := g.a
	window := make([]byte, 2*g.n*lane)
	for i := range g.n * lane {
		window[i] = 0xff
	}
	a.Lea(rTmp2, a.Const(window))
	a.ImulImm(rTmp, rTmp, int32(lane))
	a.Alu(asm.SUB, rTmp2, rTmp)
	for i := int32(0); i < int32(g.n*lane); i += 8 {
		a.Load(rTmp, asm.Ptr(rTmp2, int32(g.n*lane)+i))
		to := to
		to.Disp += i
		a.Store(to, rTmp)
	}
}
