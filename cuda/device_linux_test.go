//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusion"
)

// someWork runs kernels of several kinds, and a native one.
func someWork(t *testing.T, dev *sinter.Device) {
	t.Helper()
	a := sinter.On(dev).Zeros(sinter.F32, 64, 64)
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := sinter.NewScope("work")
	x := s.In(a).MatMul(a).Add(1).Relu()
	s.Keep(x.Softmax(1))
	sum := x
	for i := range 6 { // each a kernel of its own
		sum = sum.CumSum(i & 1)
	}
	s.Keep(sum)
	sorted, _ := x.Sort(1, false)
	s.Keep(sorted)
	s.End()
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestBundleOfDevice: a device that loaded the bundle of another has its driver compile
// nothing, until the driver refuses the code: then it compiles the texts.
func TestBundleOfDevice(t *testing.T) {
	gpu, _, d, dev := standIns(t, Options{})
	someWork(t, dev)
	n := gpu.Compiled
	var b bytes.Buffer
	saved, err := sinter.SaveBundle(dev, &b, fusion.WithCode())
	if err != nil || saved.Images != n || n < 4 || gpu.Linked != n || saved.NoImage != 0 || saved.Refused != nil || d.Stats().Loaded != int64(n) {
		t.Fatalf("%+v of %d modules, %d linked, %v", saved, n, gpu.Linked, err)
	}
	for _, refuse := range []bool{false, true} {
		gpu, _, d, dev := standIns(t, Options{})
		gpu.RefuseCode = refuse
		loaded, err := sinter.LoadBundle(dev, bytes.NewReader(b.Bytes()), fusion.WithTrustedCode())
		if err != nil || loaded.Images != n || loaded.Refused != nil {
			t.Fatalf("%+v, %v", loaded, err)
		}
		someWork(t, dev)
		want := Stats{Images: int64(n)}
		if refuse {
			want = Stats{Loaded: int64(n), BadImages: int64(n)}
		}
		if s := d.Stats(); s.Images != want.Images || s.Loaded != want.Loaded || s.BadImages != want.BadImages {
			t.Errorf("refused %v: %+v, want %+v", refuse, s, want)
		}
		if int64(gpu.Compiled) != want.Loaded || int64(gpu.Loaded) != want.Images {
			t.Errorf("refused %v: the driver compiled %d texts and loaded %d codes", refuse, gpu.Compiled, gpu.Loaded)
		}
	}
}

// TestRangesOfDevice: an attached profiler is told what a profile tells, also of native
// kernels and of graphs; ranges end as often as they begin.
func TestRangesOfDevice(t *testing.T) {
	_, _, d, dev := standIns(t, Options{})
	var h heard
	d.gpu.ranges = &h
	someWork(t, dev)
	told := strings.Join(h, "\n")
	for _, name := range []string{"[segment: ", "[matmul_", "[sort", "[cumsum"} {
		if !strings.Contains(told, name) {
			t.Errorf("nobody was told of %q:\n%s", name, told)
		}
	}
	for range 4 {
		someWork(t, dev)
	}
	if d.Stats().Graphs == 0 {
		t.Errorf("%+v: no graphs", d.Stats())
	}
	depth := 0
	for _, x := range h {
		if x != "]" {
			depth++
		} else if depth--; depth < 0 {
			t.Fatal("a range ends that has not begun")
		}
	}
	if depth != 0 || !slices.Contains(h, "]") {
		t.Errorf("%d ranges have not ended", depth)
	}
}
