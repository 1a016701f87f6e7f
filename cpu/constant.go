package cpu

import (
	"unsafe"

	"github.com/sinter-go/sinter/kernel/contract"
)

// constantUse is the use of a buffer as an operand of products at which it is taken for
// constant: weights are used again and again, while an activation is used once or
// twice, and a weight in training twice before it changes.
const constantUse = 4

// prepack lets a contraction read operands where they are kept packed beside their
// buffers, and makes that when an operand has been used often enough. Bits do not
// depend on it. What is kept goes when a tensor finds no memory, so no memory is made
// between this and the run.
func (d *Device) prepack(p *part) {
	code, ok := p.exe.(*contract.Code)
	if !ok || d.opt.NoPacking || p.buffers == nil {
		return
	}
	var at [2]unsafe.Pointer
	for side, k := range code.Constants(p.l) {
		if k.Bytes > 0 {
			at[side] = d.constant(p, code, k)
		}
	}
	if at == [2]unsafe.Pointer{} {
		return
	}
	packed := newReady(p.k, code.WithPacked(at), true)
	p.ready = &packed
}

// constant returns where an operand is kept packed, nil if it is not.
func (d *Device) constant(p *part, code *contract.Code, k contract.Constant) unsafe.Pointer {
	b := p.buffers[k.Arg]
	if b.release != nil { // somebody else may write there
		return nil
	}
	side := b.derived(k.Key)
	if side == nil {
		if b.products++; b.products < constantUse {
			return nil
		}
		if side = d.pool.keep(b, k.Key, k.Bytes); side == nil {
			return nil
		}
		d.workers.runWork(code.PackConstant(p.l, k.Side, unsafe.Pointer(unsafe.SliceData(side.data))))
	}
	return unsafe.Pointer(unsafe.SliceData(side.data))
}
