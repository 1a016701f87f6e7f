package ptx

import (
	"fmt"
	"strings"
)

// What kernels for Hopper's matrix units and bulk copy engine share.

// TensorMap describes a tensor of three or four axes to the bulk copy engine: from the one
// whose elements lie side by side, in elements and, from the second on, bytes. The fourth
// extent is 0 if there are three.
type TensorMap struct {
	Arg     int // of the kernel, -1 for an operand in scratch memory
	Base    uint64
	Offset  uint64 // in scratch memory
	Extents [4]int64
	Strides [3]int64
	Box     [4]int32 // elements moved at once
}

// Axes is the number of axes.
func (t *TensorMap) Axes() int {
	if t.Extents[3] == 0 {
		return 3
	}
	return 4
}

// boxLine is the bytes of a box's first axis, whose lines are swizzled over the banks.
const boxLine = 128

// mapAddress is the address of tensor map i.
func (a *asm) mapAddress(i int) reg {
	return a.to(b64, "cvta.param.u64", a.to(b64, "mov.b64", fmt.Sprintf("m%d", i)))
}

// bring has the copy engine bring the box at some coordinates to shared memory, and tell
// a barrier.
func (a *asm) bring(to reg, offset int, barrier, tensor reg, at ...reg) {
	list := make([]string, len(at))
	for i, r := range at {
		list[i] = string(r)
	}
	a.op(fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes", len(at)), mem(to, int64(offset)),
		fmt.Sprintf("[%s, {%s}]", tensor, strings.Join(list, ", ")), mem(barrier, 0))
}

// await waits until the phase of a barrier is over.
func (a *asm) await(barrier, phase reg) {
	again, over := a.label(), a.label()
	a.place(again)
	p := a.reg(pred)
	a.op("mbarrier.try_wait.parity.shared::cta.b64", p, mem(barrier, 0), phase)
	a.opIf(p, "bra", over)
	a.op("bra", again)
	a.place(over)
}

// descriptor describes a matrix in shared memory to the matrix units: boxes whose
// lines of 128 bytes are swizzled over the banks. Eight lines are 1024 bytes; of a
// turned matrix, whose lines go along the result's columns, the next 64 columns are in
// the next box, so many bytes away.
func (a *asm) descriptor(at reg, box int) reg {
	start := a.to(b64, "cvt.u64.u32", a.to(b32, "and.b32", a.to(b32, "shr.u32", at, "4"), "0x3fff"))
	fixed := uint64(1)<<62 | uint64(8*boxLine>>4)<<32 | uint64(box>>4)<<16
	return a.to(b64, "or.b64", start, a.constant(b64, fixed))
}

func mark(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// transposeQuad turns four entries of four lanes: lane q gets entry q of each lane,
// in the order of the lanes.
func (a *asm) transposeQuad(p [4][]reg, quad reg) [4][]reg {
	for _, d := range []int{1, 2} {
		upper := a.to(pred, "setp.ne.u32", a.to(b32, "and.b32", quad, fmt.Sprint(d)), "0")
		for i := range 4 {
			if i&d != 0 {
				continue
			}
			lo, hi := make([]reg, len(p[i])), make([]reg, len(p[i]))
			for w := range p[i] {
				x, y := p[i][w], p[i+d][w]
				// The lower lane gives its upper entry for the lower one of the upper lane.
				got := a.shuffle32(a.to(b32, "selp.b32", x, y, upper), d)
				lo[w] = a.to(b32, "selp.b32", got, x, upper)
				hi[w] = a.to(b32, "selp.b32", y, got, upper)
			}
			p[i], p[i+d] = lo, hi
		}
	}
	return p
}
