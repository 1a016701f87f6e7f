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

// tracked is the step with leaves of gradients.
func (s *recordStep) tracked() *recordStep {
	t := *s
	for i, w := range s.w {
		t.w[i] = w.Track()
	}
	return &t
}

// update is the step of an optimizer with momentum over the 40 leaves, all of them apart,
// in 160 operations.
func (s *recordStep) update(scope *sinter.Scope, grads, m []*sinter.Tensor) {
	for i := range s.w {
		next := scope.In(m[i]).Mul(0.9).Add(scope.In(grads[i]))
		w := scope.In(s.w[i]).Sub(next.Mul(0.01))
		m[i].Release()
		s.w[i].Release()
		m[i], s.w[i] = scope.Keep(next), scope.Keep(w)
	}
}

// BenchmarkRecord records steps on a plan hit, the flush and what the collector does
// included. The device does nothing.
func BenchmarkRecord(b *testing.B) {
	inScope := func(f func(*sinter.Scope)) {
		scope := sinter.NewScope("step")
		f(scope)
		scope.End()
	}
	for _, c := range []struct {
		name    string
		records int
		make    func(s *recordStep, d *sinter.Device) (step func())
	}{
		{"forgotten", 200, func(s *recordStep, d *sinter.Device) func() {
			return func() {
				s.run(s.x)
				d.Stream().Flush()
			}
		}},
		{"scope", 200, func(s *recordStep, d *sinter.Device) func() {
			return func() { inScope(func(scope *sinter.Scope) { s.run(scope.In(s.x)) }) }
		}},
		{"kept", 200, func(s *recordStep, d *sinter.Device) func() { // of the last layer
			var last *sinter.Tensor
			return func() {
				inScope(func(scope *sinter.Scope) {
					last.Release()
					last = scope.Keep(s.run(scope.In(s.x)))
				})
			}
		}},
		{"tracked", 200, func(s *recordStep, d *sinter.Device) func() {
			s = s.tracked()
			return func() { inScope(func(scope *sinter.Scope) { s.run(scope.In(s.x)) }) }
		}},
		{"sizes", 200, func(s *recordStep, d *sinter.Device) func() { // of two sizes in turn
			var xs [2]*sinter.Tensor
			for i := range xs {
				n := 257 + 2*i
				xs[i] = sinter.FromSliceOn(sinter.On(d), make([]float32, n*1024), n, 1024)
			}
			i := 0
			return func() {
				i++
				inScope(func(scope *sinter.Scope) { s.run(scope.In(xs[i%2])) })
			}
		}},
		{"update", 160, func(s *recordStep, d *sinter.Device) func() {
			m := newRecordStep(b, d).w[:]
			grads := newRecordStep(b, d).w[:]
			return func() { inScope(func(scope *sinter.Scope) { s.update(scope, grads, m) }) }
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := sinter.NewRuntime().Adopt(nullDevice{})
			defer d.Close()
			step := c.make(newRecordStep(b, d), d)
			for range 5 {
				step()
			}
			client, ok := backend.As[*fusion.Client](d.Backend())
			if !ok {
				b.Fatal("no fusion client")
			}
			before := client.Stats().Searches
			records := float64(c.records)
			b.ReportAllocs()
			cpu := cputime.Process()
			b.ResetTimer()
			for range b.N {
				step()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
			b.ReportMetric(float64((cputime.Process()-cpu).Nanoseconds())/float64(b.N)/records, "cpu-ns/record")
			if n := client.Stats().Searches - before; n > 0 {
				b.Errorf("%d plans were searched", n)
			}
		})
	}
}
