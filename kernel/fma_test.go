package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// exactFMA32 is a*b+c by rational arithmetic, of finite operands.
func exactFMA32(a, b, c float32) float32 {
	x := new(big.Rat).SetFloat64(float64(a))
	x.Mul(x, new(big.Rat).SetFloat64(float64(b)))
	x.Add(x, new(big.Rat).SetFloat64(float64(c)))
	if x.Sign() == 0 {
		// The product is zero of the sign of its factors, or cancels c.
		neg := math.Signbit(float64(a)) != math.Signbit(float64(b))
		if (a == 0 || b == 0) && c == 0 && neg && math.Signbit(float64(c)) {
			return negZero32
		}
		return 0
	}
	return ratF32(x)
}

// ratF32 rounds a nonzero number to float32.
func ratF32(x *big.Rat) float32 {
	f, _ := x.Float32()
	return float32(math.Copysign(math.Abs(float64(f)), float64(x.Sign())))
}

// hardFMA returns operands whose result is at or next to a tie, subnormal, or
// what cancellation leaves.
func hardFMA(r interface {
	Uint32() uint32
	IntN(int) int
}, round int) (a, b, c float32) {
	any32 := func(exp int) float32 {
		return math.Float32frombits(r.Uint32()&0x807fffff | uint32(exp&255)<<23)
	}
	a, b = any32(64+r.IntN(127)), any32(64+r.IntN(127))
	p := float64(a) * float64(b)
	switch round % 6 {
	case 0: // near a tie from one side: c far below the last bit of a product
		a = math.Float32frombits(math.Float32bits(a) &^ 0xfff)
		b = math.Float32frombits(math.Float32bits(b)&^0xfff | 0x800)
		p = float64(a) * float64(b)
		c = float32(math.Ldexp(math.Copysign(1+float64(r.IntN(3)), float64(r.IntN(2))-0.5), math.Ilogb(p)-20-r.IntN(60)))
	case 1: // c large, the product at half an ulp of it, plus or minus a little
		c = any32(100 + r.IntN(50))
		e := math.Ilogb(float64(c)) - 24
		a = 1 + float32(r.IntN(3)-1)*0x1p-23
		b = float32(math.Ldexp(1+float64(r.IntN(3)-1)*0x1p-23, e))
	case 2: // cancellation
		c = -float32(p)
	case 3: // subnormal results
		a, b = any32(1+r.IntN(80)), any32(1+r.IntN(80))
		c = any32(r.IntN(4))
	case 4: // subnormal ties: an odd multiple of half the smallest, nudged
		c = math.Float32frombits(r.Uint32() & 0x800fffff)
		a = math.Float32frombits(0x3f800000 + uint32(r.IntN(3)) - 1)
		b = float32(math.Copysign(0x1p-75, float64(r.IntN(2))-0.5))
		a *= 0x1p-75
	case 5:
		c = any32(r.IntN(255))
		a, b = any32(r.IntN(255)), any32(r.IntN(255))
	}
	return a, b, c
}

func TestFMA32(t *testing.T) {
	r := newRand(11)
	const n = 60000
	a, b, c := make([]float32, n), make([]float32, n), make([]float32, n)
	doubled := 0
	for i := range n {
		a[i], b[i], c[i] = hardFMA(r, i)
		got, want := FMA32(a[i], b[i], c[i]), exactFMA32(a[i], b[i], c[i])
		if !sameF(got, want) {
			t.Fatalf("%x*%x+%x: got %x, want %x", a[i], b[i], c[i], got, want)
		}
		if naive := float32(float64(float64(a[i])*float64(b[i])) + float64(c[i])); !sameF(naive, want) {
			doubled++
		}
	}
	if doubled < n/100 {
		t.Errorf("only %d of %d cases round twice without the correction: the cases are too easy", doubled, n)
	}
	k := newKB(pp)
	k.store(k.emit(OpFma, ir.F32, 0, k.load(ir.F32, Unit), k.load(ir.F32, Unit), k.load(ir.F32, Unit)), Unit)
	d := make([]float32, n)
	k.build(t).Run(&Launch{Extents: []int64{n}, Args: []Operand{op(a, 0, 1), op(b, 0, 1), op(c, 0, 1), op(d, 0, 1)}})
	into := append([]float32(nil), c...)
	fmaInto(into, a, b)
	for i := range d {
		if want := FMA32(a[i], b[i], c[i]); !sameF(d[i], want) || !sameF(into[i], want) || !sameF(fmaChain(c[i], a[i:i+1], b[i:i+1]), want) {
			t.Fatalf("tile at %d", i)
		}
	}
}

func TestFMA32Special(t *testing.T) {
	inf, big := float32(posInf), float32(math.MaxFloat32)
	for _, c := range []struct{ a, b, c, want float32 }{
		{inf, 0, 1, nan32}, {inf, 1, -inf, nan32}, {inf, 2, 3, inf}, {nan32, 1, 1, nan32}, {1, 1, nan32, nan32},
		{big, big, -inf, -inf}, {big, 2, -big, big}, {big, 2, 0, inf},
		{-1, 0, 0, 0}, {-1, 0, negZero32, negZero32}, {1, 1, -1, 0}, {-1, 1, 1, 0},
		// Half an ulp above the largest: a tie that overflows, and one that just does not.
		{0x1p103, 1, big, inf}, {0x1p103, 1 - 0x1p-24, big, big},
		// Products below the smallest subnormal keep their sign, or nudge a tie.
		{-0x1p-100, 0x1p-100, 0, negZero32}, {0x1p-75, 0x1p-75, 0, 0}, {0x1p-75, 0x1.000002p-75, 0, 0x1p-149},
	} {
		if got := FMA32(c.a, c.b, c.c); !sameF(got, c.want) {
			t.Errorf("fma(%x, %x, %x) = %x, want %x", c.a, c.b, c.c, got, c.want)
		}
	}
}
