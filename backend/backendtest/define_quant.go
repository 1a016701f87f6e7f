package backendtest

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// rounded is a number in a compute type.
func rounded(t ir.DType, v float64) float64 {
	if t == ir.F32 {
		return float64(float32(v))
	}
	return v
}

// spreadFloats are operands, spread over the result, as numbers of a compute type.
func spreadFloats(x *testCase, in []host, t ir.DType) func(operand, i int) float64 {
	wide := make([]host, len(in))
	for j := range in {
		wide[j] = in[j].spread(x.out[0].Shape)
	}
	return func(j, i int) float64 {
		return ir.Scalar{DType: t, Bits: convert(wide[j], i, t)}.Float()
	}
}

// defineQuantize follows the sentence of the row; a quotient of f32 that was
// divided in f64 is rounded correctly.
func defineQuantize(x *testCase, in []host) []expected {
	t := x.in[0].DType.Compute()
	a := spreadFloats(x, in, t)
	d := x.out[0].DType
	low, high := float64(x.attrs[1].Int), float64(x.attrs[2].Int)
	e := expected{bits: make([]uint64, x.out[0].Shape.Size())}
	for i := range e.bits {
		q := math.RoundToEven(rounded(t, a(0, i)/a(1, i)))
		if q != q {
			q = 0
		}
		q = rounded(t, q+a(2, i))
		e.bits[i] = cut(d, uint64(int64(math.Min(math.Max(q, low), high))))
	}
	return []expected{e}
}

func defineDequantize(x *testCase, in []host) []expected {
	d := x.out[0].DType
	t := d.Compute()
	a := spreadFloats(x, in, t)
	e := expected{bits: make([]uint64, x.out[0].Shape.Size())}
	for i := range e.bits {
		y := rounded(t, rounded(t, a(0, i)-a(2, i))*a(1, i))
		e.bits[i] = ir.MakeScalar(d, y).Bits
	}
	return []expected{e}
}

// defineDotCodes sums in float64; the error of f32 grows with the number of words.
func defineDotCodes(x *testCase, in []host) []expected {
	bits, block := int(x.attrs[0].Int), int(x.attrs[1].Int)
	xs, codes, scale, zero := in[0], in[1], in[2], in[3]
	k, n := xs.typ.Shape[len(xs.typ.Shape)-1], codes.typ.Shape[0]
	e := expected{val: make([]float64, x.out[0].Shape.Size()), tol: make([]float64, x.out[0].Shape.Size())}
	at := func(h host, i, b int) float64 {
		s := h.typ.Shape
		return ir.Scalar{DType: h.typ.DType, Bits: h.bits[min(i, s[0]-1)*s[1]+min(b, s[1]-1)]}.Float()
	}
	for o := range e.val {
		row, i := o/n, o%n
		sum, size := 0.0, 0.0
		padded := codes.typ.Shape[1] * 8 / bits
		if block == 0 {
			padded = k
		}
		for j := range padded {
			b := 0
			if block > 0 {
				b = j / block
			}
			code := at(codes, i, j)
			if bits == 4 {
				run := codes.typ.Shape[1]
				if block > 0 {
					run = block / 2
				}
				byte := codes.bits[i*codes.typ.Shape[1]+b*run+j%(2*run)%run]
				code = float64(byte >> (4 * (j % (2 * run) / run)) & 15)
			}
			v := 0.0
			if j < k {
				v = xs.float(row*k + j)
			}
			v = v * (code - at(zero, i, b)) * at(scale, i, b)
			sum += v
			size += math.Abs(v)
		}
		e.val[o], e.tol[o] = sum, size*0x1p-24*float64(k/16+8)
		if size > math.MaxFloat32 { // partials may be infinite
			e.tol[o] = math.NaN()
		}
	}
	return []expected{e}
}
