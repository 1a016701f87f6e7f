package sinter

import (
	"math"
	"strconv"
	"strings"
)

// precision is the largest number of digits after the point, numpy's default.
const precision = 8

// floatFormat formats the floats of one array alike, by numpy's rules: the
// shortest digits that give each value back in its dtype, at most precision
// after the point; aligned at the point; all in scientific notation if any is
// at least 1e8, below 1e-4, or if the largest is over 1000 times the smallest.
type floatFormat struct {
	bits        int // of the type whose shortest digits are taken
	low, high   float64
	scientific  bool
	left, right int // characters before and after the point
	exponent    int // characters of the exponent, 0 without
	words       int // the longest nan or inf
}

func newFloatFormat(d DType) *floatFormat {
	f := &floatFormat{bits: 32, low: math.Inf(1)}
	if d == F64 {
		f.bits = 64
	}
	return f
}

// see takes a value into account for the notation.
func (f *floatFormat) see(v float64) {
	if a := math.Abs(v); a != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
		f.low, f.high = math.Min(f.low, a), math.Max(f.high, a)
		f.scientific = f.high >= 1e8 || f.low < 1e-4 || f.high/f.low > 1000
	}
}

// measure takes a value into account for the widths, after all were seen.
func (f *floatFormat) measure(v float64) {
	left, right := f.parts(v)
	if isWord(v) {
		f.words = max(f.words, len(left))
		return
	}
	f.left = max(f.left, len(left))
	if i := strings.IndexByte(right, 'e'); i >= 0 {
		f.exponent = max(f.exponent, len(right)-i)
		right = right[:i]
	}
	f.right = max(f.right, len(right))
}

func isWord(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// width is that of every element: digits, point and exponent, or a longer word.
func (f *floatFormat) width() int {
	w := 0
	if f.left > 0 {
		w = f.left + 1 + f.right + f.exponent
	}
	return max(w, f.words)
}

// parts splits the digits of a value at the point. Words have no right part.
func (f *floatFormat) parts(v float64) (left, right string) {
	switch {
	case math.IsNaN(v):
		return "nan", ""
	case math.IsInf(v, 1):
		return "inf", ""
	case math.IsInf(v, -1):
		return "-inf", ""
	}
	verb := byte('f')
	if f.scientific {
		verb = 'e'
	}
	s := strconv.FormatFloat(v, verb, -1, f.bits)
	mantissa, exponent, _ := strings.Cut(s, "e")
	if _, frac, ok := strings.Cut(mantissa, "."); ok && len(frac) > precision {
		s = strconv.FormatFloat(v, verb, precision, f.bits)
		mantissa, exponent, _ = strings.Cut(s, "e")
		mantissa = strings.TrimRight(mantissa, "0")
	}
	left, right, _ = strings.Cut(mantissa, ".")
	if f.scientific {
		right += "e" + exponent
	}
	return left, right
}

// text formats a value to the common width.
func (f *floatFormat) text(v float64) string {
	left, right := f.parts(v)
	s := left
	switch {
	case isWord(v):
	case f.scientific: // digits are filled up with zeros before the exponent
		digits, exponent, _ := strings.Cut(right, "e")
		s += "." + digits + strings.Repeat("0", f.right-len(digits)) + "e" + exponent
	default:
		s += "." + right + strings.Repeat(" ", f.right-len(right))
	}
	return strings.Repeat(" ", max(f.width()-len(s), 0)) + s
}
