package autodiff

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

func fail(op, format string, args ...any) error {
	e := ir.Errorf(ir.ErrArgument, format, args...)
	e.Op, e.Site = op, callsite.Find()
	return e
}

func typeOf(t *sinter.Tensor) ir.Type { return ir.Type{DType: t.DType(), Shape: t.Shape()} }

// scalarLoss checks that ones are a sensible cotangent.
func scalarLoss(loss *sinter.Tensor) error {
	if err := loss.Err(); err != nil {
		return err
	}
	if loss.Size() == 1 {
		return nil
	}
	e := ir.Errorf(ir.ErrShape, "the loss is %v, expected one element: reduce it, or give VJP a cotangent", typeOf(loss))
	e.Op, e.Site = "grad", callsite.Find()
	return e
}

// check returns the first error of the arguments of a walk.
func check(op string, outputs, cotangents, wrt []*sinter.Tensor) error {
	if cotangents != nil && len(cotangents) != len(outputs) {
		return fail(op, "%d cotangents for %d outputs", len(cotangents), len(outputs))
	}
	if len(outputs) == 0 {
		return fail(op, "there is no output to differentiate")
	}
	tracked := false
	for i, t := range outputs {
		if err := t.Err(); err != nil {
			return err
		}
		tracked = tracked || t.Tracked()
		if cotangents == nil || cotangents[i] == nil {
			continue
		}
		if err := cotangents[i].Err(); err != nil {
			return err
		}
		if t.Device() != cotangents[i].Device() {
			e := ir.Errorf(ir.ErrDevice, "cotangent %d is on %s, its output on %s", i, cotangents[i].Device(), t.Device())
			e.Op, e.Site = op, callsite.Find()
			return e
		}
		if want, got := typeOf(t), typeOf(cotangents[i]); !got.Equal(want) {
			e := ir.Errorf(ir.ErrShape, "cotangent %d is %v, expected %v as its output", i, got, want)
			if got.DType != want.DType {
				e.Kind = ir.ErrDType
			}
			e.Op, e.Site = op, callsite.Find()
			return e
		}
	}
	if !tracked {
		what := "the loss is"
		if len(outputs) > 1 || op == "vjp" {
			what = "no output is"
		}
		return fail(op, "%s not tracked: none of its operands was made with Track or is a Var's value, "+
			"or the way to them leads through Detach, a scope with NoGrad, or an operation without a gradient", what)
	}
	for i, t := range wrt {
		if err := t.Err(); err != nil {
			return err
		}
		if !t.Tracked() {
			return fail(op, "tensor %d (%v), with respect to which to differentiate, is not tracked: use the result of its Track method, or a Var's value", i, typeOf(t))
		}
	}
	return nil
}
