// Package asm encodes amd64 machine code.
//
// It knows nothing of kernels: callers name an operation, a vector length and
// operands, and get bytes. Three invariants hold for everything it emits:
//
//   - A vector operation is one row of a table. The row serves both the VEX and
//     the EVEX encoding where the opcode is shared, so an operation cannot
//     behave differently at the two levels. EVEX is chosen only when something
//     asks for it (a 512-bit length, a register above 15, a mask, an embedded
//     broadcast, or an operation that exists only there).
//   - The code is position independent. Branches and references to the constant
//     pool are relative, so the finished bytes may be copied anywhere.
//   - Jumps always use 32-bit displacements: the layout never depends on the
//     distance of a label, and one pass suffices.
//
// Misuse (an unbound label, a memory operand where none is possible) is a
// programming error of the generator and panics.
package asm

import (
	"encoding/binary"
	"fmt"
)

// Reg is a general-purpose register.
type Reg uint8

// The general-purpose registers, by hardware number.
const (
	AX Reg = iota
	CX
	DX
	BX
	SP
	BP
	SI
	DI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15

	// NoReg means that an address has no such part.
	NoReg Reg = 0xff
	// pcReg is the base of an address relative to a label.
	pcReg Reg = 0xfe
)

// Vec is a vector register, 0 to 31; numbers above 15 exist only under EVEX.
type Vec uint8

// Mask is a predicate register k0 to k7. K0 as a write mask means "no mask".
type Mask uint8

// Len is the length of a vector operation.
type Len uint8

// The vector lengths.
const (
	L128 Len = iota
	L256
	L512
)

// Bytes returns the number of bytes in a vector of the length.
func (l Len) Bytes() int { return 16 << l }

// Label names a position in the code.
type Label int32

// Mem is an address: Base + Index*Scale + Disp.
type Mem struct {
	Base, Index Reg
	Scale       uint8 // 1, 2, 4 or 8; 0 where there is no index
	Disp        int32
	label       Label // with Base == pcReg
}

// Ptr returns the address base+disp.
func Ptr(base Reg, disp int32) Mem { return Mem{Base: base, Index: NoReg, Disp: disp} }

// Idx returns the address base + index*scale + disp.
func Idx(base, index Reg, scale uint8, disp int32) Mem {
	return Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}

// At returns the address of a label.
func At(l Label) Mem { return Mem{Base: pcReg, Index: NoReg, label: l} }

type fixup struct {
	at    int // offset of the 32-bit field
	end   int // offset that the displacement counts from
	label Label
}

type poolItem struct {
	label Label
	data  string
}

// Asm accumulates the code of one routine.
type Asm struct {
	buf    []byte
	labels []int // offset, or -1 while unbound
	fixups []fixup
	pool   []poolItem
	known  map[string]Label

	// Modifiers of the next vector instruction.
	mask Mask
	zero bool
}

// New returns an empty assembler.
func New() *Asm {
	return &Asm{known: map[string]Label{}, buf: make([]byte, 0, 8<<10), labels: make([]int, 0, 128), fixups: make([]fixup, 0, 256)}
}

// Len returns the number of code bytes so far.
func (a *Asm) Len() int { return len(a.buf) }

// NewLabel returns a label that is not bound yet.
func (a *Asm) NewLabel() Label {
	a.labels = append(a.labels, -1)
	return Label(len(a.labels) - 1)
}

// Bind places a label here.
func (a *Asm) Bind(l Label) {
	if a.labels[l] >= 0 {
		panic("asm: label bound twice")
	}
	a.labels[l] = len(a.buf)
}

// Here returns a new label bound at the current position.
func (a *Asm) Here() Label {
	l := a.NewLabel()
	a.Bind(l)
	return l
}

// Const puts bytes into the constant pool and returns their address. Equal
// constants share one place. The length must be a power of two, which is also
// the alignment.
func (a *Asm) Const(data []byte) Mem {
	key := string(data)
	l, ok := a.known[key]
	if !ok {
		l = a.NewLabel()
		a.known[key] = l
		a.pool = append(a.pool, poolItem{l, key})
	}
	return At(l)
}

// Const32 is Const for one 32-bit word.
func (a *Asm) Const32(v uint32) Mem {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return a.Const(b[:])
}

// Const64 is Const for one 64-bit word.
func (a *Asm) Const64(v uint64) Mem {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return a.Const(b[:])
}

// Finish appends the constant pool, resolves all references and returns the
// bytes. They must be placed at a 64-byte boundary.
func (a *Asm) Finish() []byte {
	for size := 64; size >= 1; size >>= 1 {
		for _, it := range a.pool {
			if len(it.data) != size {
				continue
			}
			for len(a.buf)%size != 0 {
				a.buf = append(a.buf, 0xcc)
			}
			a.Bind(it.label)
			a.buf = append(a.buf, it.data...)
		}
	}
	for _, f := range a.fixups {
		at := a.labels[f.label]
		if at < 0 {
			panic(fmt.Sprintf("asm: label %d is not bound", f.label))
		}
		binary.LittleEndian.PutUint32(a.buf[f.at:], uint32(int32(at-f.end)))
	}
	return a.buf
}

// Align pads with no-ops to a multiple of n.
func (a *Asm) Align(n int) {
	nops := [...][]byte{
		{0x90}, {0x66, 0x90}, {0x0f, 0x1f, 0x00}, {0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00}, {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0, 0, 0, 0}, {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
	}
	for len(a.buf)%n != 0 {
		gap := n - len(a.buf)%n
		a.emit(nops[min(gap, len(nops))-1]...)
	}
}

func (a *Asm) emit(b ...byte) { a.buf = append(a.buf, b...) }

func (a *Asm) imm32(v int32) { a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(v)) }

// modrm emits the ModRM byte, the SIB byte and the displacement of an address.
// n is the unit of compressed 8-bit displacements (1 outside EVEX), tail the
// number of immediate bytes that follow.
func (a *Asm) modrm(reg uint8, m Mem, n int32, tail int) {
	reg &= 7
	if m.Base == pcReg {
		a.emit(reg<<3 | 5)
		at := len(a.buf)
		a.imm32(0)
		a.fixups = append(a.fixups, fixup{at: at, end: len(a.buf) + tail, label: m.label})
		return
	}
	if m.Base == NoReg {
		panic("asm: address without a base")
	}
	var mod uint8
	switch {
	case m.Disp == 0 && m.Base&7 != BP:
		mod = 0
	case m.Disp%n == 0 && m.Disp/n >= -128 && m.Disp/n <= 127:
		mod = 1
	default:
		mod = 2
	}
	switch {
	case m.Index != NoReg:
		if m.Index == SP {
			panic("asm: SP cannot be an index")
		}
		var ss uint8
		switch m.Scale {
		case 1:
		case 2:
			ss = 1
		case 4:
			ss = 2
		case 8:
			ss = 3
		default:
			panic("asm: bad scale")
		}
		a.emit(mod<<6|reg<<3|4, ss<<6|uint8(m.Index&7)<<3|uint8(m.Base&7))
	case m.Base&7 == SP:
		a.emit(mod<<6|reg<<3|4, 0x20|uint8(m.Base&7))
	default:
		a.emit(mod<<6 | reg<<3 | uint8(m.Base&7))
	}
	switch mod {
	case 1:
		a.emit(uint8(int8(m.Disp / n)))
	case 2:
		a.imm32(m.Disp)
	}
}
