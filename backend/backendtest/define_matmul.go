package backendtest

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// defineMatmul gives both operands two axes or more and sums products: exactly
// for integers, with the tolerance of the magnitudes added up for floats. Products of
// bf16 take subnormal numbers for 0, as processors do; other devices need not.
func defineMatmul(x *testCase, in []host) []expected {
	a, b := in[0], in[1]
	if len(a.typ.Shape) == 1 {
		a.typ.Shape = ir.Shape{1, a.typ.Shape[0]}
	}
	if len(b.typ.Shape) == 1 {
		b.typ.Shape = ir.Shape{b.typ.Shape[0], 1}
	}
	as, bs := a.typ.Shape, b.typ.Shape
	m, k, n := as[len(as)-2], as[len(as)-1], bs[len(bs)-1]
	batch, err := ir.Broadcast(as[:len(as)-2], bs[:len(bs)-2])
	if err != nil {
		return nil
	}
	full := func(h host, r, c int) host { return h.spread(append(batch.Clone(), r, c)) }
	a, b = full(a, m, k), full(b, k, n)
	isFloat := a.typ.DType.IsFloat()
	af, bf := a.values(), b.values()
	flushed := 0.0 // what a sum may lose
	aWas, bWas := af, bf
	if a.typ.DType == ir.BF16 {
		const least = 0x1p-126
		flushed = float64(2*k) * least
		aWas, bWas = slices.Clone(af), slices.Clone(bf)
		for _, v := range [][]float64{af, bf} {
			for i := range v {
				if math.Abs(v[i]) < least {
					v[i] = math.Copysign(0, v[i])
				}
			}
		}
	}
	var e expected
	products := make([]float64, k)
	for p := 0; p < batch.Size(); p++ {
		for i := 0; i < m; i++ {
			for j := 0; j < n; j++ {
				sum, overflowed := int64(0), false
				for l := 0; l < k; l++ {
					ai, bi := (p*m+i)*k+l, (p*k+l)*n+j
					if isFloat {
						products[l] = af[ai] * bf[bi] // exact up to f32
						// Of an infinity and a subnormal number.
						either := x.units && math.IsNaN(products[l]) && !math.IsNaN(aWas[ai]*bWas[bi])
						overflowed = overflowed || either || math.IsInf(products[l], 0) && !math.IsInf(af[ai], 0) && !math.IsInf(bf[bi], 0)
					} else {
						sum += a.integer(ai) * b.integer(bi)
					}
				}
				if !isFloat {
					e.bits = append(e.bits, cut(a.typ.DType, uint64(sum)))
					continue
				}
				v, size := total(products)
				tol := x.allowed(v, size) + flushed
				if overflowed {
					tol = math.NaN()
				}
				e.val, e.tol = append(e.val, v), append(e.tol, tol)
			}
		}
	}
	return []expected{e}
}

// threefry is Threefry-2x32 with 20 rounds.
func threefry(k0, k1, c0, c1 uint32) (uint32, uint32) {
	ks := [3]uint32{k0, k1, k0 ^ k1 ^ 0x1BD11BDA}
	x0, x1 := c0+ks[0], c1+ks[1]
	for i := 0; i < 20; i++ {
		x0 += x1
		r := [8]int{13, 15, 26, 6, 17, 29, 16, 24}[i%8]
		x1 = x1<<r | x1>>(32-r)
		x1 ^= x0
		if i%4 == 3 {
			s := uint32(i/4 + 1)
			x0 += ks[s%3]
			x1 += ks[(s+1)%3] + s
		}
	}
	return x0, x1
}

// words are the two words of each element of a draw.
func words(x *testCase, f func(a, b uint32)) {
	key := uint64(x.row.Attr(x.attrs, "key").Int)
	for i := 0; i < x.out[0].Shape.Size(); i++ {
		f(threefry(uint32(key), uint32(key>>32), uint32(i), uint32(uint64(i)>>32)))
	}
}

func defineUniform(x *testCase, _ []host) []expected {
	var e expected
	words(x, func(a, b uint32) {
		v := float64(a>>8) * 0x1p-24
		if x.out[0].DType == ir.F64 {
			v = float64((uint64(a)<<32|uint64(b))>>11) * 0x1p-53
		}
		e.bits = append(e.bits, ir.MakeScalar(x.out[0].DType, v).Bits)
	})
	return []expected{e}
}

func defineNormal(x *testCase, _ []host) []expected {
	var e expected
	words(x, func(a, b uint32) {
		u, v := float64(a>>8+1)*0x1p-24, float64(b>>8)*0x1p-24
		if x.out[0].DType == ir.F64 {
			u, v = (float64(a)+1)*0x1p-32, float64(b)*0x1p-32
		}
		r := math.Sqrt(-2 * math.Log(u))
		eps, _ := x.precision()
		e.val = append(e.val, r*math.Cos(2*math.Pi*v))
		// The angle is rounded, to half a unit of at most 2π.
		e.tol = append(e.tol, 8*eps*r*(1+2*math.Pi))
	})
	return []expected{e}
}
