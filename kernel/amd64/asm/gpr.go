package asm

// Cond is the condition of a jump, by its hardware number.
type Cond uint8

// The conditions.
const (
	Below   Cond = 2 // unsigned <
	AboveEq Cond = 3
	Eq      Cond = 4
	NotEq   Cond = 5
	BelowEq Cond = 6
	Above   Cond = 7
	Less    Cond = 12 // signed <
	GreatEq Cond = 13
	LessEq  Cond = 14
	Greater Cond = 15
)

// ALU is a two-operand integer operation, by its hardware number.
type ALU uint8

// The two-operand integer operations.
const (
	ADD ALU = 0
	OR  ALU = 1
	AND ALU = 4
	SUB ALU = 5
	XOR ALU = 6
	CMP ALU = 7
)

// Shift is a shift of a general-purpose register, by its hardware number.
type Shift uint8

// The shifts.
const (
	SHL Shift = 4
	SHR Shift = 5
	SAR Shift = 7
)

func (a *Asm) rex(w uint8, reg Reg, m Mem) {
	p := 0x40 | w<<3 | uint8(reg>>3&1)<<2
	if m.Index != NoReg {
		p |= uint8(m.Index>>3&1) << 1
	}
	if m.Base != pcReg {
		p |= uint8(m.Base >> 3 & 1)
	}
	if p != 0x40 {
		a.emit(p)
	}
}

func (a *Asm) rr(w uint8, opc uint8, reg, rm Reg) {
	p := 0x40 | w<<3 | uint8(reg>>3&1)<<2 | uint8(rm>>3&1)
	if p != 0x40 {
		a.emit(p)
	}
	a.emit(opc, 0xc0|uint8(reg&7)<<3|uint8(rm&7))
}

// Mov copies a 64-bit register.
func (a *Asm) Mov(dst, src Reg) { a.rr(1, 0x89, src, dst) }

// MovImm loads a constant in its shortest form.
func (a *Asm) MovImm(dst Reg, v int64) {
	switch {
	case v == 0:
		a.rr(0, 0x31, dst, dst)
	case v > 0 && v <= 0xffffffff:
		if dst >= R8 {
			a.emit(0x41)
		}
		a.emit(0xb8 | uint8(dst&7))
		a.imm32(int32(uint32(v)))
	case v == int64(int32(v)):
		a.emit(0x48|uint8(dst>>3&1), 0xc7, 0xc0|uint8(dst&7))
		a.imm32(int32(v))
	default:
		a.emit(0x48|uint8(dst>>3&1), 0xb8|uint8(dst&7))
		a.imm32(int32(uint32(v)))
		a.imm32(int32(v >> 32))
	}
}

// Load reads 64 bits.
func (a *Asm) Load(dst Reg, m Mem) { a.rex(1, dst, m); a.emit(0x8b); a.modrm(uint8(dst), m, 1, 0) }

// Load32 reads 32 bits and clears the upper half.
func (a *Asm) Load32(dst Reg, m Mem) { a.rex(0, dst, m); a.emit(0x8b); a.modrm(uint8(dst), m, 1, 0) }

// LoadByte reads 8 bits and clears the rest.
func (a *Asm) LoadByte(dst Reg, m Mem) {
	a.rex(0, dst, m)
	a.emit(0x0f, 0xb6)
	a.modrm(uint8(dst), m, 1, 0)
}

// LoadWord reads 16 bits and clears the rest.
func (a *Asm) LoadWord(dst Reg, m Mem) {
	a.rex(0, dst, m)
	a.emit(0x0f, 0xb7)
	a.modrm(uint8(dst), m, 1, 0)
}

// Store writes 64 bits.
func (a *Asm) Store(m Mem, src Reg) { a.rex(1, src, m); a.emit(0x89); a.modrm(uint8(src), m, 1, 0) }

// Store32 writes 32 bits.
func (a *Asm) Store32(m Mem, src Reg) { a.rex(0, src, m); a.emit(0x89); a.modrm(uint8(src), m, 1, 0) }

// StoreWord writes 16 bits.
func (a *Asm) StoreWord(m Mem, src Reg) {
	a.emit(0x66)
	a.rex(0, src, m)
	a.emit(0x89)
	a.modrm(uint8(src), m, 1, 0)
}

// StoreByte writes 8 bits of AX, CX, DX or BX, or of R8 to R15.
func (a *Asm) StoreByte(m Mem, src Reg) {
	if src >= SP && src <= DI {
		panic("asm: byte register needs a prefix that is not emitted")
	}
	a.rex(0, src, m)
	a.emit(0x88)
	a.modrm(uint8(src), m, 1, 0)
}

// Lea computes an address.
func (a *Asm) Lea(dst Reg, m Mem) { a.rex(1, dst, m); a.emit(0x8d); a.modrm(uint8(dst), m, 1, 0) }

// Alu computes dst = dst op src on 64 bits (CMP only sets flags).
func (a *Asm) Alu(op ALU, dst, src Reg) { a.rr(1, uint8(op)<<3|1, src, dst) }

// Alu32 is Alu on 32 bits, clearing the upper half.
func (a *Asm) Alu32(op ALU, dst, src Reg) { a.rr(0, uint8(op)<<3|1, src, dst) }

// AluMem computes dst = dst op memory on 64 bits.
func (a *Asm) AluMem(op ALU, dst Reg, m Mem) {
	a.rex(1, dst, m)
	a.emit(uint8(op)<<3 | 3)
	a.modrm(uint8(dst), m, 1, 0)
}

// MemAlu computes memory = memory op src on 64 bits.
func (a *Asm) MemAlu(op ALU, m Mem, src Reg) {
	a.rex(1, src, m)
	a.emit(uint8(op)<<3 | 1)
	a.modrm(uint8(src), m, 1, 0)
}

// AluImm computes dst = dst op v on 64 bits.
func (a *Asm) AluImm(op ALU, dst Reg, v int32) {
	a.emit(0x48 | uint8(dst>>3&1))
	if v == int32(int8(v)) {
		a.emit(0x83, 0xc0|uint8(op)<<3|uint8(dst&7), uint8(v))
		return
	}
	a.emit(0x81, 0xc0|uint8(op)<<3|uint8(dst&7))
	a.imm32(v)
}

// MemAluImm computes memory = memory op v on 64 bits.
func (a *Asm) MemAluImm(op ALU, m Mem, v int32) {
	a.rex(1, 0, m)
	if v == int32(int8(v)) {
		a.emit(0x83)
		a.modrm(uint8(op), m, 1, 1)
		a.emit(uint8(v))
		return
	}
	a.emit(0x81)
	a.modrm(uint8(op), m, 1, 4)
	a.imm32(v)
}

// ShiftImm shifts a 64-bit register by a constant.
func (a *Asm) ShiftImm(op Shift, dst Reg, n uint8) {
	a.emit(0x48|uint8(dst>>3&1), 0xc1, 0xc0|uint8(op)<<3|uint8(dst&7), n)
}

// Imul computes dst *= src on 64 bits.
func (a *Asm) Imul(dst, src Reg) {
	a.emit(0x48|uint8(dst>>3&1)<<2|uint8(src>>3&1), 0x0f, 0xaf, 0xc0|uint8(dst&7)<<3|uint8(src&7))
}

// ImulMem computes dst *= memory on 64 bits.
func (a *Asm) ImulMem(dst Reg, m Mem) {
	a.rex(1, dst, m)
	a.emit(0x0f, 0xaf)
	a.modrm(uint8(dst), m, 1, 0)
}

// ImulImm computes dst = src * v on 64 bits.
func (a *Asm) ImulImm(dst, src Reg, v int32) {
	a.emit(0x48|uint8(dst>>3&1)<<2|uint8(src>>3&1), 0x69, 0xc0|uint8(dst&7)<<3|uint8(src&7))
	a.imm32(v)
}

// Dec subtracts one from a 64-bit register, leaving the carry alone.
func (a *Asm) Dec(r Reg) { a.emit(0x48|uint8(r>>3&1), 0xff, 0xc8|uint8(r&7)) }

// Neg negates a 64-bit register.
func (a *Asm) Neg(r Reg) { a.emit(0x48|uint8(r>>3&1), 0xf7, 0xd8|uint8(r&7)) }

// Idiv divides DX:AX by a 64-bit register, signed: AX is the quotient, DX the
// remainder.
func (a *Asm) Idiv(r Reg) { a.emit(0x48|uint8(r>>3&1), 0xf7, 0xf8|uint8(r&7)) }

// Div is Idiv, unsigned.
func (a *Asm) Div(r Reg) { a.emit(0x48|uint8(r>>3&1), 0xf7, 0xf0|uint8(r&7)) }

// Cqo extends the sign of AX into DX.
func (a *Asm) Cqo() { a.emit(0x48, 0x99) }

// LoadInt32 reads 32 bits and extends the sign.
func (a *Asm) LoadInt32(dst Reg, m Mem) {
	a.rex(1, dst, m)
	a.emit(0x63)
	a.modrm(uint8(dst), m, 1, 0)
}

// Test sets the flags of x AND y.
func (a *Asm) Test(x, y Reg) { a.rr(1, 0x85, y, x) }

// Cmov copies src to dst where the condition holds.
func (a *Asm) Cmov(c Cond, dst, src Reg) {
	a.emit(0x48|uint8(dst>>3&1)<<2|uint8(src>>3&1), 0x0f, 0x40|uint8(c), 0xc0|uint8(dst&7)<<3|uint8(src&7))
}

// Jcc jumps where the condition holds.
func (a *Asm) Jcc(c Cond, l Label) {
	a.emit(0x0f, 0x80|uint8(c))
	a.ref(l)
}

// Jmp jumps.
func (a *Asm) Jmp(l Label) {
	a.emit(0xe9)
	a.ref(l)
}

// Call calls a routine in the same code.
func (a *Asm) Call(l Label) {
	a.emit(0xe8)
	a.ref(l)
}

func (a *Asm) ref(l Label) {
	at := len(a.buf)
	a.imm32(0)
	a.fixups = append(a.fixups, fixup{at: at, end: at + 4, label: l})
}

// Push saves a register on the stack.
func (a *Asm) Push(r Reg) {
	if r >= R8 {
		a.emit(0x41)
	}
	a.emit(0x50 | uint8(r&7))
}

// Pop restores a register from the stack.
func (a *Asm) Pop(r Reg) {
	if r >= R8 {
		a.emit(0x41)
	}
	a.emit(0x58 | uint8(r&7))
}

// Ret returns to the caller.
func (a *Asm) Ret() { a.emit(0xc3) }

// Bzhi computes dst = src with the bits from number n upwards cleared. It has
// no effect on bits where n (its low byte) exceeds the width.
func (a *Asm) Bzhi(dst, src, n Reg) {
	a.vex3(uint8(dst), 0, uint8(src), 2, 1, uint8(n), 0, 0)
	a.emit(0xf5, 0xc0|uint8(dst&7)<<3|uint8(src&7))
}

// Sfence orders streaming stores before all later ones.
func (a *Asm) Sfence() { a.emit(0x0f, 0xae, 0xf8) }

// LoadMXCSR sets the control and status of vector arithmetic, StoreMXCSR stores it.
func (a *Asm) LoadMXCSR(m Mem) { a.rex(0, 2, m); a.emit(0x0f, 0xae); a.modrm(2, m, 1, 0) }

// StoreMXCSR stores what [Asm.LoadMXCSR] sets.
func (a *Asm) StoreMXCSR(m Mem) { a.rex(0, 3, m); a.emit(0x0f, 0xae); a.modrm(3, m, 1, 0) }

// VZeroUpper clears the upper halves of the vector registers.
func (a *Asm) VZeroUpper() { a.emit(0xc5, 0xf8, 0x77) }

// KMov loads the low 16 bits of a register into a predicate.
func (a *Asm) KMov(k Mask, src Reg) {
	a.vex3(uint8(k), 0, uint8(src), 1, 0, 0, 0, 0)
	a.emit(0x92, 0xc0|uint8(k&7)<<3|uint8(src&7))
}

// KGet stores a predicate into a register.
func (a *Asm) KGet(dst Reg, k Mask) {
	a.vex3(uint8(dst), 0, uint8(k), 1, 0, 0, 0, 0)
	a.emit(0x93, 0xc0|uint8(dst&7)<<3|uint8(k&7))
}

// KOp is a three-operand operation on 16-bit predicates, by its opcode.
type KOp uint8

// The predicate operations; KANDN computes ^x & y.
const (
	KAND  KOp = 0x41
	KANDN KOp = 0x42
	KOR   KOp = 0x45
	KXNOR KOp = 0x46
	KXOR  KOp = 0x47
)

// K computes dst = x op y.
func (a *Asm) K(op KOp, dst, x, y Mask) {
	a.vex3(uint8(dst), 0, uint8(y), 1, 0, uint8(x), 1, 0)
	a.emit(uint8(op), 0xc0|uint8(dst&7)<<3|uint8(y&7))
}

// KNot computes dst = ^x on 16 bits.
func (a *Asm) KNot(dst, x Mask) {
	a.vex3(uint8(dst), 0, uint8(x), 1, 0, 0, 0, 0)
	a.emit(0x44, 0xc0|uint8(dst&7)<<3|uint8(x&7))
}

// KOrTest sets the zero flag if 16-bit predicates have no bit set.
func (a *Asm) KOrTest(x, y Mask) {
	a.vex3(uint8(x), 0, uint8(y), 1, 0, 0, 0, 0)
	a.emit(0x98, 0xc0|uint8(x&7)<<3|uint8(y&7))
}

// KMovK copies a predicate.
func (a *Asm) KMovK(dst, src Mask) {
	a.vex3(uint8(dst), 0, uint8(src), 1, 0, 0, 0, 0)
	a.emit(0x90, 0xc0|uint8(dst&7)<<3|uint8(src&7))
}

// PrefetchNTA asks for the line of m where it disturbs the caches least.
func (a *Asm) PrefetchNTA(m Mem) {
	a.rex(0, 0, m)
	a.emit(0x0f, 0x18)
	a.modrm(0, m, 1, 0)
}

// Tzcnt counts the zeros below the lowest bit.
func (a *Asm) Tzcnt(dst, src Reg) {
	a.emit(0xf3, 0x48|uint8(dst>>3&1)<<2|uint8(src>>3&1), 0x0f, 0xbc, 0xc0|uint8(dst&7)<<3|uint8(src&7))
}

// CPUID asks the processor for the leaf in AX and CX; the answer is in AX, BX, CX
// and DX.
func (a *Asm) CPUID() { a.emit(0x0f, 0xa2) }
