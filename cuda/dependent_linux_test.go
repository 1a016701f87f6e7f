//go:build linux && (amd64 || arm64)

package cuda

import (
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cuda/driver/drivertest"
)

// chainOf runs a segment of kernels until it is a graph, and returns what the graph has: of
// each kernel whether it is launched while the one before it runs.
func chainOf(t *testing.T, gpu *drivertest.Fake, dev *sinter.Device) []bool {
	t.Helper()
	a := sinter.On(dev).Zeros(sinter.F32, 64, 64)
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		s := sinter.NewScope("chain")
		x := s.In(a)
		for i := range 6 { // each a kernel of its own
			x = x.CumSum(i & 1)
		}
		s.Keep(x.Softmax(1))
		s.End()
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	log := gpu.Log()
	last := log[len(log)-1]
	if !strings.HasPrefix(last, "[") {
		t.Fatalf("the last round is no graph: %q", log)
	}
	if n := len(strings.Fields(last)); n < 7 || n != len(gpu.Early()) {
		t.Fatalf("%d kernels, %d edges", n, len(gpu.Early()))
	}
	return gpu.Early()
}

// TestDependentLaunch: every kernel of a graph but the first is launched while the one before
// it runs, where the driver knows how and takes it; elsewhere graphs are what they were.
func TestDependentLaunch(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		set   func(*drivertest.Fake)
		early bool
	}{
		{name: "on", early: true},
		{name: "off", o: Options{NoDependentLaunch: true}},
		{name: "a driver before CUDA 12.3", set: func(f *drivertest.Fake) { f.Lacks = []string{"cuGraphAddDependencies_v2"} }},
		{name: "a driver that refuses", set: func(f *drivertest.Fake) { f.RefuseEdges = true }},
		{name: "a GPU before Hopper", set: func(f *drivertest.Fake) { f.Major = 8 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			gpu, _, d, dev := standInsOf(t, c.o, c.set)
			early := chainOf(t, gpu, dev)
			want := slices.Repeat([]bool{c.early}, len(early))
			want[0] = false
			if !slices.Equal(early, want) {
				t.Errorf("early: %v, want %v", early, want)
			}
			s, each := d.Stats(), int64(0)
			if c.early {
				each = int64(len(early) - 1)
			}
			if s.Graphs < 3 || s.Captured != 1 || s.Dependent != each*s.Graphs {
				t.Errorf("%+v, expected %d dependent kernels of a graph", s, each)
			}
		})
	}
}

// TestDependentBesideProducts: what stands between products of a library are graphs of their
// own, whose first kernel follows nothing early: kernels of others do not wait by themselves.
func TestDependentBesideProducts(t *testing.T) {
	gpu, _, _, dev := standIns(t, Options{Products: CublasLt})
	a := sinter.On(dev).Zeros(sinter.BF16, 64, 64)
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		s := sinter.NewScope("round")
		x := s.In(a)
		for range 2 {
			for i := range 5 {
				x = x.CumSum(i & 1)
			}
			x = x.MatMul(x)
		}
		for i := range 5 {
			x = x.CumSum(i & 1)
		}
		s.Keep(x)
		s.End()
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	log := gpu.Log()
	if last := log[len(log)-1]; !strings.HasPrefix(last, "[") || !slices.Contains(log, "product") {
		t.Fatalf("%q", log)
	}
	if early := gpu.Early(); early[0] || slices.Contains(early[1:], false) {
		t.Errorf("early: %v", early)
	}
}

// TestDependentFails: a graph whose kernels the driver does not change is launched kernel by
// kernel, and the next one has no kernel that is launched early.
func TestDependentFails(t *testing.T) {
	gpu, _, d, dev := standIns(t, Options{})
	gpu.RefuseChanges = true
	on := sinter.On(dev)
	round := func(n int) {
		a := on.Zeros(sinter.F32, n, 64)
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := sinter.NewScope("round")
		x := s.In(a)
		for i := range 6 {
			x = x.CumSum(i & 1)
		}
		s.Keep(x)
		s.End()
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		round(64 + i)
	}
	if s := d.Stats(); s.Captured < 2 || s.Changed != 0 {
		t.Fatalf("%+v", s)
	}
	if early := gpu.Early(); len(early) == 0 || slices.Contains(early, true) {
		t.Errorf("early: %v", early)
	}
}
