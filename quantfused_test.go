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

// TestQuantizedDynamic: products of whole numbers are within what rounding x to 8
// bits may change, for every scheme that they take, dtype, and number of rows; the
// rows of a batch have the bits that they have alone.
func TestQuantizedDynamic(t *testing.T) {
	for _, size := range [][3]int{{1, 5, 64}, {3, 33, 71}, {2, 9, 600}, {1, 1, 1}, {0, 3, 8}, {2, 0, 8}} {
		m, out, in := size[0], size[1], size[2]
		_, w := noise(41, out, in)
		xs, x := noise(42, m, in)
		for _, s := range schemes(2) {
			if s.Per == sinter.PerAxis && s.Axis == 1 || s.Per == sinter.PerBlock && s.Block*s.Bits%32 != 0 {
				if y := w.Quantize(s).LinearDynamic(x); y.Err() == nil {
					t.Errorf("%v is accepted", s)
				}
				continue
			}
			q := w.Quantize(s)
			got, dense := floats(t, q.LinearDynamic(x)), floats(t, q.Dequantize())
			if len(got) != m*out {
				t.Fatalf("%v %v: %d elements", size, s, len(got))
			}
			for i := range m {
				row := xs[i*in : (i+1)*in]
				most := 0.0
				for _, v := range row {
					most = math.Max(most, math.Abs(float64(v)))
				}
				for j := range out {
					sum, size := 0.0, 0.0
					for k, v := range row {
						d := float64(dense[j*in+k])
						sum += float64(v) * d
						size += math.Abs(d)
					}
					if limit := size*most/127*0.501 + math.Abs(sum)*1e-5 + 1e-6; math.Abs(float64(got[i*out+j])-sum) > limit {
						t.Fatalf("%v %v: element %d, %d is %v, want %v within %v", size, s, i, j, got[i*out+j], sum, limit)
					}
				}
				alone := floats(t, q.LinearDynamic(x.Slice(sinter.Span(i, i+1))))
				if !equalBits(alone, got[i*out:(i+1)*out]) {
					t.Fatalf("%v %v: row %d differs alone", size, s, i)
				}
			}
			q.Release()
		}
	}
	_, w := noise(1, 4, 8)
	q := w.Quantize(sinter.Scheme{})
	nan := floats(t, q.LinearDynamic(sinter.FromSlice([]float32{1, 2, float32(math.Inf(1)), 0, 0, 0, 0, 0})))
	for _, v := range nan {
		if v == v {
			t.Errorf("of an infinite element: %v", nan)
		}
	}
	if y := q.LinearDynamic(w.Cast(sinter.F16)); y.DType() != sinter.F16 {
		t.Errorf("of f16: %v, %v", y.DType(), y.Err())
	}
	for _, bad := range []*sinter.Tensor{w.Cast(sinter.I32), w.Transpose(), sinter.Scalar[float32](1), nil} {
		if q.LinearDynamic(bad).Err() == nil || q.Linear(bad).Err() == nil {
			t.Errorf("a product with %v", bad)
		}
	}
}
