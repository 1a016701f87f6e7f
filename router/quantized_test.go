package router_test

import (
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/router"
)

// TestQuantizedMoves: a quantized tensor moves as one, with its source released at
// once; what is made of it there has the bits that it has here, and an error of a part
// is that of all.
func TestQuantizedMoves(t *testing.T) {
	for name, devices := range map[string]func(testing.TB) (x, y *sinter.Device){
		"router": func(t testing.TB) (x, y *sinter.Device) {
			return tensors(t, router.Options{}, open(t, "cpu"), open(t, "interp"))
		},
		"plain": plain,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := devices(t)
			g := sinter.NewGenerator(1)
			w, x := g.Normal(sinter.On(a), sinter.F32, 6, 64), g.Normal(sinter.On(a), sinter.F32, 1, 64)
			for _, s := range []sinter.Scheme{{}, {Per: sinter.PerAxis, Scale: sinter.BF16}, {Bits: 4, Affine: true, Per: sinter.PerBlock, Block: 16, Scale: sinter.F16}} {
				q := w.Quantize(s)
				want := [][]float32{values(t, q.Dequantize()), values(t, q.Linear(x)), values(t, q.LinearDynamic(x))}
				there := q.To(b)
				q.Release()
				if there.Err() != nil || there.Device() != b || there.Type().String() != q.Type().String() {
					t.Fatalf("%v on %v: %v", there, there.Device(), there.Err())
				}
				y := x.To(b)
				got := [][]float32{values(t, there.Dequantize()), values(t, there.Linear(y)), values(t, there.LinearDynamic(y))}
				for i := range want {
					if !slices.Equal(got[i], want[i]) {
						t.Errorf("%v: result %d differs on the other device", s, i)
					}
				}
				if q.To(b).Err() == nil {
					t.Error("a released tensor moves")
				}
				if there.To(nil).Err() == nil {
					t.Error("to no device")
				}
			}
		})
	}
}
