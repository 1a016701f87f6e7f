package ir

import (
	"fmt"
	"strings"
)

// The remainder of floats. It is exact, whatever the ratio: r = |x| mod |z| is a
// multiple of the units of both that f64 holds, and so is every |x| - n·|z|·2^k with
// n rounded to an integer below 2^53, which one fma gives. A ratio below 2^52 takes one
// such step; greater ones take steps of 52 bits before it, which are rare.
//
// The text leaves a = |x|, b = |z|, r as above (NaN for infinite x or zero z, a for
// infinite z) and o, whether the signs differ.
func remainderText(t DType) string {
	x, z, top := "x", "z", 2046
	if t == F32 {
		x, z, top = "f64(x)", "f64(z)", 225
	}
	var b strings.Builder
	fmt.Fprintf(&b, "a = abs(%s)\nb = abs(%s)\nd = a / b\nbig = (d >= 0x1p52) && (b > 0) && (a < inf)\nrare(big) {\ns = a\n", x, z)
	for k := top; k > 0; k -= 52 {
		if k > 1023 {
			fmt.Fprintf(&b, "c = b * 0x1p1023 * 0x1p%d\ns = select(c < inf, fma(-rint(s / c), c, s), s)\n", k-1023)
		} else {
			fmt.Fprintf(&b, "c = b * 0x1p%d\ns = select(c < inf, fma(-rint(s / c), c, s), s)\n", k)
		}
	}
	b.WriteString("}\ns = select(big, s, a)\nr = fma(-rint(s / b), b, s)\nr = select(r < 0, r + b, r)\n" +
		"r = select((b == inf) && (a < inf), a, r)\no = (x < 0) != (z < 0)\n")
	return b.String()
}

// signBit returns the literal of the sign bit of a float type.
func signBit(t DType) string {
	if t == F32 {
		return "-0x80000000"
	}
	return "-0x8000000000000000"
}

// rounded converts the f64 value of a text to its type.
func rounded(t DType, e string) string {
	if t == F32 {
		return "f32(" + e + ")"
	}
	return e
}

// fmodText: the remainder with the sign of x.
func fmodText(t DType) string {
	return remainderText(t) + "y = " + rounded(t, "r") + "\ny = float(bits(y) | (bits(x) & " + signBit(t) + "))\n"
}

// modText: the remainder with the sign of z, as Python has it: |z| - r where the signs
// differ, which may round to |z|.
func modText(t DType) string {
	return remainderText(t) + "r = select(o && (r > 0), b - r, r)\ny = " + rounded(t, "r") +
		"\ny = float(bits(y) | (bits(z) & " + signBit(t) + "))\n"
}

// floorDivText: (|x| - r)/|z| is an integer but for roundings.
func floorDivText(t DType) string {
	return remainderText(t) + "n = rint((a - r) / b)\nn = select(o, select(r > 0, -(n + 1), -n), n)\ny = " +
		rounded(t, "n") + "\ny = select(z == 0, x / z, y)\n"
}
