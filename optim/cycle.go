package optim

import "math"

// CosineRestarts falls from peak to floor along half a wave over period steps, and
// starts again; each period is factor, at least 1, times as long as the one before
// (Loshchilov and Hutter, SGDR, 2017).
func CosineRestarts(peak, floor float64, period, factor int64) Schedule {
	return func(step int64) float64 {
		if period <= 0 {
			return floor
		}
		at, length := max(step, 0), period
		if factor <= 1 {
			at %= length
		}
		for at >= length {
			at -= length
			if length > math.MaxInt64/factor {
				length = math.MaxInt64
			} else {
				length *= factor
			}
		}
		return Cosine(peak, floor, length)(at)
	}
}

// OneCycle rises from peak/25 along half a wave during the first 30 % of total
// steps, and falls to peak/250000 during the others (Smith and Topin,
// Super-Convergence, 2018, in the form of PyTorch's OneCycleLR).
func OneCycle(peak float64, total int64) Schedule {
	first, last := peak/25, peak/25/1e4
	up := float64(0.3*float64(total)) - 1
	return func(step int64) float64 {
		at, end := float64(max(step, 0)), float64(total-1)
		switch {
		case at >= end:
			return last
		case up > 0 && at <= up:
			return between(first, peak, at/up)
		}
		return between(peak, last, (at-up)/(end-up))
	}
}

// between goes from a to b along half a wave as x goes from 0 to 1.
func between(a, b, x float64) float64 {
	return float64(float64(a-b)*float64(0.5*float64(1+cosPi(x)))) + b
}

// Then follows the first schedule for n steps, and the second from there, which
// counts its steps from 0.
func Then(first Schedule, n int64, second Schedule) Schedule {
	return func(step int64) float64 {
		if step < n {
			return first(step)
		}
		return second(step - n)
	}
}
