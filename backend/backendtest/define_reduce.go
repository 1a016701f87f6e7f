package backendtest

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// groups lists, for every element of the result, the elements of the operand that
// are reduced to it, in logical order. along says that the axis stays.
func groups(x *testCase, in host) [][]int {
	axes, err := ir.ReduceAxes(x.row, in.typ, x.attrs)
	if err != nil {
		return nil
	}
	s := in.typ.Shape
	kept := s.Clone()
	for _, a := range axes {
		kept[a] = 1
	}
	out := make([][]int, kept.Size())
	to := make([]int, len(s))
	walk(s, func(i int, at []int) {
		copy(to, at)
		for _, a := range axes {
			to[a] = 0
		}
		p := linear(kept, to)
		out[p] = append(out[p], i)
	})
	return out
}

// precision is the relative distance of neighbours of the type a row computes
// in, and its tolerance in those units.
func (x *testCase) precision() (eps, tol float64) {
	if x.out[0].DType == ir.F64 {
		return 0x1p-52, x.row.Tol.F64
	}
	return 0x1p-23, x.row.Tol.F32
}

// allowed is the error of a result near v that was computed from parts whose
// magnitudes add up to size: the tolerance, and the rounding of the dtype.
func (x *testCase) allowed(v, size float64) float64 {
	eps, tol := x.precision()
	d := x.out[0].DType
	if math.IsInf(size, 0) || size > 0.5*largest(d) {
		return math.NaN() // a partial sum may overflow
	}
	return tol*eps*size + ulp(d, v)
}

func largest(d ir.DType) float64 {
	switch d {
	case ir.F16:
		return 65504
	case ir.F64:
		return math.MaxFloat64
	}
	return math.MaxFloat32 // about that of bf16 too
}

// total is the sum of values, with an error far below float64's (Neumaier's
// compensated sum), and the sum of the magnitudes of the finite ones.
func total(v []float64) (sum, size float64) {
	plain, low, special := 0.0, 0.0, false
	for _, a := range v {
		if math.IsNaN(a) || math.IsInf(a, 0) {
			special = true
		} else {
			size += math.Abs(a)
		}
		t := plain + a
		if math.Abs(plain) >= math.Abs(a) {
			low += plain - t + a
		} else {
			low += a - t + plain
		}
		plain = t
	}
	if special {
		return plain, size // infinities and NaN say what comes out
	}
	return plain + low, size
}

func valuesOf(h host, group []int) []float64 {
	v := make([]float64, len(group))
	for i, p := range group {
		v[i] = h.float(p)
	}
	return v
}

// each makes values and tolerances group by group.
func each(x *testCase, in host, f func(v []float64) (val, tol float64)) []expected {
	var e expected
	for _, g := range groups(x, in) {
		val, tol := f(valuesOf(in, g))
		e.val, e.tol = append(e.val, val), append(e.tol, tol)
	}
	return []expected{e}
}

func defineSum(x *testCase, in []host) []expected {
	if in[0].typ.DType.IsFloat() {
		return each(x, in[0], func(v []float64) (float64, float64) {
			s, size := total(v)
			return s, x.allowed(s, size)
		})
	}
	var e expected
	for _, g := range groups(x, in[0]) {
		s := int64(0)
		for _, p := range g {
			s += in[0].integer(p)
		}
		e.bits = append(e.bits, uint64(s))
	}
	return []expected{e}
}

func defineMean(x *testCase, in []host) []expected {
	return each(x, in[0], func(v []float64) (float64, float64) {
		s, size := total(v)
		n := float64(len(v))
		return s / n, x.allowed(s/n, size) // of nothing: 0/0
	})
}

func defineVariance(x *testCase, in []host) []expected {
	correction := float64(x.row.Attr(x.attrs, "correction").Int)
	return each(x, in[0], func(v []float64) (float64, float64) {
		s, size := total(v)
		n := float64(len(v))
		switch {
		case n-correction <= 0:
			return math.NaN(), 0
		case math.IsNaN(x.allowed(0, size*size)):
			return 0, math.NaN()
		case math.IsNaN(s) || math.IsInf(s, 0):
			return math.NaN(), 0
		}
		mean := s / n
		squares := make([]float64, len(v))
		for i, a := range v {
			squares[i] = (a - mean) * (a - mean)
		}
		m2, _ := total(squares)
		eps, tol := x.precision()
		dm := tol * eps * size / n // the mean is rounded too
		slack := 2*dm*math.Sqrt(m2*n) + n*dm*dm
		return m2 / (n - correction), (x.allowed(0, m2)+slack)/(n-correction) + ulp(x.out[0].DType, m2/(n-correction))
	})
}

// above reports whether element i is ahead of element j: NaN first, then the
// greater (sign 1) or the lesser (sign -1); zeros are told apart if signed is set.
func above(h host, i, j, sign int, signed bool) bool {
	c, nan := order(h, i, h, j)
	if nan {
		return math.IsNaN(h.float(i)) && !math.IsNaN(h.float(j))
	}
	if c == 0 && signed && h.typ.DType.IsFloat() && h.float(i) == 0 {
		a, b := math.Signbit(h.float(i)), math.Signbit(h.float(j))
		return a != b && a == (sign < 0)
	}
	return c*sign > 0
}

func defineExtreme(sign int) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		var e expected
		for _, g := range groups(x, in[0]) {
			best := g[0]
			for _, p := range g[1:] {
				if above(in[0], p, best, sign, true) {
					best = p
				}
			}
			e.bits = append(e.bits, in[0].bits[best])
		}
		return []expected{e}
	}
}

func defineArg(sign int) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		var e expected
		for _, g := range groups(x, in[0]) {
			best := 0
			for k := range g {
				if above(in[0], g[k], g[best], sign, false) {
					best = k
				}
			}
			e.bits = append(e.bits, uint64(best))
		}
		return []expected{e}
	}
}

// placed makes values of a result that has the operand's shape.
func placed(x *testCase, in host, f func(v []float64) (val, tol []float64)) []expected {
	e := expected{val: make([]float64, len(in.bits)), tol: make([]float64, len(in.bits))}
	for _, g := range groups(x, in) {
		val, tol := f(valuesOf(in, g))
		for i, p := range g {
			e.val[p], e.tol[p] = val[i], tol[i]
		}
	}
	return []expected{e}
}

func defineCumsum(x *testCase, in []host) []expected {
	if in[0].typ.DType.IsFloat() {
		return placed(x, in[0], func(v []float64) (val, tol []float64) {
			for i := range v {
				sum, size := total(v[:i+1])
				val, tol = append(val, sum), append(tol, x.allowed(sum, size))
			}
			return val, tol
		})
	}
	e := expected{bits: make([]uint64, len(in[0].bits))}
	for _, g := range groups(x, in[0]) {
		s := int64(0)
		for _, p := range g {
			s += in[0].integer(p)
			e.bits[p] = uint64(s)
		}
	}
	return []expected{e}
}

func defineSoftmax(log bool) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		return placed(x, in[0], func(v []float64) (val, tol []float64) {
			top := math.Inf(-1)
			for _, a := range v {
				top = math.Max(top, a) // NaN stays
			}
			exps := make([]float64, len(v))
			for i, a := range v {
				exps[i] = math.Exp(a - top)
			}
			sum, _ := total(exps)
			eps, t := x.precision()
			for _, a := range v {
				y := math.Exp(a-top) / sum
				size := y * (1 + math.Abs(a-top)) // of exp: its argument is rounded
				if log {
					y = a - top - math.Log(sum)
					size = math.Abs(a-top) + math.Abs(math.Log(sum)) + 1
				}
				val = append(val, y)
				tol = append(tol, t*eps*size+ulp(x.out[0].DType, y))
			}
			return val, tol
		})
	}
}
