package optim

// Schedule gives the learning rate of a step, counted from 0. It must be a
// function of the step alone, so that a resumed training goes on as it was.
type Schedule func(step int64) float64

// Constant is the same rate at every step.
func Constant(rate float64) Schedule { return func(int64) float64 { return rate } }

// Cosine falls from peak at step 0 to floor at step total along half a wave, and
// stays there.
func Cosine(peak, floor float64, total int64) Schedule {
	return func(step int64) float64 {
		if total <= 0 || step >= total {
			return floor
		}
		c := cosPi(float64(max(step, 0)) / float64(total))
		return float64(float64(peak-floor)*float64(0.5*float64(1+c))) + floor
	}
}

// Warmup multiplies the first n rates of a schedule by 1/n, 2/n, …, 1.
func Warmup(n int64, s Schedule) Schedule {
	return func(step int64) float64 {
		if step >= n {
			return s(step)
		}
		return s(step) * (float64(step+1) / float64(n))
	}
}

// cosPi returns cos(πx) for x in [0, 1]. It is here because math.Cos may contract
// products and sums, and so differ between processors; the conversions forbid it.
// The error is below 1e-14.
func cosPi(x float64) float64 {
	if x > 0.5 {
		return -cosPi(1 - x)
	}
	const pi = 3.14159265358979323846
	z := float64(pi * x)
	z = -float64(z * z)
	sum, term := 1.0, 1.0
	for k := 1.0; k <= 23; k += 2 {
		term = float64(term*z) / float64(k*(k+1))
		sum = float64(sum + term)
	}
	return sum
}
