package ptx

import (
	"math"
	"math/rand/v2"
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
	x := NewNatives(Target{Major: 8, Minor: 6})
	rounds := 12
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
		in, row := []*array{q, k, v}, "attention"
		if rng.IntN(3) == 0 {
			row = "attention_bias"
			bias := plain(pick(1, shared*group), pick(1, l), pick(1, s))
			for i := range bias.typ.Shape.Size() {
				if rng.IntN(5) == 0 {
					writeSized(bias.at(i), dt.Size(), kernel.Convert(dt, ir.F64, floatBits(math.Inf(-1))))
				}
			}
			in = append(in, bias)
		}
		n := newNativeNode(t, row, attrs, in...)
		n.check(t, x)
		if t.Failed() {
			t.Fatalf("round %d: %s %s q%v k%v v%v %v, layouts %v %v %v", round, dt, row, q.typ.Shape, k.typ.Shape, v.typ.Shape, attrs, q.layout, k.layout, v.layout)
		}
	}
}

// TestExactAttentionText: every variant keeps the rules of the language, and the limits of
// the smallest multiprocessor.
func TestExactAttentionText(t *testing.T) {
	small := Target{Major: 8, Minor: 6}
	for _, dt := range []ir.DType{ir.F32, ir.F16, ir.BF16} {
		for _, size := range [][2]int{{128, 128}, {64, 64}, {80, 40}, {3, 1}, {1, 65}, {127, 126}} {
			for _, attrs := range [][]ir.Named{nil, ir.A("causal", true), ir.A("window", 100), ir.A("causal", true, "window", 7)} {
				for _, l := range []int{1, 300} {
					in := attentionNode(dt, 2, 8, 2, l, 300, size[0], size[1])
					in[3].Shape = ir.Shape{8, l, 300}
					for row, in := range map[string][]placed{"attention": in[:3], "attention_bias": in[:4]} {
						p, _, _ := planNode(t, small, row, attrs, in...)
						if p == nil {
							t.Fatalf("%s of %v, %v: no plan", row, size, attrs)
						}
						e := p.Steps[0].Entry
						if e.Shared > small.shared() || e.ParamBytes() > maxParamBytes {
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
