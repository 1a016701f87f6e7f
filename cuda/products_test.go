package cuda_test

import (
	"errors"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/cuda/cublaslt"
)

// TestProductsOnGPU: what cuBLASLt computes is as near to the exact result as sums of f32
// and a rounding to the type are, whatever lies turned, and each run gives the same bits.
func TestProductsOnGPU(t *testing.T) {
	if n, err := (cuda.Devices{}).Count(); n == 0 {
		t.Skipf("skipped: %d GPUs, %v", n, err)
	}
	d, err := cuda.New(cuda.Options{Products: cuda.CublasLtF32})
	if none := (*cublaslt.Unavailable)(nil); errors.As(err, &none) {
		t.Skipf("skipped: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	r := sinter.NewRuntime()
	dev := r.Adopt(d)
	defer dev.Close()
	host, err := r.Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	read := func(x *sinter.Tensor) []float64 {
		v, err := sinter.Data[float64](t.Context(), x.To(host).Cast(sinter.F64))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const rows, cols, depth = 192, 136, 320
	g := sinter.NewGenerator(5)
	for _, typ := range []struct {
		sinter.DType
		step float64 // half the distance of neighbours, relative to the smaller of them
	}{{sinter.F32, math.Ldexp(1, -24)}, {sinter.BF16, math.Ldexp(1, -8)}, {sinter.F16, math.Ldexp(1, -11)}} {
		for i := range 16 {
			draw := func(shape ...int) *sinter.Tensor {
				return g.Normal(sinter.On(host), sinter.F32, shape...).Cast(typ.DType)
			}
			a, b, bias := draw(2, rows, depth), draw(2, depth, cols), draw(cols)
			if i&1 != 0 {
				a = draw(2, depth, rows).Permute(0, 2, 1)
			}
			if i&2 != 0 {
				b = draw(2, cols, depth).Permute(0, 2, 1)
			}
			f := func(a, b, bias *sinter.Tensor) *sinter.Tensor {
				y := a.MatMul(b)
				if i&4 != 0 {
					y = y.Add(bias)
				}
				if i&8 != 0 {
					y = y.Relu()
				}
				return y
			}
			wide := func(x *sinter.Tensor) *sinter.Tensor { return x.Cast(sinter.F64) }
			want := read(f(wide(a), wide(b), wide(bias)))
			size := read(wide(a).Abs().MatMul(wide(b).Abs()).Add(wide(bias).Abs()))
			there := func(x *sinter.Tensor) *sinter.Tensor { return x.To(dev) }
			onA, onB, onBias := there(a), there(b), there(bias)
			if i&1 != 0 {
				onA = there(a.Permute(0, 2, 1)).Permute(0, 2, 1)
			}
			if i&2 != 0 {
				onB = there(b.Permute(0, 2, 1)).Permute(0, 2, 1)
			}
			got, again := read(f(onA, onB, onBias)), read(f(onA, onB, onBias))
			for j := range want {
				bound := typ.step*math.Abs(want[j]) + math.Ldexp(size[j]*(depth+2), -24)
				if math.Abs(got[j]-want[j]) > bound || got[j] != again[j] {
					t.Fatalf("%v, %04b, element %d: %v, then %v, want %v within %v", typ.DType, i, j, got[j], again[j], want[j], bound)
				}
			}
		}
	}
	if s := d.Stats(); s.Products == 0 {
		t.Errorf("%+v: the library computed nothing", s)
	}
}
