package asm

// Arg is the operand of a vector instruction that may be a register or memory.
type Arg struct {
	mem   Mem
	reg   uint8
	isMem bool
	bcast bool
}

// V makes a register operand.
func V(r Vec) Arg { return Arg{reg: uint8(r)} }

// G makes a general-purpose register operand.
func G(r Reg) Arg { return Arg{reg: uint8(r)} }

// M makes a memory operand.
func M(m Mem) Arg { return Arg{mem: m, isMem: true} }

// MB makes a memory operand of one element, broadcast to all lanes (EVEX).
func MB(m Mem) Arg { return Arg{mem: m, isMem: true, bcast: true} }

// IsMem reports whether the operand lies in memory.
func (x Arg) IsMem() bool { return x.isMem }

// Vec returns the vector register of a register operand.
func (x Arg) Vec() Vec { return Vec(x.reg) }

// Masked makes the next vector instruction write only lanes set in k. With
// zero, other lanes become zero; otherwise they keep their value.
func (a *Asm) Masked(k Mask, zero bool) *Asm {
	a.mask, a.zero = k, zero
	return a
}

// RVM emits dst = op(x, y).
func (a *Asm) RVM(op Op, l Len, dst, x Vec, y Arg) { a.vec(op, l, uint8(dst), uint8(x), y, -1) }

// RVMI emits dst = op(x, y, imm).
func (a *Asm) RVMI(op Op, l Len, dst, x Vec, y Arg, imm uint8) {
	a.vec(op, l, uint8(dst), uint8(x), y, int(imm))
}

// RM emits dst = op(x): unary operations and loads.
func (a *Asm) RM(op Op, l Len, dst Vec, x Arg) { a.vec(op, l, uint8(dst), 0, x, -1) }

// RMI emits dst = op(x, imm).
func (a *Asm) RMI(op Op, l Len, dst Vec, x Arg, imm uint8) {
	a.vec(op, l, uint8(dst), 0, x, int(imm))
}

// MR emits dst = op(src) where the destination may lie in memory: stores and
// narrowing moves.
func (a *Asm) MR(op Op, l Len, dst Arg, src Vec) { a.vec(op, l, uint8(src), 0, dst, -1) }

// MRI is MR with an immediate.
func (a *Asm) MRI(op Op, l Len, dst Arg, src Vec, imm uint8) {
	a.vec(op, l, uint8(src), 0, dst, int(imm))
}

// MVR emits a store of src under the vector mask m (vmaskmovps and the like).
func (a *Asm) MVR(op Op, l Len, dst Mem, m, src Vec) { a.vec(op, l, uint8(src), uint8(m), M(dst), -1) }

// VMI emits dst = src shifted by an immediate.
func (a *Asm) VMI(op Op, l Len, dst, src Vec, imm uint8) {
	a.vec(op, l, table[op].digit, uint8(dst), V(src), int(imm))
}

// KVM emits a comparison that writes a predicate.
func (a *Asm) KVM(op Op, l Len, dst Mask, x Vec, y Arg, imm int) {
	a.vec(op, l, uint8(dst), uint8(x), y, imm)
}

// KR emits a move of lane signs into a predicate (vpmovd2m).
func (a *Asm) KR(op Op, l Len, dst Mask, x Vec) { a.vec(op, l, uint8(dst), 0, V(x), -1) }

// RK emits a move of a predicate into lanes of all ones (vpmovm2d).
func (a *Asm) RK(op Op, l Len, dst Vec, k Mask) { a.vec(op, l, uint8(dst), 0, V(Vec(k)), -1) }

// GM emits an operation whose result is a general-purpose register (vmovmskps,
// vcvttsd2si).
func (a *Asm) GM(op Op, l Len, dst Reg, x Vec) { a.vec(op, l, uint8(dst), 0, V(x), -1) }

// RVMR emits dst = x or y by the sign of the lanes of m (vblendvps).
func (a *Asm) RVMR(op Op, l Len, dst, x Vec, y Arg, m Vec) {
	a.vec(op, l, uint8(dst), uint8(x), y, int(m)<<4)
}

// BlendM emits dst = y where k is set, else x (vpblendmd).
func (a *Asm) BlendM(op Op, l Len, dst Vec, k Mask, x Vec, y Arg) {
	a.mask = k
	a.vec(op, l, uint8(dst), uint8(x), y, -1)
}

// vec emits one vector instruction. imm is -1 where there is none.
func (a *Asm) vec(op Op, l Len, reg, vvvv uint8, rm Arg, imm int) {
	r := &table[op]
	if r.lig {
		l = L128
	}
	evex := r.enc&vexOK == 0 || l == L512 || reg > 15 || vvvv > 15 || !rm.isMem && rm.reg > 15 ||
		a.mask != 0 || rm.bcast
	if evex && r.enc&evexOK == 0 {
		panic("asm: " + r.name + " has no EVEX encoding")
	}
	tail := 0
	if imm >= 0 {
		tail = 1
	}
	n := int32(1)
	if evex {
		n = a.evex(r, l, reg, vvvv, rm)
	} else {
		x, b := uint8(0), rm.reg
		if rm.isMem {
			x, b = 0, 0
			if rm.mem.Index != NoReg {
				x = uint8(rm.mem.Index)
			}
			if rm.mem.Base < pcReg {
				b = uint8(rm.mem.Base)
			}
		}
		a.vex3(reg, x, b, r.mm, r.w, vvvv, uint8(l), r.pp)
	}
	a.emit(r.opc)
	if rm.isMem {
		a.modrm(reg, rm.mem, n, tail)
	} else {
		a.emit(0xc0 | reg&7<<3 | rm.reg&7)
	}
	if imm >= 0 {
		a.emit(uint8(imm))
	}
	a.mask, a.zero = 0, false
}

// vex3 emits a VEX prefix, in two bytes where that suffices.
func (a *Asm) vex3(reg, x, b, mm, w, vvvv, l, pp uint8) {
	r, x, b := ^reg>>3&1, ^x>>3&1, ^b>>3&1
	last := ^vvvv&15<<3 | l<<2 | pp
	if mm == 1 && w == 0 && x == 1 && b == 1 {
		a.emit(0xc5, r<<7|last)
		return
	}
	a.emit(0xc4, r<<7|x<<6|b<<5|mm, w<<7|last)
}

// evex emits an EVEX prefix and returns the unit of 8-bit displacements.
func (a *Asm) evex(r *row, l Len, reg, vvvv uint8, rm Arg) int32 {
	x, b := rm.reg>>4&1, rm.reg>>3&1
	if rm.isMem {
		x, b = 0, 0
		if rm.mem.Index != NoReg {
			x = uint8(rm.mem.Index) >> 3 & 1
		}
		if rm.mem.Base < pcReg {
			b = uint8(rm.mem.Base) >> 3 & 1
		}
	}
	inv := func(v uint8) uint8 { return ^v & 1 }
	p0 := inv(reg>>3)<<7 | inv(x)<<6 | inv(b)<<5 | inv(reg>>4)<<4 | r.mm
	p1 := r.ew<<7 | ^vvvv&15<<3 | 4 | r.pp
	p2 := uint8(l)<<5 | inv(vvvv>>4)<<3 | uint8(a.mask)
	if a.zero {
		p2 |= 0x80
	}
	unit := int32(l.Bytes()) >> r.frac
	if r.scalar {
		unit = int32(r.elem)
	}
	if rm.bcast {
		p2 |= 0x10
		unit = int32(r.elem)
	}
	a.emit(0x62, p0, p1, p2)
	return unit
}
