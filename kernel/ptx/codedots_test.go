package ptx

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
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

// codeTargets make blocks small and large, and codes read further ahead and less far.
var codeTargets = []Target{{Major: 9, Multiprocessors: 1}, {Major: 9}}

// TestCodeDots: products with codes have the bits of the processor's, of every form, of
// sizes that fill no word, no step and no round.
func TestCodeDots(t *testing.T) {
	var x []*Natives
	for _, target := range codeTargets {
		x = append(x, NewNatives(target))
	}
	rng := rand.New(rand.NewPCG(8, 1))
	run := func(c codeCase, x ...*Natives) {
		t.Run(c.String(), func(t *testing.T) {
			n := c.node(t, rng)
			for _, x := range x {
				n.check(t, x)
			}
		})
	}
	for _, bits := range []int{8, 4} {
		for _, block := range []int{0, 32} {
			for i, c := range codeForms(bits, block) {
				c.rows, c.k, c.n = 1+2*(i%2), 96, 9
				run(c, x[i/2%2])
			}
		}
	}
	per := blockForm{perRow: true, perBlock: true}
	sized := func(rows, k, n int, blocks ...int) {
		for _, bits := range []int{8, 4} {
			for _, block := range blocks {
				if block*bits%32 == 0 {
					run(codeCase{rows: rows, k: k, n: n, bits: bits, block: block, signed: bits == 8, scale: ir.F16, scales: per, zeros: per}, x...)
				}
			}
		}
	}
	for _, k := range []int{1, 3, 16, 37, 66, 129, 260, 1030} {
		sized(1, k, 5, 0, 8, 64, 128)
	}
	for _, k := range []int{7, 64, 100, 500} {
		sized(3, k, 3, 0, 24, 40, 192, 2048)
	}
	sized(1, 4200, 3, 2048) // a block of several rounds
	for _, rows := range []int{2, 4, 5, 6, 7, 8, 9, 12, 17} {
		sized(rows, 192, 35, 0, 64)
	}
	sized(8, 4384, 3, 0, 32) // x in several chunks
	for l := range splat {
		for _, bits := range []int{8, 4} {
			run(codeCase{rows: 5, k: 80, n: 6, bits: bits, block: 16, scale: ir.F32, scales: per, zeros: per, layout: l}, x...)
		}
	}
}

// TestCodeDotsForms: what is aligned is read by 16 bytes, for few rows of x and blocks that
// vectors do not cross; blocks are made small until all multiprocessors have one.
func TestCodeDotsForms(t *testing.T) {
	for _, c := range []struct {
		f                codeForm
		first            uint64
		k, bytes         int
		n                int64
		read             codeRead
		staged, warps, s int
	}{
		{codeForm{bits: 8, lines: 1}, 0, 4096, 4096, 4096, codeVectors, 16, 4, 16},
		{codeForm{bits: 8, lines: 1}, 0, 4096, 4096, 11008, codeVectors, 16, 4, 8},
		{codeForm{bits: 8, lines: 8}, 0, 4096, 4096, 4096, codeWords, 16, 4, 8},
		{codeForm{bits: 4, lines: 8}, 0, 4096, 2048, 4096, codeWords, 16, 4, 4},
		{codeForm{bits: 8, lines: 3}, 0, 4096, 4096, 1024, codeWords, 16, 1, 16},
		{codeForm{bits: 4, lines: 1, block: 4}, 0, 4096, 2048, 2048, codeVectors, 16, 2, 16},
		{codeForm{bits: 4, lines: 1, block: 3}, 0, 4080, 2040, 4096, codeWords, 4, 4, 16},
		{codeForm{bits: 4, lines: 1}, 0, 4088, 2044, 4096, codeWords, 4, 4, 16},
		{codeForm{bits: 4, lines: 1}, 0, 4092, 2046, 4096, codeBytes, 1, 4, 4},
		{codeForm{bits: 8, lines: 1}, 4, 4096, 4096, 4096, codeWords, 4, 4, 16},
		{codeForm{bits: 8, lines: 1}, 2, 4096, 4096, 4096, codeBytes, 1, 4, 4},
	} {
		f := c.f
		f.read, f.staged = f.reading(c.first, c.bytes), f.staging(c.first, c.k, c.bytes)
		f.fit(132, c.n, 1)
		if f.read != c.read || f.staged != c.staged || f.warps != c.warps || f.depth != c.s {
			t.Errorf("%+v of %d rows: codes read by %d, x by %d bytes, %d warps, %d steps ahead, expected %d, %d, %d, %d",
				c.f, c.n, f.read, f.staged, f.warps, f.depth, c.read, c.staged, c.warps, c.s)
		}
	}
}

// TestCodeDotsMove: a plan moves to other addresses of its key, and keys tell apart what
// plans ask of addresses.
func TestCodeDotsMove(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	per := blockForm{perRow: true}
	n := codeCase{rows: 2, k: 64, n: 9, bits: 8, signed: true, scale: ir.F32, scales: per}.node(t, rand.New(rand.NewPCG(9, 1)))
	var first, second simulator
	before, _ := n.tensors(&first)
	second.buffers = append(second.buffers, simBuffer{1, nil}) // the others come at other places
	after, results := n.tensors(&second)
	for i := range after {
		b := &second.buffers[1+i]
		b.base += 3 * alignments
		*(*uint64)(unsafe.Pointer(&after[i].Operand.Base)) = b.base
	}
	key := string(x.AppendKey(nil, &n.node, before))
	if string(x.AppendKey(nil, &n.node, after)) != key {
		t.Fatal("tensors some lines further have another key")
	}
	plan, err := x.Plan(&n.node, before)
	if err != nil || plan == nil {
		t.Fatal(plan, err)
	}
	plan.MoveTo(after)
	for _, s := range plan.Steps {
		pr, err := load(s.Entry.Text)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.launch(pr, s.GridX, s.GridY, s.Params); err != nil {
			t.Fatal(err)
		}
	}
	if bad, first := ptxtest.Mismatches(ir.F32, results[0], n.onHost(t)[0]); bad > 0 {
		t.Errorf("moved: %d mismatches, %s", bad, first)
	}
	after[dotsCodes].Operand.Offset += 4
	if string(x.AppendKey(nil, &n.node, after)) == key {
		t.Error("codes at other places in their lines have the same key")
	}
}
