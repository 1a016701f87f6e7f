// Package gradcheck compares gradients with numerical derivatives.
//
//	err := gradcheck.Check(ctx, func(in []*sinter.Tensor) []*sinter.Tensor {
//		return []*sinter.Tensor{in[0].Mul(in[1]).Relu()}
//	}, x, z)
//
// A function of f64 tensors is differentiated by package autodiff, with random
// weights on the elements of its results, and by central differences in every
// element of its arguments; then the same is done to its gradients, so that the
// second order is checked too, along random directions and including the
// dependence on the weights. Arguments of other dtypes are passed on as they are.
//
// Choose arguments away from kinks: within a step of one, the two derivatives
// rightly differ. Invariants: the same arguments, options and function give the
// same verdict; nothing is kept between calls.
package gradcheck
