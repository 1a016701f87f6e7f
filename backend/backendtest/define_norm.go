package backendtest

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Definitions of products, norms, truth, reductions without NaN, and scans.

// product is the product of values and whether no order of multiplying them
// leaves the range of the dtype on the way.
func product(d ir.DType, v []float64) (p float64, safe bool) {
	m, e, up, down := 1.0, 0, 0, 0
	for _, a := range v {
		f, k := math.Frexp(a)
		m *= f
		n := 0
		m, n = math.Frexp(m)
		e += k + n
		if a != 0 && !math.IsInf(a, 0) {
			up, down = up+max(k, 0), down+min(k-1, 0)
		}
	}
	emax, emin := 127, -126
	if d == ir.F64 {
		emax, emin = 1023, -1022
	}
	return math.Ldexp(m, e), up <= emax && down >= emin
}

// computed is the dtype in which a row computes with floats of d.
func computed(d ir.DType) ir.DType { return d.Compute() }

func defineProd(x *testCase, in []host) []expected {
	if in[0].typ.DType.IsFloat() {
		return each(x, in[0], func(v []float64) (float64, float64) {
			p, safe := product(computed(x.out[0].DType), v)
			if !safe {
				return p, math.NaN()
			}
			return p, x.allowed(p, math.Abs(p))
		})
	}
	var e expected
	for _, g := range groups(x, in[0]) {
		p := int64(1)
		for _, i := range g {
			p *= in[0].integer(i)
		}
		e.bits = append(e.bits, uint64(p))
	}
	return []expected{e}
}

func defineCumprod(x *testCase, in []host) []expected {
	if in[0].typ.DType.IsFloat() {
		return placed(x, in[0], func(v []float64) (val, tol []float64) {
			for i := range v {
				p, safe := product(computed(x.out[0].DType), v[:i+1])
				t := x.allowed(p, math.Abs(p))
				if !safe {
					t = math.NaN()
				}
				val, tol = append(val, p), append(tol, t)
			}
			return val, tol
		})
	}
	e := expected{bits: make([]uint64, len(in[0].bits))}
	for _, g := range groups(x, in[0]) {
		p := int64(1)
		for _, i := range g {
			p *= in[0].integer(i)
			e.bits[i] = uint64(p)
		}
	}
	return []expected{e}
}

func defineCumExtreme(sign int) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		e := expected{bits: make([]uint64, len(in[0].bits))}
		for _, g := range groups(x, in[0]) {
			best := 0
			for k, p := range g {
				if above(in[0], p, g[best], sign, true) {
					best = k
				}
				e.bits[p] = in[0].bits[g[best]]
			}
		}
		return []expected{e}
	}
}

// counted makes the definition of a reduction to an integer or bool.
func counted(f func(h host, group []int) uint64) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		var e expected
		for _, g := range groups(x, in[0]) {
			e.bits = append(e.bits, f(in[0], g))
		}
		return []expected{e}
	}
}

func nonzeros(h host, group []int) (n uint64) {
	for _, p := range group {
		if h.float(p) != 0 {
			n++
		}
	}
	return n
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// sums makes the definition of a sum of f over the elements, and g of that.
func sums(f func(a float64) float64, g func(s, n float64) float64) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		if !in[0].typ.DType.IsFloat() {
			var e expected
			for _, group := range groups(x, in[0]) {
				s := int64(0)
				for _, p := range group {
					s += in[0].integer(p) * in[0].integer(p) // the only one on integers
				}
				e.bits = append(e.bits, uint64(s))
			}
			return []expected{e}
		}
		return each(x, in[0], func(v []float64) (float64, float64) {
			terms, n := make([]float64, 0, len(v)), 0.0
			for _, a := range v {
				if b := f(a); b == b || a == a {
					terms, n = append(terms, b), n+1
				} else if g == nil {
					terms = append(terms, b)
				}
			}
			s, size := total(terms)
			if t := x.allowed(s, size); g == nil || t != t {
				return s, t
			}
			if y := g(s, n); size == 0 || y == 0 {
				return y, x.allowed(y, size)
			} else {
				return y, x.allowed(y, size*math.Abs(g(size, n)/size))
			}
		})
	}
}

// defineNorm is the p-norm, as far as its powers stay within the range.
func defineNorm(p func(x *testCase) float64) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		return each(x, in[0], func(v []float64) (float64, float64) {
			terms := make([]float64, len(v))
			for i, a := range v {
				terms[i] = math.Pow(math.Abs(a), p(x))
			}
			s, size := total(terms)
			y := math.Pow(s, 1/p(x))
			if y != 0 && y < 0x1p-20 || math.IsNaN(x.allowed(0, size)) || size > largest(computed(x.out[0].DType))/2 {
				return y, math.NaN()
			}
			return y, x.allowed(y, math.Abs(y))
		})
	}
}

func defineStd(x *testCase, in []host) []expected {
	e := defineVariance(x, in)[0]
	for i, v := range e.val {
		t := e.tol[i]
		y := math.Sqrt(v)
		e.val[i], e.tol[i] = y, ulp(x.out[0].DType, y)
		if t > 0 || math.IsNaN(t) {
			e.tol[i] += t / max(y, math.Sqrt(t))
		}
	}
	return []expected{e}
}

func defineMaxNorm(x *testCase, in []host) []expected {
	return each(x, in[0], func(v []float64) (float64, float64) {
		y := 0.0
		for _, a := range v {
			if a = math.Abs(a); a > y || a != a {
				y = a
			}
			if y != y {
				break
			}
		}
		return y, 0
	})
}

func defineLogSumExp(x *testCase, in []host) []expected {
	return each(x, in[0], func(v []float64) (float64, float64) {
		top := math.Inf(-1)
		for _, a := range v {
			top = math.Max(top, a)
		}
		for _, a := range v {
			if a != a {
				return a, 0
			}
		}
		if math.IsInf(top, 0) {
			return top, 0
		}
		exps := make([]float64, len(v))
		for i, a := range v {
			exps[i] = math.Exp(a - top)
		}
		s, _ := total(exps)
		y := top + math.Log(s)
		eps, tol := x.precision()
		return y, tol*eps*(math.Abs(top)+math.Log(s)+1) + ulp(x.out[0].DType, y)
	})
}

// defineNaNExtreme is defineExtreme on what is not NaN.
func defineNaNExtreme(sign int) func(x *testCase, in []host) []expected {
	return counted(func(h host, group []int) uint64 {
		best := -1
		for _, p := range group {
			if v := h.float(p); v == v && (best < 0 || above(h, p, best, sign, true)) {
				best = p
			}
		}
		if best < 0 {
			return ir.MakeScalar(h.typ.DType, math.NaN()).Bits
		}
		return h.bits[best]
	})
}

// pairwise makes a definition with a tolerance in units of a size.
func pairwise(f func(a ...float64) (y, size float64)) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		wide := make([]host, len(in))
		for i := range in {
			wide[i] = in[i].spread(x.out[0].Shape)
		}
		var e expected
		a := make([]float64, len(in))
		for i := range x.out[0].Shape.Size() {
			for j := range wide {
				a[j] = wide[j].float(i)
			}
			y, size := f(a...)
			e.val, e.tol = append(e.val, y), append(e.tol, x.allowed(y, size))
		}
		return []expected{e}
	}
}

func defineLogAddExp(a ...float64) (y, size float64) {
	top, low := math.Max(a[0], a[1]), math.Min(a[0], a[1])
	if top == low {
		return top + math.Ln2, max(1, math.Abs(top))
	}
	y = top + math.Log1p(math.Exp(low-top))
	return y, max(1, math.Abs(y))
}

func defineLerp(a ...float64) (y, size float64) {
	return a[0] + a[2]*(a[1]-a[0]), (math.Abs(a[0]) + math.Abs(a[1])) * (1 + math.Abs(a[2]))
}

// defineShift: by a count that is out of range all bits go.
func defineShift(left bool) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		v, n := in[0].spread(x.out[0].Shape), in[1].spread(x.out[0].Shape)
		d := x.out[0].DType
		var e expected
		for i := range v.bits {
			count := uint64(n.integer(i))
			y := uint64(0)
			switch {
			case left:
				y = v.bits[i] << count
			case d.Kind() == ir.KindInt:
				y = uint64(v.integer(i) >> count)
			default:
				y = v.bits[i] >> count
			}
			e.bits = append(e.bits, cut(d, y))
		}
		return []expected{e}
	}
}

func defineNextAfter(x *testCase, in []host) []expected {
	v, to := in[0].spread(x.out[0].Shape), in[1].spread(x.out[0].Shape)
	var e expected
	for i := range v.bits {
		a, b := v.float(i), to.float(i)
		switch {
		case a == b:
			e.bits = append(e.bits, to.bits[i])
		case x.out[0].DType == ir.F32:
			e.bits = append(e.bits, uint64(math.Float32bits(math.Nextafter32(float32(a), float32(b)))))
		default:
			e.bits = append(e.bits, math.Float64bits(math.Nextafter(a, b)))
		}
	}
	return []expected{e}
}

func withoutNaN(v []float64) []float64 {
	out := make([]float64, 0, len(v))
	for _, a := range v {
		if a == a {
			out = append(out, a)
		}
	}
	return out
}

func defineNaNProd(x *testCase, in []host) []expected {
	return each(x, in[0], func(v []float64) (float64, float64) {
		p, safe := product(computed(x.out[0].DType), withoutNaN(v))
		if !safe {
			return p, math.NaN()
		}
		return p, x.allowed(p, math.Abs(p))
	})
}

func defineNaNVariance(root bool) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		correction := float64(x.row.Attr(x.attrs, "correction").Int)
		return each(x, in[0], func(v []float64) (float64, float64) {
			v = withoutNaN(v)
			s, size := total(v)
			n := float64(len(v))
			switch {
			case n-correction <= 0, slices.ContainsFunc(v, func(a float64) bool { return math.IsInf(a, 0) }):
				return math.NaN(), 0
			case math.IsNaN(x.allowed(0, size*size)):
				return 0, math.NaN() // squares may overflow
			}
			squares := make([]float64, len(v))
			for i, a := range v {
				squares[i] = (a - s/n) * (a - s/n)
			}
			m2, _ := total(squares)
			eps, tol := x.precision()
			dm := tol * eps * size / n
			slack := 2*dm*math.Sqrt(m2*n) + n*dm*dm
			y, t := m2/(n-correction), (x.allowed(0, m2)+slack)/(n-correction)
			if root {
				y, t = math.Sqrt(y), t/max(math.Sqrt(y), math.Sqrt(t))
			}
			return y, t + ulp(x.out[0].DType, y)
		})
	}
}
