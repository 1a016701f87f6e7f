package ptx

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestExactAttention: attention on ordinary units has the bits of the processors: any
// lengths, widths, layouts and masks, decoding, rows that see nothing, values that are not
// finite.
func TestExactAttention(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	x := NewNatives(Target{Major: 9, NoHopper: true})
	rounds := 10
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		shared, group := 1+rng.IntN(2), 1+rng.IntN(3)
		l, s := pick(1, 5, 63, 64, 65, 130), pick(1, 7, 64, 65, 129)
		d, e := pick(1, 3, 8, 13, 64, 66), pick(1, 4, 7, 64, 65)
		dt := []ir.DType{ir.F32, ir.F32, ir.F32, ir.F16, ir.BF16}[rng.IntN(5)]
		plain := func(shape ...int) *array { // small numbers
			a := newArray(dt, shape...)
			for i := range a.typ.Shape.Size() {
				writeSized(a.at(i), dt.Size(), kernel.Convert(dt, ir.F64, floatBits(rng.NormFloat64())))
			}
			a.layout = []layout{rowMajor, rowMajor, turned, spaced}[rng.IntN(4)]
			return a
		}
		q, k, v := plain(2, shared*group, l, d), plain(2, shared, s, d), plain(2, shared, s, e)
		if rng.IntN(3) == 0 { // few see it, perhaps
			i := rng.IntN(v.typ.Shape.Size())
			writeSized(v.at(i), dt.Size(), kernel.Convert(dt, ir.F64, floatBits([]float64{math.NaN(), math.Inf(1)}[rng.IntN(2)])))
		}
		if rng.IntN(6) == 0 {
			writeSized(k.at(rng.IntN(k.typ.Shape.Size())), dt.Size(), kernel.Convert(dt, ir.F64, floatBits(math.NaN())))
		}
		attrs := ir.A("causal", rng.IntN(2) == 0)
		if rng.IntN(3) == 0 {
			attrs = append(attrs, ir.A("window", int64(1+rng.IntN(70)))...)
		}
		if rng.IntN(4) == 0 {
			attrs = append(attrs, ir.A("scale", -0.5)...)
		}
		bias := plain(pick(1, shared*group), pick(1, l), pick(1, s))
		for i := range bias.typ.Shape.Size() {
			if rng.IntN(5) == 0 {
				writeSized(bias.at(i), dt.Size(), kernel.Convert(dt, ir.F64, floatBits(math.Inf(-1))))
			}
		}
		check := func(row string, in ...*array) {
			t.Helper()
			newNativeNode(t, row, attrs, in...).check(t, x)
			if t.Failed() {
				t.Fatalf("round %d: %s %s q%v k%v v%v bias%v %v, layouts %v %v %v", round, dt, row, q.typ.Shape, k.typ.Shape, v.typ.Shape, bias.typ.Shape, attrs, q.layout, k.layout, v.layout)
			}
		}
		if round%2 == 0 {
			check("attention", q, k, v)
			continue
		}
		forward := newNativeNode(t, "attention_bias", attrs, q, k, v, bias)
		check("attention_bias", forward.in...)
		lse := newArray(ir.F32, 2, shared*group, l)
		copy(lse.data, forward.onHost(t)[1])
		delta := newArray(ir.F32, 2, shared*group, l)
		for i := range delta.typ.Shape.Size() {
			writeSized(delta.at(i), 4, kernel.Convert(ir.F32, ir.F64, floatBits(rng.NormFloat64())))
		}
		dy := plain(2, shared*group, l, e)
		check("attention_grad_q", q, k, v, bias, dy, lse, delta)
		check("attention_grad_kv", q, k, v, bias, dy, lse, delta)
	}
}

// TestExactAttentionText: every variant keeps the rules of the language, and the limits of
// its multiprocessor: on the smallest ones gradients of wide heads are left to others.
func TestExactAttentionText(t *testing.T) {
	texts := map[string]bool{}
	for _, target := range []Target{{Major: 8, Minor: 6}, {Major: 9, NoHopper: true}} {
		for _, dt := range []ir.DType{ir.F32, ir.BF16} {
			for _, size := range [][2]int{{128, 128}, {64, 64}, {3, 65}} {
				for _, attrs := range [][]ir.Named{nil, ir.A("causal", true, "window", 7)} {
					for _, l := range []int{1, 300} {
						in := attentionNode(dt, 2, 8, 2, l, 300, size[0], size[1])
						full := append([]placed(nil), in...)
						full[3].Shape = ir.Shape{8, l, 300}
						for row, in := range map[string][]placed{"attention": in[:3], "attention_bias": full[:4], "attention_grad_q": in, "attention_grad_kv": full} {
							p, _, _ := planNode(t, target, row, attrs, in...)
							if p == nil {
								if strings.HasPrefix(row, "attention_grad") && target.Major == 8 && max(size[0], size[1]) > 64 {
									continue
								}
								t.Fatalf("%s of %v, %v: no plan", row, size, attrs)
							}
							e := p.Steps[0].Entry
							if texts[e.Text] {
								continue
							}
							texts[e.Text] = true
							if e.Shared > target.shared() || e.ParamBytes() > maxParamBytes {
								t.Errorf("%s: %d bytes of shared memory, %d of parameters", e.Name, e.Shared, e.ParamBytes())
							}
							if err := Check(e.Text); err != nil {
								t.Errorf("%s: %v", e.Name, err)
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d texts", len(texts))
}
