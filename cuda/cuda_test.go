package cuda_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn/loss"
)

// TestAbsent: without a GPU there is a clear error, and everything else works.
func TestAbsent(t *testing.T) {
	if n, _ := (cuda.Devices{}).Count(); n > 0 {
		_, err := cuda.New(cuda.Options{Index: n})
		if err == nil || ir.AsError(err).Kind != ir.ErrDevice {
			t.Errorf("GPU %d of %d: %v", n, n, err)
		}
		return
	}
	_, err := sinter.NewRuntime().Device("cuda:0")
	var none *driver.Unavailable
	if err == nil || ir.AsError(err).Kind != ir.ErrDevice {
		t.Fatalf("error %v", err)
	}
	if !errors.As(err, &none) {
		t.Skipf("a driver without devices: %v", err)
	}
	if v, err := sinter.Item[float32](t.Context(), sinter.Full(2, sinter.F32).Mul(3)); err != nil || v != 6 {
		t.Errorf("%v, %v", v, err)
	}
}

// TestTraining: a network trained on the GPU has the parameters that it has on the
// processor, bit for bit, and its step becomes graphs.
func TestTraining(t *testing.T) {
	d := open(t, cuda.Options{})
	r := sinter.NewRuntime()
	dev := r.Adopt(d)
	defer dev.Close()
	got, err := trainSmall(t, dev)
	if err != nil {
		t.Fatal(err)
	}
	host, err := r.Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	want, err := trainSmall(t, host)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		for j := range want[i] {
			if want[i][j] != got[i][j] {
				t.Fatalf("parameter %d, element %d: %v on the GPU, %v on the processor", i, j, got[i][j], want[i][j])
			}
		}
	}
	if s := d.Stats(); s.Graphs < 10 {
		t.Errorf("%+v: few graphs", s)
	} else {
		t.Logf("%+v", s)
	}
}

// trainSmall trains a small network and returns its parameters.
func trainSmall(t *testing.T, dev *sinter.Device) ([][]float32, error) {
	g := sinter.NewGenerator(3)
	at := sinter.On(dev)
	x := g.Normal(at, sinter.F32, 128, 64)
	y := g.Normal(at, sinter.F32, 128, 10)
	vars := []*sinter.Var{
		sinter.NewVar(g.Normal(at, sinter.F32, 64, 100).Mul(0.1)), sinter.NewVar(at.Zeros(sinter.F32, 100)),
		sinter.NewVar(g.Normal(at, sinter.F32, 100, 10).Mul(0.1)), sinter.NewVar(at.Zeros(sinter.F32, 10)),
	}
	for range 30 {
		s := sinter.NewScope("step")
		h := s.In(x).MatMul(vars[0].In(s)).Add(vars[1].In(s)).Gelu()
		out := h.MatMul(vars[2].In(s)).Add(vars[3].In(s))
		l := loss.MSE(out, y, loss.Mean)
		grads, err := autodiff.Gradients(l, vars...)
		if err != nil {
			return nil, err
		}
		for i, v := range vars {
			if err := v.Set(v.In(s).Sub(grads[i].Mul(0.05))); err != nil {
				return nil, err
			}
		}
		s.End()
	}
	var out [][]float32
	for _, v := range vars {
		data, err := sinter.Data[float32](t.Context(), v.Value())
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
