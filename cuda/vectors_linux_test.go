//go:build linux && (amd64 || arm64)

package cuda

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestVectors: products with vectors, with what stands before and behind them, are planned and
// run, whatever multiplies; and those that are asked for in tf32 are, fused or not.
func TestVectors(t *testing.T) {
	for _, products := range []Products{OwnProducts, OwnTF32} {
		for name, f := range map[string]func(x, v, w *sinter.Tensor) *sinter.Tensor{
			"matrix":   func(x, v, _ *sinter.Tensor) *sinter.Tensor { return x.MatMul(v) },
			"computed": func(x, _, w *sinter.Tensor) *sinter.Tensor { return x.MatMul(w).Add(1) },
			"vector":   func(_, v, w *sinter.Tensor) *sinter.Tensor { return v.Dot(w) },
			"maximum":  func(x, v, _ *sinter.Tensor) *sinter.Tensor { return x.MatMul(v).Add(x.Max(sinter.Over(1))) },
			"two":      func(x, v, _ *sinter.Tensor) *sinter.Tensor { return x.MatMul(v).Mul(x.MatMul(v.Add(1))) },
		} {
			for _, typ := range []sinter.DType{sinter.F32, sinter.BF16, sinter.F16} {
				_, _, d, dev := standIns(t, Options{Products: products})
				on := sinter.On(dev)
				x, v := on.Ones(typ, 70, 96), on.Ones(typ, 96)
				w := v.Mul(0.3)
				y := f(x, v, w)
				if err := dev.Sync(t.Context()); err != nil {
					t.Errorf("%s, %s of %s: %v", products, name, typ, err)
				}
				for text := range d.gpu.loaded {
					_, entry, _ := strings.Cut(text, ".entry ")
					entry, _, _ = strings.Cut(entry, "(")
					units := strings.Contains(text, "mma.sync") || strings.Contains(text, "wgmma")
					asked := typ != sinter.F32 || products == OwnTF32
					if units && !asked || asked && strings.HasSuffix(entry, "_seq") { // which is a product on ordinary units
						t.Errorf("%s, %s of %s: %s on matrix units: %v", products, name, typ, entry, units)
					}
				}
				y.Release()
				w.Release()
			}
		}
	}
}
