package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// The instructions that read matrices from shared memory, and multiply them.
const (
	readMatrices   = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
	readTransposed = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	multiplyBF16   = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
	multiplyF16    = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
	multiplyTF32   = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
	roundTF32      = "cvt.rna.tf32.f32"
)

// fragments are what a thread holds of both operands for 16 steps: for every sixteen lines of
// the warp four words, which are its parts of four matrices of eight lines by eight steps. A
// word is two steps of line lane/4, those from 2·(lane mod 4) on. Of the first operand the
// matrices go on along the lines first, of the second along the steps: so the instruction
// takes them. An f32 takes the place of two halves: a word is one step, a fragment eight.
type fragments [2][][4]reg

func (e *warpEmitter) newFragments() *fragments {
	var f fragments
	for i, s := range e.sides {
		f[i] = make([][4]reg, s.own/16)
		for j := range f[i] {
			f[i][j] = [4]reg{e.reg(b32), e.reg(b32), e.reg(b32), e.reg(b32)}
		}
	}
	return &f
}

// readers finds the rows that the lane tells addresses of when matrices are read: row lane
// mod 8 of matrix lane/8. Its place in a slab differs by a constant between sixteens of
// lines, and has a register for each 16 steps of a slab; in an operand that is turned it is
// the other way round.
func (e *warpEmitter) readers(s *warpSide) {
	row := e.to(b32, "and.b32", e.lane, "7")
	low := e.to(b32, "and.b32", e.to(b32, "shr.u32", e.lane, "3"), "1")
	high := e.to(b32, "shr.u32", e.lane, "4")
	line, step := low, high // whether the matrix is the second one along lines, and along steps
	if s.number == 1 {
		line, step = high, low
	}
	if !s.turned {
		at := e.to(b32, "add.u32", s.line, e.to(b32, "mad.lo.u32", line, "8", row))
		for i := range e.f.depth / warpStep {
			s.where = append(s.where, e.vectorPlace(s.shape, at, e.to(b32, "add.u32", step, fmt.Sprint(2*i))))
		}
		return
	}
	at := e.to(b32, "mad.lo.u32", step, "8", row)
	first := e.to(b32, "add.u32", e.to(b32, "shr.u32", s.line, "3"), line)
	for i := range s.own / 16 {
		s.where = append(s.where, e.vectorPlace(s.shape, at, e.to(b32, "add.u32", first, fmt.Sprint(2*i))))
	}
}

// readStep reads the fragments of 16 steps of a slab.
func (e *warpEmitter) readStep(slab reg, step int, to *fragments) {
	for i, s := range e.sides {
		sixteen := 16 * s.shape.pitch()
		var p reg
		if !s.turned {
			p = e.to(b32, "add.u32", slab, s.where[step])
		}
		for j := range to[i] {
			op, off := readMatrices, s.at+j*sixteen
			if s.turned {
				op, off = readTransposed, s.at+step*sixteen
				p = e.to(b32, "add.u32", slab, s.where[j])
			}
			e.op(op, group(to[i][j][:]), mem(p, int64(off)))
		}
	}
}

// multiplyStep adds the products of 16 steps to the sums of the warp.
func (e *warpEmitter) multiplyStep(f *fragments) {
	op := map[ir.DType]string{ir.BF16: multiplyBF16, ir.F16: multiplyF16, ir.F32: multiplyTF32}[e.unit]
	if e.unit == ir.F32 {
		for _, side := range f {
			for _, words := range side {
				for _, r := range words {
					e.op(roundTF32, r, r)
				}
			}
		}
	}
	for i := range f[0] {
		for j := range 2 * len(f[1]) {
			sums := group(e.acc[i][4*j : 4*j+4])
			e.op(op, sums, group(f[0][i][:]), group(f[1][j/2][2*(j%2):2*(j%2)+2]), sums)
		}
	}
}
