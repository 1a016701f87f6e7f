package gradcheck

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

// Func is a function of tensors, made of operations on them. Arguments must be
// used as they are given, not through variables outside of it. An error is
// carried by a result.
type Func func(in []*sinter.Tensor) []*sinter.Tensor

// Options configure a check. A zero field has the value that its comment states.
type Options struct {
	// Step is h in (f(x+h) - f(x-h)) / 2h, times the greatest power of two not
	// above |x| where that is above 1: 1e-5, which balances truncation (of order
	// h²) and rounding (of order 1e-16/h).
	Step float64
	// RTol and ATol bound the difference: |analytic - numeric| may be
	// ATol + RTol·max(|analytic|, |numeric|). 1e-5 and 1e-6.
	RTol, ATol float64
	// Seed of the random weights.
	Seed uint64
	// FirstOnly leaves out the second order.
	FirstOnly bool
}

// Check is [Options.Check] with default options.
func Check(ctx context.Context, f Func, in ...*sinter.Tensor) error {
	return Options{}.Check(ctx, f, in...)
}

// Check returns nil if the gradients of f at in agree with numerical ones, to
// the first and second order. Otherwise the error is a *[Mismatch]; it is an
// error of another kind if f or its gradient fails. Arguments of dtype f64 are
// differentiated, one must be; f16, bf16 and f32 arguments are an error, as they
// are too coarse for differences: cast inside f. Results of float dtypes are
// checked, in f64.
func (o Options) Check(ctx context.Context, f Func, in ...*sinter.Tensor) error {
	o = o.withDefaults()
	c := &checker{Options: o, ctx: ctx, rand: rand.New(rand.NewPCG(o.Seed, 0x5eed))}
	args, err := c.read(in)
	if err != nil {
		return err
	}
	weights, err := c.order(1, f, args)
	if err != nil || o.FirstOnly {
		return err
	}
	n := len(args)
	first := func(in []*sinter.Tensor) []*sinter.Tensor { // the gradients, as a function
		g, err := gradients(f(in[:n]), in[n:], in[:n], autodiff.Options{Track: true})
		if err != nil {
			return []*sinter.Tensor{sinter.Failed(err)}
		}
		return g
	}
	_, err = c.order(2, first, append(args, weights...))
	return err
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *float64
		value float64
	}{{&o.Step, 1e-5}, {&o.RTol, 1e-5}, {&o.ATol, 1e-6}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return o
}

// Mismatch says where gradients disagree.
type Mismatch struct {
	Order             int // 1, or 2: of the gradients' gradients
	Argument          int // those after the function's own are the weights of its results
	Element           int // row-major
	Analytic, Numeric float64
	Allowed           float64 // the difference that the options allow
	Differ, Of        int     // how many elements disagree, of how many
}

// Error describes the first element that disagrees.
func (m *Mismatch) Error() string {
	return fmt.Sprintf("gradcheck: order %d: %d of %d elements disagree, first element %d of argument %d: analytic %.10g, numeric %.10g, a difference of at most %.3g was allowed",
		m.Order, m.Differ, m.Of, m.Element, m.Argument, m.Analytic, m.Numeric, m.Allowed)
}

type checker struct {
	Options
	ctx  context.Context
	rand *rand.Rand
}

// argument is a tensor and, if it is differentiated, its elements.
type argument struct {
	t      *sinter.Tensor
	values []float64
}

func (c *checker) read(in []*sinter.Tensor) ([]argument, error) {
	args := make([]argument, len(in))
	found := false
	for i, t := range in {
		if err := t.Err(); err != nil {
			return nil, err
		}
		args[i].t = t.Detach()
		switch {
		case t.DType() == sinter.F64:
			v, err := sinter.Data[float64](c.ctx, t)
			if err != nil {
				return nil, err
			}
			args[i].values, found = v, true
		case t.DType().IsFloat():
			return nil, ir.Errorf(ir.ErrDType, "gradcheck: argument %d is %s, expected f64; cast inside the function", i, t.DType())
		}
	}
	if !found {
		return nil, ir.Errorf(ir.ErrArgument, "gradcheck: no argument is f64, so there is nothing to differentiate")
	}
	return args, nil
}

// order compares the gradients of f with differences, and returns the random
// weights of f's results that it used.
func (c *checker) order(order int, f Func, args []argument) ([]argument, error) {
	leaves := make([]*sinter.Tensor, len(args))
	for i, a := range args {
		leaves[i] = a.t
		if a.values != nil {
			leaves[i] = a.t.Track()
		}
	}
	out := f(leaves)
	weights := make([]argument, len(out))
	us := make([]*sinter.Tensor, len(out))
	for i, y := range out {
		if err := y.Err(); err != nil {
			return nil, err
		}
		v := make([]float64, y.Size())
		for j := range v {
			v[j] = 0.5 + float64(c.rand.IntN(32))/32 // hides no element, and is exact in every dtype
			if c.rand.IntN(2) == 0 {
				v[j] = -v[j]
			}
		}
		us[i] = tensorOf(y.Device(), v, y.Shape())
		weights[i] = argument{us[i], v}
	}
	grads, err := gradients(out, us, leaves, autodiff.Options{})
	if err != nil {
		return nil, err
	}
	var bad *Mismatch
	of := 0
	for i, a := range args {
		if a.values == nil {
			continue
		}
		g, err := sinter.Data[float64](c.ctx, grads[0])
		if err != nil {
			return nil, err
		}
		grads = grads[1:]
		for j := range a.values {
			numeric, err := c.difference(f, args, weights, i, j)
			if err != nil {
				return nil, err
			}
			of++
			allowed := c.ATol + c.RTol*max(math.Abs(g[j]), math.Abs(numeric))
			if math.Abs(g[j]-numeric) <= allowed {
				continue
			}
			if bad == nil {
				bad = &Mismatch{Order: order, Argument: i, Element: j, Analytic: g[j], Numeric: numeric, Allowed: allowed}
			}
			bad.Differ++
		}
	}
	if bad != nil {
		bad.Of = of
		return nil, bad
	}
	return weights, nil
}

// gradients differentiates the tracked results of a function, weighted by us,
// with respect to the tracked ones of leaves; results that are untracked, as
// those without any dependence are, have gradient zero.
func gradients(out, us, leaves []*sinter.Tensor, o autodiff.Options) ([]*sinter.Tensor, error) {
	var ys, cs, wrt []*sinter.Tensor
	for i, y := range out {
		if err := y.Err(); err != nil {
			return nil, err
		}
		if y.Tracked() {
			ys, cs = append(ys, y), append(cs, us[i].Cast(y.DType()))
		}
	}
	for _, x := range leaves {
		if x.DType() == sinter.F64 {
			wrt = append(wrt, x)
		}
	}
	if len(ys) > 0 && len(wrt) > 0 && wrt[0].Tracked() {
		return o.VJP(ys, cs, wrt)
	}
	zeros := make([]*sinter.Tensor, len(wrt))
	for i, x := range wrt {
		zeros[i] = sinter.On(x.Device()).Zeros(sinter.F64, x.Shape()...)
	}
	return zeros, nil
}
