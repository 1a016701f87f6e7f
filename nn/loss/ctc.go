package loss

import "github.com/sinter-go/sinter"

// CTCOptions configure CTC.
type CTCOptions struct {
	Blank int // the class that means nothing
	// ZeroInfinity gives 0 where a target is too long for its input, instead of
	// infinity.
	ZeroInfinity bool
	// Reduction: the mean divides each value by its target's length (at least 1)
	// first, as PyTorch does.
	Reduction Reduction
}

// impossible stands for the logarithm of 0: finite, so that no gradient meets
// inf - inf, and beyond what logarithms of probabilities add up to.
const impossible = -1e30

// CTC is the loss of connectionist temporal classification: -log of the
// probability that x [length, n, classes], logarithms of probabilities, spells
// targets [n, s], i64, of which inputLengths [n] steps and targetLengths [n]
// labels count. x is f32 or f64.
func CTC(x, targets, inputLengths, targetLengths *sinter.Tensor, o CTCOptions) *sinter.Tensor {
	in := []*sinter.Tensor{x, targets, inputLengths, targetLengths}
	if x.Rank() != 3 || targets.Rank() != 2 || inputLengths.Rank() != 1 || targetLengths.Rank() != 1 || x.DType().Size() < 4 ||
		targets.Dim(0) != x.Dim(1) || inputLengths.Dim(0) != x.Dim(1) || targetLengths.Dim(0) != x.Dim(1) {
		return failed("ctc", in, "x %v, targets %v and lengths %v, %v: expected [length, n, classes] of f32 or f64, [n, s], [n] and [n]",
			x.Shape(), targets.Shape(), inputLengths.Shape(), targetLengths.Shape())
	}
	steps, n, s := x.Dim(0), x.Dim(1), targets.Dim(1)
	if o.Blank < 0 || o.Blank >= x.Dim(2) || steps == 0 {
		return failed("ctc", in, "blank %d of %d classes in %d steps: expected one of them, in at least one step", o.Blank, x.Dim(2), steps)
	}
	// The labels with blanks around them: states 0 to 2s.
	states := 2*s + 1
	blanks := constant(targets, float64(o.Blank)).Expand(n, s+1, 1)
	labels := blanks.Slice(sinter.All(), sinter.Until(1)).Reshape(n, 1)
	if s > 0 {
		pairs := sinter.Concat(2, targets.Unsqueeze(-1), blanks.Slice(sinter.All(), sinter.Until(s)))
		labels = sinter.Concat(1, labels, pairs.Reshape(n, 2*s))
	}
	// emit[t, n, state] is the label's logarithm, by rows of [n·classes, steps].
	at := arange(targets, n).Mul(x.Dim(2)).Unsqueeze(-1).Add(labels).Reshape(n * states)
	rows := x.Permute(1, 2, 0).Reshape(n*x.Dim(2), steps)
	emit := rows.Gather(0, at).Reshape(n, states, steps).Permute(2, 0, 1).Maximum(impossible)
	never := constant(x, impossible)
	state := arange(targets, states)
	// A blank between two labels may be skipped if they differ.
	skip := state.Lt(0).Expand(n, states)
	if states > 2 {
		old := labels.Slice(sinter.All(), sinter.Until(states-2))
		now := labels.Slice(sinter.All(), sinter.From(2))
		skip = sinter.Concat(1, state.Lt(0).Expand(n, states).Slice(sinter.All(), sinter.Until(2)), now.Ne(old).And(now.Ne(o.Blank)))
	}
	shift := func(a *sinter.Tensor, by int) *sinter.Tensor {
		if by >= states {
			return never.Expand(n, states)
		}
		return sinter.Concat(1, never.Expand(n, by), a.Slice(sinter.All(), sinter.Until(states-by)))
	}
	alpha := sinter.Where(state.Lt(2), emit.At(0, 0), never)
	for t := 1; t < steps; t++ {
		a, b := alpha, shift(alpha, 1)
		c := sinter.Where(skip, shift(alpha, 2), never)
		next := logSum(a, b, c).Add(emit.At(0, t)).Maximum(impossible)
		alpha = sinter.Where(inputLengths.Gt(t).Unsqueeze(-1), next, alpha)
	}
	last := targetLengths.Mul(2).Unsqueeze(-1)
	final := sinter.Where(state.Eq(last).Or(state.Eq(last.Sub(1))), alpha, never)
	top := final.Max(sinter.Over(1).KeepDims()).Detach()
	y := final.Sub(top).Exp().Sum(sinter.Over(1)).Log().Add(top.Squeeze(1)).Neg()
	far := y.Gt(-impossible / 2)
	if o.ZeroInfinity {
		y = sinter.Where(far, 0, y)
	} else {
		y = sinter.Where(far, constant(y, 1).Div(0), y)
	}
	if o.Reduction == Mean {
		y = y.Div(targetLengths.Maximum(1).Cast(y.DType()))
	}
	return o.Reduction.of(y)
}

// logSum is log(exp(a) + exp(b) + exp(c)) of finite numbers. The greatest, which
// is taken out, has no gradient of its own.
func logSum(a, b, c *sinter.Tensor) *sinter.Tensor {
	top := a.Maximum(b).Maximum(c).Detach()
	return a.Sub(top).Exp().Add(b.Sub(top).Exp()).Add(c.Sub(top).Exp()).Log().Add(top)
}
