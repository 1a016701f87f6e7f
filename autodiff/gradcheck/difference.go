package gradcheck

import (
	"math"

	"github.com/sinter-go/sinter"
)

// difference is the central difference of the weighted sum of f's results in one
// element of an argument. The sum is taken here, in float64 and compensated, so
// that it adds no error of its own.
func (c *checker) difference(f Func, args, weights []argument, arg, element int) (float64, error) {
	x := args[arg].values[element]
	_, exp := math.Frexp(math.Max(1, math.Abs(x)))
	h := math.Ldexp(c.Step, exp-1)
	up, down := x+h, x-h
	plus, err := c.weighted(f, args, weights, arg, element, up)
	if err != nil {
		return 0, err
	}
	minus, err := c.weighted(f, args, weights, arg, element, down)
	if err != nil {
		return 0, err
	}
	total, lost := 0.0, 0.0
	for i := range plus {
		for j := range plus[i] {
			if plus[i][j] == minus[i][j] {
				continue // infinities that cancel, too
			}
			term := (plus[i][j]-minus[i][j])*weights[i].values[j] - lost
			next := total + term
			lost = (next - total) - term
			total = next
		}
	}
	return total / (up - down), nil
}

// weighted evaluates f with one element changed.
func (c *checker) weighted(f Func, args, weights []argument, arg, element int, v float64) ([][]float64, error) {
	s := sinter.NewScope("gradcheck")
	defer s.End()
	in := make([]*sinter.Tensor, len(args))
	for i, a := range args {
		t := a.t
		if i == arg {
			changed := append([]float64(nil), a.values...)
			changed[element] = v
			t = tensorOf(a.t.Device(), changed, a.t.Shape())
		}
		if a.values != nil {
			t = t.Track() // f may itself differentiate
		}
		in[i] = s.In(t)
	}
	out := f(in)
	wide := make([]*sinter.Tensor, len(out))
	for i, y := range out {
		if !y.DType().IsFloat() && y.Err() == nil {
			y = y.Eq(y) // constant as far as derivatives can tell
		}
		wide[i] = y.Cast(sinter.F64)
	}
	arrays, err := sinter.Read(c.ctx, wide...)
	if err != nil {
		return nil, err
	}
	values := make([][]float64, len(arrays))
	for i, a := range arrays {
		if values[i], err = sinter.Values[float64](a); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func tensorOf(d *sinter.Device, v []float64, shape []int) *sinter.Tensor {
	return sinter.FromSliceOn(sinter.On(d), v, len(v)).Reshape(shape...)
}
