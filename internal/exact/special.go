package exact

import (
	"math"
	"math/big"
)

// The functions that are made of those in exact.go.
var (
	unary  map[string]func(x *big.Float) *big.Float
	binary map[string]func(x, z *big.Float) *big.Float
)

func init() {
	unary = map[string]func(x *big.Float) *big.Float{
		"exp10": func(x *big.Float) *big.Float { return exp(mul(x, log(num(10)))) },
		"log10": func(x *big.Float) *big.Float { return quo(log(x), log(num(10))) },
		"tan":   func(x *big.Float) *big.Float { return quo(sinCos(x, 0), sinCos(x, 1)) },
		"asin":  asin,
		"acos":  func(x *big.Float) *big.Float { return sub(halfPi, asin(x)) },
		"sinh": func(x *big.Float) *big.Float {
			u := expm1(num(0).Abs(x))
			u = scale(add(u, quo(u, add(u, num(1)))), -1)
			if x.Sign() < 0 {
				u.Neg(u)
			}
			return u
		},
		"cosh": func(x *big.Float) *big.Float {
			e := exp(x)
			return scale(add(e, quo(num(1), e)), -1)
		},
		"asinh": func(x *big.Float) *big.Float {
			a := num(0).Abs(x)
			square := mul(a, a)
			y := log1p(add(a, quo(square, add(num(1), root(add(square, num(1)))))))
			if x.Sign() < 0 {
				y.Neg(y)
			}
			return y
		},
		"acosh": func(x *big.Float) *big.Float {
			return log(add(x, root(mul(sub(x, num(1)), add(x, num(1))))))
		},
		"atanh":       func(x *big.Float) *big.Float { return scale(log1p(quo(scale(x, 1), sub(num(1), x))), -1) },
		"erfc":        erfc,
		"erfinv":      erfinv,
		"cbrt":        cbrt,
		"rsqrt":       func(x *big.Float) *big.Float { return quo(num(1), root(x)) },
		"normal_cdf":  normalCDF,
		"gelu":        func(x *big.Float) *big.Float { return mul(x, normalCDF(x)) },
		"sinc":        func(x *big.Float) *big.Float { p := mul(x, scale(halfPi, 1)); return quo(sinCos(p, 0), p) },
		"logit":       func(x *big.Float) *big.Float { return log(quo(x, sub(num(1), x))) },
		"silu":        func(x *big.Float) *big.Float { return mul(x, sigmoid(x)) },
		"softplus":    softplus,
		"log_sigmoid": func(x *big.Float) *big.Float { return num(0).Neg(softplus(num(0).Neg(x))) },
		"tanh_shrink": func(x *big.Float) *big.Float {
			e := expm1(scale(x, 1))
			return sub(x, quo(e, add(e, num(2))))
		},
		"mish": func(x *big.Float) *big.Float {
			e := exp(x)
			n := mul(e, add(e, num(2)))
			return quo(mul(x, n), add(n, num(2)))
		},
		"gelu_tanh": func(x *big.Float) *big.Float {
			third := quo(num(44715), num(1e6))
			u := mul(mul(x, add(num(1), mul(third, mul(x, x)))), scale(root(quo(num(1), halfPi)), 1))
			return mul(x, sigmoid(u))
		},
	}
	binary = map[string]func(x, z *big.Float) *big.Float{
		"hypot": func(x, z *big.Float) *big.Float { return root(add(mul(x, x), mul(z, z))) },
		"atan2": func(x, z *big.Float) *big.Float {
			if num(0).Abs(x).Cmp(num(0).Abs(z)) <= 0 {
				y := atan(quo(x, z))
				if z.Sign() < 0 {
					y.Add(y, num(0).Mul(halfPi, num(2*float64(x.Sign()))))
				}
				return y
			}
			return sub(num(0).Mul(halfPi, num(float64(x.Sign()))), atan(quo(z, x)))
		},
		"logaddexp": func(x, z *big.Float) *big.Float { return log(add(exp(x), exp(z))) },
	}
}

func root(x *big.Float) *big.Float      { return num(0).Sqrt(x) }
func sigmoid(x *big.Float) *big.Float   { return quo(num(1), add(num(1), exp(num(0).Neg(x)))) }
func softplus(x *big.Float) *big.Float  { return log1p(exp(x)) }
func normalCDF(x *big.Float) *big.Float { return scale(erfc(quo(num(0).Neg(x), root(num(2)))), -1) }
func asin(x *big.Float) *big.Float {
	if num(0).Abs(x).Cmp(num(1)) == 0 {
		return mul(x, halfPi)
	}
	return atan(quo(x, root(sub(num(1), mul(x, x)))))
}

// erfc is Laplace's continued fraction from 2 on.
func erfc(x *big.Float) *big.Float {
	if float(x) < 2 {
		return sub(num(1), erf(x))
	}
	f := num(0)
	for k := 600.0; k > 0; k-- {
		f = quo(num(k/2), add(x, f))
	}
	f = add(x, f)
	return quo(exp(num(0).Neg(mul(x, x))), mul(f, root(scale(halfPi, 1))))
}

// erfinv is Newton's iteration on the smaller of erf and erfc.
func erfinv(x *big.Float) *big.Float {
	a := num(0).Abs(x)
	y := num(math.Erfinv(float(a)))
	if math.IsInf(float(y), 0) {
		return y
	}
	for range 3 {
		d := sub(erfc(y), sub(num(1), a))
		y = add(y, quo(mul(d, mul(exp(mul(y, y)), root(scale(halfPi, 1)))), num(2)))
	}
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

func cbrt(x *big.Float) *big.Float {
	y := num(math.Cbrt(float(x)))
	for range 3 {
		y = sub(y, quo(sub(y, quo(x, mul(y, y))), num(3)))
	}
	return y
}
