package ptx

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// TestTiles: products with few lines on one side compute those of the other once, if the few
// lie in memory; others do not.
func TestTiles(t *testing.T) {
	coded := func(n int, m, cols int64) ptxtest.Spec { return ptxtest.CodedMatrices(ir.BF16, m, 512, cols, 32)[n] }
	matrix := func(n int, m, k, cols int64) ptxtest.Spec { return ptxtest.Matrices(m, k, cols)[n] }
	f32 := func(m, k, n int64, text string) ptxtest.Spec {
		return ptxtest.Spec{Name: text, Axes: "prp", Extents: []int64{m, k, n}, Compute: ir.F32, Text: text, Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}},
			In: []ptxtest.Arg{{Name: "x", Type: ir.F32, Axes: "sub"}, {Name: "z", Type: ir.I8, Axes: "bus", Order: []int{0, 2, 1}}}}
	}
	for _, c := range []struct {
		spec ptxtest.Spec
		want bool
	}{
		{coded(0, 1, 4096), true}, {coded(1, 64, 4096), true}, {coded(2, 7, 300), true}, {coded(3, 64, 128), true}, {coded(4, 3, 72), true},
		{coded(0, 65, 4096), false}, {coded(4, 512, 512), false},
		{coded(0, 80, 40), false},                                       // the codes are the few
		{matrix(0, 16, 64, 512), true}, {matrix(3, 16, 64, 512), false}, // "scaled": the few are computed
		{f32(4, 1024, 512, "y = reduce_dot(x, z * 0.5)"), true}, {f32(40, 1024, 512, "y = reduce_dot(x, z * 0.5)"), false},
		{f32(4, 64, 512, "y = reduce_dot(x, z * 0.5)"), false}, {f32(4, 1024, 512, "y = reduce_dot(x * x, z)"), false},
		{f32(4, 1024, 512, "y = reduce_sum(x)"), false},
	} {
		s := c.spec.Shape()
		if got := Tiles(s.Kernel, Target{Major: 9}, s.Launch.Extents); got != c.want {
			t.Errorf("%s %v: %v", c.spec.Name, s.Launch.Extents, got)
		}
	}
	s := coded(0, 1, 4096).Shape()
	if Tiles(s.Kernel, Target{Major: 9}, []int64{0, 512, 4096}) || Tiles(s.Kernel, Target{Major: 7}, s.Launch.Extents) {
		t.Error("a product of no rows, or on a device that is not covered")
	}
}
