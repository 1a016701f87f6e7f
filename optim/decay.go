package optim

// StepDecay multiplies the rate by factor after every so many steps.
func StepDecay(rate float64, every int64, factor float64) Schedule {
	return func(step int64) float64 {
		if every <= 0 {
			return rate
		}
		return rate * power(factor, max(step, 0)/every)
	}
}

// MultiStep multiplies the rate by factor at each of the milestones.
func MultiStep(rate, factor float64, milestones ...int64) Schedule {
	return func(step int64) float64 {
		n := int64(0)
		for _, m := range milestones {
			if step >= m {
				n++
			}
		}
		return rate * power(factor, n)
	}
}

// Exponential multiplies the rate by factor at every step.
func Exponential(rate, factor float64) Schedule { return StepDecay(rate, 1, factor) }

// Linear goes from one rate at step 0 to another at step total, and stays there.
func Linear(from, to float64, total int64) Schedule { return Polynomial(from, to, total, 1) }

// Polynomial goes from one rate at step 0 to another at step total, and stays
// there: to + (from-to)·(1 - step/total)^exponent.
func Polynomial(from, to float64, total, exponent int64) Schedule {
	return func(step int64) float64 {
		if total <= 0 || step >= total {
			return to
		}
		rest := 1 - float64(float64(max(step, 0))/float64(total))
		return float64(float64(from-to)*power(rest, max(exponent, 0))) + to
	}
}
