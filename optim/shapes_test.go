package optim

import (
	"math"
	"testing"
)

// TestScheduleShapes compares schedules with what their formulas give.
func TestScheduleShapes(t *testing.T) {
	wave := func(a, b, x float64) float64 { return b + (a-b)*(1+math.Cos(math.Pi*x))/2 }
	for name, c := range map[string]struct {
		s    Schedule
		want map[int64]float64
	}{
		"step":          {StepDecay(1, 10, 0.5), map[int64]float64{-1: 1, 0: 1, 9: 1, 10: 0.5, 29: 0.25}},
		"step of 0":     {StepDecay(1, 0, 0.5), map[int64]float64{0: 1, 9: 1}},
		"multi":         {MultiStep(1, 0.1, 3, 5), map[int64]float64{0: 1, 2: 1, 3: 0.1, 4: 0.1, 5: 0.01, 99: 0.01}},
		"exponential":   {Exponential(2, 0.9), map[int64]float64{0: 2, 1: 1.8, 2: 1.62, 20: 2 * math.Pow(0.9, 20)}},
		"linear":        {Linear(1, 0.5, 10), map[int64]float64{-3: 1, 0: 1, 5: 0.75, 10: 0.5, 11: 0.5}},
		"rising":        {Linear(0, 1, 4), map[int64]float64{0: 0, 1: 0.25, 4: 1}},
		"polynomial":    {Polynomial(1, 0.2, 10, 2), map[int64]float64{0: 1, 5: 0.4, 10: 0.2, 12: 0.2}},
		"restarts":      {CosineRestarts(1, 0, 4, 1), map[int64]float64{0: 1, 2: 0.5, 4: 1, 6: 0.5, 7: wave(1, 0, 0.75), 8: 1}},
		"longer":        {CosineRestarts(1, 0, 4, 2), map[int64]float64{0: 1, 3: wave(1, 0, 0.75), 4: 1, 8: 0.5, 12: 1, 20: 0.5, 28: 1}},
		"no period":     {CosineRestarts(1, 0.5, 0, 2), map[int64]float64{0: 0.5, 5: 0.5}},
		"one cycle":     {OneCycle(1, 101), map[int64]float64{0: 0.04, 101: 1. / 250000, 100: 1. / 250000, 10: wave(0.04, 1, 10/29.3), 50: wave(1, 1./250000, 20.7/70.7)}},
		"short cycle":   {OneCycle(1, 1), map[int64]float64{0: 1. / 250000}},
		"then":          {Then(Linear(0, 1, 4), 4, StepDecay(1, 2, 0.5)), map[int64]float64{0: 0, 3: 0.75, 4: 1, 5: 1, 6: 0.5}},
		"warmup cosine": {Warmup(2, Cosine(1, 0, 4)), map[int64]float64{0: 0.5, 2: 0.5, 4: 0}},
	} {
		for step, want := range c.want {
			if got := c.s(step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: rate %v at step %d, want %v", name, got, step, want)
			}
		}
	}
	if r := CosineRestarts(1, 0, 4, 3)(math.MaxInt64); !(r >= 0 && r <= 1) {
		t.Errorf("restarts: rate %v at the last step", r)
	}
}
