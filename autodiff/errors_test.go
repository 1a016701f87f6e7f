package autodiff_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

func TestErrors(t *testing.T) {
	x := vec(1, 2)
	loss := x.Sum()
	plain := sinter.FromSlice([]float64{1, 2})
	broken := x.Add(sinter.Zeros(sinter.F64, 3))
	gone := vec(1).Sum()
	gone.Release()
	quiet := sinter.NewScope("quiet", sinter.NoGrad())
	defer quiet.End()
	other := vec(5)
	list := func(ts ...*sinter.Tensor) []*sinter.Tensor { return ts }
	strict := autodiff.Options{Strict: true}
	for _, c := range []struct {
		name string
		call func() error
		kind error
		says string
	}{
		{"untracked loss", func() error { _, err := autodiff.Grad(plain.Sum(), x); return err }, ir.ErrArgument, "the loss is not tracked: none of its operands was made with Track or is a Var's value"},
		{"loss in NoGrad", func() error { _, err := autodiff.Grad(quiet.In(x).Sum(), x); return err }, ir.ErrArgument, "NoGrad"},
		{"loss through argmax", func() error { _, err := autodiff.Grad(x.ArgMax(0).Cast(sinter.F64), x); return err }, ir.ErrArgument, "an operation without a gradient"},
		{"untracked wrt", func() error { _, err := autodiff.Grad(loss, x, plain); return err }, ir.ErrArgument, "tensor 1 (f64[2])"},
		{"loss not one element", func() error { _, err := autodiff.Grad(x, x); return err }, ir.ErrShape, "f64[2], expected one element"},
		{"empty loss", func() error { _, err := autodiff.Grad(x.Slice(sinter.Until(0)), x); return err }, ir.ErrShape, "expected one element"},
		{"loss with an error", func() error { _, err := autodiff.Grad(broken.Sum(), x); return err }, ir.ErrShape, "do not broadcast"},
		{"wrt with an error", func() error { _, err := autodiff.Grad(loss, broken); return err }, ir.ErrShape, "do not broadcast"},
		{"nil loss", func() error { _, err := autodiff.Grad(nil, x); return err }, ir.ErrArgument, "nil"},
		{"nil wrt", func() error { _, err := autodiff.Grad(loss, nil); return err }, ir.ErrArgument, "nil"},
		{"released loss", func() error { _, err := autodiff.Grad(gone, x); return err }, ir.ErrClosed, "released"},
		{"no outputs", func() error { _, err := autodiff.VJP(nil, nil, list(x)); return err }, ir.ErrArgument, "no output"},
		{"number of cotangents", func() error { _, err := autodiff.VJP(list(x), list(plain, plain), list(x)); return err }, ir.ErrArgument, "2 cotangents for 1 outputs"},
		{"cotangent shape", func() error {
			_, err := autodiff.VJP(list(x.Mul(2)), list(sinter.Ones(sinter.F64, 3)), list(x))
			return err
		}, ir.ErrShape, "cotangent 0 is f64[3], expected f64[2]"},
		{"cotangent dtype", func() error {
			_, err := autodiff.VJP(list(x.Mul(2)), list(sinter.Ones(sinter.F32, 2)), list(x))
			return err
		}, ir.ErrDType, "cotangent 0 is f32[2], expected f64[2]"},
		{"cotangent with an error", func() error { _, err := autodiff.VJP(list(x), list(broken), list(x)); return err }, ir.ErrShape, "do not broadcast"},
		{"strict, independent", func() error { _, err := strict.Grad(loss, other); return err }, ir.ErrArgument, "no output depends on tensor 0 (f64[1])"},
		{"strict, only through a comparison", func() error {
			_, err := strict.Grad(other.Gt(0).Cast(sinter.F64).Add(loss).Sum(), other)
			return err
		}, ir.ErrArgument, "operations without a gradient"},
		{"direction", func() error {
			_, err := autodiff.HVP(func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Sum() }, x, sinter.Ones(sinter.F64, 3))
			return err
		}, ir.ErrShape, "the direction is f64[3], expected f64[2]"},
		{"HVP of a vector", func() error {
			_, err := autodiff.HVP(func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x) }, x, plain)
			return err
		}, ir.ErrShape, "expected one element"},
		{"function with an error", func() error {
			_, _, err := autodiff.JVP(func(x *sinter.Tensor) *sinter.Tensor { return x.MatMul(sinter.Ones(sinter.F64, 3)) }, x, plain)
			return err
		}, ir.ErrShape, "the last axis of x has extent 2"},
		{"integer argument", func() error {
			_, _, err := autodiff.Jacobian(func(x *sinter.Tensor) *sinter.Tensor { return x }, sinter.Arange(3, sinter.I64))
			return err
		}, ir.ErrArgument, "expected a float dtype"},
		{"argument in NoGrad", func() error {
			_, _, err := autodiff.JVP(func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x) }, quiet.In(x), plain)
			return err
		}, ir.ErrArgument, "scope with NoGrad"},
		{"released argument", func() error { _, err := autodiff.HVP((*sinter.Tensor).Relu, gone, plain); return err }, ir.ErrClosed, "released"},
		{"nil variable", func() error { _, err := autodiff.Gradients(loss, nil); return err }, ir.ErrArgument, "variable 0 is nil"},
	} {
		err := c.call()
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %q of kind %v, expected %v with %q", c.name, err, ir.AsError(err).Kind, c.kind, c.says)
		}
		if site := ir.AsError(err).Site.String(); !strings.Contains(site, "errors_test.go") && !strings.Contains(c.says, "nil") && !errors.Is(err, ir.ErrClosed) {
			t.Errorf("%s: the site is %q", c.name, site)
		}
	}
}

// TestReleasedOperands: a gradient that needs the elements of a released tensor
// is an error that names the operation; one that needs only its shape is right.
func TestReleasedOperands(t *testing.T) {
	x := vec(1, 2)
	y := x.Mul(3)
	z := y.Mul(y).Sum()
	y.Release()
	_, err := autodiff.Grad(z, x)
	if !errors.Is(err, ir.ErrClosed) || !strings.Contains(err.Error(), "the gradient of mul") {
		t.Errorf("got %v", err)
	}
	a := x.Add(1)
	b := a.Add(a).Sum()
	a.Release()
	if got := data(t, grad(t, b, x)[0]); !same(got, []float64{2, 2}) {
		t.Errorf("got %v", got)
	}
}

// TestDeviceFault: an index out of range shows when the gradient is read.
func TestDeviceFault(t *testing.T) {
	x := vec(1, 2)
	g := grad(t, x.Gather(0, sinter.FromSlice([]int64{7})).Sum(), x)
	if _, err := sinter.Data[float64](t.Context(), g[0]); !errors.Is(err, ir.ErrData) {
		t.Errorf("got %v", err)
	}
}

func TestVars(t *testing.T) {
	v, frozen := sinter.NewVar(sinter.FromSlice([]float32{2, 3})), sinter.NewVar(sinter.FromSlice([]float32{4, 5}))
	frozen.Freeze()
	loss := v.Value().Mul(frozen.Value()).Sum()
	g, err := autodiff.Gradients(loss, v)
	if err != nil || !same(data(t, g[0]), []float64{4, 5}) {
		t.Errorf("got %v, %v", g, err)
	}
	if _, err := autodiff.Gradients(loss, v, frozen); !errors.Is(err, ir.ErrArgument) || !strings.Contains(err.Error(), "variable 1 (f32[2]) is frozen") {
		t.Errorf("got %v", err)
	}
	if _, err := autodiff.Gradients(sinter.Scalar(float32(1)), v); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("got %v", err)
	}
	if err := v.Set(sinter.FromSlice([]float32{0, 0})); err != nil {
		t.Fatal(err)
	}
	if g, err := autodiff.Gradients(loss, v); err != nil || !same(data(t, g[0]), []float64{0, 0}) {
		t.Errorf("a value set after the loss: %v, %v", g, err)
	}
	if _, err := (autodiff.Options{Strict: true}).Gradients(loss, v); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("a value set after the loss, strictly: %v", err)
	}
}
