package onnx

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
)

func TestContribSmallOperators(t *testing.T) {
	x, bias := noise(1, 2, 3, 4), noise(2, 4)
	gelu := func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) }
	near(t, "BiasSplitGelu", microsoftOp("BiasSplitGelu").one(t, x.f32(), bias.f32()), filled(func(at []int) float64 {
		part := func(i int) float64 { return x.at(at[0], at[1], i) + bias.v[i] }
		return part(at[2]) * gelu(part(at[2]+2))
	}, 2, 3, 2), 1e-6)
	skip := noise(3, 2, 3, 4)
	near(t, "BiasAdd", microsoftOp("BiasAdd").one(t, x.f32(), bias.f32(), skip.f32()), sum(x, bias, skip), 1e-6)

	a, b := noise(4, 3, 5), noise(5, 2, 5)
	squares := func(at []int) float64 {
		s := 0.0
		for k := range 5 {
			d := a.at(at[0], k) - b.at(at[1], k)
			s += d * d
		}
		return s
	}
	near(t, "CDist", microsoftOp("CDist").one(t, a.f32(), b.f32()), filled(squares, 3, 2), 1e-5)
	near(t, "CDist euclidean", microsoftOp("CDist", strA("metric", "euclidean")).one(t, a.f32(), b.f32()),
		filled(func(at []int) float64 { return math.Sqrt(squares(at)) }, 3, 2), 1e-5)

	u, v := noise(6, 3, 2), noise(7, 3, 2) // real and imaginary parts last
	near(t, "ComplexMul", microsoftOp("ComplexMul").one(t, u.f32(), v.f32()), filled(func(at []int) float64 {
		p := complex(u.at(at[0], 0), u.at(at[0], 1)) * complex(v.at(at[0], 0), v.at(at[0], 1))
		if at[1] == 0 {
			return real(p)
		}
		return imag(p)
	}, 3, 2), 1e-6)

	m := array{[]int{2, 2}, []float64{2, 1, 1, 1}}
	near(t, "Inverse", microsoftOp("Inverse").one(t, m.f32()), array{[]int{2, 2}, []float64{1, -1, -1, 2}}, 1e-6)
	near(t, "Trilu", microsoftOp("Trilu", intA("upper", 0)).one(t, m.f32(), sinter.FromSlice([]int64{-1})), array{[]int{2, 2}, []float64{0, 0, 1, 0}}, 0)
	near(t, "ExpandDims", microsoftOp("ExpandDims").one(t, m.f32(), sinter.FromSlice([]int32{1})), array{[]int{2, 1, 2}, m.v}, 0)
	near(t, "GatherND", microsoftOp("GatherND").one(t, m.f32(), sinter.FromSlice([]int64{1, 0}, 1, 2)), row(1), 0)
}

func TestBiasSoftmax(t *testing.T) {
	x := noise(1, 2, 3, 2, 4) // softmax over the last axis
	soft := func(bias func(at []int) float64) array {
		return filled(func(at []int) float64 {
			s := 0.0
			own := x.at(at...) + bias(at)
			for i := range 4 {
				o := []int{at[0], at[1], at[2], i}
				s += math.Exp(x.at(o...) + bias(o) - own)
			}
			return 1 / s
		}, x.shape...)
	}
	inner, outer := noise(2, 2, 4), noise(3, 2, 4)
	near(t, "inner", microsoftOp("BiasSoftmax", intA("axis", 3), intA("is_inner_broadcast", 1)).one(t, x.f32(), inner.f32()),
		soft(func(at []int) float64 { return inner.at(at[0], at[3]) }), 1e-5)
	near(t, "outer", microsoftOp("BiasSoftmax", intA("axis", 3), intA("is_inner_broadcast", 0)).one(t, x.f32(), outer.f32()),
		soft(func(at []int) float64 { return outer.at(at[2], at[3]) }), 1e-5)
}

// nchw moves the channels of an array of four axes from the end to the front.
func nchw(x array) array {
	s := x.shape
	return filled(func(at []int) float64 { return x.at(at[0], at[2], at[3], at[1]) }, s[0], s[3], s[1], s[2])
}

// TestChannelsLast: operators over NHWC are those over NCHW.
func TestChannelsLast(t *testing.T) {
	x := noise(1, 2, 3, 4, 6)
	w, b := noise(2, 4, 3, 2, 2), noise(3, 4)
	got := microsoftOp("NhwcConv", intA("group", 2), intsA("pads", 1, 0, 0, 1)).one(t, x.f32(), w.f32(), b.f32())
	near(t, "NhwcConv", nchw(got), applied{op: "Conv", attrs: []*Attr{intA("group", 2), intsA("pads", 1, 0, 0, 1)}}.one(t, nchw(x).f32(), w.f32(), b.f32()), 1e-6)

	gamma, beta := noise(4, 6), noise(5, 6)
	plain := applied{op: "GroupNormalization", attrs: []*Attr{intA("num_groups", 3), floatA("epsilon", 0.01)}}.one(t, nchw(x).f32(), gamma.f32(), beta.f32())
	attrs := []*Attr{intA("groups", 3), floatA("epsilon", 0.01), intA("activation", 1)}
	got = microsoftOp("GroupNorm", attrs...).one(t, x.f32(), gamma.f32(), beta.f32())
	near(t, "GroupNorm", nchw(got), filled(func(at []int) float64 { v := plain.at(at...); return v / (1 + math.Exp(-v)) }, plain.shape...), 1e-5)

	q := codes(6, 1, 4, 5, 2)
	in := func(a array) []*sinter.Tensor {
		return []*sinter.Tensor{a.as(sinter.U8), scalar(0.5), zeroPoint(100), scalar(0.25), zeroPoint(50)}
	}
	pool := []*Attr{intsA("kernel_shape", 2, 3), intsA("strides", 2, 1)}
	near(t, "QLinearAveragePool", nchw(microsoftOp("QLinearAveragePool", append(pool, intA("channels_last", 1))...).one(t, in(q)...)),
		microsoftOp("QLinearAveragePool", pool...).one(t, in(nchw(q))...), 0)
	near(t, "QLinearGlobalAveragePool", nchw(microsoftOp("QLinearGlobalAveragePool", intA("channels_last", 1)).one(t, in(q)...)),
		microsoftOp("QLinearGlobalAveragePool").one(t, in(nchw(q))...), 0)
}

func TestQLinearWhere(t *testing.T) {
	a, b := codes(1, 6), codes(2, 6)
	cond := sinter.FromSlice([]bool{true, false, true, true, false, false})
	x, y := plain(a, 0.5, 100), plain(b, 0.25, 120)
	want := row(x.v[0], y.v[1], x.v[2], x.v[3], y.v[4], y.v[5])
	got := microsoftOp("QLinearWhere").one(t, cond, a.as(sinter.U8), scalar(0.5), zeroPoint(100), b.as(sinter.U8), scalar(0.25), zeroPoint(120), scalar(1), zeroPoint(128))
	coded(t, "where", got, want, 1, 128)
}

// TestQuantizeRoundTrip: what is quantized and dequantized is within half a step,
// for each way in which scales are given.
func TestQuantizeRoundTrip(t *testing.T) {
	x := noise(1, 4, 6)
	for _, c := range []struct {
		name  string
		attrs []*Attr
		scale array
		at    func(at []int) float64
	}{
		{"one scale", nil, single(0.02), nil},
		{"per row", []*Attr{intA("axis", 0)}, filled(func(at []int) float64 { return 0.01 * float64(at[0]+1) }, 4), nil},
		{"per column", []*Attr{intA("axis", -1)}, filled(func(at []int) float64 { return 0.01 * float64(at[0]+1) }, 6), nil},
		{"blocks", []*Attr{intA("axis", 1), intA("block_size", 4)}, filled(func(at []int) float64 { return 0.01 * float64(at[0]+at[1]+1) }, 4, 2), nil},
	} {
		zero := filled(func([]int) float64 { return 3 }, c.scale.shape...).as(sinter.I8)
		q := applied{op: "QuantizeLinear", attrs: c.attrs}.run(t, x.f32(), c.scale.f32(), zero)[0]
		got := applied{op: "DequantizeLinear", attrs: c.attrs}.one(t, q, c.scale.f32(), zero)
		for i, v := range x.v {
			if math.Abs(got.v[i]-v) > 0.03+1e-6 { // the greatest scale is 0.06
				t.Errorf("%s: element %d is %v, was %v", c.name, i, got.v[i], v)
			}
		}
	}
	for i, in := range [][]*sinter.Tensor{
		{x.f32(), noise(1, 5).f32()}, {x.f32(), noise(1, 4, 2).f32().At(0, 0).Unsqueeze(0)}, {x.f32(), single(1).f32(), sinter.Scalar(int64(0))},
	} {
		if _, err := (applied{op: "QuantizeLinear"}).try(in...); err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
}
