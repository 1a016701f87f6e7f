// Package amd64 turns kernels into machine code for processors with AVX2 and
// FMA, or with AVX-512 (F, BW, DQ, VL).
//
// One generator serves both levels; the width is a parameter. What it keeps:
//
//   - The bits are those of the interpreter in package kernel, whatever the
//     level, the unrolling or the way a launch is split. A kernel that cannot be
//     translated exactly is refused with an [*Unsupported] error.
//   - Every value of a kernel occupies the same number of lanes. If a kernel
//     touches a 64-bit type, 32-bit values use half of a register.
//   - A bool is a 32-bit lane of all ones or all zeros. Narrow integers live
//     extended in 32-bit lanes, f16 and bf16 as the f32 of equal value.
//   - Generated code touches memory only inside the operands' elements and its
//     own context block, never the stack beyond its return address, so a fault
//     in it unwinds as an ordinary Go panic.
//
// A kernel becomes passes over its reduced axes ([pass]): one per stage and tree.
// Lanes run along the reduced axis where every tree is striped, else along a kept
// one, which serves every tree, any number of reduced axes, and scans. Element
// values that a later pass needs again come from a buffer of the row where
// computing them twice would cost more.
//
// The code needs one pointer: DI addresses the context block, which holds
// pointers, strides, extents, parameters, spilled values and partial sums. The
// block is not Go-typed memory; [Code.Run] keeps the operands alive meanwhile.
package amd64

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// Level is an instruction set level.
type Level uint8

// The levels.
const (
	AVX2 Level = iota
	AVX512
)

// String returns the name of the level.
func (l Level) String() string {
	if l == AVX512 {
		return "avx512"
	}
	return "avx2"
}

// bytes is the size of a vector.
func (l Level) bytes() int {
	if l == AVX512 {
		return 64
	}
	return 32
}

// Unsupported says why a kernel was refused.
type Unsupported struct {
	Kernel string
	Reason string
}

func (e *Unsupported) Error() string {
	return fmt.Sprintf("amd64: kernel %s: %s", e.Kernel, e.Reason)
}

// Compile translates a kernel to code of the given level, which the processor
// must have ([Available]). The error is an [*Unsupported] where the interpreter
// must serve.
func Compile(k *kernel.Kernel, level Level) (*Code, error) {
	if !Available(level) {
		return nil, &Unsupported{k.Name, "no " + level.String() + " code can run here"}
	}
	if err := k.Verify(); err != nil {
		return nil, err
	}
	p, err := generate(k, level, false)
	if err != nil {
		return nil, err
	}
	return load(p)
}

// refusal is thrown inside the generator and returned as Unsupported.
type refusal string

func refuse(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }
