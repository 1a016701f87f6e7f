// Package exact computes mathematical functions to some 200 bits: the oracle of
// accuracy tests. It is slow, and takes only finite arguments for which the
// result is finite.
package exact

import (
	"fmt"
	"math"
	"math/big"
)

// Of returns the value of the row with the given name, to at least 200 bits.
func Of(row string, args ...float64) *big.Float {
	x := num(args[0])
	switch row {
	case "exp":
		return exp(x)
	case "exp2":
		return exp(mul(x, ln2))
	case "expm1":
		return expm1(x)
	case "log":
		return log(x)
	case "log2":
		return quo(log(x), ln2)
	case "log1p":
		return log1p(x)
	case "tanh":
		if math.Abs(args[0]) > 150 { // beyond 200 bits
			return num(math.Copysign(1, args[0]))
		}
		e := expm1(scale(x, 1))
		return quo(e, add(e, num(2)))
	case "sigmoid":
		return quo(num(1), add(num(1), exp(sub(num(0), x))))
	case "erf":
		return erf(x)
	case "sin":
		return sinCos(x, 0)
	case "cos":
		return sinCos(x, 1)
	case "atan":
		return atan(x)
	case "pow":
		y := exp(mul(num(args[1]), log(num(math.Abs(args[0])))))
		if args[0] < 0 && math.Mod(args[1], 2) != 0 {
			y.Neg(y)
		}
		return y
	}
	if f := unary[row]; f != nil {
		return f(x)
	}
	if f := binary[row]; f != nil {
		return f(x, num(args[1]))
	}
	panic(fmt.Sprintf("sinter/exact: BUG: no function %q", row))
}

const precision = 320 // bits of intermediate values

func num(x float64) *big.Float             { return new(big.Float).SetPrec(precision).SetFloat64(x) }
func add(a, b *big.Float) *big.Float       { return num(0).Add(a, b) }
func sub(a, b *big.Float) *big.Float       { return num(0).Sub(a, b) }
func mul(a, b *big.Float) *big.Float       { return num(0).Mul(a, b) }
func quo(a, b *big.Float) *big.Float       { return num(0).Quo(a, b) }
func scale(a *big.Float, n int) *big.Float { return new(big.Float).SetMantExp(a, n) }
func small(a *big.Float) bool              { return a.Sign() == 0 || a.MantExp(nil) < -8 }

func float(a *big.Float) float64 {
	f, _ := a.Float64()
	return f
}

// nearest returns the integer nearest to a.
func nearest(a *big.Float) *big.Int {
	half := math.Copysign(0.5, float(a))
	n, _ := new(big.Float).SetPrec(a.Prec()).Add(a, big.NewFloat(half)).Int(nil)
	return n
}

// sum adds up terms until they no longer count; next gives term k from term k-1.
func sum(first *big.Float, next func(k float64, t *big.Float) (power, term *big.Float)) *big.Float {
	y := new(big.Float).Copy(first)
	p, t := first, first
	for k := 1.0; t.Sign() != 0 && t.MantExp(nil) > y.MantExp(nil)-precision; k++ {
		p, t = next(k, p)
		y.Add(y, t)
	}
	return y
}

// arc returns the sum of c·atan(1/n), or of c·atanh(1/n), over pairs c, n.
func arc(hyperbolic bool, prec uint, pairs ...int64) *big.Float {
	y := new(big.Float).SetPrec(prec)
	for i := 0; i < len(pairs); i += 2 {
		square := new(big.Float).SetInt64(pairs[i+1] * pairs[i+1])
		p := new(big.Float).SetPrec(prec).SetInt64(pairs[i])
		p.Quo(p, new(big.Float).SetInt64(pairs[i+1]))
		for k := int64(1); p.MantExp(nil) > -int(prec); k += 2 {
			y.Add(y, new(big.Float).SetPrec(prec).Quo(p, new(big.Float).SetInt64(k)))
			if p.Quo(p, square); !hyperbolic {
				p.Neg(p)
			}
		}
	}
	return y
}

var (
	ln2    = arc(true, precision, 18, 26, -2, 4801, 8, 8749)
	halfPi = arc(false, 1100+precision, 8, 5, -2, 239) // enough to reduce the greatest float64
)

func exp(x *big.Float) *big.Float {
	n := nearest(quo(x, ln2))
	r := sub(x, mul(ln2, num(0).SetInt(n)))
	y := sum(num(1), func(k float64, p *big.Float) (_, _ *big.Float) {
		p = quo(mul(p, r), num(k))
		return p, p
	})
	return scale(y, int(n.Int64()))
}

func expm1(x *big.Float) *big.Float {
	if !small(x) {
		return sub(exp(x), num(1))
	}
	return sum(x, func(k float64, p *big.Float) (_, _ *big.Float) {
		p = quo(mul(p, x), num(k+1))
		return p, p
	})
}

// log is Halley's iteration on exp for the mantissa, starting from a float64.
func log(x *big.Float) *big.Float {
	m := new(big.Float)
	e := x.MantExp(m)
	if float(m) < math.Sqrt2/2 {
		m.SetMantExp(m, 1)
		e--
	}
	if d := sub(m, num(1)); e == 0 && small(d) {
		return log1p(d)
	}
	y := num(math.Log(float(m)))
	for i := 0; i < 2; i++ {
		p := exp(y)
		y = add(y, scale(quo(sub(m, p), add(m, p)), 1))
	}
	return add(y, mul(ln2, num(float64(e))))
}

func log1p(x *big.Float) *big.Float {
	if !small(x) {
		return log(add(x, num(1)))
	}
	return sum(x, func(k float64, p *big.Float) (_, _ *big.Float) {
		p = mul(p, new(big.Float).Neg(x))
		return p, quo(p, num(k+1))
	})
}

// sinCos returns the sine of x + quarters·π/2.
func sinCos(x *big.Float, quarters int64) *big.Float {
	turns := new(big.Float).SetPrec(halfPi.Prec())
	n := nearest(turns.Quo(x, halfPi))
	r := sub(x, turns.Mul(turns.SetInt(n), halfPi))
	q := new(big.Int).And(n.Add(n, big.NewInt(quarters)), big.NewInt(3)).Int64()
	first, degree := r, 1.0
	if q%2 == 1 {
		first, degree = num(1), 0
	}
	square := new(big.Float).Neg(mul(r, r))
	y := sum(first, func(k float64, p *big.Float) (_, _ *big.Float) {
		d := degree + 2*k
		p = quo(mul(p, square), num(d*(d-1)))
		return p, p
	})
	if q >= 2 {
		y.Neg(y)
	}
	return y
}

// atan corrects the float64 value a by atan((x - tan a) / (1 + x·tan a)).
func atan(x *big.Float) *big.Float {
	a := num(math.Atan(float(x)))
	tan := quo(sinCos(a, 0), sinCos(a, 1))
	d := quo(sub(x, tan), add(num(1), mul(x, tan)))
	square := new(big.Float).Neg(mul(d, d))
	return add(a, sum(d, func(k float64, p *big.Float) (_, _ *big.Float) {
		p = mul(p, square)
		return p, quo(p, num(2*k+1))
	}))
}

func erf(x *big.Float) *big.Float {
	if math.Abs(float(x)) > 7 {
		return num(math.Copysign(1, float(x)))
	}
	square := new(big.Float).Neg(mul(x, x))
	y := sum(x, func(k float64, p *big.Float) (_, _ *big.Float) {
		p = quo(mul(p, square), num(k))
		return p, quo(p, num(2*k+1))
	})
	return quo(scale(y, 1), num(0).Sqrt(scale(halfPi, 1)))
}
