package ptx

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// hits are indices of an axis in the ways that matter: repeated, once, all equal, few.
var hits = map[string]func(rng *rand.Rand, extent int) func(i int) int64{
	"any": func(rng *rand.Rand, extent int) func(i int) int64 {
		return func(int) int64 { return int64(rng.IntN(2*extent) - extent) }
	},
	"one": func(_ *rand.Rand, extent int) func(i int) int64 { return func(int) int64 { return int64(extent - 1) } },
	"each": func(_ *rand.Rand, extent int) func(i int) int64 {
		return func(i int) int64 { return int64(i % extent) }
	},
	"few": func(_ *rand.Rand, extent int) func(i int) int64 {
		return func(i int) int64 { return int64(i % min(2, extent)) }
	},
}

// TestScatterAdd: rows arrive in order, whatever the type, the layout and the axis.
func TestScatterAdd(t *testing.T) {
	copies, marks := NewNatives(Target{Major: 9}), NewNatives(Target{Major: 9, Multiprocessors: 1})
	marks.marksFrom = 0
	rng := rand.New(rand.NewPCG(1, 1))
	run := func(dt ir.DType, shape ir.Shape, axis, n int, hit string, xl, il, zl layout) {
		t.Run(fmt.Sprintf("%s %v axis %d from %d %s %s %s %s", dt, shape, axis, n, hit, xl, il, zl), func(t *testing.T) {
			from := shape.Clone()
			from[axis] = n
			a, i, z := random(rng, dt, shape...), indices(ir.Shape{n}, hits[hit](rng, shape[axis])), random(rng, dt, from...)
			a.layout, i.layout, z.layout = xl, il, zl
			node := newNativeNode(t, "scatter_add", ir.A("axis", axis), a, i, z)
			node.check(t, copies)
			node.check(t, marks)
		})
	}
	for _, dt := range everyType[1:] {
		run(dt, ir.Shape{9, 32}, 0, 21, "any", rowMajor, rowMajor, rowMajor)
		run(dt, ir.Shape{3, 5, 7}, 1, 12, "any", turned, rowMajor, rowMajor)
		run(dt, ir.Shape{13}, 0, 40, "few", rowMajor, rowMajor, splat)
		run(dt, ir.Shape{6, 16}, 0, 30, "any", splat, backward, spaced)
	}
	for xl := range numLayouts {
		for zl := range numLayouts {
			run(ir.BF16, ir.Shape{3, 5, 16}, 1, 7, "any", xl, rowMajor, zl)
			run(ir.F32, ir.Shape{4, 6}, 0, 7, "any", xl, spaced, zl)
		}
	}
	for hit := range hits {
		run(ir.F32, ir.Shape{5, 8}, 0, 100, hit, rowMajor, rowMajor, rowMajor)
		run(ir.F32, ir.Shape{300, 4}, 0, 10, hit, splat, rowMajor, rowMajor)
		run(ir.F16, ir.Shape{1, 24}, 0, 17, "each", rowMajor, rowMajor, rowMajor)
	}
	run(ir.I32, ir.Shape{300}, 0, 8500, "few", splat, rowMajor, rowMajor) // in passes
	for _, hit := range []string{"one", "few", "any"} {                   // long runs
		run(ir.BF16, ir.Shape{3, 200}, 0, 1060, hit, rowMajor, rowMajor, rowMajor)
		run(ir.F64, ir.Shape{2, 9, 3}, 1, 1027, hit, turned, rowMajor, turned)
		run(ir.I8, ir.Shape{7}, 0, 1055, hit, splat, rowMajor, spaced)
	}
	run(ir.U16, ir.Shape{20000}, 0, 10, "any", rowMajor, rowMajor, rowMajor) // copied in rounds
	run(ir.F16, ir.Shape{65600}, 0, 8193, "any", rowMajor, rowMajor, rowMajor)
	run(ir.F32, ir.Shape{2, 3, 2}, 1, 1500, "any", rowMajor, rowMajor, rowMajor)
}

// TestScatterAlong: each element has an index of its own, and all modes keep the order.
func TestScatterAlong(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(2, 1))
	run := func(dt ir.DType, mode int, xs, is, zs ir.Shape, axis int, l layout) {
		t.Run(fmt.Sprintf("%s mode %d %v %v %v axis %d %s", dt, mode, xs, is, zs, axis, l), func(t *testing.T) {
			a, i, z := random(rng, dt, xs...), indices(is, hits["any"](rng, xs[axis])), random(rng, dt, zs...)
			a.layout, i.layout, z.layout = l, (l+1)%splat, (l+2)%splat
			newNativeNode(t, "scatter_along", ir.A("axis", axis, "mode", mode), a, i, z).check(t, x)
		})
	}
	for _, dt := range everyType {
		for mode := ir.PutReplace; mode <= ir.PutMin; mode++ {
			if dt != ir.Bool || mode == ir.PutReplace {
				run(dt, mode, ir.Shape{3, 4}, ir.Shape{3, 15}, ir.Shape{3, 15}, 1, rowMajor)
				run(dt, mode, ir.Shape{4, 3}, ir.Shape{12, 1}, ir.Shape{12, 3}, 0, turned)
			}
		}
	}
	for l := range numLayouts {
		run(ir.F32, ir.PutAdd, ir.Shape{2, 4, 3}, ir.Shape{2, 9, 1}, ir.Shape{2, 9, 3}, 1, l)
		run(ir.F32, ir.PutMul, ir.Shape{2, 4, 3}, ir.Shape{1, 9, 3}, ir.Shape{2, 9, 3}, 1, l)
	}
	run(ir.I64, ir.PutMax, ir.Shape{10, 90}, ir.Shape{100, 90}, ir.Shape{100, 90}, 0, rowMajor) // in passes
}

// TestScatterND: coordinates of several axes name a row.
func TestScatterND(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(3, 1))
	run := func(dt ir.DType, mode int, xs, is ir.Shape, axis int, l layout) {
		t.Run(fmt.Sprintf("%s mode %d %v %v axis %d %s", dt, mode, xs, is, axis, l), func(t *testing.T) {
			last := len(is) - 1
			i := indices(is, func(i int) int64 {
				n := xs[axis+i%is[last]]
				return int64(rng.IntN(2*n) - n)
			})
			zs := append(append(xs[:axis:axis], is[:last]...), xs[axis+is[last]:]...)
			a, z := random(rng, dt, xs...), random(rng, dt, zs...)
			a.layout, i.layout, z.layout = l, (l+1)%splat, (l+2)%splat
			newNativeNode(t, "scatter_nd", ir.A("axis", axis, "mode", mode), a, i, z).check(t, x)
		})
	}
	for l := range numLayouts {
		for mode := ir.PutReplace; mode <= ir.PutMin; mode++ {
			run(ir.BF16, mode, ir.Shape{3, 4, 8}, ir.Shape{5, 2}, 0, l)
			run(ir.F32, mode, ir.Shape{2, 3, 4}, ir.Shape{3, 2, 1}, 1, l)
			run(ir.U8, mode, ir.Shape{2, 3, 4}, ir.Shape{3, 2, 3}, 0, l)
		}
	}
	run(ir.Bool, ir.PutReplace, ir.Shape{4}, ir.Shape{1}, 0, rowMajor)
	run(ir.Bool, ir.PutReplace, ir.Shape{2, 4}, ir.Shape{3, 1}, 0, rowMajor)
}

// TestPlacingFaults: an index out of range is noted, wherever it stands.
func TestPlacingFaults(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(4, 1))
	for _, n := range []int{5, 8200} {
		for _, at := range []int{0, n - 1} {
			for _, bad := range map[int][]int64{5: {3, -4, 1 << 40, -1 << 63}, 8200: {-4}}[n] {
				i := indices(ir.Shape{n}, func(i int) int64 {
					if i == at {
						return bad
					}
					return int64(i%6) - 3
				})
				node := newNativeNode(t, "scatter_add", ir.A("axis", 0), random(rng, ir.F32, 3), i, random(rng, ir.F32, n))
				if node.simulated(t, x) != nil || node.onHost(t) != nil {
					t.Errorf("%d at %d of %d is no fault", bad, at, n)
				}
			}
		}
	}
	i := indices(ir.Shape{2, 2}, func(i int) int64 { return []int64{1, 0, 0, 2}[i] })
	if node := newNativeNode(t, "scatter_nd", ir.A("axis", 0, "mode", ir.PutMax), random(rng, ir.I8, 2, 2), i, random(rng, ir.I8, 2)); node.simulated(t, x) != nil {
		t.Error("a coordinate out of range is no fault")
	}
}
