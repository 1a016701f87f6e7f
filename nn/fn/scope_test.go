package fn_test

import (
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
	"github.com/sinter-go/sinter/nn/loss"
)

// TestScopes: in a scope results belong to it, constants too, and end with it; in
// narrow dtypes everything runs and gives about what f64 gives.
func TestScopes(t *testing.T) {
	x, w, c := random(1, 2, 4, 6, 6), random(2, 4, 2, 3, 3), random(3, 4)
	q := random(4, 1, 2, 3, 4)
	functions := map[string]func(x, w, c, q *sinter.Tensor) *sinter.Tensor{
		"conv": func(x, w, c, q *sinter.Tensor) *sinter.Tensor {
			return fn.Conv(x, w, c, fn.ConvOptions{Groups: 2, Pad: []int{1}})
		},
		"transpose": func(x, w, c, q *sinter.Tensor) *sinter.Tensor {
			return fn.ConvTranspose(x, w, c, fn.ConvOptions{Groups: 2, Stride: []int{2}})
		},
		"max": func(x, w, c, q *sinter.Tensor) *sinter.Tensor {
			return fn.MaxPool(x, fn.PoolOptions{Kernel: []int{3}, Pad: []int{1}})
		},
		"avg": func(x, w, c, q *sinter.Tensor) *sinter.Tensor {
			return fn.AvgPool(x, fn.PoolOptions{Kernel: []int{3}, Pad: []int{1}})
		},
		"adaptive": func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.AdaptiveAvgPool(x, 4) },
		"linear":   func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.Linear(x, fn.HalfPixel, 5) },
		"cubic":    func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.Cubic(x, fn.HalfPixel, 5) },
		"batch":    func(x, w, c, q *sinter.Tensor) *sinter.Tensor { y, _, _ := fn.BatchNorm(x, c, nil, 0.1); return y },
		"group":    func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.GroupNorm(x, 2, nil, c, 0.1) },
		"rms":      func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.RMSNorm(x, nil, 0.1) },
		"attention": func(x, w, c, q *sinter.Tensor) *sinter.Tensor {
			return fn.Attention(q, q, q, fn.AttentionOptions{Causal: true, Mask: q.Slice(sinter.All(), sinter.All(), sinter.All(), sinter.Until(3)).Gt(-10)})
		},
		"scores": func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.AttentionByScores(q, q, q, nil, 0) },
		"rope":   func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.RoPE(q, nil, fn.RoPEOptions{}) },
		"entropy": func(x, w, c, q *sinter.Tensor) *sinter.Tensor {
			return loss.CrossEntropy(q, q.ArgMax(-1), loss.Options{Smoothing: 0.1})
		},
		"dropout": func(x, w, c, q *sinter.Tensor) *sinter.Tensor { return fn.Dropout(q, 0.5, sinter.NewGenerator(1)) },
	}
	tol := map[sinter.DType]float64{sinter.F64: 0, sinter.F32: 1e-4, sinter.F16: 0.05, sinter.BF16: 0.3}
	for name, f := range functions {
		want := host{}
		for _, d := range []sinter.DType{sinter.F64, sinter.F32, sinter.F16, sinter.BF16} {
			s := sinter.NewScope(name)
			in := make([]*sinter.Tensor, 4)
			for i, h := range []host{x, w, c, q} {
				in[i] = s.In(h.tensor().Cast(d))
			}
			y := f(in[0], in[1], in[2], in[3])
			if y.Err() == nil && (y.Scope() != s || y.DType() != d) {
				t.Errorf("%s %s: a result of %s in scope %v", name, d, y.DType(), y.Scope())
			}
			got := data(t, y)
			if d == sinter.F64 {
				want = host{y.Shape(), got}
			}
			equal(t, name+" "+d.String(), y, want, tol[d])
			s.End()
			if y.Err() == nil {
				t.Errorf("%s %s: the result outlives its scope", name, d)
			}
		}
	}
}
