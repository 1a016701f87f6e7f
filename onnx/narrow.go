package onnx

import "math"

// floatFormat describes a float of at most 8 bits: sign, exponent, mantissa.
type floatFormat struct {
	exp, man, bias int
	sign           bool
	uz             bool // the code of -0 is NaN, and there are no infinities
	inf            bool // the last exponent is infinity and NaN, as in IEEE 754
	nan            bool // the last code of each sign is NaN
}

var floatFormats = map[Elem]floatFormat{
	Float8E4M3FN:   {4, 3, 7, true, false, false, true},
	Float8E4M3FNUZ: {4, 3, 8, true, true, false, false},
	Float8E5M2:     {5, 2, 15, true, false, true, false},
	Float8E5M2FNUZ: {5, 2, 16, true, true, false, false},
	Float4E2M1:     {2, 1, 1, true, false, false, false},
	Float8E8M0:     {8, 0, 127, false, false, false, true},
}

// decode returns the value of a code.
func (f floatFormat) decode(code byte) float32 {
	e, m := int(code>>f.man)&(1<<f.exp-1), int(code)&(1<<f.man-1)
	negative := f.sign && code>>(f.exp+f.man)&1 == 1
	switch top := 1<<f.exp - 1; {
	case f.uz && negative && e == 0 && m == 0, f.nan && e == top && m == 1<<f.man-1, f.inf && e == top && m != 0:
		return float32(math.NaN())
	case f.inf && e == top:
		if negative {
			return float32(math.Inf(-1))
		}
		return float32(math.Inf(1))
	}
	v := math.Ldexp(float64(m), 1-f.bias-f.man)
	if e > 0 || !f.sign { // E8M0 has no subnormal numbers
		v = math.Ldexp(float64(m+1<<f.man), e-f.bias-f.man)
	}
	if negative {
		v = -v
	}
	return float32(v)
}

// max returns the greatest finite value.
func (f floatFormat) max() float64 {
	top, m := 1<<f.exp-1, 1<<f.man-1
	switch {
	case f.inf:
		top--
	case f.nan && f.man == 0:
		top--
	case f.nan:
		m--
	}
	return math.Ldexp(float64(m+1<<f.man), top-f.bias-f.man)
}

// least returns the exponents of the least normal number and of the distance
// between the numbers below it.
func (f floatFormat) least() (normal, step int) { return 1 - f.bias, 1 - f.bias - f.man }

// wholeBits says how many bits an integer type narrower than a byte has, and
// whether it has a sign.
func wholeBits(e Elem) (bits int, signed, ok bool) {
	switch e {
	case Uint4:
		return 4, false, true
	case Int4:
		return 4, true, true
	case Uint2:
		return 2, false, true
	case Int2:
		return 2, true, true
	}
	return 0, false, false
}
