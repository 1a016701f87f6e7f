package sinter_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

var ctx0 = context.Background()

// schemes are the kinds that there are, for a tensor of some rank; of scales that are
// not f32 some.
func schemes(rank int) []sinter.Scheme {
	var out []sinter.Scheme
	for _, scale := range []sinter.DType{sinter.F32, sinter.F16, sinter.BF16} {
		for _, affine := range []bool{false, true} {
			for _, bits := range []int{8, 4} {
				s := sinter.Scheme{Bits: bits, Affine: affine, Scale: scale}
				if rank == 0 && bits == 4 {
					continue
				}
				out = append(out, s)
				if rank == 0 {
					continue
				}
				for axis := range rank {
					if s.Per, s.Axis = sinter.PerAxis, axis; axis == 0 || scale == sinter.F32 {
						out = append(out, s)
					}
				}
				for _, block := range []int{2, 16, 32} {
					if s.Per, s.Axis, s.Block = sinter.PerBlock, 0, block; block == 32 || scale == sinter.F32 {
						out = append(out, s)
					}
				}
			}
		}
	}
	return out
}

// noise is a tensor of numbers of several magnitudes.
func noise(seed uint64, shape ...int) ([]float32, *sinter.Tensor) {
	rng := rand.New(rand.NewPCG(seed, 1))
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64() * math.Exp2(float64(rng.IntN(6))))
	}
	t := sinter.FromSlice(v, n).Reshape(shape...)
	return v, t
}

func floats(t *testing.T, x *sinter.Tensor) []float32 {
	t.Helper()
	v, err := sinter.Data[float32](ctx0, x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestQuantizeRoundTrip: every element comes back within half a step of its group's
// scale, or what [sinter.Tensor.Quantize] says of affine codes, for odd extents and
// blocks that do not divide them.
func TestQuantizeRoundTrip(t *testing.T) {
	for _, shape := range [][]int{{}, {1}, {7}, {33}, {3, 5}, {4, 64}, {2, 3, 35}} {
		v, x := noise(3, shape...)
		for _, s := range schemes(len(shape)) {
			q := x.Quantize(s)
			if err := q.Err(); err != nil {
				t.Fatalf("%v %v: %v", shape, s, err)
			}
			got := floats(t, q.Dequantize())
			steps := floats(t, stepOf(q))
			for i := range v {
				limit := 0.5 * float64(steps[i]) * (1 + 1e-5)
				if s.Affine {
					limit *= 2
					if s.Scale == sinter.BF16 {
						limit *= 1.5
					}
				}
				if err := math.Abs(float64(got[i]) - float64(v[i])); err > limit {
					t.Fatalf("%v %v: element %d is %v, was %v: off by %v, step %v", shape, s, i, got[i], v[i], err, steps[i])
				}
			}
			q.Release()
		}
	}
}

// stepOf spreads the scales over the elements.
func stepOf(q *sinter.Quantized) *sinter.Tensor {
	shape, s := q.Shape(), q.Parts().Scales.Cast(sinter.F32)
	if q.Scheme().Per != sinter.PerBlock {
		return s.Expand(shape...)
	}
	wide := s.Repeat(-1, q.Scheme().Block)
	ranges := make([]sinter.Range, len(shape))
	for i := range ranges {
		ranges[i] = sinter.All()
	}
	ranges[len(shape)-1] = sinter.Until(shape[len(shape)-1])
	return wide.Slice(ranges...)
}

// TestQuantizeCodes checks codes by definition, in float64.
func TestQuantizeCodes(t *testing.T) {
	v, x := noise(5, 6, 40)
	for _, s := range schemes(2) {
		q := x.Quantize(s)
		steps := floats(t, stepOf(q))
		zero, low, high := 0.0, -127.0, 127.0
		bytes := floats(t, q.Parts().Codes.Cast(sinter.F32))
		width := q.Parts().Codes.Dim(1)
		if s.Bits == 4 {
			zero, low, high = 8, 1, 15
		}
		got := make([]float32, len(v))
		for i := range got {
			row, k := i/40, i%40
			if s.Bits == 8 {
				got[i] = bytes[row*width+k]
				continue
			}
			half := 20 // of a block, or of the row
			if s.Per == sinter.PerBlock {
				half = s.Block / 2
			}
			b := uint8(bytes[row*width+k/(2*half)*half+k%half])
			got[i] = float32(b >> (4 * (k / half % 2)) & 15)
		}
		zeros := make([]float32, len(v))
		if s.Affine {
			low, high = 0, math.Exp2(float64(s.Bits))-1
			zeros = floats(t, stepOf(mustQuantized(t, q.Type(), sinter.QuantizedParts{Codes: q.Parts().Codes, Scales: q.Parts().Zeros.Cast(s.Scale), Zeros: q.Parts().Zeros})))
		}
		for i, f := range v {
			z := zero
			if s.Affine {
				z = float64(zeros[i])
			}
			want := math.Min(math.Max(math.RoundToEven(float64(float32(float64(f)/float64(steps[i]))))+z, low), high)
			if float64(got[i]) != want {
				t.Fatalf("%v: code %d of %v by %v is %v, want %v", s, i, f, steps[i], got[i], want)
			}
		}
	}
}

func named(name string, v any) ir.Named { return ir.Named{Name: name, Value: v} }

func mustQuantized(t *testing.T, typ sinter.QuantizedType, parts sinter.QuantizedParts) *sinter.Quantized {
	t.Helper()
	q := sinter.NewQuantized(typ, parts)
	if err := q.Err(); err != nil {
		t.Fatal(err)
	}
	return q
}

// TestQuantizeSpecial: what has no code is defined all the same.
func TestQuantizeSpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tiny := float32(math.SmallestNonzeroFloat32)
	for _, bits := range []int{8, 4} {
		for _, affine := range []bool{false, true} {
			s := sinter.Scheme{Bits: bits, Affine: affine, Per: sinter.PerBlock, Block: 2}
			x := []float32{1, nan, inf, 1, -inf, inf, 0, 0, tiny, 0, math.MaxFloat32, 0, 0, float32(math.Copysign(0, -1))}
			got := floats(t, sinter.FromSlice(x).Quantize(s).Dequantize())
			name := fmt.Sprint(bits, affine)
			isNaN := func(i int) {
				if got[i] == got[i] {
					t.Errorf("%s: element %d is %v, want NaN", name, i, got[i])
				}
			}
			is := func(i int, want float32) {
				if got[i] != want {
					t.Errorf("%s: element %d is %v, want %v", name, i, got[i], want)
				}
			}
			for i := range 6 { // a group with what is not finite
				isNaN(i)
			}
			is(6, 0)
			is(7, 0)
			is(8, 0) // the scale rounds to 0
			is(9, 0)
			if e := math.Abs(float64(got[10])/math.MaxFloat32 - 1); !(e < 1e-5) {
				t.Errorf("%s: the greatest number is %v", name, got[10])
			}
			is(11, 0)
			is(12, 0)
			is(13, 0)
		}
	}
	// Scales of f16 stay finite.
	got := floats(t, sinter.FromSlice([]float32{1e30, -1e30, 0, 1}).Quantize(sinter.Scheme{Scale: sinter.F16}).Dequantize())
	if want := []float32{127 * 65504, -127 * 65504, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("beyond the scales of f16: %v, want %v", got, want)
	}
}

func TestQuantizeEmpty(t *testing.T) {
	for _, shape := range [][]int{{0}, {0, 4}, {4, 0}, {2, 0, 3}} {
		for _, s := range schemes(len(shape)) {
			y := sinter.Zeros(sinter.F32, shape...).Quantize(s).Dequantize()
			if got := floats(t, y); len(got) != 0 || !slices.Equal(y.Shape(), shape) {
				t.Errorf("%v %v: %v of shape %v", shape, s, got, y.Shape())
			}
		}
	}
}

// TestQuantizeDTypes: f16, bf16 and f64 come back in their dtype.
func TestQuantizeDTypes(t *testing.T) {
	_, x := noise(9, 3, 32)
	for _, d := range []sinter.DType{sinter.F16, sinter.BF16, sinter.F64} {
		for _, s := range schemes(2) {
			q := x.Cast(d).Quantize(s)
			y := q.Dequantize()
			if y.DType() != d {
				t.Fatalf("%v %v: %v, %v", d, s, y.DType(), y.Err())
			}
			if d == sinter.F64 {
				continue
			}
			a, b := floats(t, y.Cast(sinter.F32)), floats(t, q.DequantizeAs(sinter.F32).Cast(d).Cast(sinter.F32))
			if !slices.Equal(a, b) {
				t.Errorf("%v %v: dequantized and then cast differs", d, s)
			}
		}
	}
}

// TestQuantizedViews: slices and permutations of codes are those of the floats.
func TestQuantizedViews(t *testing.T) {
	_, x := noise(11, 4, 6, 70)
	ranges := [][]sinter.Range{
		{sinter.Span(1, 3)}, {sinter.All().By(-1), sinter.From(2).By(2)}, {sinter.Until(0)},
		{sinter.All(), sinter.All(), sinter.Span(32, 64)}, {sinter.All(), sinter.Span(5, 1).By(-1), sinter.From(64)},
		{sinter.All(), sinter.All(), sinter.Span(32, 32)}, {sinter.All(), sinter.All(), sinter.All()},
	}
	for _, s := range schemes(3) {
		q := x.Quantize(s)
		for _, r := range ranges {
			if s.Bits == 4 && s.Per != sinter.PerBlock && len(r) == 3 && r[2] != sinter.All() && r[2] != sinter.Span(32, 32) {
				if q.Slice(r...).Err() == nil {
					t.Errorf("%v: a part of codes in halves: %v", s, r)
				}
				continue
			}
			a, b := q.Slice(r...).Dequantize(), q.Dequantize().Slice(r...)
			if !slices.Equal(floats(t, a), floats(t, b)) || !slices.Equal(a.Shape(), b.Shape()) {
				t.Errorf("%v: slice %v differs", s, r)
			}
		}
		for _, p := range [][]int{{1, 0, 2}, {-2, 0, -1}, {0, 2, 1}} {
			a := q.Permute(p...)
			if p[2] == 1 && (s.Bits == 4 || s.Per == sinter.PerBlock) {
				if a.Err() == nil {
					t.Errorf("%v: the last axis was moved", s)
				}
				continue
			}
			if !slices.Equal(floats(t, a.Dequantize()), floats(t, q.Dequantize().Permute(p...))) {
				t.Errorf("%v: permutation %v differs", s, p)
			}
		}
	}
	q := x.Quantize(sinter.Scheme{Per: sinter.PerBlock, Block: 32})
	for _, bad := range []*sinter.Quantized{
		q.Slice(sinter.All(), sinter.All(), sinter.Span(1, 33)), q.Slice(sinter.All(), sinter.All(), sinter.All().By(2)),
		q.Transpose(), q.Permute(0, 1), q.Permute(0, 0, 2), q.Slice(sinter.All(), sinter.All(), sinter.All(), sinter.All()),
	} {
		if bad.Err() == nil || bad.Dequantize().Err() == nil {
			t.Error("a view that codes cannot show is no error")
		}
	}
}

func TestQuantizedType(t *testing.T) {
	_, x := noise(1, 4, 6)
	for _, s := range schemes(2) {
		q := x.Quantize(s)
		typ, err := sinter.ParseQuantizedType(q.Type().String())
		if err != nil || typ.String() != q.Type().String() || typ.Scheme != q.Scheme() {
			t.Errorf("%v is read as %v, %v", q.Type(), typ, err)
		}
	}
	for _, bad := range []string{"", "f32", "f32[", "f32[4] in ", "f32[4,] in 8 bits symmetric, per tensor, scales f32", "f32[-1] in 8 bits symmetric, per tensor, scales f32",
		"f32[4] in 5 bits symmetric, per tensor, scales f32", "f32[4] in 8 bits symmetric, per tensor, scales i8", "i8[4] in 8 bits symmetric, per tensor, scales f32",
		"f32[4] in 8 bits symmetric, per block of 0, scales f32", "f32[4] in 4 bits symmetric, per block of 3, scales f32", "f32[4] in 8 bits symmetric, per axis 7, scales f32",
		"f32[] in 4 bits symmetric, per tensor, scales f32", "f32[99999999999,99999999999] in 8 bits symmetric, per tensor, scales f32",
		"f32[4] in 8 bits symmetric, per block of 999999999999999999, scales f32", "f32[4] in +8 bits symmetric, per tensor, scales f32", "f32[1,1,1,1,1,1,1,1,1] in 8 bits symmetric, per tensor, scales f32"} {
		if typ, err := sinter.ParseQuantizedType(bad); err == nil {
			t.Errorf("%q is read as %v", bad, typ)
		}
	}
}

// TestNewQuantizedRefuses parts that do not fit.
func TestNewQuantizedRefuses(t *testing.T) {
	_, x := noise(1, 4, 64)
	q := x.Quantize(sinter.Scheme{Bits: 4, Affine: true, Per: sinter.PerBlock, Block: 32})
	typ, p := q.Type(), q.Parts()
	mustQuantized(t, typ, p)
	for name, bad := range map[string]sinter.QuantizedParts{
		"no codes": {Scales: p.Scales, Zeros: p.Zeros}, "no scales": {Codes: p.Codes, Zeros: p.Zeros}, "no zeros": {Codes: p.Codes, Scales: p.Scales},
		"short codes": {Codes: p.Codes.Slice(sinter.All(), sinter.Until(31)), Scales: p.Scales, Zeros: p.Zeros},
		"other codes": {Codes: p.Codes.Cast(sinter.I8), Scales: p.Scales, Zeros: p.Zeros},
		"wide scales": {Codes: p.Codes, Scales: p.Scales.Cast(sinter.F64), Zeros: p.Zeros},
		"short zeros": {Codes: p.Codes, Scales: p.Scales, Zeros: p.Zeros.Slice(sinter.All(), sinter.Until(1))},
	} {
		if got := sinter.NewQuantized(typ, bad); got.Err() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	p.Zeros.Release()
	if q.Err() == nil || q.Dequantize().Err() == nil {
		t.Error("a part was released")
	}
	var none *sinter.Quantized
	if none.Err() == nil || none.Dequantize().Err() == nil || none.Shape() != nil || none.Bytes() != 0 || none.Device() != nil {
		t.Error("a nil tensor carries no error")
	}
	none.Release()
	for _, s := range []sinter.Scheme{{Bits: 5}, {Scale: sinter.F64}, {Per: 9}, {Per: sinter.PerAxis, Axis: 2}, {Per: sinter.PerBlock}, {Bits: 4, Per: sinter.PerBlock, Block: 3}} {
		if x.Quantize(s).Err() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	if sinter.Zeros(sinter.I32, 4).Quantize(sinter.Scheme{}).Err() == nil {
		t.Error("integers are quantized")
	}
}

// Faults 121 and 122: ties to even, and affine codes with their whole range.
func TestFaultQuantizeTies(t *testing.T) {
	codes := func(x []float32, scale float32, zero *sinter.Tensor, attrs ...ir.Named) []float32 {
		return floats(t, sinter.Apply("quantize", []*sinter.Tensor{sinter.FromSlice(x), sinter.Scalar(scale), zero}, attrs...)[0].Cast(sinter.F32))
	}
	full := []ir.Named{named("dtype", sinter.I8), named("low", -128), named("high", 127)}
	if got, want := codes([]float32{.25, .75, 1.25, 1.75}, .5, sinter.Scalar(int8(0)), full...), []float32{0, 2, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("ties: %v, want %v", got, want)
	}
	if got, want := codes([]float32{-129, -128, 127, 128}, 1, sinter.Scalar(int8(0)), full...), []float32{-128, -128, 127, 127}; !slices.Equal(got, want) {
		t.Errorf("limits: %v, want %v", got, want)
	}
	q := sinter.FromSlice([]float32{-127, 128, .5}).Quantize(sinter.Scheme{Affine: true}).Parts()
	got := [][]float32{floats(t, q.Codes.Cast(sinter.F32)), floats(t, q.Scales), floats(t, q.Zeros.Cast(sinter.F32))}
	if want := [][]float32{{0, 255, 127}, {1}, {127}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("dynamic: %v, want %v", got, want)
	}
}

// TestQuantizedScopes: the parts belong to the scope of the tensor, go with it, and
// outlive it where they are kept.
func TestQuantizedScopes(t *testing.T) {
	_, w := noise(3, 4, 64)
	want := floats(t, w.Quantize(sinter.Scheme{Bits: 4}).Dequantize())
	s := sinter.NewScope("outer")
	inner := s.Sub("inner")
	q := inner.In(w).Quantize(sinter.Scheme{Bits: 4})
	kept := q.Keep(inner)
	gone := inner.In(w).Quantize(sinter.Scheme{})
	y := q.In(inner).Dequantize()
	if y.Scope() != inner || kept.Parts().Codes.Scope() != s {
		t.Errorf("scopes %v and %v", y.Scope(), kept.Parts().Codes.Scope())
	}
	inner.End()
	if gone.Err() == nil || gone.Dequantize().Err() == nil || y.Err() == nil {
		t.Error("what the scope owned is there after its end")
	}
	if got := floats(t, kept.Dequantize()); !slices.Equal(got, want) {
		t.Error("what was kept differs")
	}
	s.End()
	if kept.Err() == nil {
		t.Error("the outer scope let go of nothing")
	}
}

// TestQuantizedMemory: nothing that a quantized product makes stays.
func TestQuantizedMemory(t *testing.T) {
	_, w := noise(3, 64, 256)
	_, x := noise(4, 1, 256)
	q := w.Quantize(sinter.Scheme{Bits: 4, Per: sinter.PerBlock, Block: 32})
	floats(t, q.Linear(x))
	live := func() int {
		s := sinter.NewScope("step")
		defer s.End()
		in := s.In(x)
		floats(t, q.Linear(in))
		floats(t, q.LinearDynamic(in))
		in.Quantize(sinter.Scheme{}).Dequantize()
		return s.Live()
	}
	if a, b := live(), live(); a != b || a > 40 {
		t.Errorf("%d and %d tensors live in the scope", a, b)
	}
}
