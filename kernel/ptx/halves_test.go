package ptx

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestHalfRounding: an operation on two numbers of a half type has the same bits rounded
// once as rounded to f32 first, whichever they are.
func TestHalfRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []ir.DType{ir.BF16, ir.F16} {
		for _, op := range []string{"add", "sub", "mul"} {
			once := halfOperation([]string{op, "rn", halfName(typ)}, halfName(typ))
			for x := range uint32(1 << 16) {
				for i := range 64 {
					y := r.Uint32() & 0xffff
					if i%2 == 0 { // of one size, where digits cancel and products are subnormal
						y = x&0x7f80 ^ r.Uint32()&0x81ff
					}
					a, b := halfValue(typ, uint16(x)), halfValue(typ, uint16(y))
					want := a + b
					switch op {
					case "sub":
						want = a - b
					case "mul":
						want = a * b
					}
					have, twice := uint16(once([4]uint64{uint64(x), uint64(y)})), halfBits(typ, want)
					if h, w := halfValue(typ, have), halfValue(typ, twice); have != twice && (h == h || w == w) {
						t.Fatalf("%s %s of %#04x and %#04x: %#04x once, %#04x twice", op, typ, x, y, have, twice)
					}
				}
			}
		}
	}
}

// TestHalvesOf: what a chain of bf16 computes in f32 by the IR is done in bf16, constants
// that the type has too, and on sm_80, which cannot, is not.
func TestHalvesOf(t *testing.T) {
	for major, want := range map[int]int{9: 4, 8: 1} {
		b := kernel.NewBuilder("chain", []kernel.AxisKind{kernel.Parallel})
		b.AddArg(kernel.Arg{Type: ir.BF16, Access: []kernel.Access{kernel.Unit}})
		b.AddArg(kernel.Arg{Type: ir.BF16, Dir: kernel.Out, Access: []kernel.Access{kernel.Unit}})
		float := func(x float32) kernel.Ref { return b.Const(ir.F32, uint64(math.Float32bits(x))) }
		round := func(r kernel.Ref) kernel.Ref { return b.Convert(b.Convert(r, ir.BF16), ir.F32) }
		x := b.Convert(b.Load(0), ir.F32)
		v := round(b.Op(kernel.OpMul, ir.F32, x, float(0.5)))
		v = round(b.Op(kernel.OpMul, ir.F32, v, float(0.1)))                              // not a bf16
		v = round(b.Op(kernel.OpAdd, ir.F32, v, b.Op(kernel.OpMul, ir.F32, x, x)))        // not rounded between
		v = round(b.Op(kernel.OpSub, ir.F32, round(b.Op(kernel.OpAdd, ir.F32, v, x)), x)) // two
		v = round(b.Op(kernel.OpMax, ir.F32, v, float(0)))                                // anywhere
		b.Store(1, b.Convert(b.Op(kernel.OpFma, ir.F32, v, x, x), ir.BF16))               // has one rounding where two are meant
		if got := len(halvesOf(b.K, Target{Major: major})); got != want {
			t.Errorf("sm_%d0: %d operations, expected %d\n%s", major, got, want, b.K)
		}
	}
}
