package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// format is a binary floating-point format of at most 64 bits.
type format struct{ exp, frac int }

// Narrow formats first, so that samples have one order.
var floatTypes = []ir.DType{ir.F16, ir.BF16, ir.F32, ir.F64}

var formats = map[ir.DType]format{ir.F16: {5, 10}, ir.BF16: {8, 7}, ir.F32: {8, 23}, ir.F64: {11, 52}}

// value decodes bits by the definition of the format; nil if not finite.
func (f format) value(bits uint64) (x *big.Rat, neg, nan bool) {
	neg = bits>>(f.exp+f.frac)&1 == 1
	e := int(bits >> f.frac & (1<<f.exp - 1))
	m := int64(bits & (1<<f.frac - 1))
	bias := 1<<(f.exp-1) - 1
	if e == 1<<f.exp-1 {
		return nil, neg, m != 0
	}
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.frac
	}
	x = new(big.Rat).SetInt64(m)
	x.Mul(x, pow2(e-bias-f.frac))
	if neg {
		x.Neg(x)
	}
	return x, neg, false
}

func pow2(n int) *big.Rat {
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), uint(-n)))
	}
	return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(n)))
}

// round returns the bits of the value nearest to |x|, ties to even, by search
// among the finite values, which are ordered as their bits are.
func (f format) round(x *big.Rat, neg bool) uint64 {
	sign := uint64(0)
	if neg {
		sign = 1 << (f.exp + f.frac)
	}
	a := new(big.Rat).Abs(x)
	inf := uint64(1<<f.exp-1) << f.frac
	at := func(bits uint64) *big.Rat {
		if bits == inf { // where the next finite value would be
			return pow2(1 << (f.exp - 1))
		}
		v, _, _ := f.value(bits)
		return v
	}
	lo, hi := uint64(0), inf
	if a.Cmp(at(inf)) >= 0 {
		return sign | inf
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; at(mid).Cmp(a) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	twice := new(big.Rat).Add(a, a)
	switch twice.Cmp(new(big.Rat).Add(at(lo), at(hi))) {
	case -1:
		return sign | lo
	case 1:
		return sign | hi
	}
	return sign | (lo + lo&1)
}

// convertRef converts by the rules, in rational arithmetic. nan reports that any
// NaN will do.
func convertRef(to, from ir.DType, bits uint64) (want uint64, nan bool) {
	var x *big.Rat
	neg, isNaN := false, false
	switch from.Kind() {
	case ir.KindFloat:
		x, neg, isNaN = formats[from].value(bits)
	case ir.KindInt:
		v := int64(bits<<(64-from.Bits())) >> (64 - from.Bits())
		x, neg = new(big.Rat).SetInt64(v), v < 0
	default:
		x = new(big.Rat).SetInt(new(big.Int).SetUint64(bits))
	}
	switch {
	case to == ir.Bool:
		if x == nil || x.Sign() != 0 {
			return 1, false
		}
		return 0, false
	case to.IsFloat():
		f := formats[to]
		if isNaN {
			return 0, true
		}
		if x == nil {
			return f.round(pow2(5000), neg), false
		}
		return f.round(x, neg), false
	}
	mask := ^uint64(0) >> (64 - to.Bits())
	lo, hi := big.NewInt(0), new(big.Int).SetUint64(mask)
	if to.Kind() == ir.KindInt {
		hi.Rsh(hi, 1)
		lo.Not(hi)
	}
	var v *big.Int
	switch {
	case !from.IsFloat():
		v = x.Num()
		return new(big.Int).And(v, new(big.Int).SetUint64(mask)).Uint64(), false
	case isNaN:
		return 0, false
	case x == nil && neg:
		v = lo
	case x == nil:
		v = hi
	default:
		v = new(big.Int).Quo(x.Num(), x.Denom()) // truncates
		if v.Cmp(lo) < 0 {
			v = lo
		}
		if v.Cmp(hi) > 0 {
			v = hi
		}
	}
	return new(big.Int).And(v, new(big.Int).SetUint64(mask)).Uint64(), false
}

func isNaNBits(t ir.DType, bits uint64) bool {
	f := formats[t]
	return bits&(1<<(f.exp+f.frac)-1) > uint64(1<<f.exp-1)<<f.frac
}

func checkConvert(t *testing.T, to, from ir.DType, bits uint64) {
	t.Helper()
	got := Convert(to, from, bits)
	want, nan := convertRef(to, from, bits)
	if nan {
		if !isNaNBits(to, got) {
			t.Fatalf("%s %#x to %s: got %#x, want a NaN", from, bits, to, got)
		}
		return
	}
	if got != want {
		t.Fatalf("%s %#x to %s: got %#x, want %#x", from, bits, to, got, want)
	}
}

// sampleBits returns values of a type that lie at the edges of others.
func sampleBits(t ir.DType) []uint64 {
	mask := ^uint64(0) >> (64 - t.Bits())
	if t == ir.Bool {
		return []uint64{0, 1}
	}
	var out []uint64
	r := newRand(uint64(t))
	add := func(v uint64) {
		for d := uint64(0); d < 5; d++ {
			out = append(out, (v+d-2)&mask)
		}
	}
	if t.IsFloat() {
		f := formats[t]
		sign := uint64(1) << (f.exp + f.frac)
		inf := uint64(1<<f.exp-1) << f.frac
		add(inf)
		add(inf | sign)
		add(inf | 1<<(f.frac-1))
		// Around every power of two, half way between two values of a narrower
		// format, and between integers.
		for e := uint64(0); e < 1<<f.exp; e += 1 + uint64(1<<f.exp)>>9 {
			v := e << f.frac
			add(v)
			add(v | sign)
			for _, ft := range floatTypes {
				g := formats[ft]
				if g.frac < f.frac {
					half := uint64(1) << (f.frac - g.frac - 1)
					add(v | half)
					add(v | half | 1<<(f.frac-g.frac) | sign)
				}
			}
		}
		for e := range 66 { // near the edges of the integer types
			for _, x := range []float64{0, -1, -0.5, 0.5, 1} {
				x += math.Ldexp(1, e)
				add(Convert(t, ir.F64, math.Float64bits(x)))
				add(Convert(t, ir.F64, math.Float64bits(-x)))
			}
		}
	} else {
		for e := range t.Bits() {
			add(1 << e)
			add(-(uint64(1) << e))
			for _, ft := range floatTypes { // ties of the float formats
				g := formats[ft]
				if e > g.frac+1 {
					add(1<<e | 1<<(e-g.frac-1))
					add(1<<e | 3<<(e-g.frac-1))
					add(-(uint64(1)<<e | 1<<(e-g.frac-1)))
				}
			}
		}
	}
	for range 200 {
		out = append(out, r.Uint64()&mask)
	}
	return out
}

func TestConvertSamples(t *testing.T) {
	for _, from := range ir.DTypes() {
		samples := sampleBits(from)
		if from.Size() <= 2 {
			samples = nil
			for v := uint64(0); v < 1<<from.Bits() && (from != ir.Bool || v < 2); v++ {
				samples = append(samples, v)
			}
		}
		for _, to := range ir.DTypes() {
			if to == from {
				continue
			}
			// The reference is slow where it has to search.
			step := 1 + len(samples)/1500
			if to.IsFloat() || from == ir.F64 {
				step = 1 + len(samples)/200
			}
			if testing.Short() {
				step *= 8
			}
			for i := 0; i < len(samples); i += step {
				checkConvert(t, to, from, samples[i])
			}
		}
	}
}

// TestHalfExhaustive checks every 16-bit value: there and back, and the point
// half way to the next value and its neighbours in float32 and float64.
func TestHalfExhaustive(t *testing.T) {
	for _, h := range []struct {
		t    ir.DType
		wide func(uint16) float32
		f32  func(float32) uint16
		f64  func(float64) uint16
	}{{ir.F16, F16ToF32, F16FromF32, F16FromF64}, {ir.BF16, BF16ToF32, BF16FromF32, BF16FromF64}} {
		f := formats[h.t]
		inf := uint16(1<<f.exp-1) << f.frac
		for i := range 1 << 16 {
			b := uint16(i)
			w := h.wide(b)
			if e, m := int(b&0x7fff)>>f.frac, int(b)&(1<<f.frac-1); e < 1<<f.exp-1 {
				// The value by definition.
				if e > 0 {
					m |= 1 << f.frac
				}
				v := math.Ldexp(float64(m), max(e, 1)-(1<<(f.exp-1)-1)-f.frac)
				if math.Abs(float64(w)) != v || math.Signbit(float64(w)) != (b>>15 == 1) {
					t.Fatalf("%s %#x: is %x, want %x", h.t, b, w, v)
				}
			}
			if isNaNBits(h.t, uint64(b)) {
				if w == w || !isNaNBits(h.t, uint64(h.f32(w))) || !isNaNBits(h.t, uint64(h.f64(float64(w)))) {
					t.Fatalf("%s %#x: NaN lost", h.t, b)
				}
				continue
			}
			if h.f32(w) != b || h.f64(float64(w)) != b {
				t.Fatalf("%s %#x: does not come back from %x", h.t, b, w)
			}
			abs := b & 0x7fff
			if abs == inf {
				if !math.IsInf(float64(w), 0) {
					t.Fatalf("%s %#x: %x", h.t, b, w)
				}
				continue
			}
			for _, c := range []struct {
				to     ir.DType
				lo, hi float64
			}{{ir.I8, -1 << 7, 1<<7 - 1}, {ir.U8, 0, 1<<8 - 1}, {ir.I16, -1 << 15, 1<<15 - 1}, {ir.U16, 0, 1<<16 - 1}, {ir.I32, -1 << 31, 1<<31 - 1}, {ir.U32, 0, 1<<32 - 1}} {
				v := int64(max(c.lo, min(c.hi, math.Trunc(float64(w)))))
				if got := Convert(c.to, h.t, uint64(b)); got != uint64(v)&(1<<c.to.Bits()-1) {
					t.Fatalf("%s %#x = %v to %s: %#x", h.t, b, w, c.to, got)
				}
			}
			// The same bits as an integer, whose conversion the function above rounds.
			if got := Convert(h.t, ir.U16, uint64(b)); got != uint64(h.f64(float64(b))) {
				t.Fatalf("u16 %d to %s: %#x", b, h.t, got)
			}
			if got := Convert(h.t, ir.I16, uint64(b)); got != uint64(h.f64(float64(int16(b)))) {
				t.Fatalf("i16 %d to %s: %#x", int16(b), h.t, got)
			}
			// Half way outwards; beyond the largest value the step stays the same.
			var mid float64
			if abs+1 < inf {
				mid = (float64(w) + float64(h.wide(b+1))) / 2
			} else {
				mid = float64(w) + (float64(w)-float64(h.wide(b-1)))/2
			}
			even := b + b&1
			out := math.Inf(1)
			if mid < 0 || b>>15 == 1 {
				out = math.Inf(-1)
			}
			if h.f64(mid) != even || h.f64(math.Nextafter(mid, out)) != b+1 || h.f64(math.Nextafter(mid, 0)) != b {
				t.Fatalf("%s %#x: around the tie %x: %#x %#x %#x", h.t, b, mid, h.f64(math.Nextafter(mid, 0)), h.f64(mid), h.f64(math.Nextafter(mid, out)))
			}
			if m := float32(mid); float64(m) == mid {
				if h.f32(m) != even || h.f32(math.Nextafter32(m, float32(out))) != b+1 || h.f32(math.Nextafter32(m, 0)) != b {
					t.Fatalf("%s %#x: around the tie %x in float32", h.t, b, m)
				}
			}
		}
	}
}

func TestConvertByHand(t *testing.T) {
	f32 := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	f64 := math.Float64bits
	for _, c := range []struct {
		to, from ir.DType
		in, want uint64
	}{
		{ir.U8, ir.F32, f32(300), 255}, {ir.U8, ir.F32, f32(-1), 0}, {ir.I8, ir.F32, f32(-200), 0x80},
		{ir.I32, ir.F32, f32(nan32), 0}, {ir.I32, ir.F32, f32(-1.9), 0xffffffff}, {ir.I64, ir.F64, f64(1e300), 1<<63 - 1},
		{ir.U64, ir.F64, f64(0x1p63), 1 << 63}, {ir.Bool, ir.F32, f32(nan32), 1}, {ir.Bool, ir.F32, f32(negZero32), 0},
		{ir.Bool, ir.F16, 0x8000, 0}, {ir.Bool, ir.I64, 1 << 40, 1}, {ir.U8, ir.I32, 0x1ff, 0xff}, {ir.I64, ir.I8, 0x80, 0xffffffffffffff80},
		{ir.F32, ir.U64, 1<<63 + 1<<39 + 1, f32(0x1.000002p63)}, // rounds down to a tie if taken through f64
		{ir.F16, ir.F64, f64(1 + 0x1p-11 + 0x1p-40), 0x3c01},    // likewise through f32
		{ir.F16, ir.F32, f32(65519.996), 0x7bff}, {ir.F16, ir.F32, f32(65520), 0x7c00},
		{ir.F16, ir.F32, f32(0x1p-25), 0}, {ir.F16, ir.F32, f32(0x1.000002p-25), 1}, {ir.F32, ir.Bool, 1, f32(1)},
	} {
		if got := Convert(c.to, c.from, c.in); got != c.want {
			t.Errorf("%s %#x to %s: got %#x, want %#x", c.from, c.in, c.to, got, c.want)
		}
	}
}
