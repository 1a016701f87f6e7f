package ptx

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// TestBytes: what is done to bytes in words, and what looks like it but is not, has the bits of
// the definition.
func TestBytes(t *testing.T) {
	flat := func(types ...ir.DType) (out []ptxtest.Arg) {
		for _, t := range types {
			out = append(out, ptxtest.Arg{Type: t, Axes: "u"})
		}
		return out
	}
	one := ptxtest.Arg{Type: ir.U8, Axes: "b"}
	type build func(b *kernel.Builder, in []kernel.Ref) kernel.Ref
	do := func(op kernel.Op, wide, t ir.DType, constant uint64) build {
		return func(b *kernel.Builder, in []kernel.Ref) kernel.Ref {
			y := b.Const(wide, constant)
			if len(in) > 1 {
				y = b.Op(kernel.OpCvt, wide, in[1])
			}
			return b.Op(kernel.OpCvt, t, b.Op(op, wide, b.Op(kernel.OpCvt, wide, in[0]), y))
		}
	}
	through := func(op kernel.Op, types ...ir.DType) build {
		return func(b *kernel.Builder, in []kernel.Ref) kernel.Ref {
			x := in[0]
			for i, t := range types {
				if i > 0 {
					op = kernel.OpCvt
				}
				x = b.Op(op, t, x)
			}
			return x
		}
	}
	for _, c := range []struct {
		name string
		in   []ptxtest.Arg
		out  ir.DType
		f    build
	}{
		{"i8 by u32 to f32", flat(ir.I8), ir.F32, through(kernel.OpCvt, ir.U32, ir.F32)},
		{"i8 by u32 to bf16", flat(ir.I8), ir.BF16, through(kernel.OpCvt, ir.U32, ir.BF16)},
		{"i8 by u64 to f32", flat(ir.I8), ir.F32, through(kernel.OpCvt, ir.U64, ir.F32)},
		{"u8 by i32 to f16", flat(ir.U8), ir.F16, through(kernel.OpCvt, ir.I32, ir.F16)},
		{"bits of i8 as u8", flat(ir.I8), ir.F32, through(kernel.OpBitcast, ir.U8, ir.F32)},
		{"bits of u8 as i8", flat(ir.U8), ir.F32, through(kernel.OpBitcast, ir.I8, ir.F32)},
		{"and of what is not 0", flat(ir.U8, ir.U8), ir.U8, do(kernel.OpAnd, ir.Bool, ir.U8, 0)},
		{"xor of what is not 0", flat(ir.I8, ir.I8), ir.I8, do(kernel.OpXor, ir.Bool, ir.I8, 0)},
		{"and in 64 bits", flat(ir.U8), ir.U8, do(kernel.OpAnd, ir.I64, ir.U8, 15)},
		{"or of bits above", flat(ir.I8), ir.I8, do(kernel.OpOr, ir.I32, ir.I8, 0x1f0)},
		{"shift by one for all", append(flat(ir.U8), one), ir.U8, do(kernel.OpShr, ir.U32, ir.U8, 0)},
		{"shift by 33", flat(ir.U8), ir.U8, do(kernel.OpShr, ir.U32, ir.U8, 33)},
		{"shift by most", flat(ir.U8), ir.U8, do(kernel.OpShr, ir.U32, ir.U8, 0xffffffff)},
		{"shift of a sign", flat(ir.I8), ir.I8, do(kernel.OpShr, ir.I32, ir.I8, 3)},
	} {
		s := ptxtest.Spec{Name: c.name, Axes: "p", Extents: []int64{1008}, In: c.in, Out: []ptxtest.Arg{{Type: c.out, Axes: "u"}},
			Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref { return []kernel.Ref{c.f(b, in)} }}
		t.Run(c.name, func(t *testing.T) { simulateSpec(t, s, Target{Major: 9}) })
	}
}
