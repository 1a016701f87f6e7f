package backendtest

import (
	"math"
	"math/big"
	"math/cmplx"

	"github.com/sinter-go/sinter/ir"
)

// Definitions of draws and of some rows of linear algebra. Most factorisations
// have none: what they are is tested by identities, in the root package.

func defineRandomInt(x *testCase, _ []host) []expected {
	low, high := x.row.Attr(x.attrs, "low").Int, x.row.Attr(x.attrs, "high").Int
	span := new(big.Int).Sub(big.NewInt(high), big.NewInt(low)).Uint64()
	var e expected
	words(x, func(a, b uint32) {
		w := uint64(a)<<32 | uint64(b)
		e.bits = append(e.bits, cut(x.out[0].DType, uint64(low)+w%span))
	})
	return []expected{e}
}

func defineBernoulli(x *testCase, _ []host) []expected {
	var e expected
	words(x, func(a, b uint32) {
		v := uint64(0)
		if (uint64(a)<<32|uint64(b))>>11 < uint64(x.row.Attr(x.attrs, "threshold").Int) {
			v = 1
		}
		e.bits = append(e.bits, v)
	})
	return []expected{e}
}

// defineLog takes so many times the negative logarithm of a number inside (0, 1).
func defineLog(times int) func(x *testCase, _ []host) []expected {
	return func(x *testCase, _ []host) []expected {
		var e expected
		words(x, func(a, b uint32) {
			v := (float64(a>>9) + 0.5) * 0x1p-23
			if x.out[0].DType == ir.F64 {
				v = (float64((uint64(a)<<32|uint64(b))>>12) + 0.5) * 0x1p-52
			}
			eps, _ := x.precision()
			tol := 4 * eps * math.Abs(math.Log(v))
			y := -math.Log(v)
			if times == 2 { // an error of y in proportion is one of its logarithm
				y = -math.Log(y)
				tol = 4 * eps * (2 + math.Abs(y))
			}
			e.val, e.tol = append(e.val, y), append(e.tol, tol)
		})
		return []expected{e}
	}
}

// least is the error of numbers so small that they lose bits.
func (x *testCase) least() float64 {
	if x.out[0].DType == ir.F64 {
		return 0x1p-1060
	}
	return 0x1p-148
}

func defineSame(x *testCase, in []host) []expected { return []expected{{bits: in[0].bits}} }

// defineFFT is the sum itself, in float64; it says nothing of lanes that are not
// finite.
func defineFFT(x *testCase, in []host) []expected {
	s := x.in[0].Shape
	axis := axisOf(x, len(s)-1)
	n := s[axis]
	sign, scale := -1.0, 1.0
	if x.row.Attr(x.attrs, "inverse").Bool() {
		sign, scale = 1, 1/float64(n)
	}
	e := expected{val: make([]float64, s.Size()), tol: make([]float64, s.Size())}
	walk(s, func(i int, at []int) {
		sum, size := complex(0, 0), 0.0
		from := append([]int(nil), at...)
		for j := 0; j < n; j++ {
			from[axis], from[len(s)-1] = j, 0
			p := linear(s, from)
			v := complex(in[0].float(p), in[0].float(p+1))
			sum += v * cmplx.Exp(complex(0, sign*2*math.Pi*float64(j*at[axis]%n)/float64(n)))
			size += cmplx.Abs(v)
		}
		e.val[i] = real(sum) * scale
		if at[len(s)-1] == 1 {
			e.val[i] = imag(sum) * scale
		}
		eps, _ := x.precision()
		if e.tol[i] = size*scale*(eps+64*0x1p-52) + x.least(); math.IsInf(size, 0) || size > math.MaxFloat32/2 {
			e.tol[i] = math.NaN()
		}
	})
	return []expected{e}
}

// defineDet expands by the first row, in big numbers.
func defineDet(x *testCase, in []host) []expected {
	s := x.in[0].Shape
	n := s[len(s)-1]
	var minor func(m []float64, n int) (det, size *big.Float)
	minor = func(m []float64, n int) (det, size *big.Float) {
		det, size = new(big.Float).SetPrec(2000), new(big.Float).SetPrec(2000)
		if n == 0 {
			return det.SetInt64(1), size.SetInt64(1)
		}
		for c := 0; c < n; c++ {
			var rest []float64
			for i := n; i < n*n; i++ {
				if i%n != c {
					rest = append(rest, m[i])
				}
			}
			d, z := minor(rest, n-1)
			v := new(big.Float).SetPrec(2000).SetFloat64(m[c])
			size.Add(size, z.Mul(z, new(big.Float).Abs(v)))
			if c%2 == 1 {
				v.Neg(v)
			}
			det.Add(det, d.Mul(d, v))
		}
		return det, size
	}
	var e expected
	values := in[0].values()
	for i := 0; i < s[:len(s)-2].Size(); i++ {
		m := values[i*n*n:][:n*n]
		finite := true
		for _, v := range m {
			finite = finite && math.Abs(v) <= 1e30 // else products of rounded numbers overflow
		}
		if !finite {
			e.val, e.tol = append(e.val, 0), append(e.tol, math.NaN())
			continue
		}
		d, z := minor(m, n)
		v, _ := d.Float64()
		size, _ := z.Float64()
		eps, _ := x.precision()
		e.val, e.tol = append(e.val, v), append(e.tol, 2*eps*math.Abs(v)+1e-12*size+x.least())
	}
	return []expected{e}
}
