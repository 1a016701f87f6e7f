package contract

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// pairs is a product of bf16 matrices with results in f32.
func pairs() *kernel.Kernel {
	b := kernel.NewBuilder("pairs", []kernel.AxisKind{kernel.Parallel, kernel.Reduced, kernel.Parallel})
	x := b.Load(b.AddArg(kernel.Arg{Type: ir.BF16, Dir: kernel.In, Access: []kernel.Access{kernel.Strided, kernel.Unit, kernel.Broadcast}}))
	z := b.Load(b.AddArg(kernel.Arg{Type: ir.BF16, Dir: kernel.In, Access: []kernel.Access{kernel.Broadcast, kernel.Strided, kernel.Unit}}))
	v := b.Reduce(kernel.PairDot, kernel.DotTree, x, z)
	b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: []kernel.Access{kernel.Strided, kernel.Broadcast, kernel.Unit}}), v)
	return b.K
}

// TestPairs: the instruction, where there is one, its emulation and the interpreter
// agree on elements of any bits, and on those with products around the smallest
// normal number.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	k := pairs()
	for round := range 30 {
		l := dense(k, int64(1+r.Intn(20)), int64(1+r.Intn(9)), int64(1+r.Intn(70)))
		for _, a := range l.Args[:2] {
			for i := range a.Size / 2 {
				bits := uint64(r.Intn(1 << 16))
				if round%2 == 0 {
					bits = bits&0x807f | uint64(127-63-4+r.Intn(8))<<7
				}
				put(unsafe.Add(a.Base, 2*i), 2, bits)
			}
		}
		for _, level := range levels(t) {
			c, err := Compile(k, level)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, r, c, l)
		}
	}
}
