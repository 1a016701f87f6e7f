package sinter_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusetest"
)

// TestQuantizedFuses: one row of x times quantized weights is one kernel that reads
// codes and scales and writes its result, whatever the scheme.
func TestQuantizedFuses(t *testing.T) {
	const out, in = 96, 256
	_, w := noise(21, out, in)
	_, x := noise(22, 1, in)
	bias := sinter.Ones(sinter.F32, out)
	for _, s := range schemes(2) {
		q := w.Quantize(s)
		floats(t, bias)
		for _, p := range []*sinter.Tensor{x, q.Parts().Codes, q.Parts().Scales} {
			if _, err := sinter.Read(ctx0, p); err != nil {
				t.Fatal(err)
			}
		}
		read := q.Bytes() + 4*(in+out)
		var y *sinter.Tensor
		scope := sinter.NewScope("fused")
		plans := fusetest.Record(t, sinter.DefaultDevice(), func() {
			y = scope.Keep(q.Linear(scope.In(x)).Add(bias).Relu())
			scope.End()
			floats(t, y)
		})
		plans.WantKernels(1)
		for _, e := range plans.Explain() {
			if e.Written > 4*out+64 || e.Read > read+256 {
				t.Errorf("%v: %d bytes read, %d written, expected %d and %d\n%s", s, e.Read, e.Written, read, 4*out, e)
			}
		}
		if t.Failed() {
			break
		}
	}
}

// TestQuantizedProductBits: fused, unfused, and with weights that were dequantized
// beforehand, products have equal bits; also where a scheme does not fuse (fault
// 123): blocks that do not divide the axis, odd extents.
func TestQuantizedProductBits(t *testing.T) {
	for _, size := range [][3]int{{1, 5, 64}, {1, 40, 70}, {3, 33, 7}, {7, 16, 96}, {1, 1, 1}, {2, 0, 8}, {1, 3, 0}} {
		m, out, in := size[0], size[1], size[2]
		_, w := noise(31, out, in)
		_, x := noise(32, m, in)
		for _, s := range schemes(2) {
			q := w.Quantize(s)
			fused := floats(t, q.Linear(x).Mul(0.5))
			dense := q.Dequantize().Unfused()
			plain := floats(t, x.MatMul(dense.Transpose()).Mul(0.5))
			off := sinter.NewScope("unfused", sinter.WithoutFusion())
			unfused := floats(t, q.In(off).Linear(off.In(x)).Mul(0.5))
			off.End()
			if !equalBits(fused, plain) || !equalBits(fused, unfused) {
				t.Fatalf("%v %v: fused, dense and unfused products differ", size, s)
			}
			q.Release()
			dense.Release()
		}
	}
}

func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
	})
}
