package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// refRotate turns pairs of x [n, l, heads·d] by their positions.
func refRotate(x array, heads int, base float64) array {
	y := zeros(x.shape...)
	d := x.shape[2] / heads
	y.each(func(at []int, v *float64) {
		i := at[2] % d
		pair := i % (d / 2)
		angle := float64(at[1]) * math.Pow(base, -2*float64(pair)/float64(d))
		other := at[2] + d/2
		sign := -1.0
		if i >= d/2 {
			other, sign = at[2]-d/2, 1
		}
		*v = *x.at(at...)*math.Cos(angle) + sign**x.at(at[0], at[1], other)*math.Sin(angle)
	})
	return y
}

// refAttention is attention of x to z [n, l or s, width] by the layer's parameters.
func refAttention(t *testing.T, a *nn.MultiHeadAttention, x, z array, base float64, sees func(n, head, i, j int) bool) array {
	q := refLinear(x, varOf(t, a.Q.Weight), varOf(t, a.Q.Bias))
	k := refLinear(z, varOf(t, a.K.Weight), varOf(t, a.K.Bias))
	v := refLinear(z, varOf(t, a.V.Weight), varOf(t, a.V.Bias))
	if base != 0 {
		q, k = refRotate(q, a.Heads, base), refRotate(k, a.KVHeads, base)
	}
	n, l, s, width := x.shape[0], x.shape[1], z.shape[1], x.shape[2]
	d := width / a.Heads
	y := zeros(n, l, width)
	for b := range n {
		for h := range a.Heads {
			from := h / (a.Heads / a.KVHeads) * d
			for i := range l {
				w, sum := make([]float64, s), 0.0
				for j := range s {
					if sees(b, h, i, j) {
						for e := range d {
							w[j] += *q.at(b, i, h*d+e) * *k.at(b, j, from+e) / math.Sqrt(float64(d))
						}
						w[j] = math.Exp(w[j])
						sum += w[j]
					}
				}
				for j := range s {
					for e := range d {
						*y.at(b, i, h*d+e) += w[j] / sum * *v.at(b, j, from+e)
					}
				}
			}
		}
	}
	return refLinear(y, varOf(t, a.Out.Weight), varOf(t, a.Out.Bias))
}

func everything(_, _, _, _ int) bool { return true }
func earlier(_, _, i, j int) bool    { return j <= i }

func TestMultiHeadAttention(t *testing.T) {
	g := sinter.NewGenerator(1)
	x, z := wave(1, 2, 3, 8), wave(2, 2, 5, 8)
	ax, az := arrayOf(t, x), arrayOf(t, z)

	a := nn.NewMultiHeadAttention(g, 8, 2, f64)
	stir(t, a)
	same(t, "self", a.Forward(x), refAttention(t, a, ax, ax, 0, everything))
	same(t, "cross", a.Attend(nn.Mode{}, x, z, z, nil), refAttention(t, a, ax, az, 0, everything))
	gradients(t, "self", a, a.Forward, wave(1, 1, 2, 8))
	mask := sinter.FromSlice([]bool{true, false, true, true, false, false, true, true, true, true, true, false, false, false, true}, 3, 5)
	m := data[bool](t, mask)
	sees := func(_, _, i, j int) bool { return m[i*5+j] }
	same(t, "bool mask", a.Attend(nn.Mode{}, x, z, z, mask), refAttention(t, a, ax, az, 0, sees))
	added := sinter.Where(mask, sinter.Zeros(sinter.F64), math.Inf(-1))
	same(t, "added mask", a.Attend(nn.Mode{}, x, z, z, added), refAttention(t, a, ax, az, 0, sees))
	if n := names(a); !slices.Equal(n, []string{"q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias",
		"out_proj.weight", "out_proj.bias"}) {
		t.Errorf("parameters %v", n)
	}

	c := nn.NewMultiHeadAttention(g, 8, 4, f64, nn.Causal(), nn.KVHeads(2), nn.Rotary(100))
	stir(t, c)
	same(t, "causal, grouped, rotary", c.Forward(x), refAttention(t, c, ax, ax, 100, earlier))
	gradients(t, "causal, grouped, rotary", c, c.Forward, wave(1, 1, 2, 8))
	if !slices.Equal(c.K.Weight.Borrow().Shape(), []int{4, 8}) || c.String() != "MultiHeadAttention(4 heads, 2 of keys, causal)" {
		t.Errorf("%v, keys %v", c, c.K.Weight.Borrow().Shape())
	}
	if y := c.Forward(sinter.Zeros(sinter.F64, 0, 3, 8)); y.Err() != nil || !slices.Equal(y.Shape(), []int{0, 3, 8}) {
		t.Errorf("no sequences: %v", y)
	}
	for want, y := range map[string]*sinter.Tensor{
		"[2,3,6]":    a.Forward(sinter.Ones(sinter.F64, 2, 3, 6)),
		"f32":        a.Forward(sinter.Ones(sinter.F32, 2, 3, 8)),
		"in 3 heads": nn.NewMultiHeadAttention(g, 8, 3).Forward(sinter.Ones(sinter.F32, 2, 3, 8)),
	} {
		if err := y.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestCache feeds a sequence in pieces and expects what the whole gives.
func TestCache(t *testing.T) {
	g := sinter.NewGenerator(2)
	b := nn.NewTransformerBlock(g, 8, 4, 12, f64, nn.Causal(), nn.KVHeads(2), nn.Rotary(100), nn.SwiGLU(), nn.RMS())
	stir(t, b)
	x := wave(6, 2, 7, 8)
	want := arrayOf(t, b.Forward(x))
	cache := b.Attention.NewCache(2, 7)
	var parts []*sinter.Tensor
	s := sinter.NewScope("generate", sinter.NoGrad())
	at := 0
	for _, n := range []int{3, 1, 0, 2, 1} {
		y := b.ForwardCached(s.In(x).Slice(sinter.All(), sinter.Span(at, at+n)), cache)
		parts = append(parts, y)
		at += n
	}
	same(t, "in pieces", sinter.Concat(1, parts...), want)
	s.End()
	if err := b.ForwardCached(wave(1, 2, 1, 8), cache).Err(); err == nil || !strings.Contains(err.Error(), "after 7 positions") {
		t.Errorf("a full cache: %v", err)
	}
	cache.Length = 3
	if err := b.ForwardCached(wave(1, 3, 1, 8), cache).Err(); err == nil || cache.Length != 3 {
		t.Errorf("another number of sequences: %v, length %d", err, cache.Length)
	}
	if cache.Key.Borrow().Tracked() {
		t.Error("the cache is tracked")
	}
}

// TestCacheBits: pieces have the bits of the whole, over blocks of keys, whatever the
// capacity of the cache, with grouped heads and a window.
func TestCacheBits(t *testing.T) {
	g := sinter.NewGenerator(5)
	b := nn.NewTransformerBlock(g, 16, 4, 24, nn.Causal(), nn.KVHeads(2), nn.Rotary(100), nn.Window(90))
	x := g.Normal(sinter.Of{}, sinter.F32, 2, 150, 16)
	whole := b.Forward(x)
	cache := b.Attention.NewCache(2, 200)
	at := 0
	for _, n := range []int{70, 1, 1, 60, 1, 17} {
		r := []sinter.Range{sinter.All(), sinter.Span(at, at+n)}
		equal, err := sinter.Item[bool](t.Context(), b.ForwardCached(x.Slice(r...), cache).Eq(whole.Slice(r...)).All())
		if err != nil || !equal {
			t.Fatalf("positions %d to %d have other bits in a cache (%v)", at, at+n-1, err)
		}
		at += n
	}
}

func TestTransformerBlock(t *testing.T) {
	g := sinter.NewGenerator(3)
	b := nn.NewTransformerBlock(g, 6, 2, 5, f64, nn.Causal())
	stir(t, b)
	x := wave(1, 2, 3, 6)
	ref := func(f *nn.FeedForward, x array) array {
		return refLinear(apply(gelu, refLinear(x, varOf(t, f.Up.Weight), varOf(t, f.Up.Bias))), varOf(t, f.Down.Weight), varOf(t, f.Down.Bias))
	}
	norm := func(l nn.Layer, x array) array {
		n := l.(*nn.LayerNorm)
		return refLayerNorm(x, varOf(t, n.Weight), varOf(t, n.Bias), 1e-5)
	}
	n := norm(b.Norm1, arrayOf(t, x))
	y := add(arrayOf(t, x), refAttention(t, b.Attention, n, n, 0, earlier))
	same(t, "block", b.Forward(x), add(y, ref(b.FeedForward, norm(b.Norm2, y))))
	gradients(t, "block", b, b.Forward, wave(1, 1, 2, 6))

	f := nn.NewFeedForward(g, 3, 4, f64, nn.SwiGLU())
	stir(t, f)
	z := arrayOf(t, wave(4, 2, 3))
	gate := apply(func(v float64) float64 { return v * sigmoid(v) }, refLinear(z, varOf(t, f.Gate.Weight), varOf(t, f.Gate.Bias)))
	up := refLinear(z, varOf(t, f.Up.Weight), varOf(t, f.Up.Bias))
	for i := range up.v {
		up.v[i] *= gate.v[i]
	}
	same(t, "SwiGLU", f.Forward(wave(4, 2, 3)), refLinear(up, varOf(t, f.Down.Weight), varOf(t, f.Down.Bias)))

	drop := nn.NewTransformerBlock(g, 6, 2, 5, f64, nn.DropoutRate(0.5))
	if a, b := data[float64](t, drop.Forward(x)), data[float64](t, drop.ForwardMode(nn.Training(sinter.NewGenerator(1)), x)); slices.Equal(a, b) {
		t.Error("training does not drop out")
	}
	if err := drop.ForwardMode(nn.Mode{Train: true}, x).Err(); err == nil || !strings.Contains(err.Error(), "generator") {
		t.Errorf("dropout without a generator: %v", err)
	}
	mask := sinter.Ones(sinter.Bool, 3, 3).Tril(0)
	plain := nn.NewTransformerBlock(g, 6, 2, 5, f64)
	want := data[float64](t, plain.ForwardMasked(nn.Mode{}, x, mask))
	plain.Attention.Causal = true
	same(t, "causal by a mask", plain.Forward(x), array{[]int{2, 3, 6}, want})
}

func TestEmbedding(t *testing.T) {
	g := sinter.NewGenerator(1)
	e := nn.NewEmbedding(g, 5, 3, f64)
	index := sinter.FromSlice([]int64{4, 0, 2, 2}, 2, 2)
	w, want := varOf(t, e.Weight), zeros(2, 2, 3)
	want.each(func(at []int, v *float64) { *v = *w.at([]int{4, 0, 2, 2}[at[0]*2+at[1]], at[2]) })
	same(t, "embedding", e.Forward(index), want)
	gradients(t, "embedding", e, e.Forward, index)
	for _, bad := range []int64{-1, 5} {
		if _, err := sinter.Data[float64](t.Context(), e.Forward(sinter.FromSlice([]int64{bad}))); err == nil {
			t.Errorf("index %d was taken", bad)
		}
	}
	if err := e.Forward(sinter.FromSlice([]int32{1})).Err(); err == nil || !strings.Contains(err.Error(), "i32, expected i64") {
		t.Errorf("i32 indices: %v", err)
	}
	if y := e.Forward(sinter.Zeros(sinter.I64, 0, 2)); y.Err() != nil || !slices.Equal(y.Shape(), []int{0, 2, 3}) {
		t.Errorf("no indices: %v", y)
	}

	x := wave(2, 2, 3, 4)
	p := nn.NewLearnedPositions(g, 5, 4, f64)
	w, want = varOf(t, p.Weight), arrayOf(t, x)
	want.each(func(at []int, v *float64) { *v += *w.at(at[1]+2, at[2]) })
	same(t, "learned positions", p.ForwardAt(x, 2), want)
	gradients(t, "learned positions", p, p.Forward, x)
	if err := p.ForwardAt(x, 3).Err(); err == nil || !strings.Contains(err.Error(), "[2 3 4] from position 3") {
		t.Errorf("beyond the longest: %v", err)
	}
	want = arrayOf(t, x)
	want.each(func(at []int, v *float64) {
		angle := float64(at[1]+7) / math.Pow(10000, float64(at[2]/2*2)/4)
		if at[2]%2 == 0 {
			*v += math.Sin(angle)
		} else {
			*v += math.Cos(angle)
		}
	})
	same(t, "sinusoidal positions", nn.SinusoidalPositions{}.ForwardAt(x, 7), want)
	if err := (nn.SinusoidalPositions{}).Forward(sinter.Ones(sinter.F64, 2, 3)).Err(); err == nil || !strings.Contains(err.Error(), "[2 3]") {
		t.Errorf("odd width: %v", err)
	}
}

// TestPacked: one product gives what three give, whole and in a cache, also where keys
// are of another sequence.
func TestPacked(t *testing.T) {
	g := sinter.NewGenerator(1)
	x, z := wave(1, 2, 3, 8), wave(2, 2, 5, 8)
	a := nn.NewMultiHeadAttention(g, 8, 4, f64, nn.KVHeads(2), nn.Rotary(100))
	stir(t, a)
	p := nn.NewMultiHeadAttention(g, 8, 4, f64, nn.KVHeads(2), nn.Rotary(100), nn.Packed())
	for to, from := range map[*sinter.Var][]*sinter.Var{p.In.Weight: {a.Q.Weight, a.K.Weight, a.V.Weight}, p.In.Bias: {a.Q.Bias, a.K.Bias, a.V.Bias},
		p.Out.Weight: {a.Out.Weight}, p.Out.Bias: {a.Out.Bias}} {
		var parts []*sinter.Tensor
		for _, v := range from {
			parts = append(parts, v.Value().Detach())
		}
		if err := to.Set(sinter.Concat(0, parts...)); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "self", p.Forward(x), arrayOf(t, a.Forward(x)))
	same(t, "cross", p.Attend(nn.Mode{}, x, z, z, nil), arrayOf(t, a.Attend(nn.Mode{}, x, z, z, nil)))
	same(t, "all three", p.Attend(nn.Mode{}, x, z, z.Neg(), nil), arrayOf(t, a.Attend(nn.Mode{}, x, z, z.Neg(), nil)))
	same(t, "cached", p.ForwardCached(x, p.NewCache(2, 4)), arrayOf(t, a.ForwardCached(x, a.NewCache(2, 4))))
	gradients(t, "packed", p, p.Forward, wave(1, 1, 2, 8))
	if n := names(p); !slices.Equal(n, []string{"in_proj.weight", "in_proj.bias", "out_proj.weight", "out_proj.bias"}) {
		t.Errorf("parameters %v", n)
	}
	if err := nn.NewMultiHeadAttention(g, 8, 3, nn.Packed()).Forward(sinter.Ones(sinter.F32, 2, 3, 8)).Err(); err == nil {
		t.Error("3 heads in a width of 8")
	}
}

// TestSteps: positions that are decoded one by one, at places on the device, give what
// the whole sequence gives; captured ones what recorded ones give, bit for bit.
func TestSteps(t *testing.T) {
	g := sinter.NewGenerator(2)
	for name, opts := range map[string][]nn.Option{"rotary": {nn.KVHeads(2), nn.Rotary(100), nn.SwiGLU(), nn.RMS(), nn.NoBias()}, "packed, window": {nn.Packed(), nn.Window(3)}} {
		b := nn.NewTransformerBlock(g, 8, 4, 12, append(opts, f64, nn.Causal())...)
		stir(t, b)
		x := wave(6, 2, 9, 8)
		want := b.Forward(x)
		recorded, captured := b.Attention.NewCache(2, 9), b.Attention.NewCache(2, 9)
		position := sinter.NewVar(sinter.Zeros(sinter.I64))
		step := sinter.Capture(sinter.DefaultDevice(), func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			at := nn.At(position.In(s))
			y := b.ForwardStep(in[0], at, captured)
			return []*sinter.Tensor{y}, position.Set(at.Position().Add(1))
		})
		for i := range 9 {
			here := []sinter.Range{sinter.All(), sinter.Span(i, i+1)}
			out, err := step.Run(t.Context(), x.Slice(here...).Mul(1))
			if err != nil {
				t.Fatal(err)
			}
			same(t, name, out[0], arrayOf(t, want.Slice(here...)))
			y := b.ForwardStep(x.Slice(here...), nn.At(sinter.Full(i, sinter.I64)), recorded)
			if !slices.Equal(data[float64](t, out[0]), data[float64](t, y)) {
				t.Errorf("%s: position %d has other bits in a captured step", name, i)
			}
		}
		if st := step.Stats(); st.Replayed < 5 {
			t.Errorf("%s: %+v", name, st)
		}
		if y := b.ForwardStep(x, nn.At(sinter.Full(0, sinter.I64)), recorded); y.Err() == nil {
			t.Error("many positions in a step")
		}
	}
}
