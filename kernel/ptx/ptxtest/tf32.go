package ptxtest

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// InF32 is a product of bf16, see [Matrices], as one of f32.
func InF32(s Spec) Spec {
	f32 := func(args []Arg) []Arg {
		args = slices.Clone(args)
		for i := range args {
			if args[i].Type == ir.BF16 {
				args[i].Type = ir.F32
			}
		}
		return args
	}
	s.In, s.Out = f32(s.In), f32(s.Out)
	s.Name, s.Kernel, s.Class = "f32 "+s.Name, "f32 "+s.Kernel, "f32"
	return s
}

// RoundTF32 rounds the operands of a product of f32, which come first, to what tf32 has: to the
// nearest, away from 0 in the middle.
func (c *Case) RoundTF32() {
	for _, b := range c.Buffers[:2] {
		for i, bits := range view[uint32](b) {
			if bits&0x7f800000 != 0x7f800000 {
				view[uint32](b)[i] = (bits + 0x1000) &^ 0x1fff
			}
		}
	}
}
