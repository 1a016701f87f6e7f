// Package autodiff is reverse-mode differentiation of tensors.
//
// Tensors remember how they were made once a leaf is tracked: by
// [sinter.Tensor.Track], or as the value of a [sinter.Var]. [Grad], [VJP] and
// [Gradients] walk that record backwards:
//
//	x := sinter.FromSlice([]float64{1, 2, 3}).Track()
//	g, err := autodiff.Grad(x.Mul(x).Sum(), x) // 2·x
//
// A gradient stops at [sinter.Tensor.Detach], at results of scopes with
// [sinter.NoGrad], and at operations without a gradient, such as argmax,
// comparisons and everything that gives integers or bools: a tensor on which the
// outputs depend only through these has gradient zero, as one on which they do
// not depend at all.
//
// By default gradients are untracked, which is cheap and what training needs.
// [Options] with Track makes them differentiable in turn; the package composes
// with itself to any order.
//
// Invariants: the walk is iterative and linear in the operations between the
// outputs and the tensors asked for; operations run in descending order of
// recording; gradients that fan in are summed in order of recording (of the
// consumer, then of its operand), so that results have the same bits on every
// run; a gradient has dtype and shape of its tensor; nothing is kept between
// calls, records are only read, and every function is safe for concurrent use.
// What an operation's gradient is, its row in package ir says: this package
// knows no operation by name save those that sum, shape and fill.
package autodiff
