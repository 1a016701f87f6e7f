package cpu

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/kernel/contract"
)

var levels = map[Generator]amd64.Level{AVX2: amd64.AVX2, AVX512: amd64.AVX512}

// bestGenerator returns the widest generator that the processor and target have.
func bestGenerator() Generator {
	switch {
	case amd64.Available(amd64.AVX512):
		return AVX512
	case amd64.Available(amd64.AVX2):
		return AVX2
	}
	return Interpret
}

func hasGenerator(g Generator) bool { return amd64.Available(levels[g]) }

// onHost is a kernel as processors run it: products of f16 are those of f32.
func onHost(k *kernel.Kernel) *kernel.Kernel { return k.Widened(kernel.HalfDot) }

// code is an executable that consists of machine code.
type code interface {
	kernel.Executable
	Save(b []byte) []byte
}

// generate makes machine code of a kernel: a contraction's by the engine for these,
// all others' by the generator. The error says why there is none.
func generate(g Generator, k *kernel.Kernel) (code, error) {
	level, ok := levels[g]
	if !ok {
		return nil, &amd64.Unsupported{Kernel: k.Name, Reason: "the device interprets"}
	}
	k = onHost(k)
	if c, err := contract.Compile(k, level); err == nil {
		return c, nil
	}
	c, err := amd64.Compile(k, level)
	if err != nil {
		return nil, err
	}
	return taking(k, c), nil
}

// Whose code was saved.
const (
	savedKernel      = 0
	savedContraction = 1
)

// saveCode returns code for loadCode.
func saveCode(c code) []byte {
	of := byte(savedKernel)
	if _, ok := c.(*contract.Code); ok {
		of = savedContraction
	}
	return c.Save([]byte{of})
}

// loadCode makes the code of a kernel again.
func loadCode(level amd64.Level, k *kernel.Kernel, data []byte) (code, error) {
	k = onHost(k)
	switch {
	case len(data) > 0 && data[0] == savedKernel:
		c, err := amd64.Load(k, level, data[1:])
		if err != nil {
			return nil, err
		}
		return taking(k, c), nil
	case len(data) > 0 && data[0] == savedContraction:
		c, err := contract.Load(k, level, data[1:])
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return nil, &ir.Error{Kind: ir.ErrFormat, Op: k.Name, Msg: "saved code of an unknown form"}
}

// Apart reports whether a product is faster apart from what surrounds it; see
// [backend.Tiler]. On processors it never is: they evaluate that in their caches.
func (d *Device) Apart(k *kernel.Kernel, results int64) bool {
	a, ok := d.opt.Accelerator.(Tiler)
	return ok && a.Apart(k, results)
}

// Tiles reports whether the product of a kernel runs on packed tiles; see
// [backend.Tiler].
func (d *Device) Tiles(k *kernel.Kernel, extents []int64) bool {
	if d.accelerated() {
		a, ok := d.opt.Accelerator.(Tiler)
		return ok && a.Tiles(k, extents)
	}
	level, ok := levels[d.opt.Generator]
	return ok && contract.Takes(onHost(k), level)
}
