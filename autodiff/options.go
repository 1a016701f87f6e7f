package autodiff

import "github.com/sinter-go/sinter"

// Options are the ways to differentiate; the zero value is that of the package's
// functions.
type Options struct {
	// Track records the gradients' own operations where their operands are
	// tracked, so that gradients can be differentiated. Intermediate tensors then
	// live as long as the gradients' record; without Track they are released
	// when the call returns.
	Track bool

	// Strict makes it an error of kind ir.ErrArgument to ask for the gradient of
	// a tensor on which no output depends. Without it that gradient is zeros.
	Strict bool
}

// Grad returns the gradients of a loss, a float tensor of one element, with
// respect to tensors: wrt[i] may be a leaf or any tracked result on the way; its
// gradient has its shape and dtype. The gradients are untracked, belong to the
// scope of the loss, and share no memory handle with each other.
//
// It is an error of kind ir.ErrArgument if the loss or one of wrt is untracked,
// and one of kind ir.ErrShape if the loss has not exactly one element. If a
// tensor carries an error, that is returned.
func Grad(loss *sinter.Tensor, wrt ...*sinter.Tensor) ([]*sinter.Tensor, error) {
	return Options{}.Grad(loss, wrt...)
}

// VJP returns vector-Jacobian products: the gradients, with respect to wrt, of
// the sum over i and all elements of outputs[i]·cotangents[i]. Each cotangent has
// shape, dtype and device of its output; nil stands for ones. Outputs that are
// untracked do not contribute, but one must be tracked. See [Grad] for the rest.
func VJP(outputs, cotangents, wrt []*sinter.Tensor) ([]*sinter.Tensor, error) {
	return Options{}.VJP(outputs, cotangents, wrt)
}

// Gradients is [Grad] with respect to the present values of variables, as
// optimizers use it. A variable that was set after the loss was computed has a
// value that the loss does not depend on. A frozen variable is untracked and
// thus an error.
func Gradients(loss *sinter.Tensor, vars ...*sinter.Var) ([]*sinter.Tensor, error) {
	return Options{}.Gradients(loss, vars...)
}

// Grad is the function [Grad] with these options.
func (o Options) Grad(loss *sinter.Tensor, wrt ...*sinter.Tensor) ([]*sinter.Tensor, error) {
	if err := scalarLoss(loss); err != nil {
		return nil, err
	}
	return o.run("grad", []*sinter.Tensor{loss}, nil, wrt)
}

// VJP is the function [VJP] with these options.
func (o Options) VJP(outputs, cotangents, wrt []*sinter.Tensor) ([]*sinter.Tensor, error) {
	return o.run("vjp", outputs, cotangents, wrt)
}

// Gradients is the function [Gradients] with these options.
func (o Options) Gradients(loss *sinter.Tensor, vars ...*sinter.Var) ([]*sinter.Tensor, error) {
	if err := scalarLoss(loss); err != nil {
		return nil, err
	}
	wrt := make([]*sinter.Tensor, len(vars))
	for i, v := range vars {
		if v == nil {
			return nil, fail("gradients", "variable %d is nil", i)
		}
		wrt[i] = v.Borrow()
		if err := wrt[i].Err(); err != nil {
			return nil, err
		}
		if !wrt[i].Tracked() {
			return nil, fail("gradients", "variable %d (%s%v) is frozen or not of a float dtype, so it has no gradient", i, wrt[i].DType(), wrt[i].Shape())
		}
	}
	return o.run("gradients", []*sinter.Tensor{loss}, nil, wrt)
}
