package ir

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHostileMoves: whatever the attributes and shapes, the rules of rows that
// move elements neither panic nor accept a view that leaves its buffer.
func TestHostileMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	numbers := []int64{0, 1, 2, 3, -1, -2, 5, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, math.MaxInt64 / 2, MaxElements, 1 << 32}
	accepted := map[string]int{}
	for _, r := range Rows() {
		if r.Number < 200 || r.Number > 223 {
			continue
		}
		for range 4000 {
			in := make([]Type, len(r.Operands))
			rank := rng.IntN(4)
			for i := range in {
				if rng.IntN(4) == 0 {
					rank = rng.IntN(4)
				}
				in[i] = Type{[]DType{F32, Bool, I64}[rng.IntN(3)], Shape{}}
				if r.Operands[i].Class == I64Class {
					in[i].DType = I64
				}
				for range rank {
					in[i].Shape = append(in[i].Shape, rng.IntN(5))
				}
			}
			a := make(Attrs, len(r.Attrs))
			for i, s := range r.Attrs {
				small := func() int64 {
					if rng.IntN(4) > 0 {
						return int64(rng.IntN(4))
					}
					return numbers[rng.IntN(len(numbers))]
				}
				a[i] = Attr{Kind: s.Kind}
				switch s.Kind {
				case AttrInt:
					a[i].Int = small()
				case AttrBool:
					a[i].Int = rng.Int64N(2)
				case AttrInts:
					for range len(in[0].Shape) {
						a[i].List = append(a[i].List, small())
					}
				}
			}
			out, err := Infer(r, in, a)
			if err != nil {
				continue
			}
			accepted[r.Name]++
			if r.View != nil {
				inside(t, r, in[0], a, out[0])
			}
		}
	}
	for _, r := range Rows() {
		if r.Number >= 200 && r.Number <= 223 && accepted[r.Name] == 0 {
			t.Errorf("%s: no call was accepted", r.Name)
		}
	}
}

// inside checks that a view of a contiguous tensor stays within its elements.
func inside(t *testing.T, r *Row, in Type, a Attrs, out Type) {
	t.Helper()
	l, ok := r.View(r, in, Layout{Strides: in.Shape.Strides()}, a, out)
	if !ok || len(l.Strides) != len(out.Shape) {
		t.Fatalf("%s(%v) %v gives the layout %v, %v", r.Name, in, a, l, ok)
	}
	if out.Shape.Size() == 0 {
		return
	}
	low, high := l.Offset, l.Offset
	for i, s := range l.Strides {
		span := s * int64(out.Shape[i]-1)
		low, high = low+min(span, 0), high+max(span, 0)
	}
	if low < 0 || high >= int64(in.Shape.Size()) {
		t.Fatalf("%s(%v) %v reaches from %d to %d of %d elements", r.Name, in, a, low, high, in.Shape.Size())
	}
}
