package onnx

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
)

// seeing is attention by its definition: q [batch, heads, l, d], k and v [batch,
// h, s, d]. extra is added to scaled scores; -inf hides. sink counts in the
// denominator as exp(sink) unless it is nil.
func seeing(q, k, v array, scale float64, extra func(b, h, i, j int) float64, sink []float64) array {
	group := q.shape[1] / k.shape[1]
	return filled(func(at []int) float64 {
		b, h, i, e := at[0], at[1], at[2], at[3]
		score := make([]float64, k.shape[2])
		top := math.Inf(-1)
		for j := range score {
			for d := range q.shape[3] {
				score[j] += q.at(b, h, i, d) * k.at(b, h/group, j, d)
			}
			score[j] = score[j]*scale + extra(b, h, i, j)
			top = max(top, score[j])
		}
		if sink != nil {
			top = max(top, sink[h])
		}
		sum, out := 0.0, 0.0
		for j, s := range score {
			if math.IsInf(top, -1) {
				return 0
			}
			p := math.Exp(s - top)
			sum += p
			out += p * v.at(b, h/group, j, e)
		}
		if sink != nil {
			sum += math.Exp(sink[h] - top)
		}
		return out / sum
	}, q.shape[0], q.shape[1], q.shape[2], v.shape[3])
}

// split turns [batch, l, heads·d] from an offset on into [batch, heads, l, d].
func split(x array, offset, heads, d int) array {
	return filled(func(at []int) float64 { return x.at(at[0], at[2], offset+at[1]*d+at[3]) }, x.shape[0], heads, x.shape[1], d)
}

// merge is the inverse of split.
func merge(x array) array {
	d := x.shape[3]
	return filled(func(at []int) float64 { return x.at(at[0], at[2]/d, at[1], at[2]%d) }, x.shape[0], x.shape[2], x.shape[1]*d)
}

// product3 is x·w + b for x [batch, l, k].
func product3(x, w, b array) array {
	return filled(func(at []int) float64 {
		sum := b.v[at[2]]
		for k := range x.shape[2] {
			sum += x.at(at[0], at[1], k) * w.at(k, at[2])
		}
		return sum
	}, x.shape[0], x.shape[1], w.shape[1])
}

// joined puts keys after those of the past.
func joined(past, x array) array {
	n := past.shape[2]
	return filled(func(at []int) float64 {
		if at[2] < n {
			return past.at(at...)
		}
		return x.at(at[0], at[1], at[2]-n, at[3])
	}, x.shape[0], x.shape[1], n+x.shape[2], x.shape[3])
}

func nothing(int, int, int, int) float64 { return 0 }

func TestContribAttention(t *testing.T) {
	const batch, l, in, heads, d = 2, 3, 5, 2, 4
	x, w, b := noise(1, batch, l, in), noise(2, in, 3*heads*d), noise(3, 3*heads*d)
	p := product3(x, w, b)
	q, k, v := split(p, 0, heads, d), split(p, heads*d, heads, d), split(p, 2*heads*d, heads, d)
	scale := 1 / math.Sqrt(d)
	attrs := []*Attr{intA("num_heads", heads)}
	op := applied{domain: microsoft, op: "Attention", attrs: attrs}
	near(t, "plain", op.one(t, x.f32(), w.f32(), b.f32()), merge(seeing(q, k, v, scale, nothing, nil)), 1e-5)

	lengths := array{[]int{batch}, []float64{2, 3}}
	filter := func(b, _, _, j int) float64 {
		if j < int(lengths.v[b]) {
			return 0
		}
		return -10000
	}
	want := merge(seeing(q, k, v, scale, filter, nil))
	near(t, "lengths", op.one(t, x.f32(), w.f32(), b.f32(), lengths.as(sinter.I32)), want, 1e-5)
	ends := array{[]int{2 * batch}, []float64{2, 3, 0, 0}}
	near(t, "ends and starts", op.one(t, x.f32(), w.f32(), b.f32(), ends.as(sinter.I32)), want, 1e-5)
	mask := array{[]int{batch, l}, []float64{1, 1, 0, 1, 1, 1}}
	near(t, "mask", op.one(t, x.f32(), w.f32(), b.f32(), mask.as(sinter.I32)), want, 1e-5)

	past, bias := noise(4, 2, batch, heads, 2, d), noise(5, 1, heads, l, l+2)
	half := func(i int) array {
		return filled(func(at []int) float64 { return past.at(i, at[0], at[1], at[2], at[3]) }, batch, heads, 2, d)
	}
	causal := func(_, h, i, j int) float64 {
		if j > i+2 {
			return math.Inf(-1)
		}
		return bias.at(0, h, i, j)
	}
	op.attrs, op.outs = append(attrs, intA("unidirectional", 1), floatA("scale", 0.5)), 2
	out := op.run(t, x.f32(), w.f32(), b.f32(), nil, past.f32(), bias.f32())
	kk, vv := joined(half(0), k), joined(half(1), v)
	near(t, "past", arrayOf(t, out[0]), merge(seeing(q, kk, vv, 0.5, causal, nil)), 1e-5)
	near(t, "present", arrayOf(t, out[1]), filled(func(at []int) float64 {
		if at[0] == 0 {
			return kk.at(at[1:]...)
		}
		return vv.at(at[1:]...)
	}, 2, batch, heads, l+2, d), 1e-6)
}

func TestContribQAttention(t *testing.T) {
	const batch, l, in, heads, d = 1, 3, 4, 2, 2
	small := func(seed uint64, shape ...int) array {
		a := noise(seed, shape...)
		for i := range a.v {
			a.v[i] = math.Round(a.v[i]*20) + 100
		}
		return a
	}
	x, w, b := small(1, batch, l, in), small(2, in, 3*heads*d), noise(3, 3*heads*d)
	plain := func(a array, zero, scale float64) array {
		return filled(func(at []int) float64 { return (a.at(at...) - zero) * scale }, a.shape...)
	}
	p := product3(plain(x, 98, 0.05), plain(w, 103, 0.02), b)
	want := merge(seeing(split(p, 0, heads, d), split(p, heads*d, heads, d), split(p, 2*heads*d, heads, d), 1/math.Sqrt(d), nothing, nil))
	got := applied{domain: microsoft, op: "QAttention", attrs: []*Attr{intA("num_heads", heads)}}.one(t, x.as(sinter.U8), w.as(sinter.U8), b.f32(),
		sinter.Scalar(float32(0.05)), sinter.Scalar(float32(0.02)), nil, sinter.Scalar(uint8(98)), sinter.Scalar(uint8(103)))
	near(t, "result", got, want, 1e-5)
}

func TestMultiHeadAttention(t *testing.T) {
	const batch, l, s, heads, d = 2, 3, 4, 2, 4
	q, k, v := noise(1, batch, l, heads*d), noise(2, batch, s, heads*d), noise(3, batch, s, heads*d)
	b := noise(4, 3*heads*d)
	add := func(x array, from int) array {
		return filled(func(at []int) float64 { return x.at(at...) + b.v[from+at[2]] }, x.shape...)
	}
	op := applied{domain: microsoft, op: "MultiHeadAttention", attrs: []*Attr{intA("num_heads", heads)}, outs: 3}
	qq, kk, vv := split(add(q, 0), 0, heads, d), split(add(k, heads*d), 0, heads, d), split(add(v, 2*heads*d), 0, heads, d)
	mask := array{[]int{batch, s}, []float64{1, 0, 1, 1, 1, 1, 1, 0}}
	hide := func(b, _, _, j int) float64 { return (mask.at(b, j) - 1) * 10000 }
	out := op.run(t, q.f32(), k.f32(), v.f32(), b.f32(), mask.as(sinter.I32))
	near(t, "with bias", arrayOf(t, out[0]), merge(seeing(qq, kk, vv, 1/math.Sqrt(d), hide, nil)), 1e-5)
	near(t, "its keys", arrayOf(t, out[1]), kk, 1e-6)
	near(t, "its values", arrayOf(t, out[2]), vv, 1e-6)

	past := noise(5, batch, heads, 2, d)
	out = op.run(t, q.f32(), k.f32(), v.f32(), nil, nil, nil, past.f32(), past.f32())
	plain := func(x array) array { return split(x, 0, heads, d) }
	near(t, "with past", arrayOf(t, out[0]), merge(seeing(plain(q), joined(past, plain(k)), joined(past, plain(v)), 1/math.Sqrt(d), nothing, nil)), 1e-5)

	packed := noise(6, batch, l, heads, 3, d)
	part := func(i int) array {
		return filled(func(at []int) float64 { return packed.at(at[0], at[2], at[1], i, at[3]) }, batch, heads, l, d)
	}
	op.outs = 1
	near(t, "packed", op.one(t, packed.f32()), merge(seeing(part(0), part(1), part(2), 1/math.Sqrt(d), nothing, nil)), 1e-5)
	cached := noise(7, batch, heads, s, d)
	qb := split(add(q, 0), 0, heads, d)
	near(t, "cross attention", op.one(t, q.f32(), cached.f32(), cached.f32(), b.f32()), merge(seeing(qb, cached, cached, 1/math.Sqrt(d), nothing, nil)), 1e-5)
}

// turned is the rotation of pairs by position.
func turned(x, cos, sin array, at func(b, i int) int, interleaved bool) array {
	half := cos.shape[1]
	return filled(func(p []int) float64 {
		b, h, i, e := p[0], p[1], p[2], p[3]
		pair, first := e%half, e < half
		a, z := pair, pair+half
		if interleaved {
			pair, first = e/2, e%2 == 0
			a, z = 2*pair, 2*pair+1
		}
		c, s := cos.at(at(b, i), pair), sin.at(at(b, i), pair)
		if first {
			return x.at(b, h, i, a)*c - x.at(b, h, i, z)*s
		}
		return x.at(b, h, i, z)*c + x.at(b, h, i, a)*s
	}, x.shape...)
}

func TestGroupQueryAttention(t *testing.T) {
	const batch, heads, h, d, room = 2, 4, 2, 4, 8
	cos, sin := noise(8, room, d/2), noise(9, room, d/2)
	attrs := []*Attr{intA("num_heads", heads), intA("kv_num_heads", h), intA("do_rotary", 1)}
	for _, interleaved := range []bool{false, true} {
		op := applied{domain: microsoft, op: "GroupQueryAttention", outs: 3, attrs: append(attrs[:3:3], intA("rotary_interleaved", flag(interleaved)))}
		// A prompt, which begins at position 0; the first sequence is shorter.
		l := 3
		q, k, v := noise(1, batch, l, heads*d), noise(2, batch, l, h*d), noise(3, batch, l, h*d)
		own := func(_, i int) int { return i }
		qq, kk := turned(split(q, 0, heads, d), cos, sin, own, interleaved), turned(split(k, 0, h, d), cos, sin, own, interleaved)
		vv := split(v, 0, h, d)
		before := func(_, _, i, j int) float64 {
			if j > i {
				return math.Inf(-1)
			}
			return 0
		}
		last := array{[]int{batch}, []float64{1, 2}}
		out := op.run(t, q.f32(), k.f32(), v.f32(), nil, nil, last.as(sinter.I32), sinter.Scalar(int32(l)), cos.f32(), sin.f32())
		near(t, "prompt", arrayOf(t, out[0]), merge(seeing(qq, kk, vv, 1/math.Sqrt(d), before, nil)), 1e-5)
		near(t, "its keys", arrayOf(t, out[1]), kk, 1e-6)

		// One token more for each, in caches with room; packed; with a window and a sink.
		step := noise(4, batch, 1, (heads+2*h)*d)
		cacheK, cacheV := noise(5, batch, h, room, d), noise(6, batch, h, room, d)
		at := func(b, _ int) int { return int(last.v[b]) } // positions 1 and 2
		newK, newV := turned(split(step, heads*d, h, d), cos, sin, at, interleaved), split(step, (heads+h)*d, h, d)
		put := func(cache, x array) array {
			return filled(func(p []int) float64 {
				if p[2] == at(p[0], 0) {
					return x.at(p[0], p[1], 0, p[3])
				}
				return cache.at(p...)
			}, cache.shape...)
		}
		window := func(b, _, _, j int) float64 {
			if j > at(b, 0) || at(b, 0)-j >= 2 {
				return math.Inf(-1)
			}
			return 0
		}
		sink := noise(7, heads)
		op.attrs = append(op.attrs, intA("local_window_size", 2))
		out = op.run(t, step.f32(), nil, nil, cacheK.f32(), cacheV.f32(), last.as(sinter.I32), sinter.Scalar(int32(3)), cos.f32(), sin.f32(), nil, nil, sink.f32())
		qq = turned(split(step, 0, heads, d), cos, sin, at, interleaved)
		near(t, "token", arrayOf(t, out[0]), merge(seeing(qq, put(cacheK, newK), put(cacheV, newV), 1/math.Sqrt(d), window, sink.v)), 1e-5)
		near(t, "keys after it", arrayOf(t, out[1]), put(cacheK, newK), 1e-6)
		near(t, "values after it", arrayOf(t, out[2]), put(cacheV, newV), 1e-6)
	}
}

func TestContribRotaryEmbedding(t *testing.T) {
	const batch, heads, l, d = 2, 3, 4, 6
	x := noise(1, batch, heads, l, d)
	cos, sin := noise(2, 10, d/2), noise(3, 10, d/2)
	op := applied{domain: microsoft, op: "RotaryEmbedding"}
	from := func(_, i int) int { return 5 + i }
	want := turned(x, cos, sin, from, false)
	first := sinter.FromSlice([]int64{5})
	near(t, "first position", op.one(t, x.f32(), first, cos.f32(), sin.f32()), want, 1e-6)
	flat := merge(x)
	near(t, "heads side by side", op.one(t, flat.f32(), first, cos.f32(), sin.f32()), merge(want), 1e-6)
	ids := filled(func(at []int) float64 { return float64(9 - at[0] - 2*at[1]) }, batch, l)
	want = turned(x, cos, sin, func(b, i int) int { return int(ids.at(b, i)) }, true)
	op.attrs = []*Attr{intA("interleaved", 1)}
	near(t, "each position", op.one(t, x.f32(), ids.as(sinter.I64), cos.f32(), sin.f32()), want, 1e-6)
}

// rows normalises each row: less its mean if centre, over the root of the mean
// square plus eps.
func rows(x array, eps float64, centre bool, gamma, beta []float64) array {
	n := x.shape[len(x.shape)-1]
	out := array{x.shape, make([]float64, len(x.v))}
	for r := 0; r < len(x.v); r += n {
		mean, square := 0.0, 0.0
		for _, v := range x.v[r : r+n] {
			mean += v / float64(n)
		}
		if !centre {
			mean = 0
		}
		for _, v := range x.v[r : r+n] {
			square += (v - mean) * (v - mean) / float64(n)
		}
		for i, v := range x.v[r : r+n] {
			out.v[r+i] = (v - mean) / math.Sqrt(square+eps) * gamma[i]
			if beta != nil {
				out.v[r+i] += beta[i]
			}
		}
	}
	return out
}

func sum(xs ...array) array {
	return filled(func(at []int) float64 {
		s := 0.0
		for _, x := range xs {
			s += x.at(at[len(at)-len(x.shape):]...)
		}
		return s
	}, xs[0].shape...)
}

func TestSkipNormalization(t *testing.T) {
	x, skip, gamma, beta, bias := noise(1, 2, 3, 5), noise(2, 2, 3, 5), noise(3, 5), noise(4, 5), noise(5, 5)
	eps := []*Attr{floatA("epsilon", 1e-3)}
	all := sum(x, skip, bias)
	out := applied{domain: microsoft, op: "SkipLayerNormalization", attrs: eps, outs: 4}.run(t, x.f32(), skip.f32(), gamma.f32(), beta.f32(), bias.f32())
	near(t, "layer", arrayOf(t, out[0]), rows(all, float64(float32(1e-3)), true, gamma.v, beta.v), 1e-5)
	near(t, "sum", arrayOf(t, out[3]), all, 1e-6)
	out = applied{domain: microsoft, op: "SkipSimplifiedLayerNormalization", attrs: eps, outs: 4}.run(t, x.f32(), skip.f32(), gamma.f32(), bias.f32())
	near(t, "root mean square", arrayOf(t, out[0]), rows(all, float64(float32(1e-3)), false, gamma.v, nil), 1e-5)
	near(t, "sum", arrayOf(t, out[3]), all, 1e-6)
}

func TestEmbedLayerNormalization(t *testing.T) {
	const batch, l, d = 2, 3, 4
	ids, segments := filled(func(at []int) float64 { return float64((at[0]*3 + at[1]*2) % 7) }, batch, l), filled(func(at []int) float64 { return float64(at[1] % 2) }, batch, l)
	word, place, segment := noise(1, 7, d), noise(2, 5, d), noise(3, 2, d)
	gamma, beta := noise(4, d), noise(5, d)
	mask := array{[]int{batch, l}, []float64{1, 1, 0, 1, 1, 1}}
	all := filled(func(at []int) float64 {
		b, i, e := at[0], at[1], at[2]
		return word.at(int(ids.at(b, i)), e) + place.at(i, e) + segment.at(int(segments.at(b, i)), e)
	}, batch, l, d)
	out := applied{domain: microsoft, op: "EmbedLayerNormalization", outs: 3}.run(t, ids.as(sinter.I32), segments.as(sinter.I32), word.f32(), place.f32(), segment.f32(),
		gamma.f32(), beta.f32(), mask.as(sinter.I32))
	near(t, "result", arrayOf(t, out[0]), rows(all, 1e-12, true, gamma.v, beta.v), 1e-5)
	near(t, "lengths", arrayOf(t, out[1]), array{[]int{batch}, []float64{2, 3}}, 0)
	near(t, "sum", arrayOf(t, out[2]), all, 1e-6)
}

func TestFusedMatMul(t *testing.T) {
	a, b := noise(1, 4, 2, 3), noise(2, 2, 5, 3) // [m, batch, k], [batch, n, k]
	got := applied{domain: microsoft, op: "FusedMatMul", attrs: []*Attr{floatA("alpha", 0.5), intA("transBatchA", 1), intA("transB", 1)}}.one(t, a.f32(), b.f32())
	near(t, "result", got, filled(func(at []int) float64 {
		s := 0.0
		for k := range 3 {
			s += a.at(at[1], at[0], k) * b.at(at[0], at[2], k)
		}
		return s / 2
	}, 2, 4, 5), 1e-6)
}

func TestFusedActivations(t *testing.T) {
	x := noise(1, 1, 2, 5)
	w := noise(2, 3, 2, 2)
	plain := applied{op: "Conv"}.one(t, x.f32(), w.f32())
	for name, f := range map[string]func(float64) float64{
		"Relu":      func(v float64) float64 { return max(v, 0) },
		"LeakyRelu": func(v float64) float64 { return max(v, 0) + 0.1*min(v, 0) },
		"Clip":      func(v float64) float64 { return min(max(v, 0.1), 0.4) },
		"Tanh":      math.Tanh,
	} {
		a := []*Attr{strA("activation", name)}
		switch name {
		case "LeakyRelu":
			a = append(a, &Attr{Name: "activation_params", Kind: AttrFloats, Floats: []float32{0.1}})
		case "Clip":
			a = append(a, &Attr{Name: "activation_params", Kind: AttrFloats, Floats: []float32{0.1, 0.4}})
		}
		got := applied{domain: microsoft, op: "FusedConv", attrs: a}.one(t, x.f32(), w.f32())
		near(t, name, got, filled(func(at []int) float64 { return f(plain.at(at...)) }, plain.shape...), 1e-6)
	}
	if _, err := (applied{domain: microsoft, op: "FusedConv", attrs: []*Attr{strA("activation", "Swirl")}}).try(x.f32(), w.f32()); err == nil {
		t.Error("an activation that does not exist: no error")
	}
}

func TestGeluForms(t *testing.T) {
	x, b := noise(1, 3, 4), noise(2, 4)
	xb := sum(x, b)
	gelu := func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) }
	fast := func(v float64) float64 { return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) }
	each := func(x array, f func(float64) float64) array {
		return filled(func(at []int) float64 { return f(x.at(at...)) }, x.shape...)
	}
	near(t, "Gelu", applied{domain: microsoft, op: "Gelu"}.one(t, x.f32()), each(x, gelu), 1e-6)
	near(t, "BiasGelu", applied{domain: microsoft, op: "BiasGelu"}.one(t, x.f32(), b.f32()), each(xb, gelu), 1e-6)
	near(t, "FastGelu", applied{domain: microsoft, op: "FastGelu"}.one(t, x.f32(), b.f32()), each(xb, fast), 1e-6)
	near(t, "QuickGelu", applied{domain: microsoft, op: "QuickGelu"}.one(t, x.f32()), each(x, func(v float64) float64 { return v / (1 + math.Exp(-1.702*v)) }), 1e-6)
}

func TestContribErrors(t *testing.T) {
	x := noise(1, 2, 3, 8).f32()
	for i, c := range []struct {
		a  applied
		in []*sinter.Tensor
	}{
		{applied{domain: microsoft, op: "Attention", attrs: []*Attr{intA("num_heads", 3)}}, []*sinter.Tensor{x, noise(1, 8, 24).f32()}},
		{applied{domain: microsoft, op: "Attention", attrs: []*Attr{intA("num_heads", 0)}}, []*sinter.Tensor{x, noise(1, 8, 24).f32()}},
		{applied{domain: microsoft, op: "MultiHeadAttention", attrs: []*Attr{intA("num_heads", 2)}}, []*sinter.Tensor{x}},
		{applied{domain: microsoft, op: "MultiHeadAttention", attrs: []*Attr{intA("num_heads", 2)}}, []*sinter.Tensor{x, x, noise(1, 2, 4, 8).f32()}},
		{applied{domain: microsoft, op: "GroupQueryAttention", attrs: []*Attr{intA("num_heads", 3), intA("kv_num_heads", 2)}},
			[]*sinter.Tensor{x, x, x, nil, nil, sinter.FromSlice([]int32{1, 1}), sinter.Scalar(int32(3))}},
		{applied{domain: microsoft, op: "GroupQueryAttention", attrs: []*Attr{intA("num_heads", 2), intA("kv_num_heads", 2)}},
			[]*sinter.Tensor{x, x, x, nil, nil, sinter.FromSlice([]int32{1}), sinter.Scalar(int32(3))}},
		{applied{domain: microsoft, op: "MatMulNBits", attrs: []*Attr{intA("K", 8), intA("N", 4), intA("block_size", 16), intA("bits", 3)}},
			[]*sinter.Tensor{x, sinter.Zeros(sinter.U8, 4, 1, 8), sinter.Ones(sinter.F32, 4)}},
		{applied{domain: microsoft, op: "MatMulNBits", attrs: []*Attr{intA("K", 8), intA("N", 4), intA("block_size", 16)}},
			[]*sinter.Tensor{x, sinter.Zeros(sinter.U8, 4, 1, 7), sinter.Ones(sinter.F32, 4)}},
	} {
		if out, err := c.a.try(c.in...); err == nil {
			t.Errorf("case %d, %s: no error but %s", i, c.a.op, fmt.Sprint(out))
		}
	}
}
