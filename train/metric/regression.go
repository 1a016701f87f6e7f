package metric

import (
	"fmt"
	"math"
)

// Regression compares numbers with what they should be.
type Regression struct {
	squares, magnitudes, y, yy Sum
}

// Add takes predictions and truths.
func (r *Regression) Add(predicted, truth []float32) error {
	if len(predicted) != len(truth) {
		return fmt.Errorf("metric: %d predictions for %d truths", len(predicted), len(truth))
	}
	for i, t := range truth {
		d := float64(predicted[i]) - float64(t)
		r.squares.Add(float64(d * d))
		r.magnitudes.Add(math.Abs(d))
		r.y.Add(float64(t))
		r.yy.Add(float64(float64(t) * float64(t))) // exact
	}
	return nil
}

// MSE is the mean of squared errors, NaN of none.
func (r *Regression) MSE() float64 { return r.squares.Mean() }

// RMSE is the square root of MSE.
func (r *Regression) RMSE() float64 { return math.Sqrt(r.MSE()) }

// MAE is the mean of the errors' magnitudes, NaN of none.
func (r *Regression) MAE() float64 { return r.magnitudes.Mean() }

// R2 is the share of the truths' variance that the predictions explain: 1 if they
// are right, 0 if they are as good as the mean, below if they are worse. It is NaN
// where all truths are equal.
func (r *Regression) R2() float64 {
	if v := r.squares.Value() + r.yy.Value(); math.IsNaN(v) || math.IsInf(v, 0) {
		return math.NaN()
	}
	n := wide().SetInt64(r.y.n)
	total := wide().Mul(n, r.yy.exact())
	y := r.y.exact()
	total.Sub(total, wide().Mul(y, y))
	if total.Sign() == 0 {
		return math.NaN()
	}
	missed := wide().Mul(n, r.squares.exact())
	v, _ := wide().Quo(total.Sub(total, missed), wide().Add(total, missed)).Float64()
	return v
}

// Perplexity is e to the mean of negative log likelihoods, one for each token.
type Perplexity struct{ sum Sum }

// Add takes negative log likelihoods, to base e.
func (p *Perplexity) Add(losses []float32) {
	for _, l := range losses {
		p.sum.Add(float64(l))
	}
}

// AddMean takes the mean of n of them.
func (p *Perplexity) AddMean(mean float64, n int) {
	p.sum.Add(float64(mean * float64(n)))
	p.sum.n += int64(n) - 1
}

// Value returns the perplexity, NaN of nothing.
func (p *Perplexity) Value() float64 { return math.Exp(p.sum.Mean()) }
