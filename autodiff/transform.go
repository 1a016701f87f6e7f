package autodiff

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Func is a function of one tensor, made of operations on it. Its result may
// also depend on tensors that it captures; those count as constants. An error is
// carried by the result.
type Func func(x *sinter.Tensor) *sinter.Tensor

// JVP returns y = f(x) and the Jacobian-vector product dy, the derivative of f
// at x in direction v. v has shape and dtype of x, dy has those of y. It takes
// two reverse passes: the product u·J is linear in u, and its own derivative
// with respect to u is J (Townsend, "A new trick for calculating Jacobian vector
// products", 2017).
func JVP(f Func, x, v *sinter.Tensor) (y, dy *sinter.Tensor, err error) {
	return Options{}.JVP(f, x, v)
}

// HVP returns the Hessian-vector product H·v of f at x, where f gives one
// element; v and the result have shape and dtype of x. It is the gradient of
// <grad f, v> (Pearlmutter, "Fast exact multiplication by the Hessian", 1994)
// and never forms H.
func HVP(f Func, x, v *sinter.Tensor) (*sinter.Tensor, error) { return Options{}.HVP(f, x, v) }

// Jacobian returns y = f(x) and the matrix of partial derivatives, of shape
// y.Shape() followed by x.Shape(): element [i, j] is the derivative of y[i] with
// respect to x[j]. It takes one reverse pass per element of y, so it is for
// small results.
func Jacobian(f Func, x *sinter.Tensor) (y, jac *sinter.Tensor, err error) {
	return Options{}.Jacobian(f, x)
}

// JVP is the function [JVP] with these options. With Track, y and dy are tracked
// as functions of x.
func (o Options) JVP(f Func, x, v *sinter.Tensor) (y, dy *sinter.Tensor, err error) {
	x0, y, err := o.call("jvp", f, x)
	if err != nil {
		return nil, nil, err
	}
	g, err := sinter.GraphOf(y)
	if err != nil {
		return nil, nil, err
	}
	if err := direction("jvp", x, v); err != nil {
		return nil, nil, err
	}
	if !y.Tracked() {
		if o.Strict {
			return nil, nil, fail("jvp", "the function's result does not depend on its argument")
		}
		return y, filled(g, typeOf(y), 0), nil
	}
	u := filled(g, typeOf(y), 0).Track()
	inner := Options{Track: true, Strict: o.Strict}
	back, err := inner.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{u}, []*sinter.Tensor{x0})
	if err != nil {
		return nil, nil, err
	}
	if !back[0].Tracked() { // no operation with a gradient lies between
		return o.plain(y), filled(g, typeOf(y), 0), nil
	}
	d, err := Options{Track: o.Track}.VJP(back, []*sinter.Tensor{v}, []*sinter.Tensor{u})
	if err != nil {
		return nil, nil, err
	}
	return o.plain(y), d[0], nil
}

// HVP is the function [HVP] with these options. With Track, the result is tracked
// as a function of x and v.
func (o Options) HVP(f Func, x, v *sinter.Tensor) (*sinter.Tensor, error) {
	x0, y, err := o.call("hvp", f, x)
	if err != nil {
		return nil, err
	}
	if err := scalarLoss(y); err != nil {
		return nil, err
	}
	if err := direction("hvp", x, v); err != nil {
		return nil, err
	}
	g, err := sinter.GraphOf(y)
	if err != nil {
		return nil, err
	}
	first := []*sinter.Tensor{filled(g, typeOf(x), 0)}
	if y.Tracked() || o.Strict {
		inner := Options{Track: true, Strict: o.Strict}
		if first, err = inner.run("hvp", []*sinter.Tensor{y}, nil, []*sinter.Tensor{x0}); err != nil {
			return nil, err
		}
	}
	if !first[0].Tracked() { // f is linear
		return filled(g, typeOf(x), 0), nil
	}
	d, err := Options{Track: o.Track}.run("hvp", first, []*sinter.Tensor{v}, []*sinter.Tensor{x0})
	if err != nil {
		return nil, err
	}
	return d[0], nil
}

// Jacobian is the function [Jacobian] with these options. With Track, both
// results are tracked as functions of x.
func (o Options) Jacobian(f Func, x *sinter.Tensor) (y, jac *sinter.Tensor, err error) {
	x0, y, err := o.call("jacobian", f, x)
	if err != nil {
		return nil, nil, err
	}
	g, err := sinter.GraphOf(y)
	if err != nil {
		return nil, nil, err
	}
	shape := append(y.Shape(), x.Shape()...)
	n := y.Size()
	switch {
	case !y.Tracked() && o.Strict:
		return nil, nil, fail("jacobian", "the function's result does not depend on its argument")
	case !y.Tracked() || n == 0 || x.Size() == 0:
		jac = filled(g, ir.Type{DType: x.DType(), Shape: shape}, 0)
		return o.plain(y), jac, jac.Err()
	case y.DType() != x.DType():
		return nil, nil, fail("jacobian", "the result is %s, the argument %s: cast one of them", y.DType(), x.DType())
	}
	rows := make([]*sinter.Tensor, n)
	count := apply0(g, "iota", "shape", []int{n}, "dtype", sinter.I64)
	for i := range rows {
		unit := count.Eq(i).Cast(y.DType()).Reshape(y.Shape()...)
		d, err := o.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{unit}, []*sinter.Tensor{x0})
		if err != nil {
			return nil, nil, err
		}
		rows[i] = d[0]
	}
	jac = sinter.Stack(0, rows...).Reshape(shape...)
	return o.plain(y), jac, jac.Err()
}

// call applies f to a view of x: of a fresh leaf, or, where the result shall be
// tracked as a function of x, of x itself.
func (o Options) call(op string, f Func, x *sinter.Tensor) (x0, y *sinter.Tensor, err error) {
	if err := x.Err(); err != nil {
		return nil, nil, err
	}
	if !x.DType().IsFloat() {
		return nil, nil, fail(op, "the argument is %v, expected a float dtype", typeOf(x))
	}
	if !o.Track || !x.Tracked() {
		x = x.Track()
	}
	if x0 = x.Reshape(x.Shape()...); x0.Err() == nil && !x0.Tracked() {
		return nil, nil, fail(op, "the argument (%v) belongs to a scope with NoGrad", typeOf(x))
	}
	y = f(x0)
	return x0, y, y.Err()
}

// direction checks a vector that is multiplied with derivatives at x.
func direction(op string, x, v *sinter.Tensor) error {
	if err := v.Err(); err != nil {
		return err
	}
	if want, got := typeOf(x), typeOf(v); !got.Equal(want) {
		e := ir.Errorf(ir.ErrShape, "the direction is %v, expected %v as the argument", got, want)
		if got.DType != want.DType {
			e.Kind = ir.ErrDType
		}
		e.Op, e.Site = op, callsite.Find()
		return e
	}
	return nil
}

// plain takes the record of a result away, unless it is wanted.
func (o Options) plain(y *sinter.Tensor) *sinter.Tensor {
	if o.Track {
		return y
	}
	return y.Detach()
}

func apply0(g sinter.Graph, row string, attrs ...any) *sinter.Tensor {
	return tensor(g.Apply(row, nil, ir.A(attrs...)...))
}
