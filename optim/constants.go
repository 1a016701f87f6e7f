package optim

import "github.com/sinter-go/sinter"

// constants are the scalars of a step, shared by all parameters.
type constants struct {
	made map[constant]*sinter.Tensor
}

type constant struct {
	device *sinter.Device
	dtype  sinter.DType
	value  float64
}

// of returns a number as a scalar of the dtype of t, where t lives.
func (c *constants) of(v float64, t *sinter.Tensor) *sinter.Tensor {
	k := constant{t.Device(), t.DType(), v}
	if s := c.made[k]; s != nil {
		return s
	}
	if c.made == nil {
		c.made = map[constant]*sinter.Tensor{}
	}
	s := of(t).Full(v, t.DType())
	c.made[k] = s
	return s
}

func (c *constants) release() {
	for _, s := range c.made {
		s.Release()
	}
}

// power returns x to the power n ≥ 0 by products alone, whose rounding is the
// same on every processor. The conversions forbid to contract a product with a sum
// that the caller makes of it.
func power(x float64, n int64) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
}
