package sinter_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// digitsSteps trains on digits for some steps and returns the losses.
func digitsSteps(t testing.TB, d *sinter.Device, steps int) []float32 {
	t.Helper()
	digits, err := data.Digits()
	if err != nil {
		t.Fatal(err)
	}
	g := sinter.NewGenerator(3)
	model := nn.Sequential{nn.NewLinear(g, 64, 32), nn.ReLU, nn.NewLinear(g, 32, 10)}
	for _, p := range nn.Params(model) {
		w, err := sinter.Data[float32](context.Background(), p.Var.Borrow())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Var.Set(sinter.FromSliceOn(sinter.On(d), w, p.Var.Borrow().Shape()...)); err != nil {
			t.Fatal(err)
		}
	}
	opt := optim.NewAdam(nn.Params(model), optim.Constant(0.01))
	on := sinter.On(d)
	var losses []float32
	for i := range steps {
		xs, ys := make([]float32, 64*64), make([]int64, 64)
		for k := range ys {
			n := (i*64 + k) % len(digits.Labels)
			copy(xs[64*k:], digits.Row(n))
			ys[k] = digits.Labels[n]
		}
		s := sinter.NewScope("step")
		x, y := s.Own(sinter.FromSliceOn(on, xs, 64, 64)), s.Own(sinter.FromSliceOn(on, ys, 64))
		loss := nn.CrossEntropy(nn.Forward(nn.Training(g), model, x), y)
		vars := make([]*sinter.Var, 0)
		for _, p := range nn.Params(model) {
			vars = append(vars, p.Var)
		}
		grads, err := autodiff.Gradients(loss, vars...)
		if err != nil {
			t.Fatal(err)
		}
		if err := opt.Step(grads); err != nil {
			t.Fatal(err)
		}
		v, err := sinter.Data[float32](context.Background(), loss)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, v[0])
		s.End()
	}
	return losses
}

func counters(t testing.TB, d *sinter.Device) backend.Counters {
	t.Helper()
	c, ok := backend.As[backend.Counting](d.Backend())
	if !ok {
		t.Fatal("the device does not count")
	}
	return c.Counters()
}

// TestBundle: a device that loaded a bundle trains on digits without a search and
// without a compilation, and its losses have the same bits.
func TestBundle(t *testing.T) {
	first := stepDevice(t)
	want := digitsSteps(t, first, 4)
	for _, trusted := range []bool{false, true} {
		var save, load []fusion.PlanOption
		if trusted {
			save, load = append(save, fusion.WithCode()), append(load, fusion.WithTrustedCode())
		}
		var bundle bytes.Buffer
		saved, err := sinter.SaveBundle(first, &bundle, save...)
		if err != nil {
			t.Fatal(err)
		}
		size := bundle.Len()
		d := stepDevice(t)
		loaded, err := sinter.LoadBundle(d, &bundle, load...)
		if err != nil || loaded.Refused != nil || loaded.Plans != saved.Plans {
			t.Fatalf("%+v of %+v, %v", loaded, saved, err)
		}
		t.Logf("%d bytes, saved %+v, loaded %+v", size, saved, loaded)
		if limit := 1 << 18; !trusted && size > limit || size > 4*limit {
			t.Errorf("the bundle takes %d bytes", size)
		}
		before := counters(t, d)
		if trusted && loaded.Code > 0 && before.Compiled >= int64(loaded.Code) { // those of routines are
			t.Errorf("with code for %d kernels, %d were compiled", loaded.Code, before.Compiled)
		}
		got := digitsSteps(t, d, 4)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("step %d: loss %v, want %v", i, got[i], want[i])
			}
		}
		c := d.Backend().(*fusion.Client)
		after := counters(t, d)
		if n := after.Compiled - before.Compiled; n != 0 || after.Interpreted != before.Interpreted {
			t.Errorf("%d kernels compiled after the load", n)
		}
		if st := c.Stats(); st.Searches != 0 || st.Rebound != 0 || st.Hits == 0 {
			t.Errorf("after the load: %+v", st)
		}
	}
	var refused *fusion.PlansRefused
	if _, err := sinter.LoadBundle(first, bytes.NewReader([]byte("no bundle"))); !errors.As(err, &refused) || !errors.Is(err, ir.ErrFormat) {
		t.Errorf("no bundle: %v", err)
	}
	if _, err := sinter.LoadBundle(nil, nil); err == nil {
		t.Error("no device, and no error")
	}
}

// TestBundleOfNothing: a bundle without a device, or without a file, is an error.
func TestBundleOfNothing(t *testing.T) {
	d := own(t, cpu.Options{})
	_, load := sinter.LoadBundle(d, nil)
	_, save := sinter.SaveBundle(d, nil)
	_, nobody := sinter.LoadBundle(nil, strings.NewReader(""))
	for _, err := range []error{load, save, nobody} {
		if !errors.Is(err, ir.ErrArgument) {
			t.Errorf("%v", err)
		}
	}
}
