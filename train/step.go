package train

import (
	"context"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// steps are those of a run of the loop.
type steps struct {
	*Loop
	dev   *sinter.Device
	vars  []*sinter.Var             // that gradients are asked for
	total *sinter.Var               // of the losses of an epoch
	draw  map[int]*sinter.Generator // of the part that begins at a sample

	// Of the step that is made now.
	ctx    context.Context
	random *random

	captured *sinter.Step // nil: steps are recorded
}

func (l *Loop) begin() *steps {
	r := &steps{Loop: l, dev: deviceOf(l.Optimizer.Params()), draw: map[int]*sinter.Generator{}}
	for _, p := range l.Optimizer.Params() {
		r.vars = append(r.vars, p.Var)
	}
	r.total = sinter.NewVar(sinter.On(r.dev).Zeros(sinter.F32))
	r.total.Freeze()
	if l.Capture {
		r.captured = sinter.Capture(r.dev, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			return nil, r.update(s, in[0], in[1])
		})
	}
	return r
}

func (r *steps) end() {
	if r.captured != nil {
		r.captured.Release()
	}
	r.total.Borrow().Release()
}

// step makes one step on some rows of the training set, and adds their losses to
// the total.
func (r *steps) step(ctx context.Context, rows []int, random *random) error {
	r.ctx, r.random = ctx, random
	for at, g := range r.draw {
		g.SetDraws(random.draws(at))
	}
	x, labels := r.load(r.dev, rows, random)
	defer x.Release()
	defer labels.Release()
	for _, t := range []*sinter.Tensor{x, labels} {
		if err := t.Err(); err != nil {
			return err
		}
	}
	if r.captured != nil {
		_, err := r.captured.Run(ctx, x, labels)
		return err
	}
	s := sinter.NewScope("step")
	defer s.End()
	return r.update(s, s.In(x), s.In(labels))
}

// mode is that of the part of the step that begins at sample i.
func (r *steps) mode(i int) nn.Mode {
	g := r.draw[i]
	if g == nil {
		g = r.random.generator()
		g.SetDraws(r.random.draws(i))
		r.draw[i] = g
	}
	return nn.Training(g)
}

// update computes gradients and gives the parameters their next values.
func (r *steps) update(s *sinter.Scope, x, labels *sinter.Tensor) error {
	var grads []*sinter.Tensor
	n := x.Dim(0)
	size := (n + r.parts() - 1) / r.parts()
	for at := 0; at < n; at += size {
		part, err := r.gradients(s, r.mode(at), x, labels, at, min(size, n-at))
		if err != nil {
			return err
		}
		grads = add(grads, part)
	}
	if r.Scaler != nil {
		grads = r.Scaler.Unscale(grads)
	}
	if r.Clip > 0 {
		grads, _ = optim.ClipByNorm(grads, r.Clip)
	}
	if r.Scaler != nil {
		_, err := r.Scaler.StepUnscaled(r.ctx, r.Optimizer, grads)
		return err
	}
	return r.Optimizer.Step(grads)
}

func (l *Loop) parts() int { return max(l.Parts, 1) }

// gradients returns those of n samples from at on, times their share of the step.
func (r *steps) gradients(step *sinter.Scope, m nn.Mode, x, labels *sinter.Tensor, at, n int) ([]*sinter.Tensor, error) {
	s := step
	all := x.Dim(0)
	if n < all {
		s = step.Sub("part")
		defer s.End()
		x, labels = s.In(x).Slice(sinter.Span(at, at+n)), s.In(labels).Slice(sinter.Span(at, at+n))
	}
	loss := r.Loss
	if loss == nil {
		loss = nn.CrossEntropy
	}
	dtype := floatOf(r.vars)
	if r.Precision != 0 {
		dtype = r.Precision
	}
	out := nn.Forward(m, r.Model, s.In(x).Cast(dtype))
	if r.Precision != 0 {
		out = out.Cast(sinter.F32)
	}
	y := loss(out, s.In(labels))
	if err := r.total.Set(r.total.In(s).Add(y.Detach().Cast(sinter.F32).Mul(n))); err != nil {
		return nil, err
	}
	if r.Scaler != nil {
		y = r.Scaler.Scale(y.Cast(sinter.F32))
	}
	if n < all {
		y = y.Mul(float32(n) / float32(all))
	}
	grads, err := autodiff.Gradients(y, r.vars...)
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
