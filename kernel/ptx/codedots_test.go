package ptx

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// codeCase is a product with codes.
type codeCase struct {
	rows, k, n, bits, block int
	signed                  bool
	scale                   ir.DType
	scales, zeros           blockForm
	layout                  layout
}

func (c codeCase) String() string {
	return fmt.Sprintf("%dx%dx%d bits %d block %d signed %v %s scales %v zeros %v %s", c.rows, c.k, c.n, c.bits, c.block, c.signed, c.scale, c.scales, c.zeros, c.layout)
}

// shape is that of scales or zero points.
func (c codeCase) shape(f blockForm) ir.Shape {
	s := ir.Shape{1, 1}
	if f.perRow {
		s[0] = c.n
	}
	if f.perBlock && c.block > 0 {
		s[1] = (c.k + c.block - 1) / c.block
	}
	return s
}

// node draws the operands: codes, x and zero points of any bits, scales that now and then
// are not finite.
func (c codeCase) node(t testing.TB, rng *rand.Rand) *nativeNode {
	bytes := (c.k*c.bits + 7) / 8
	if c.block > 0 {
		bytes = (c.k + c.block - 1) / c.block * c.block * c.bits / 8
	}
	codes := ir.U8
	if c.signed {
		codes = ir.I8
	}
	in := []*array{newArray(ir.I8, c.rows, c.k), newArray(codes, c.n, bytes), random(rng, c.scale, c.shape(c.scales)...), newArray(codes, c.shape(c.zeros)...)}
	for i, a := range in {
		if i == dotsScale {
			continue
		}
		for j := range a.data {
			a.data[j] = byte(rng.Uint32())
		}
	}
	for i := range in {
		in[i].layout = (c.layout + layout(i)) % splat
		if c.layout == rowMajor {
			in[i].layout = rowMajor
		}
	}
	return newNativeNode(t, "dot_codes", ir.A("bits", c.bits, "block", c.block), in...)
}

// codeForms are all that a product of bits and blocks can be.
func codeForms(bits, block int) (out []codeCase) {
	signs := []bool{false, true}
	if bits == 4 {
		signs = signs[:1]
	}
	for _, signed := range signs {
		for _, scale := range []ir.DType{ir.F32, ir.F16, ir.BF16} {
			for scales := range 4 {
				for zeros := range 4 {
					form := func(i int) blockForm { return blockForm{perRow: i&1 != 0, perBlock: i&2 != 0} }
					if block > 0 || scales < 2 && zeros < 2 {
						out = append(out, codeCase{bits: bits, block: block, signed: signed, scale: scale, scales: form(scales), zeros: form(zeros)})
					}
				}
			}
		}
	}
	return out
}

// TestCodeDots: products with codes have the bits of the processor's, of every form, of
// sizes that fill no word, no step and no round.
func TestCodeDots(t *testing.T) {
	x := NewNatives(Target{Major: 9, Multiprocessors: 1})
	rng := rand.New(rand.NewPCG(8, 1))
	run := func(c codeCase) {
		t.Run(c.String(), func(t *testing.T) { c.node(t, rng).check(t, x) })
	}
	for _, bits := range []int{8, 4} {
		for _, block := range []int{0, 32} {
			for _, c := range codeForms(bits, block) {
				c.rows, c.k, c.n = 2, 96, 11
				run(c)
			}
		}
	}
	per := blockForm{perRow: true, perBlock: true}
	sized := func(rows, k, n int, blocks ...int) {
		for _, bits := range []int{8, 4} {
			for _, block := range blocks {
				if block*bits%32 == 0 {
					run(codeCase{rows: rows, k: k, n: n, bits: bits, block: block, signed: bits == 8, scale: ir.F16, scales: per, zeros: per})
				}
			}
		}
	}
	for _, k := range []int{1, 3, 7, 16, 37, 64, 66, 100, 129, 260, 1030} {
		sized(1, k, 9, 0, 8, 24, 64, 128, 2048)
		sized(3, k, 5, 0, 8, 40, 64, 128, 2048)
	}
	for rows := range 18 {
		sized(rows+1, 192, 33, 0, 8, 64)
	}
	for l := range splat {
		for _, bits := range []int{8, 4} {
			run(codeCase{rows: 5, k: 80, n: 6, bits: bits, block: 16, scale: ir.F32, scales: per, zeros: per, layout: l})
		}
	}
}
