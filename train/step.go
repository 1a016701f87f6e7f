package train

import (
	"context"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// step makes one step on some rows of the training set, and adds their losses to
// the total.
func (l *Loop) step(ctx context.Context, dev *sinter.Device, rows []int, random *random, total *sinter.Var) error {
	s := sinter.NewScope("step")
	defer s.End()
	x, labels := l.load(dev, rows, random)
	defer x.Release()
	defer labels.Release()
	params := l.Optimizer.Params()
	vars := make([]*sinter.Var, len(params))
	for i, p := range params {
		vars[i] = p.Var
	}
	var grads []*sinter.Tensor
	size := (len(rows) + l.parts() - 1) / l.parts()
	for at := 0; at < len(rows); at += size {
		n := min(size, len(rows)-at)
		part, err := l.gradients(s, random.mode(at), x, labels, at, n, vars, total)
		if err != nil {
			return err
		}
		grads = add(grads, part)
	}
	if l.Scaler != nil {
		grads = l.Scaler.Unscale(grads)
	}
	if l.Clip > 0 {
		grads, _ = optim.ClipByNorm(grads, l.Clip)
	}
	if l.Scaler != nil {
		_, err := l.Scaler.StepUnscaled(ctx, l.Optimizer, grads)
		return err
	}
	return l.Optimizer.Step(grads)
}

func (l *Loop) parts() int { return max(l.Parts, 1) }

// gradients returns those of n samples from at on, times their share of the step.
func (l *Loop) gradients(step *sinter.Scope, m nn.Mode, x, labels *sinter.Tensor, at, n int, vars []*sinter.Var, total *sinter.Var) ([]*sinter.Tensor, error) {
	s := step
	all := x.Dim(0)
	if n < all {
		s = step.Sub("part")
		defer s.End()
		x, labels = s.In(x).Slice(sinter.Span(at, at+n)), s.In(labels).Slice(sinter.Span(at, at+n))
	}
	loss := l.Loss
	if loss == nil {
		loss = nn.CrossEntropy
	}
	dtype := floatOf(vars)
	if l.Precision != 0 {
		dtype = l.Precision
	}
	out := nn.Forward(m, l.Model, s.In(x).Cast(dtype))
	if l.Precision != 0 {
		out = out.Cast(sinter.F32)
	}
	y := loss(out, s.In(labels))
	if err := total.Set(total.In(s).Add(y.Detach().Cast(sinter.F32).Mul(n))); err != nil {
		return nil, err
	}
	if l.Scaler != nil {
		y = l.Scaler.Scale(y.Cast(sinter.F32))
	}
	if n < all {
		y = y.Mul(float32(n) / float32(all))
	}
	grads, err := autodiff.Gradients(y, vars...)
	if err != nil || n == all {
		return grads, err
	}
	for i, g := range grads {
		if g != nil {
			grads[i] = s.Keep(g)
		}
	}
	return grads, nil
}

// add adds gradients of another part.
func add(sum, part []*sinter.Tensor) []*sinter.Tensor {
	if sum == nil {
		return part
	}
	out := slices.Clone(sum)
	for i, g := range part {
		switch {
		case out[i] == nil:
			out[i] = g
		case g != nil:
			out[i] = out[i].Add(g)
		}
	}
	return out
}

// floatOf is the float dtype of the parameters, which is that of the samples.
func floatOf(vars []*sinter.Var) sinter.DType {
	for _, v := range vars {
		if d := v.Borrow().DType(); d.IsFloat() {
			return d
		}
	}
	return sinter.F32
}
