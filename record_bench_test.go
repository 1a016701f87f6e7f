package sinter_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/cputime"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// nullDevice takes everything and does nothing, so that what is measured on it is
// recording.
type nullDevice struct{}

func (nullDevice) Name() string { return "null" }
func (nullDevice) Info() backend.Info {
	return backend.Info{ID: "null", Kind: "cpu", DTypes: ir.DTypes()}
}
func (nullDevice) Submit(context.Context, []ir.Node) error { return nil }
func (nullDevice) Upload(ir.Tensor, []byte) error          { return nil }
func (nullDevice) Alias(ir.ID, ir.ID) error                { return nil }
func (nullDevice) Free(...ir.ID)                           {}
func (nullDevice) Flush() error                            { return nil }
func (nullDevice) Sync(context.Context) error              { return nil }
func (nullDevice) Usage(ir.DType) backend.Usage            { return backend.CanStore | backend.CanCompute }
func (nullDevice) Close() error                            { return nil }
func (nullDevice) Launch(context.Context, []backend.Launch) error {
	return nil
}
func (nullDevice) Compile(k *kernel.Kernel) (backend.Compiled, error) { return nullKernel{k}, nil }
func (nullDevice) Read(_ context.Context, ids ...ir.ID) ([]backend.Data, []error, error) {
	return make([]backend.Data, len(ids)), make([]error, len(ids)), nil
}

type nullKernel struct{ k *kernel.Kernel }

func (k nullKernel) Kernel() *kernel.Kernel { return k.k }
func (nullKernel) Generated() bool          { return true }
func (nullKernel) Release()                 {}

// recordStep is a step of 200 operations in 10 layers: broadcasts, reductions,
// scalars, and 41 leaves.
type recordStep struct {
	x *sinter.Tensor
	w [40]*sinter.Tensor
}

func newRecordStep(tb testing.TB, d *sinter.Device) *recordStep {
	tb.Helper()
	s := &recordStep{x: sinter.FromSliceOn(sinter.On(d), make([]float32, 256*1024), 256, 1024)}
	for i := range s.w {
		s.w[i] = sinter.FromSliceOn(sinter.On(d), make([]float32, 1024))
	}
	if err := s.x.Err(); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *recordStep) run(h *sinter.Tensor) *sinter.Tensor {
	for l := range 10 {
		w := s.w[4*l : 4*l+4]
		for r := range 4 {
			h = h.Mul(w[r]).Add(w[(r+1)%4]).Relu()
			if r%2 == 0 {
				h = h.Sub(w[(r+2)%4])
			} else {
				h = h.Mul(0.5)
			}
		}
		m := h.Sum(sinter.Over(1).KeepDims())
		h = h.Sub(m).Exp()
		h = h.Mul(h)
	}
	return h
}

// BenchmarkRecord records a step of 200 operations on a plan hit, the flush
// included. The device does nothing.
func BenchmarkRecord(b *testing.B) {
	for _, scoped := range []bool{false, true} {
		name := "forgotten"
		if scoped {
			name = "scope"
		}
		b.Run(name, func(b *testing.B) {
			d := sinter.NewRuntime().Adopt(nullDevice{})
			defer d.Close()
			s := newRecordStep(b, d)
			step := func() {
				if !scoped {
					s.run(s.x)
					d.Stream().Flush()
					return
				}
				scope := sinter.NewScope("step")
				s.run(scope.In(s.x))
				scope.End()
			}
			for range 3 {
				step()
			}
			client, ok := backend.As[*fusion.Client](d.Backend())
			if !ok {
				b.Fatal("no fusion client")
			}
			before := client.Stats().Searches
			b.ReportAllocs()
			cpu := cputime.Process()
			b.ResetTimer()
			for range b.N {
				step()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/record")
			b.ReportMetric(float64((cputime.Process()-cpu).Nanoseconds())/float64(b.N)/200, "cpu-ns/record")
			if n := client.Stats().Searches - before; n > 0 {
				b.Errorf("%d plans were searched", n)
			}
		})
	}
}
