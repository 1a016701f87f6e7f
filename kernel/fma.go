package kernel

import "math"

const (
	// The bits of a float64 that a float32 lacks, and their value at a tie.
	lowBits32 = 1<<29 - 1
	tieBits32 = 1 << 28
	// The float64 exponent field of the smallest normal float32.
	minNormal32 = (1023 - 126) << 52
	expMask64   = 0x7ff << 52
)

// FMA32 returns a*b+c rounded once. Go has no such function, and going through
// float64 rounds twice. The product is exact in float64, and rounding the sum to
// float64 keeps it on its side of every midpoint between two float32 values, so
// only a sum that lands on a midpoint can be wrong.
func FMA32(a, b, c float32) float32 {
	p := float64(float64(a) * float64(b))
	s := p + float64(c)
	u := math.Float64bits(s)
	if u&lowBits32 != tieBits32 && u&expMask64 >= minNormal32 {
		return float32(s)
	}
	return fmaTie(p, float64(c), s)
}

// fmaTie finishes an FMA32 whose sum s may lie on a midpoint, subnormal results
// included: s is rounded to odd, using the error of the sum, before it is rounded
// to float32.
func fmaTie(p, c, s float64) float32 {
	if s == 0 || s-s != 0 { // exact zero (no sum of these underflows), infinity or NaN
		return float32(s)
	}
	// TwoSum: p+c == s+e exactly.
	cc := s - p
	e := (p - (s - cc)) + (c - cc)
	if e != 0 {
		u := math.Float64bits(s)
		if u&1 == 0 {
			if (e > 0) == (s > 0) {
				u++
			} else {
				u--
			}
			s = math.Float64frombits(u)
		}
	}
	return float32(s)
}

// flushed returns x, or zero of its sign if it is subnormal.
func flushed(x float32) float32 {
	if u := math.Float32bits(x); u<<1 < 1<<24 {
		return math.Float32frombits(u & (1 << 31))
	}
	return x
}

// flushingFMA returns a*b+c rounded once, as vdpbf16ps computes it: subnormal operands
// count as zero, and so does a result that is below the smallest normal number after
// rounding to 24 bits.
func flushingFMA(a, b, c float32) float32 {
	a, b, c = flushed(a), flushed(b), flushed(c)
	// From the midpoint below the smallest normal number on, sums round up to it.
	const least = 0x1p-126 - 0x1p-151
	p := float64(float64(a) * float64(b))
	s := p + float64(c)
	if size := math.Abs(s); size <= least {
		cc := s - p
		e := (p - (s - cc)) + (float64(c) - cc) // the error of s
		if size < least || e != 0 && (e < 0) == (s > 0) {
			return float32(math.Copysign(0, s))
		}
	}
	return FMA32(a, b, c)
}

// PairFMA adds the products of a pair of bf16 elements, given by their bits, to a sum:
// first the odd ones, then the even ones, each rounded once, subnormals flushed. The
// element that an odd number lacks at its end is zero.
func PairFMA(sum float32, evenA, oddA, evenB, oddB uint16) float32 {
	wide := func(x uint16) float32 { return math.Float32frombits(uint32(x) << 16) }
	sum = flushingFMA(wide(oddA), wide(oddB), sum)
	return flushingFMA(wide(evenA), wide(evenB), sum)
}

// fmaInto computes d = a*b+d in the way of the type: rounded once for floats.
func fmaInto[T number](d, a, b []T) {
	n := len(d)
	switch any(d).(type) {
	case []float32:
		d := as[float32](d, n)
		fmaTile32(d, as[float32](a, n), as[float32](b, n), d)
	case []float64:
		d, a, b := as[float64](d, n), as[float64](a, n), as[float64](b, n)
		for i, c := range d {
			d[i] = math.FMA(a[i], b[i], c)
		}
	default:
		a, b = a[:n], b[:n]
		for i := range d {
			d[i] += T(a[i] * b[i])
		}
	}
}

// fmaChain folds a*b into acc in ascending order.
func fmaChain[T number](acc T, a, b []T) T {
	d := [1]T{acc}
	n := len(a)
	switch any(acc).(type) {
	case float32:
		d := as[float32](d[:], 1)
		d[0] = fmaChain32(d[0], as[float32](a, n), as[float32](b, n))
	case float64:
		d, a, b := as[float64](d[:], 1), as[float64](a, n), as[float64](b, n)
		c := d[0]
		for i := range a {
			c = math.FMA(a[i], b[i], c)
		}
		d[0] = c
	default:
		b = b[:n]
		for i := range a {
			d[0] += T(a[i] * b[i])
		}
	}
	return d[0]
}

// fmaTile32 computes d = a*b+c. The fast path of FMA32 is written out, in a loop
// of its own without a call, which would keep its variables in memory.
func fmaTile32(d, a, b, c []float32) {
	for i := 0; i < len(d); i++ {
		a, b, c := a[:len(d)], b[:len(d)], c[:len(d)]
		for ; i < len(d); i++ {
			s := float64(float64(a[i])*float64(b[i])) + float64(c[i])
			u := math.Float64bits(s)
			if u&lowBits32 == tieBits32 || u&expMask64 < minNormal32 {
				break
			}
			d[i] = float32(s)
		}
		if i < len(d) {
			d[i] = FMA32(a[i], b[i], c[i])
		}
	}
}

// fmaChain32 folds a*b into acc in ascending order.
func fmaChain32(acc float32, a, b []float32) float32 {
	b = b[:len(a)]
	for i := 0; i < len(a); i++ {
		// Between results that need no correction the chain stays in float64.
		c := float64(acc)
		for ; i < len(a); i++ {
			s := float64(float64(a[i])*float64(b[i])) + c
			u := math.Float64bits(s)
			if u&lowBits32 == tieBits32 || u&expMask64 < minNormal32 {
				break
			}
			c = float64(float32(s))
		}
		acc = float32(c)
		if i < len(a) {
			acc = FMA32(a[i], b[i], acc)
		}
	}
	return acc
}
