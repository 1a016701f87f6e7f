package fn_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// attentionModel is attention by definition; see says whether query i sees key j.
func attentionModel(q, k, v host, scale float64, bias func(b, h, i, j int) float64) host {
	share := q.shape[1] / k.shape[1]
	y := blank(q.shape[0], q.shape[1], q.shape[2], v.shape[3])
	each(y.shape[:3], func(p []int) {
		w := make([]float64, k.shape[2])
		top := math.Inf(-1)
		for j := range w {
			for d := range q.shape[3] {
				w[j] += q.at(p[0], p[1], p[2], d) * k.at(p[0], p[1]/share, j, d)
			}
			w[j] = w[j]*scale + bias(p[0], p[1], p[2], j)
			top = math.Max(top, w[j])
		}
		if math.IsInf(top, -1) {
			return
		}
		sum := 0.0
		for j := range w {
			w[j] = math.Exp(w[j] - top)
			sum += w[j]
		}
		for e := range v.shape[3] {
			for j := range w {
				y.v[y.index([]int{p[0], p[1], p[2], e})] += w[j] / sum * v.at(p[0], p[1]/share, j, e)
			}
		}
	})
	return y
}

func TestAttention(t *testing.T) {
	q, k, v := random(1, 2, 4, 3, 5), random(2, 2, 2, 6, 5), random(3, 2, 2, 6, 2)
	none := func(b, h, i, j int) float64 { return 0 }
	scale := 1 / math.Sqrt(5)
	with := func(o fn.AttentionOptions) func(in ...*sinter.Tensor) *sinter.Tensor {
		return func(in ...*sinter.Tensor) *sinter.Tensor {
			if o.Mask != nil && o.Mask.DType() != sinter.Bool {
				o.Mask = o.Mask.Cast(in[0].DType())
			}
			return fn.Attention(in[0], in[1], in[2], o)
		}
	}
	hidden := func(see bool) float64 {
		if see {
			return 0
		}
		return math.Inf(-1)
	}
	both(t, "plain", with(fn.AttentionOptions{}), attentionModel(q, k, v, scale, none), q, k, v)
	both(t, "scale", with(fn.AttentionOptions{Scale: 0.3}), attentionModel(q, k, v, 0.3, none), q, k, v)
	both(t, "causal", with(fn.AttentionOptions{Causal: true}), attentionModel(q, k, v, scale, func(b, h, i, j int) float64 { return hidden(j <= i+3) }), q, k, v)
	bias := random(4, 3, 6)
	both(t, "bias", with(fn.AttentionOptions{Mask: bias.tensor(), Causal: true}),
		attentionModel(q, k, v, scale, func(b, h, i, j int) float64 { return hidden(j <= i+3) + bias.at(i, j) }), q, k, v)
	mask := random(5, 2, 1, 3, 6)
	for j := range 6 { // one query sees nothing
		mask.v[mask.index([]int{1, 0, 2, j})] = -1
	}
	both(t, "mask", with(fn.AttentionOptions{Mask: mask.tensor().Gt(0)}),
		attentionModel(q, k, v, scale, func(b, h, i, j int) float64 { return hidden(mask.at(b, 0, i, j) > 0) }), q, k, v)
	both(t, "window", with(fn.AttentionOptions{Causal: true, Window: 2}), attentionModel(q, k, v, scale, func(b, h, i, j int) float64 { return hidden(j <= i+3 && j > i+1) }), q, k, v)
	lengths := sinter.FromSlice([]int64{4, 0}, 2)
	both(t, "lengths", with(fn.AttentionOptions{Lengths: lengths}), attentionModel(q, k, v, scale, func(b, h, i, j int) float64 { return hidden(b == 0 && j < 4) }), q, k, v)
	both(t, "lengths and bias", with(fn.AttentionOptions{Lengths: lengths, Mask: bias.tensor()}),
		attentionModel(q, k, v, scale, func(b, h, i, j int) float64 { return hidden(b == 0 && j < 4) + bias.at(i, j) }), q, k, v)
	// More queries than keys: the first ones see nothing.
	both(t, "short", with(fn.AttentionOptions{Causal: true}),
		attentionModel(k.as(2, 2, 6, 5), q.as(2, 4, 3, 5).first2(), q.first2(), scale, func(b, h, i, j int) float64 { return hidden(j <= i-3) }), k, q.first2(), q.first2())
	if fn.Attention(q.tensor(), k.tensor(), random(1, 2, 2, 5, 2).tensor(), fn.AttentionOptions{}).Err() == nil {
		t.Error("keys and values of different lengths are no error")
	}
}

// first2 takes the first two heads of [2, 4, ...].
func (h host) first2() host {
	out := blank(2, 2, h.shape[2], h.shape[3])
	each(out.shape, func(p []int) { out.v[out.index(p)] = h.at(p...) })
	return out
}

// TestAttentionCache: at full length, and with a part of the keys from a cache.
func TestAttentionCache(t *testing.T) {
	q := sinter.FromSlice([]float32{1, 1}, 1, 1, 2)
	kv := sinter.FromSlice([]float32{1, 0, 0, 1, 1, 1}, 1, 3, 2)
	want := vector(0.788058, 0.788058).as(1, 1, 2)
	o := fn.AttentionOptions{Scale: 1, Causal: true}
	equal(t, "full", fn.Attention(q, kv, kv, o), want, 1e-6)
	cached := sinter.Concat(1, kv.Slice(sinter.All(), sinter.Until(2)), kv.Slice(sinter.All(), sinter.From(2)))
	equal(t, "cached", fn.Attention(q, cached, cached, o), want, 1e-6)
}

func TestAttentionDropout(t *testing.T) {
	q, v := random(1, 1, 2, 4, 3), sinter.Ones(sinter.F64, 1, 1, 64, 1)
	k := random(2, 1, 1, 64, 3)
	draw := func() []float64 {
		return data(t, fn.Attention(q.tensor(), k.tensor(), v, fn.AttentionOptions{Dropout: 0.5, Generator: sinter.NewGenerator(3)}))
	}
	a, b := draw(), draw()
	mean := 0.0
	for i := range a {
		if a[i] != b[i] || a[i] == 1 {
			t.Errorf("element %d: %v and %v", i, a[i], b[i])
		}
		mean += a[i] / 8
	}
	if math.Abs(mean-1) > 0.4 {
		t.Errorf("the mean is %v", mean)
	}
	if fn.Attention(q.tensor(), k.tensor(), v, fn.AttentionOptions{Dropout: 0.5}).Err() == nil {
		t.Error("dropout without a generator is no error")
	}
}

func TestAttentionGradients(t *testing.T) {
	mask := sinter.FromSlice([]bool{true, false, true, false, false, false}, 2, 3)
	gradients(t, "masked", func(in ...*sinter.Tensor) *sinter.Tensor {
		return fn.Attention(in[0], in[1], in[2], fn.AttentionOptions{Mask: mask})
	}, random(1, 1, 2, 2, 2), random(2, 1, 1, 3, 2), random(3, 1, 1, 3, 2))
	gradients(t, "causal", func(in ...*sinter.Tensor) *sinter.Tensor {
		return fn.Attention(in[0], in[1], in[2], fn.AttentionOptions{Mask: in[3], Causal: true})
	}, random(1, 1, 2, 2, 2), random(2, 1, 2, 3, 2), random(3, 1, 2, 3, 1), random(4, 2, 3))
}

func TestRoPE(t *testing.T) {
	x := random(1, 2, 3, 6)
	for _, interleaved := range []bool{false, true} {
		model := func(first int) host {
			y := blank(2, 3, 6)
			each([]int{2, 3, 3}, func(p []int) {
				a, b := p[2], p[2]+3
				if interleaved {
					a, b = 2*p[2], 2*p[2]+1
				}
				s, c := math.Sincos(float64(p[1]+first) * math.Pow(10000, -2*float64(p[2])/6))
				u, v := x.at(p[0], p[1], a), x.at(p[0], p[1], b)
				y.v[y.index([]int{p[0], p[1], a})] = u*c - v*s
				y.v[y.index([]int{p[0], p[1], b})] = v*c + u*s
			})
			return y
		}
		o := fn.RoPEOptions{Interleaved: interleaved}
		both(t, "from 0", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.RoPE(in[0], nil, o) }, model(0), x)
		both(t, "from 100", func(in ...*sinter.Tensor) *sinter.Tensor {
			return fn.RoPE(in[0], sinter.FromSlice([]int64{100, 101, 102}), o)
		}, model(100), x)
		gradients(t, "rope", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.RoPE(in[0], nil, o) }, x)
	}
	heads := fn.SplitHeads(x.tensor(), 2)
	equal(t, "split and merged", fn.MergeHeads(heads), x, 0)
	if s := heads.Shape(); s[1] != 2 || s[2] != 3 || s[3] != 3 {
		t.Errorf("heads have shape %v", s)
	}
}

// TestAttentionByScores: it is attention, grouped, masked and in half precision.
func TestAttentionByScores(t *testing.T) {
	q, k, v := random(1, 2, 4, 3, 5), random(2, 2, 2, 6, 5), random(3, 2, 2, 6, 2)
	mask := host{[]int{3, 6}, make([]float64, 18)}
	for i := range mask.v {
		if mask.v[i] = float64(i%4) / 4; i%5 == 1 {
			mask.v[i] = math.Inf(-1)
		}
	}
	scores := func(scale float64) func(in ...*sinter.Tensor) *sinter.Tensor {
		return func(in ...*sinter.Tensor) *sinter.Tensor {
			var m *sinter.Tensor
			if len(in) > 3 {
				m = in[3]
			}
			return fn.AttentionByScores(in[0], in[1], in[2], m, scale)
		}
	}
	both(t, "plain", scores(0), attentionModel(q, k, v, 1/math.Sqrt(5), func(b, h, i, j int) float64 { return 0 }), q, k, v)
	both(t, "mask", scores(0.3), attentionModel(q, k, v, 0.3, func(b, h, i, j int) float64 { return mask.at(i, j) }), q, k, v, mask)
	half := func(h host) *sinter.Tensor { return h.tensor().Cast(sinter.BF16) }
	got, want := fn.AttentionByScores(half(q), half(k), half(v), nil, 0), fn.Attention(half(q), half(k), half(v), fn.AttentionOptions{})
	for i, x := range data(t, got.Sub(want)) {
		if got.DType() != sinter.BF16 || math.Abs(x) > 0.01 {
			t.Errorf("in bf16, element %d of %v is off by %v", i, got, x)
		}
	}
	for _, y := range []*sinter.Tensor{fn.AttentionByScores(half(k), half(q), half(q), nil, 0), fn.AttentionByScores(half(q), half(k), sinter.Ones(sinter.BF16), nil, 0)} {
		if y.Err() == nil {
			t.Error("no error for heads that do not fit")
		}
	}
}
