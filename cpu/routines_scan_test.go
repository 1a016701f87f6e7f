package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestRecurrence: every lane is the loop of the definition, for every dtype, axis
// and direction, with infinities and NaN among the elements.
func TestRecurrence(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	value := func(h Host, i int) float64 {
		switch h.Type.DType {
		case ir.F64:
			return view[float64](h.Data)[i]
		case ir.F32:
			return float64(view[float32](h.Data)[i])
		case ir.F16:
			return float64(kernel.F16ToF32(view[uint16](h.Data)[i]))
		}
		return float64(kernel.BF16ToF32(view[uint16](h.Data)[i]))
	}
	rounded := func(d ir.DType, v float64) uint64 {
		switch d {
		case ir.F64:
			return math.Float64bits(v)
		case ir.F32:
			return uint64(math.Float32bits(float32(v)))
		case ir.F16:
			return uint64(kernel.F16FromF32(float32(v)))
		}
		return uint64(kernel.BF16FromF32(float32(v)))
	}
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.F16, ir.BF16} {
		for _, s := range [][3]int{{1, 1, 1}, {1, 0, 3}, {3, 50, 1}, {2, 40, together + 3}, {1, 300, 2}, {5000, 4, 1}} {
			for _, reverse := range []bool{false, true} {
				for _, few := range []bool{false, true} {
					x, z := drawn(r, d, few, s[:]...), drawn(r, d, few, s[:]...)
					out, err := called(t, "recurrence", ir.A("axis", 1, "reverse", reverse), x, z)
					if err != nil {
						t.Fatal(err)
					}
					for o := range s[0] {
						for j := range s[2] {
							state := 0.0
							for i := range s[1] {
								if reverse {
									i = s[1] - 1 - i
								}
								p := (o*s[1]+i)*s[2] + j
								if a, b := value(z, p), value(x, p); a == 0 || state == 0 {
									state = b
								} else {
									state = math.FMA(a, state, b)
								}
								if got, want := load(out[0], p), rounded(d, state); !same(d, got, want) {
									t.Fatalf("%v %v reverse %v: element %d is %#x, want %#x", d, s, reverse, p, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
}
