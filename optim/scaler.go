package optim

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Scaler scales losses of half-precision models, so that small gradients do not
// become 0, by a factor that finds its own size (Micikevicius and others, Mixed
// Precision Training, 2018): a step whose gradients are infinite or NaN is left
// out and halves the factor, Interval good ones in a row double it.
//
//	grads, err := autodiff.Gradients(scaler.Scale(loss), vars...)
//	done, err := scaler.Step(ctx, opt, grads)
type Scaler struct {
	// Settings; change them between steps. Powers of two keep scaling exact.
	Growth   float64 // 2
	Backoff  float64 // 0.5
	Interval int     // 2000

	scale, good *sinter.Var
}

// NewScaler makes a scaler on a device; 65536 is a usual first factor.
func NewScaler(d *sinter.Device, scale float64) *Scaler {
	if d == nil {
		d = sinter.DefaultDevice()
	}
	s := &Scaler{Growth: 2, Backoff: 0.5, Interval: 2000}
	s.scale = sinter.NewVar(sinter.On(d).Full(scale, sinter.F64))
	s.good = sinter.NewVar(sinter.On(d).Zeros(sinter.I64))
	s.scale.Freeze()
	return s
}

// State returns the factor and the number of good steps in a row, to be saved with
// that of the optimizer.
func (s *Scaler) State() []nn.Named {
	return []nn.Named{{Name: "scaler.scale", Var: s.scale}, {Name: "scaler.good", Var: s.good}}
}

// Scale is the loss times the factor, which must fit its dtype: cast a loss of f16
// to f32 first.
func (s *Scaler) Scale(loss *sinter.Tensor) *sinter.Tensor {
	return loss.Mul(nn.Use(s.scale, loss).Cast(loss.DType()))
}

// Unscale divides gradients by the factor: before they are clipped. Nil ones stay
// nil. Step must not do it again; see [Scaler.StepUnscaled].
func (s *Scaler) Unscale(grads []*sinter.Tensor) []*sinter.Tensor {
	out := make([]*sinter.Tensor, len(grads))
	for i, g := range grads {
		if g != nil {
			inverse := nn.Use(s.scale, g).Reciprocal()
			out[i] = wide(g).Mul(inverse.Cast(wide(g).DType())).Cast(g.DType())
		}
	}
	return out
}

// Step divides gradients by the factor and lets the optimizer make its step,
// unless one of them is infinite or NaN: then parameters, state and step count of
// the optimizer stay as they are, and done is false. It waits for the gradients,
// of which it reads one bit.
func (s *Scaler) Step(ctx context.Context, opt Optimizer, grads []*sinter.Tensor) (done bool, err error) {
	return s.StepUnscaled(ctx, opt, s.Unscale(grads))
}

// StepUnscaled is [Scaler.Step] for gradients that [Scaler.Unscale] has divided.
func (s *Scaler) StepUnscaled(ctx context.Context, opt Optimizer, grads []*sinter.Tensor) (done bool, err error) {
	sc := sinter.NewScope("scaler")
	defer sc.End()
	var finite *sinter.Tensor
	for _, g := range grads {
		if g == nil {
			continue
		}
		ok := g.Detach().IsFinite().All()
		if finite != nil {
			ok = ok.And(finite)
		}
		finite = ok
	}
	if finite == nil {
		return true, opt.Step(grads)
	}
	done, err = sinter.Item[bool](ctx, finite)
	if err != nil {
		return false, fmt.Errorf("optim: gradients: %w", err)
	}
	if done {
		if err := opt.Step(grads); err != nil {
			return false, err
		}
	}
	return done, s.adjust(sc, done)
}

// adjust moves the factor after a step.
func (s *Scaler) adjust(sc *sinter.Scope, ok bool) error {
	scale, good := s.scale.In(sc), s.good.In(sc)
	if ok {
		good = good.Add(1)
		full := good.Ge(max(s.Interval, 1))
		grown := scale.Mul(s.Growth)
		scale = sinter.Where(full.And(grown.IsFinite()), grown, scale)
		good = sinter.Where(full, 0, good)
	} else {
		scale, good = scale.Mul(s.Backoff), good.Mul(0)
	}
	if err := s.scale.Set(scale); err != nil {
		return fmt.Errorf("optim: scale: %w", err)
	}
	if err := s.good.Set(good); err != nil {
		return fmt.Errorf("optim: scale: %w", err)
	}
	return nil
}
