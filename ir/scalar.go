package ir

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Scalar is one element of a dtype, as an attribute value. The bits of types
// narrower than 64 bits are extended by zeros.
type Scalar struct {
	DType DType
	Bits  uint64
}

// floatFormat is the layout of a float: bits of the exponent and of the fraction.
type floatFormat struct{ exp, frac uint }

func formatOf(d DType) floatFormat {
	switch d {
	case F16:
		return floatFormat{5, 10}
	case BF16:
		return floatFormat{8, 7}
	case F32:
		return floatFormat{8, 23}
	}
	return floatFormat{11, 52}
}

// quietNaN is the one NaN that bitcasts, wire form and hashing use.
func (f floatFormat) quietNaN() uint64 { return (1<<f.exp-1)<<f.frac | 1<<(f.frac-1) }

func (f floatFormat) isNaN(bits uint64) bool {
	return bits&(1<<(f.exp+f.frac)-1) > (1<<f.exp-1)<<f.frac
}

// decode returns the value; every format fits in a float64 exactly.
func (f floatFormat) decode(bits uint64) float64 {
	if f.frac == 52 {
		return math.Float64frombits(bits)
	}
	e := int(bits >> f.frac & (1<<f.exp - 1))
	v := float64(bits & (1<<f.frac - 1))
	least := 2 - 1<<(f.exp-1) - int(f.frac) // exponent of the least subnormal
	switch {
	case e == 1<<f.exp-1 && v != 0:
		v = math.NaN()
	case e == 1<<f.exp-1:
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(v, least)
	default:
		v = math.Ldexp(v+float64(uint64(1)<<f.frac), least+e-1)
	}
	if bits>>(f.exp+f.frac)&1 != 0 {
		v = -v
	}
	return v
}

// encode rounds a finite value to nearest even; ok is false on overflow.
func (f floatFormat) encode(v float64) (bits uint64, ok bool) {
	if f.frac == 52 {
		return math.Float64bits(v), true
	}
	sign := math.Float64bits(v) >> 63 << (f.exp + f.frac)
	v = math.Abs(v)
	if v == 0 {
		return sign, true
	}
	_, e := math.Frexp(v)
	least := 2 - 1<<(f.exp-1)
	e = max(e-1, least)
	// The quotient is integral after rounding; a carry out of the fraction moves
	// the exponent up by itself.
	q := uint64(math.RoundToEven(math.Ldexp(v, int(f.frac)-e)))
	bits = uint64(e-least)<<f.frac + q
	return sign | bits, bits < (1<<f.exp-1)<<f.frac
}

// Check returns an error if the bits are not those of an element of the dtype.
func (s Scalar) Check() error {
	switch {
	case !s.DType.Valid():
		return Errorf(ErrDType, "%s is not a dtype", s.DType)
	case s.DType == Bool && s.Bits > 1:
		return Errorf(ErrArgument, "bool has bits %#x, expected 0 or 1", s.Bits)
	case s.DType.Bits() < 64 && s.Bits>>s.DType.Bits() != 0:
		return Errorf(ErrArgument, "bits %#x do not fit in %s", s.Bits, s.DType)
	}
	return nil
}

// MakeScalar converts a value as the row cast does: floats round to nearest
// even, integers truncate and saturate (NaN gives 0), bool is nonzero.
func MakeScalar(d DType, v float64) Scalar {
	s := Scalar{DType: d}
	width := uint(d.Bits())
	switch d.Kind() {
	case KindBool:
		if v != 0 {
			s.Bits = 1
		}
	case KindInt:
		limit := math.Ldexp(1, int(width)-1)
		switch {
		case v >= limit:
			s.Bits = 1<<(width-1) - 1
		case v < -limit:
			s.Bits = 1 << (width - 1)
		case v == v:
			s.Bits = uint64(int64(v)) & (math.MaxUint64 >> (64 - width))
		}
	case KindUint:
		switch {
		case v >= math.Ldexp(1, int(width)):
			s.Bits = math.MaxUint64 >> (64 - width)
		case v > 0:
			s.Bits = uint64(v)
		}
	case KindFloat:
		f := formatOf(d)
		sign := math.Float64bits(v) >> 63 << (f.exp + f.frac)
		if v != v {
			s.Bits = f.quietNaN()
		} else if bits, ok := f.encode(v); ok && !math.IsInf(v, 0) {
			s.Bits = bits
		} else {
			s.Bits = sign | (1<<f.exp-1)<<f.frac
		}
	}
	return s
}

// Canonical returns the scalar with any NaN replaced by the positive quiet one
// without payload.
func (s Scalar) Canonical() Scalar {
	if f := formatOf(s.DType); s.DType.IsFloat() && f.isNaN(s.Bits) {
		s.Bits = f.quietNaN()
	}
	return s
}

// Float returns the value as a float64, rounded if it is a large integer.
func (s Scalar) Float() float64 {
	switch s.DType.Kind() {
	case KindFloat:
		return formatOf(s.DType).decode(s.Bits)
	case KindInt:
		return float64(s.signed())
	}
	return float64(s.Bits)
}

func (s Scalar) signed() int64 {
	shift := 64 - s.DType.Bits()
	return int64(s.Bits<<shift) >> shift
}

// String returns the scalar as in "f32:0.5": the shortest decimal that gives
// the same bits, nan, inf, -inf, or the bits in hexadecimal for a NaN that has a
// sign or a payload.
func (s Scalar) String() string {
	if s.Check() != nil {
		return s.DType.String() + ":0x" + strconv.FormatUint(s.Bits, 16)
	}
	return s.DType.String() + ":" + s.text()
}

func (s Scalar) text() string {
	switch s.DType.Kind() {
	case KindBool:
		return strconv.FormatBool(s.Bits != 0)
	case KindInt:
		return strconv.FormatInt(s.signed(), 10)
	case KindUint:
		return strconv.FormatUint(s.Bits, 10)
	}
	f := formatOf(s.DType)
	v := f.decode(s.Bits)
	switch {
	case f.isNaN(s.Bits) && s.Bits != f.quietNaN():
		return "0x" + strconv.FormatUint(s.Bits, 16)
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64)), "+")
	case s.DType == F64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case s.DType == F32:
		return strconv.FormatFloat(v, 'g', -1, 32)
	}
	for digits := 1; ; digits++ { // at most 5 for f16, 4 for bf16
		text := strconv.FormatFloat(v, 'g', digits, 64)
		if bits, err := parseFloatBits(text, s.DType); digits > 16 || err == nil && bits == s.Bits {
			return text
		}
	}
}

// ParseScalar is the inverse of [Scalar.String]. Floats may also be written as
// any decimal, rounded once, and every dtype as bits in hexadecimal.
func ParseScalar(text string) (Scalar, error) {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return Scalar{}, Errorf(ErrFormat, "got %q, expected a scalar such as f32:0.5", text)
	}
	d, err := ParseDType(name)
	if err != nil {
		return Scalar{}, Errorf(ErrFormat, "%v", err)
	}
	bits, err := parseScalarBits(value, d)
	return Scalar{d, bits}, err
}

func parseScalarBits(text string, d DType) (uint64, error) {
	if hex, ok := strings.CutPrefix(text, "0x"); ok && !strings.Contains(text, "p") {
		bits, err := strconv.ParseUint(hex, 16, 64)
		if err != nil || (Scalar{d, bits}).Check() != nil {
			return 0, Errorf(ErrFormat, "%q are not the bits of an element of %s", text, d)
		}
		return bits, nil
	}
	var bits uint64
	var err error
	switch d.Kind() {
	case KindBool:
		switch text {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
		return 0, Errorf(ErrFormat, "got %q, expected true or false", text)
	case KindInt:
		var v int64
		v, err = strconv.ParseInt(text, 10, d.Bits())
		bits = uint64(v) & (math.MaxUint64 >> (64 - d.Bits()))
	case KindUint:
		bits, err = strconv.ParseUint(text, 10, d.Bits())
	default:
		return parseFloatBits(text, d)
	}
	if err != nil {
		return 0, Errorf(ErrFormat, "got %q, expected an integer that fits in %s", text, d)
	}
	return bits, nil
}

// parseFloatBits rounds a decimal to a float dtype once.
func parseFloatBits(text string, d DType) (uint64, error) {
	f := formatOf(d)
	switch text {
	case "nan":
		return f.quietNaN(), nil
	case "inf":
		return (1<<f.exp - 1) << f.frac, nil
	case "-inf":
		return 1<<(f.exp+f.frac) | (1<<f.exp-1)<<f.frac, nil
	}
	bad := Errorf(ErrFormat, "got %q, expected a number that fits in %s", text, d)
	if strings.ContainsAny(text, "iInN_") { // spellings that only strconv knows
		return 0, bad
	}
	if d == F32 {
		v, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return 0, bad
		}
		return uint64(math.Float32bits(float32(v))), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, bad
	}
	if d != F64 {
		v = roundToOdd(text, v)
	}
	bits, ok := f.encode(v)
	if !ok {
		return 0, bad
	}
	return bits, nil
}

// roundToOdd corrects v, the float64 nearest to the number in text, so that a
// second rounding to far fewer bits gives what one rounding would: an inexact
// value is truncated, with its last bit set.
func roundToOdd(text string, v float64) float64 {
	if v == 0 {
		return v
	}
	x, _, err := big.ParseFloat(text, 0, 200, big.ToNearestEven)
	if err != nil {
		return v
	}
	exact := new(big.Float).SetFloat64(v)
	if x.Cmp(exact) == 0 {
		return v
	}
	bits := math.Float64bits(v)
	if exact.Abs(exact).Cmp(x.Abs(x)) > 0 {
		bits--
	}
	return math.Float64frombits(bits | 1)
}
