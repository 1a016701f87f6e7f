package kernel

import "math"

// F16ToF32 widens an IEEE binary16; exact.
func F16ToF32(h uint16) float32 {
	m := uint32(h&0x7fff) << 13
	sign := uint32(h&0x8000) << 16
	if m >= 0x7c00<<13 {
		return math.Float32frombits(sign | 0x7f800000 | m&0x7fffff)
	}
	// The fields are in place, with the exponent too small by 112: a product by
	// a power of two is exact, and makes subnormals normal.
	v := math.Float32frombits(m) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | sign)
}

// F16FromF64 rounds to the nearest binary16, ties to even, in one rounding.
func F16FromF64(x float64) uint16 {
	u := math.Float64bits(x)
	sign := uint16(u >> 48 & 0x8000)
	u &= 1<<63 - 1
	switch {
	case u > expMask64:
		return sign | 0x7e00 | uint16(u>>42&0x1ff)
	case u < (1023-14)<<52: // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(math.Float64frombits(u)*0x1p24))
	case u >= (1023+16)<<52:
		return sign | 0x7c00
	}
	// A carry out of the fraction moves the exponent up, to infinity at the end.
	u += 1<<41 - 1 + u>>42&1
	return sign | uint16(u>>42-(1023-15)<<10)
}

// F16FromF32 rounds to the nearest binary16, ties to even.
func F16FromF32(x float32) uint16 { return F16FromF64(float64(x)) }

// BF16ToF32 widens a bfloat16; exact.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// BF16FromF32 rounds to the nearest bfloat16, ties to even, subnormals included.
func BF16FromF32(x float32) uint16 {
	u := math.Float32bits(x)
	if u&0x7fffffff > 0x7f800000 {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// BF16FromF64 rounds to the nearest bfloat16, ties to even, in one rounding.
func BF16FromF64(x float64) uint16 {
	u := math.Float64bits(x)
	sign := uint16(u >> 48 & 0x8000)
	u &= 1<<63 - 1
	switch {
	case u > expMask64:
		return sign | 0x7fc0 | uint16(u>>45&0x3f)
	case u < minNormal32: // subnormal: a multiple of 2^-133
		return sign | uint16(math.RoundToEven(math.Float64frombits(u)*0x1p133))
	case u >= (1023+128)<<52:
		return sign | 0x7f80
	}
	u += 1<<44 - 1 + u>>45&1
	return sign | uint16(u>>45-(1023-127)<<7)
}

// stickyFloat64 converts an integer to float64 so that a further rounding to a
// format of at most 51 bits gives what one rounding of the integer would: what
// does not fit is kept as an odd last bit.
func stickyFloat64[S integer](v S) float64 {
	m := uint64(v)
	if v < 0 {
		m = -m
	}
	scale := 1.0
	if m>>53 != 0 {
		lost := m&0x7ff != 0
		m >>= 11
		if lost {
			m |= 1
		}
		scale = 0x1p11
	}
	x := float64(m) * scale
	if v < 0 {
		return -x
	}
	return x
}
