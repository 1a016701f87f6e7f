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
