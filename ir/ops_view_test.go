package ir

import (
	"errors"
	"math"
	"testing"
)

// TestInside: a layout is inside exactly when its lowest and its highest address
// are, counted one by one here; and no numbers make it overflow.
func TestInside(t *testing.T) {
	for size := int64(0); size < 6; size++ {
		for offset := int64(-2); offset < 8; offset++ {
			for s0 := int64(-3); s0 <= 3; s0++ {
				for s1 := int64(-3); s1 <= 3; s1++ {
					for n0 := int64(0); n0 < 4; n0++ {
						for n1 := int64(0); n1 < 4; n1++ {
							want := true
							for i := range n0 {
								for j := range n1 {
									at := offset + i*s0 + j*s1
									want = want && at >= 0 && at < size
								}
							}
							l := Layout{offset, []int64{s0, s1}}
							if got := l.Inside([]int64{n0, n1}, size); got != want {
								t.Fatalf("%+v over [%d,%d] in %d elements: %v, want %v", l, n0, n1, size, got, want)
							}
						}
					}
				}
			}
		}
	}
	extremes := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 62, -1, 0, 1, 1 << 62, math.MaxInt64}
	for _, offset := range extremes {
		for _, stride := range extremes {
			for _, n := range []int64{2, 3, 1 << 31, 1 << 62, math.MaxInt64} {
				l := Layout{offset, []int64{stride, stride}}
				want := stride == 0 && (offset == 0 || offset == 1)
				if got := l.Inside([]int64{n, n}, 2); got != want {
					t.Errorf("%+v over [%d,%d] in 2 elements: %v, want %v", l, n, n, got, want)
				}
			}
		}
	}
	if !(Layout{math.MaxInt64, []int64{5}}).Inside([]int64{0}, 0) {
		t.Error("a space without elements is not inside")
	}
	if !(Layout{math.MaxInt64 - 1, []int64{-(math.MaxInt64 - 1)}}).Inside([]int64{2}, math.MaxInt64) {
		t.Error("the largest layout is not inside the largest buffer")
	}
}

// TestStrided: the row refuses what leaves its operand, and composes with operands
// that lie row-major only.
func TestStrided(t *testing.T) {
	r := Lookup("strided")
	x := Type{F32, Shape{3, 4}}
	for _, c := range []struct {
		shape, strides []int64
		offset         int64
		ok             bool
	}{
		{[]int64{4, 3}, []int64{1, 4}, 0, true},
		{[]int64{4, 3}, []int64{-1, 4}, 3, true},
		{[]int64{2, 2, 2}, []int64{4, 1, 0}, 6, true},
		{[]int64{}, []int64{}, 11, true},
		{[]int64{0, 5}, []int64{1, 1}, 100, true},
		{[]int64{4, 3}, []int64{1, 4}, 1, false},
		{[]int64{4, 3}, []int64{-1, 4}, 2, false},
		{[]int64{}, []int64{}, 12, false},
		{[]int64{4}, []int64{1, 1}, 0, false},
		{[]int64{-1}, []int64{1}, 0, false},
		{[]int64{2}, []int64{math.MaxInt64}, 1, false},
		{[]int64{math.MaxInt64}, []int64{0}, 1, false},
	} {
		a, err := r.MakeAttrs(A("shape", c.shape, "offset", c.offset, "strides", c.strides))
		if err != nil {
			t.Fatal(err)
		}
		out, err := Infer(r, []Type{x}, a)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrShape) {
			t.Errorf("shape %v, offset %d, strides %v: %v, %v", c.shape, c.offset, c.strides, out, err)
		}
	}
	a, err := r.MakeAttrs(A("shape", []int{2}, "offset", 5, "strides", []int{-3}))
	if err != nil {
		t.Fatal(err)
	}
	y := Type{F32, Shape{2}}
	if l, ok := r.View(r, x, Layout{7, []int64{4, 1}}, a, y); !ok || l.Offset != 12 || l.Strides[0] != -3 {
		t.Errorf("of a row-major operand: %v, %v", l, ok)
	}
	if l, ok := r.View(r, x, Layout{0, []int64{1, 3}}, a, y); ok {
		t.Errorf("of a permuted operand: %v", l)
	}
	if r.Differentiable() || r.Method != "" {
		t.Error("the row is for planners: it has no gradient and no method")
	}
}
