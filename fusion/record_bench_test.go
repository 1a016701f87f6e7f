package fusion_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// null is a device that takes everything and does nothing.
type null struct{}

func (null) Name() string                            { return "null" }
func (null) Info() backend.Info                      { return backend.Info{ID: "null", Kind: "cpu", DTypes: ir.DTypes()} }
func (null) Submit(context.Context, []ir.Node) error { return nil }
func (null) Upload(ir.Tensor, []byte) error          { return nil }
func (null) Alias(ir.ID, ir.ID) error                { return nil }
func (null) Free(...ir.ID)                           {}
func (null) Read(_ context.Context, ids ...ir.ID) ([]backend.Data, []error, error) {
	return make([]backend.Data, len(ids)), make([]error, len(ids)), nil
}
func (null) Flush() error               { return nil }
func (null) Sync(context.Context) error { return nil }
func (null) Usage(ir.DType) backend.Usage {
	return backend.CanStore | backend.CanCompute
}
func (null) Close() error                                       { return nil }
func (null) Compile(k *kernel.Kernel) (backend.Compiled, error) { return nullKernel{k}, nil }
func (null) Launch(context.Context, []backend.Launch) error     { return nil }

type nullKernel struct{ k *kernel.Kernel }

func (k nullKernel) Kernel() *kernel.Kernel { return k.k }
func (nullKernel) Generated() bool          { return true }
func (nullKernel) Release()                 {}

// BenchmarkRecord records and flushes a step of 200 operations in 10 layers, with
// broadcasts, reductions and 41 leaves, on a plan hit. The device does nothing.
func BenchmarkRecord(b *testing.B) {
	for _, scoped := range []bool{true, false} {
		name := "released"
		if !scoped {
			name = "forgotten"
		}
		b.Run(name, func(b *testing.B) {
			c := fusion.New(null{})
			s := c.Stream()
			upload := func(shape ...int) *fusion.Value {
				t := ir.Type{DType: ir.F32, Shape: shape}
				v, err := s.Upload(t, make([]byte, t.Bytes()))
				if err != nil {
					b.Fatal(err)
				}
				return v
			}
			x := upload(256, 1024)
			var leaves [40]*fusion.Value
			for i := range leaves {
				leaves[i] = upload(1024)
			}
			sumAttrs, err := ir.Lookup("sum").MakeAttrs(ir.A("axes", []int{1}, "keepdims", true))
			if err != nil {
				b.Fatal(err)
			}
			site := func() ir.Site { return ir.Site{} }
			var all *fusion.Group
			do := func(row *ir.Row, attrs ir.Attrs, in ...*fusion.Value) *fusion.Value {
				op := fusion.OpOf(row, attrs)
				v := new(fusion.Value)
				var result [1]*fusion.Value
				result[0] = v
				if err := s.Record(op, attrs, in, nil, result[:], all, site); err != nil {
					b.Fatal(err)
				}
				return v
			}
			add, mul, exp, relu, sub, sum := ir.Lookup("add"), ir.Lookup("mul"), ir.Lookup("exp"), ir.Lookup("relu"), ir.Lookup("sub"), ir.Lookup("sum")
			step := func() {
				if scoped {
					all = s.NewGroup()
				}
				h := x
				for l := 0; l < 10; l++ {
					w := leaves[4*l : 4*l+4]
					for r := 0; r < 4; r++ {
						h = do(mul, nil, h, w[r])
						h = do(add, nil, h, w[(r+1)%4])
						h = do(relu, nil, h)
						h = do(sub, nil, h, w[(r+2)%4])
					}
					m := do(sum, sumAttrs, h)
					h = do(sub, nil, h, m)
					h = do(exp, nil, h)
					h = do(mul, nil, h, h)
				}
				if scoped {
					all.End(true)
				} else {
					s.Flush()
				}
			}
			for range 5 {
				step()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/record")
			st := c.Stats()
			b.ReportMetric(float64(st.Searches), "searches")
		})
	}
}
