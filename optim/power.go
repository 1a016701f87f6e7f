package optim

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
