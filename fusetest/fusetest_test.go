package fusetest_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusetest"
)

func device(t *testing.T) *sinter.Device {
	t.Helper()
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// norm is a layer normalisation as a user writes it.
func norm(x *sinter.Tensor) *sinter.Tensor {
	row := sinter.Over(-1).KeepDims()
	d := x.Sub(x.Mean(row))
	return d.Div(d.Mul(d).Mean(row).Add(1e-5).Sqrt())
}

// TestRecord: a composed layer normalisation is one kernel; the second time its
// plan is there.
func TestRecord(t *testing.T) {
	ctx := context.Background()
	d := device(t)
	x := sinter.On(d).Ones(sinter.F32, 128, 512)
	run := func() {
		s := sinter.NewScope("norm")
		y := s.Keep(norm(s.In(x)))
		s.End()
		if _, err := sinter.Data[float32](ctx, y); err != nil {
			t.Fatal(err)
		}
		y.Release()
	}
	p := fusetest.Record(t, d, run)
	p.WantKernels(1)
	p.WantAtMost(1)
	p.WantFused("sub", "div", "sqrt", "mean", "mean")
	p.WantWritten(4 * 128 * 512)
	if p.Launches() != 1 || p.Read() != 4*128*512 || p.Peak() < 4*128*512 {
		t.Errorf("%d launches, %d bytes read, peak %d:\n%s", p.Launches(), p.Read(), p.Peak(), p)
	}
	p.Golden("testdata/norm.golden")
	fusetest.Record(t, d, run).WantHits()
}

// TestFailures: what is not so is told.
func TestFailures(t *testing.T) {
	d := device(t)
	x := sinter.On(d).Ones(sinter.F32, 10)
	for name, want := range map[string]func(p *fusetest.Plans){
		"kernels": func(p *fusetest.Plans) { p.WantKernels(2) },
		"at most": func(p *fusetest.Plans) { p.WantAtMost(0) },
		"fused":   func(p *fusetest.Plans) { p.WantFused("neg", "neg") },
		"written": func(p *fusetest.Plans) { p.WantWritten(41) },
	} {
		probe := &probe{TB: t}
		p := fusetest.Record(probe, d, func() { x.Neg().Release() })
		if p.Kernels() != 0 { // released before anything ran: nothing does
			t.Errorf("a released result was computed:\n%s", p)
		}
		y := x.Neg()
		p = fusetest.Record(probe, d, func() { y = x.Exp(); _, _ = sinter.Data[float32](context.Background(), y.Neg()) })
		want(p)
		if probe.failed == 0 {
			t.Errorf("%s: no failure", name)
		}
	}
}

// probe counts failures instead of failing.
type probe struct {
	testing.TB
	failed int
}

func (p *probe) Errorf(string, ...any) { p.failed++ }
func (p *probe) Helper()               {}
