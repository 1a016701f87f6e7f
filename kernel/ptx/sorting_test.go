package ptx

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestSort: elements and places, equal ones in the order they had, of every type and
// layout.
func TestSort(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(5, 1))
	run := func(dt ir.DType, shape ir.Shape, axis int, descending bool, l layout) {
		t.Run(fmt.Sprintf("%s %v axis %d %v %s", dt, shape, axis, descending, l), func(t *testing.T) {
			a := random(rng, dt, shape...)
			a.layout = l
			newNativeNode(t, "sort", ir.A("axis", axis, "descending", descending), a).check(t, x)
		})
	}
	for _, dt := range everyType {
		for _, descending := range []bool{false, true} {
			run(dt, ir.Shape{3, 90}, 1, descending, rowMajor)
		}
		run(dt, ir.Shape{2, 10, 3}, 1, false, turned)
	}
	for l := range numLayouts {
		run(ir.F32, ir.Shape{3, 4, 5}, 0, true, l)
	}
	for _, dt := range []ir.DType{ir.I8, ir.BF16, ir.F64} { // in passes
		run(dt, ir.Shape{8200}, 0, dt.Size() == 2, rowMajor)
	}
	for _, n := range []int{1, 64, 65, 128, 257, 1000, 1025, 3000} {
		run(ir.F32, ir.Shape{2, n}, 1, false, rowMajor)
		run(ir.I64, ir.Shape{n}, 0, true, rowMajor)
	}
	run(ir.U8, ir.Shape{8199, 2}, 0, false, spaced)
}

// TestTopK: the first elements in order.
func TestTopK(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(6, 1))
	for _, c := range []struct {
		dt      ir.DType
		shape   ir.Shape
		axis, k int
		largest bool
	}{
		{ir.F32, ir.Shape{3, 100}, 1, 7, true}, {ir.F32, ir.Shape{3, 100}, 1, 100, false}, {ir.BF16, ir.Shape{5, 40, 3}, 1, 1, true},
		{ir.F16, ir.Shape{2, 8300}, 1, 5, false}, {ir.I64, ir.Shape{8200, 2}, 0, 30, true}, // in parts
		{ir.U8, ir.Shape{8200}, 0, 2100, true}, {ir.BF16, ir.Shape{8193}, 0, 5000, true}, {ir.Bool, ir.Shape{70}, 0, 30, true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			newNativeNode(t, "topk", ir.A("k", c.k, "axis", c.axis, "largest", c.largest), random(rng, c.dt, c.shape...)).check(t, x)
		})
	}
}
