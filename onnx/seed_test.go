package onnx

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestSeed: random operators without a seed of their own draw by that of the
// program: equal seeds give equal runs in the same order, other seeds other draws,
// and one run after the other differs.
func TestSeed(t *testing.T) {
	n := node("RandomUniform", nil, list("y"), intsA("shape", 64))
	m := modelOf(&Graph{Name: "draws", Nodes: []*Node{n}, Outputs: []*ValueInfo{{Name: "y"}}})
	draws := func(opts ...Option) [2][]float32 {
		p := compiled(t, m, opts...)
		defer p.Release()
		var out [2][]float32
		for i := range out {
			y, err := p.Run(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if out[i], err = sinter.Data[float32](context.Background(), y["y"]); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	same := func(a, b []float32) bool {
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return len(a) == 64 && len(b) == 64
	}
	a, again, other, none := draws(Seed(7)), draws(Seed(7)), draws(Seed(8)), draws()
	if !same(a[0], again[0]) || !same(a[1], again[1]) {
		t.Error("one seed gives two sequences")
	}
	if same(a[0], a[1]) || same(a[0], other[0]) || same(a[0], none[0]) {
		t.Error("draws that should differ are the same")
	}
	if zero := draws(Seed(0)); !same(none[0], zero[0]) {
		t.Error("without a seed it is not 0")
	}
}
