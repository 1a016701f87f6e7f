package ptx

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestGatherND: rows are taken as they are, from any layout.
func TestGatherND(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(7, 1))
	run := func(dt ir.DType, xs, is ir.Shape, axis int, l layout) {
		t.Run(fmt.Sprintf("%s %v %v axis %d %s", dt, xs, is, axis, l), func(t *testing.T) {
			i := indices(is, func(i int) int64 {
				n := xs[axis+i%is[len(is)-1]]
				return int64(rng.IntN(2*n) - n)
			})
			a := random(rng, dt, xs...)
			a.layout, i.layout = l, (l+1)%splat
			newNativeNode(t, "gather_nd", ir.A("axis", axis), a, i).check(t, x)
		})
	}
	for _, dt := range everyType {
		run(dt, ir.Shape{3, 4, 16}, ir.Shape{5, 2}, 0, rowMajor)
		run(dt, ir.Shape{2, 3, 5}, ir.Shape{2, 3, 1}, 1, turned)
	}
	for l := range numLayouts {
		run(ir.BF16, ir.Shape{3, 4, 8}, ir.Shape{4, 2}, 0, l)
		run(ir.F32, ir.Shape{3, 4}, ir.Shape{2}, 0, l)
	}
	i := indices(ir.Shape{2, 1}, func(i int) int64 { return int64(4 * i) })
	if node := newNativeNode(t, "gather_nd", ir.A("axis", 0), random(rng, ir.I8, 4), i); node.simulated(t, x) != nil {
		t.Error("an index out of range is no fault")
	}
}

// TestSearch: the places of elements among sorted ones, and of those among what is not
// sorted, are those of the processor.
func TestSearch(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(8, 1))
	run := func(dt ir.DType, xs, zs ir.Shape, right, sorted bool, l layout) {
		t.Run(fmt.Sprintf("%s %v %v %v %v %s", dt, xs, zs, right, sorted, l), func(t *testing.T) {
			a, z := random(rng, dt, xs...), random(rng, dt, zs...)
			if sorted { // i32
				n := xs[len(xs)-1]
				for from := 0; from < xs.Size(); from += n {
					v := make([]int, n)
					for i := range v {
						v[i] = int(int32(readSized(a.at(from+i), 4)))
					}
					sort.Ints(v)
					for i := range v {
						writeSized(a.at(from+i), 4, uint64(uint32(v[i])))
					}
				}
			}
			a.layout, z.layout = l, (l+1)%splat
			newNativeNode(t, "searchsorted", ir.A("right", right), a, z).check(t, x)
		})
	}
	for _, dt := range everyType {
		for _, right := range []bool{false, true} {
			run(dt, ir.Shape{37}, ir.Shape{5, 9}, right, false, rowMajor)
			run(dt, ir.Shape{3, 1}, ir.Shape{3, 7}, right, false, turned)
		}
	}
	for l := range numLayouts {
		run(ir.I32, ir.Shape{2, 3, 40}, ir.Shape{2, 3, 11}, l%2 == 0, true, l)
		run(ir.I32, ir.Shape{64}, ir.Shape{300}, l%2 == 1, true, l)
	}
}

// TestRecurrence: each lane in order, forwards and backwards.
func TestRecurrence(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(9, 1))
	for _, dt := range []ir.DType{ir.F16, ir.BF16, ir.F32, ir.F64} {
		for _, reverse := range []bool{false, true} {
			for l := range numLayouts {
				for _, c := range []struct {
					shape ir.Shape
					axis  int
				}{{ir.Shape{3, 5}, 1}, {ir.Shape{17, 4}, 0}, {ir.Shape{2, 8, 3}, 1}, {ir.Shape{1}, 0}} {
					a, z := random(rng, dt, c.shape...), random(rng, dt, c.shape...)
					a.layout, z.layout = l, (l+1)%numLayouts
					newNativeNode(t, "recurrence", ir.A("axis", c.axis, "reverse", reverse), a, z).check(t, x)
				}
			}
		}
	}
	long := newNativeNode(t, "recurrence", ir.A("axis", 0), newArray(ir.F32, 5000), newArray(ir.F32, 5000))
	tensors, _ := long.tensors(&simulator{})
	if plan, err := x.Plan(&long.node, tensors); plan != nil || err != nil {
		t.Errorf("a long lane alone has the plan %v, %v", plan, err)
	}
}

// TestNonzero: the coordinates of true elements, in order, as far as there is room.
func TestNonzero(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(10, 1))
	for l := range numLayouts {
		for _, c := range []struct {
			shape ir.Shape
			max   int
		}{{ir.Shape{5, 4}, 40}, {ir.Shape{30, 7, 2}, 100}, {ir.Shape{9}, 1}, {ir.Shape{2, 2100}, 3000}} {
			a := random(rng, ir.Bool, c.shape...)
			a.layout = l
			newNativeNode(t, "nonzero", ir.A("max", c.max), a).check(t, x)
		}
	}
	none := newArray(ir.Bool, 70)
	newNativeNode(t, "nonzero", ir.A("max", 300), none).check(t, x)
}

// TestUnique: distinct elements in order, how often and where they are, as far as there is
// room; -0 is +0, and NaN is NaN.
func TestUnique(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(11, 1))
	run := func(dt ir.DType, shape ir.Shape, max int, l layout) {
		t.Run(fmt.Sprintf("%s %v %d %s", dt, shape, max, l), func(t *testing.T) {
			a := random(rng, dt, shape...)
			a.layout = l
			newNativeNode(t, "unique", ir.A("max", max), a).check(t, x)
		})
	}
	for _, dt := range everyType {
		run(dt, ir.Shape{50}, 4, rowMajor) // more than there is room for, but for bool
		run(dt, ir.Shape{7, 9}, 63, rowMajor)
	}
	for l := range numLayouts {
		run(ir.F32, ir.Shape{5, 3, 40}, 300, l)
	}
	run(ir.I16, ir.Shape{3000}, 700, rowMajor)
	run(ir.BF16, ir.Shape{2, 4150}, 2000, turned) // in passes
	run(ir.U64, ir.Shape{1}, 1, rowMajor)
}
