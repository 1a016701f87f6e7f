package limit

import (
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Registers of the loops. DI has the block.
const (
	src, dst, count = asm.SI, asm.DX, asm.CX
	chains          = 12 // independent ones: four cycles of latency, two pipes, and some
)

// products are the instructions that multiply and add, with the operations that a
// 32-bit lane of theirs does.
var products = map[Kind]struct {
	op   asm.Op
	lane float64
}{
	F32:  {asm.VFMADD231PS, 2},
	F64:  {asm.VFMADD231PD, 1},
	BF16: {asm.VDPBF16PS, 4},
	Int8: {asm.VPDPBUSD, 8},
}

func length(l amd64.Level) asm.Len {
	if l == amd64.AVX512 {
		return asm.L512
	}
	return asm.L256
}

// operations is the number of them in a turn of an arithmetic loop.
func operations(k Kind, l amd64.Level) float64 {
	return products[k].lane * float64(length(l).Bytes()/4) * 2 * chains
}

// assemble writes the loop of a kind.
func assemble(k Kind, level amd64.Level) *asm.Asm {
	a, l := asm.New(), length(level)
	a.Load(src, asm.Ptr(asm.DI, 0))
	a.Load(dst, asm.Ptr(asm.DI, 8))
	a.Load(count, asm.Ptr(asm.DI, 16))
	for i := range asm.Vec(16) {
		a.RVM(asm.VPXOR, l, i, i, asm.V(i))
	}
	a.Align(32)
	turn := a.Here()
	switch p, ok := products[k]; {
	case ok:
		for range 2 {
			for i := range asm.Vec(chains) {
				a.RVM(p.op, l, i, chains, asm.V(chains+1))
			}
		}
	case k == Read:
		for at := 0; at < unit; at += l.Bytes() {
			i := asm.Vec(at / l.Bytes() % 8)
			a.RVM(asm.VPOR, l, i, i, asm.M(asm.Ptr(src, int32(at))))
		}
	default:
		store := asm.VMOVUPSST
		if k == CopyStream {
			store = asm.VMOVNTPS
		}
		for from := 0; from < unit; from += 4 * l.Bytes() {
			for i := range asm.Vec(4) {
				a.RM(asm.VMOVUPS, l, i, asm.M(asm.Ptr(src, int32(from+int(i)*l.Bytes()))))
			}
			for i := range asm.Vec(4) {
				a.MR(store, l, asm.M(asm.Ptr(dst, int32(from+int(i)*l.Bytes()))), i)
			}
		}
	}
	a.AluImm(asm.ADD, src, unit)
	a.AluImm(asm.ADD, dst, unit)
	a.Dec(count)
	a.Jcc(asm.NotEq, turn)
	if k == CopyStream {
		a.Sfence()
	}
	a.VZeroUpper()
	a.Ret()
	return a
}
