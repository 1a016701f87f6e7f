package cpu

import (
	"unsafe"

	"github.com/sinter-go/sinter/kernel/contract"
)

// constantUse is the use of a buffer as second operand of a product at which it is
// taken for constant: weights are used again and again, while an activation is used
// once or twice, and a weight in training twice before it changes.
const constantUse = 4

// prepack lets a contraction read its second operand where it is kept packed beside its
// buffer, and makes that when the operand has been used often enough. Bits do not
// depend on it. What is kept goes when a tensor finds no memory, so no memory is made
// between this and the run.
func (d *Device) prepack(p *part) {
	code, ok := p.exe.(*contract.Code)
	if !ok || d.opt.NoPacking || p.buffers == nil {
		return
	}
	k, ok := code.Constant(p.l)
	if !ok {
		return
	}
	b := p.buffers[k.Arg]
	if b.release != nil { // somebody else may write there
		return
	}
	side := b.derived(k.Key)
	if side == nil {
		if b.products++; b.products < constantUse {
			return
		}
		if side = d.pool.keep(b, k.Key, k.Bytes); side == nil {
			return
		}
		d.workers.runWork(code.PackConstant(p.l, unsafe.Pointer(unsafe.SliceData(side.data))))
	}
	packed := newReady(p.k, code.WithPacked(unsafe.Pointer(unsafe.SliceData(side.data))), true)
	p.ready = &packed
}
