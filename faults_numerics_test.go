package sinter_test

import (
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
	"github.com/sinter-go/sinter/nn/loss"
)

func cast(x *sinter.Tensor, d sinter.DType) *sinter.Tensor { return x.Cast(d) }

// Faults of numerics: casts, NaN, infinities, integers, rounding, softmax.
var faultsNumerics = []fault{
	{40, "huge constants", func(f *faultRun) {
		one := f.f32(1, 1)
		s := f.f32(0.7, 0.5).Add(one.Sub(one).Mul(-1e30))
		f.want(s.Sub(s.Max()), nil, 0, float64(float32(0.5)-float32(0.7)))
	}},
	{43, "bf16 rounds between rows", func(f *faultRun) {
		x := f.on.Full(256, sinter.BF16, 1)
		f.want(x.Add(1).Eq(x), nil, 1)
	}},
	{44, "kernel cache and input dtype", func(f *faultRun) {
		outer := func(a, b *sinter.Tensor) *sinter.Tensor {
			up := func(x *sinter.Tensor) *sinter.Tensor { return x.Cast(sinter.I32).Cast(sinter.F32) }
			return up(a).Reshape(2, 1).Mul(up(b).Reshape(1, 2))
		}
		f.want(outer(mk(f, []int32{10, 20}), mk(f, []int32{1, 2})), nil, 10, 20, 20, 40)
		f.want(outer(mk(f, []uint16{10, 20}), mk(f, []int8{1, 2})), nil, 10, 20, 20, 40)
	}},
	{46, "lengths baked into kernels", func(f *faultRun) {
		y := f.f32(10, 20, 30)
		f.want(mk(f, []float32{1, 2, 3}, 1, 3).Add(y), []int{1, 3}, 11, 22, 33)
		f.want(mk(f, []float32{1, 2, 3, 4, 5, 6}, 2, 3).Add(y), []int{2, 3}, 11, 22, 33, 14, 25, 36)
		for _, n := range []int{512, 4096} {
			v := f.on.Ones(sinter.F32, n)
			f.want(v.Add(v).Min(), nil, 2)
		}
	}},
	{48, "argmax anywhere", func(f *faultRun) {
		for n := 2; n <= 130; n += 3 {
			for k := 0; k < n; k += max(1, n/5) {
				v := make([]float32, n)
				v[k] = 1
				f.want(mk(f, v).ArgMax(0), []int{}, float64(k))
			}
		}
		for k := range 88 {
			v := make([]float32, 88)
			v[k] = 1
			f.want(mk(f, v).ArgMax(0), nil, float64(k))
		}
	}},
	{49, "masked tails do not fault", func(f *faultRun) {
		f.want(mk(f, []int64{0, 1, 2, 3, 4, 5}, 2, 3).Mod(f.i64(16, 16, 16)), nil, 0, 1, 2, 3, 4, 5)
		for _, n := range []int{3, 5, 7} {
			x := f.on.Arange(0, n, 1, sinter.I64)
			f.want(x.Mod(16).Sum(), nil, float64(n*(n-1)/2))
			f.fails(x.Mod(x.Sub(n-1)), sinter.ErrData)
		}
	}},
	{50, "NaN is seen", func(f *faultRun) {
		x := mk(f, []float32{float32(inf), .5, 4, -38.8, float32(nan)})
		f.want(x.Ne(x), nil, 0, 0, 0, 0, 1)
		f.want(f.op("is_nan", ts{x}), nil, 0, 0, 0, 0, 1)
	}},
	{51, "cos of a large number", func(f *faultRun) {
		f.near(f.op("cos", ts{f.f32(222031363.04)}), 1e-7, nil, -0.9764838)
	}},
	{52, "erf in f64", func(f *faultRun) {
		f.near(f.op("erf", ts{f.f64(0.5, 1)}), 1e-15, nil, 0.5204998778130465, 0.8427007929497149)
	}},
	{53, "erf in parallel", func(f *faultRun) {
		n := 100003
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i-50000) / 10000
		}
		whole := f.values(f.op("erf", ts{mk(f, v)}))
		for at := 0; at < n; at += 9973 {
			end := min(at+101, n)
			part := f.values(f.op("erf", ts{mk(f, v[at:end])}))
			for i := range part {
				if part[i] != whole[at+i] {
					f.Fatalf("element %d is %v alone and %v in the whole", at+i, part[i], whole[at+i])
				}
			}
		}
	}},
	{54, "floor of subnormals", func(f *faultRun) {
		f.want(mk(f, []float32{-1e-40, -2.0000001}).Floor(), nil, -1, -2)
		f.want(f.f64(-2.0000001).Floor(), nil, -3)
	}},
	{55, "a scalar in a sum", func(f *faultRun) {
		z := f.f32(1).Reshape().Track()
		e := f.op("exp", ts{z})
		y := e.Sub(0).Add(e.Sub(f.on.Zeros(sinter.F32, 1000)).Sum())
		f.near(y, 1e-6, []int{}, 2721.0001)
		f.near(f.grad(y, z), 1e-6, []int{}, 2721.0001)
	}},
	{74, "cummax of NaN", func(f *faultRun) {
		f.want(f.op("cummax", ts{f.f32(1, 3, float32(nan), 5, 4)}), nil, 1, 3, nan, nan, nan)
	}},
	{75, "relu and clamp of NaN", func(f *faultRun) {
		x := f.f32(float32(nan), float32(neg0))
		f.want(x.Relu(), nil, nan, 0)
		f.want(x.Maximum(0), nil, nan, 0)
		f.want(f.op("clamp", ts{x, f.f32(0), f.f32(1)}), nil, nan, 0)
	}},
	{76, "maximum of NaN", func(f *faultRun) {
		n := float32(nan)
		f.want(f.f32(n, 1, n, 0).Maximum(f.f32(1, n, n, -1)), nil, nan, nan, nan, 0)
	}},
	{78, "topk and sort agree on NaN", func(f *faultRun) {
		x := f.f32(float32(nan), float32(inf), float32(inf), 3)
		top := f.ops("topk", ts{x}, "k", 1)
		f.want(top[0], nil, nan)
		f.want(top[1], nil, 0)
		low := f.ops("topk", ts{x}, "k", 1, "largest", false)
		f.want(low[0], nil, 3)
		f.want(low[1], nil, 3)
		f.want(f.ops("sort", ts{x})[0], nil, 3, inf, inf, nan)
	}},
	{79, "stable sorts", func(f *faultRun) {
		x := f.f32(1, 1, 0)
		f.want(f.ops("sort", ts{x})[1], nil, 2, 0, 1)
		f.want(f.ops("sort", ts{x}, "descending", true)[1], nil, 0, 1, 2)
		n := 32768
		v := make([]float32, n)
		for i := range v {
			v[i] = float32((i * 12345) % n) // a permutation: 12345 is odd
		}
		s := f.ops("sort", ts{mk(f, v)})
		f.want(s[0].Eq(f.arange(n)).Sum(), nil, float64(n))
		f.want(mk(f, v).Gather(0, s[1]).Eq(s[0]).Sum(), nil, float64(n))
	}},
	{81, "v mod v", func(f *faultRun) {
		v := f.f32(-1.4843, 1.1350, -2.1563, 1.0862, 0.5034, 3.6587)
		f.near(f.op("mod", ts{v, v}), 1e-300, nil, 0, 0, 0, 0, 0, 0)
	}},
	{82, "signs of remainders", func(f *faultRun) {
		a, b := f.i64(-7, 7, -7, 7), f.i64(3, 3, -3, -3)
		f.want(a.Mod(b), nil, 2, 1, -1, -2)
		f.want(f.op("fmod", ts{a, b}), nil, -1, 1, -1, 1)
		f.want(f.op("mod", ts{a.Cast(sinter.F32), b.Cast(sinter.F32)}), nil, 2, 1, -1, -2)
	}},
	{83, "floor division and infinities", func(f *faultRun) {
		i := float32(inf)
		y := f.op("floor_div", ts{f.f32(1, -1, i, 1, -1, 0), f.f32(-i, i, 3, 0, 0, 0)})
		f.want(y, nil, -1, -1, nan, inf, -inf, nan)
	}},
	{84, "integer floor division", func(f *faultRun) {
		f.want(f.i64(9, -9, 9, -9).FloorDiv(f.i64(-2, 2, 2, -2)), nil, -5, -5, 4, 4)
	}},
	{86, "shifts past the width", func(f *faultRun) {
		f.want(f.op("shr", ts{f.i64(-2, -1), f.i64(1, 70)}), nil, -1, -1)
		f.want(f.op("shl", ts{f.i64(1), f.i64(64)}), nil, 0)
	}},
	{87, "NaN and infinities to integers", func(f *faultRun) {
		x := f.f32(float32(nan), float32(inf), float32(-inf), 3e9)
		f.want(cast(x, sinter.I32), nil, 0, math.MaxInt32, math.MinInt32, math.MaxInt32)
	}},
	{88, "negative floats to u8", func(f *faultRun) {
		for n := 1; n < 70; n += 17 {
			f.want(cast(f.f32(-1, 300).Reshape(2, 1).Expand(2, n), sinter.U8).Max(sinter.Over(1)), nil, 0, 255)
		}
	}},
	{89, "rounding at the overflow border", func(f *faultRun) {
		f.want(cast(f.f32(65504, 65519, 65520, 65536), sinter.F16), nil, 65504, 65504, inf, inf)
		f.want(cast(f.f32(70000), sinter.BF16), nil, 70144)
	}},
	{90, "exp of bf16", func(f *faultRun) {
		f.want(f.op("exp", ts{f.on.Full(12, sinter.BF16, 1)}), nil, 162816)
	}},
	{92, "mean of large integers", func(f *faultRun) {
		f.want(mk(f, []int32{math.MaxInt32, math.MaxInt32}).Mean(), nil, math.MaxInt32)
	}},
	{93, "sum of many bools", func(f *faultRun) {
		f.want(f.on.Ones(sinter.Bool, 5000).Sum(), nil, 5000)
		f.want(f.on.Ones(sinter.U8, 5000).Sum(), nil, 5000)
	}},
	{94, "64-bit integers stay exact", func(f *faultRun) {
		f.want(f.i64(1<<40), nil, 1<<40)
		f.want(f.on.Arange(1<<40, 1<<40+3, 1, sinter.I64), nil, 1<<40, 1<<40+1, 1<<40+2)
		f.want(f.i64(1<<53+1).Sub(int64(1<<53)), nil, 1)
	}},
	{95, "bool to numbers", func(f *faultRun) {
		m := f.f32(1, 0, 3).Gt(0)
		f.want(cast(m, sinter.I32), nil, 1, 0, 1)
		f.want(cast(m, sinter.F32), nil, 1, 0, 1)
	}},
	{96, "round half to even", func(f *faultRun) {
		x := f.f32(-2.5, -1.5, -.5, .5, 1.5, 2.5, 0.49999997, 8388609)
		f.want(f.op("round", ts{x}), nil, -2, -2, neg0, 0, 2, 2, 0, 8388609)
	}},
	{97, "pow at the edges", func(f *faultRun) {
		n := float32(nan)
		y := f.op("pow", ts{f.f32(-2, -2, -2, 0, float32(neg0), 1, n), f.f32(2, 3, .5, -1, -1, n, 0)})
		f.want(y, nil, 4, -8, nan, inf, -inf, 1, 1)
	}},
	{98, "clip with crossing bounds", func(f *faultRun) {
		f.want(f.f32(-2, 0, 6).Maximum(2).Minimum(1), nil, 1, 1, 1)
		f.want(f.op("clamp", ts{f.f32(-2, 0, 6), f.f32(2), f.f32(1)}), nil, 1, 1, 1)
	}},
	{99, "log-softmax of wide rows", func(f *faultRun) {
		f.want(f.f32(-1000, 0, 1000).LogSoftmax(0), nil, -2000, -1000, 0)
	}},
	{100, "cross entropy of huge logits", func(f *faultRun) {
		f.near(f.f32(1e8, 1e8).LogSoftmax(0).Neg(), 1e-7, nil, 0.6931472, 0.6931472)
		f.near(loss.CrossEntropy(mk(f, []float32{1e8, 1e8}, 1, 2), f.i64(1), loss.Options{}), 1e-7, []int{}, 0.6931472)
	}},
	{101, "masked rows", func(f *faultRun) {
		f.near(f.on.Full(-1e9, sinter.F32, 4).Softmax(0), 1e-7, nil, .25, .25, .25, .25)
		f.want(f.on.Full(-inf, sinter.F32, 2).Softmax(0), nil, nan, nan)
		q, kv := f.on.Ones(sinter.F32, 1, 2, 2), mk(f, []float32{1, 2, 3, 4}, 1, 2, 2)
		h := float32(-inf)
		for _, mask := range []*sinter.Tensor{mk(f, []float32{h, h, 0, h}, 1, 2, 2), mk(f, []bool{false, false, true, false}, 1, 2, 2)} {
			f.want(fn.Attention(q, kv, kv, fn.AttentionOptions{Mask: mask}), []int{1, 2, 2}, 0, 0, 1, 2)
		}
	}},
	{102, "logsumexp of infinities", func(f *faultRun) {
		f.want(f.op("logsumexp", ts{f.f32(float32(inf), 2, 3)}), nil, inf)
		f.want(f.op("logsumexp", ts{f.f32(float32(-inf), float32(-inf))}), nil, -inf)
	}},
}
