package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter"
)

// python is Python's slice of 0, 1, ..., n-1, walked step by step: start and stop
// as CPython clamps them, nil for an open one.
func python(n int, start, stop *int, step int) []float64 {
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	clamp := func(v *int, open int) int {
		if v == nil {
			return open
		}
		w := *v
		if w < 0 {
			w += n
		}
		return max(low, min(w, high))
	}
	out := []float64{}
	if step > 0 {
		for i := clamp(start, 0); i < clamp(stop, n); i += step {
			out = append(out, float64(i))
		}
	} else {
		for i := clamp(start, n-1); i > clamp(stop, -1); i += step {
			out = append(out, float64(i))
		}
	}
	return out
}

func read(t *testing.T, x *sinter.Tensor) []float64 {
	t.Helper()
	a, err := sinter.Read(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return floatsOf(a[0])
}

// TestSlicesAsPython: every start, stop and step over small axes.
func TestSlicesAsPython(t *testing.T) {
	device, err := sinter.OpenDevice("interp")
	if err != nil {
		t.Fatal(err)
	}
	on := sinter.On(device)
	for n := 0; n <= 4; n++ {
		x := on.Arange(0, n, 1, sinter.F32)
		var parts []*sinter.Tensor
		var want []float64
		for _, step := range []int{-3, -2, -1, 1, 2, 3} {
			for a := -n - 2; a <= n+2; a++ {
				for b := -n - 2; b <= n+2; b++ {
					y := x.Slice(sinter.Span(a, b).By(step))
					w := python(n, &a, &b, step)
					if y.Size() != len(w) {
						t.Fatalf("n=%d [%d:%d:%d]: %d elements (%v), want %v", n, a, b, step, y.Size(), y.Err(), w)
					}
					parts, want = append(parts, y), append(want, w...)
				}
				for _, y := range []struct {
					y    *sinter.Tensor
					want []float64
				}{{x.Slice(sinter.From(a).By(step)), python(n, &a, nil, step)}, {x.Slice(sinter.Until(a).By(step)), python(n, nil, &a, step)},
					{x.Slice(sinter.All().By(step)), python(n, nil, nil, step)}} {
					parts, want = append(parts, y.y), append(want, y.want...)
				}
			}
		}
		if got := read(t, sinter.Concat(0, parts...)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("n=%d: the slices differ from Python's", n)
		}
	}
	if err := sinter.Arange(3, sinter.I64).Slice(sinter.All().By(0)).Err(); !errors.Is(err, sinter.ErrArgument) {
		t.Errorf("a step of 0: %v", err)
	}
	x := sinter.Zeros(sinter.F32, 2, 3)
	if err := x.Slice(sinter.All(), sinter.All(), sinter.All()).Err(); !errors.Is(err, sinter.ErrShape) {
		t.Errorf("too many ranges: %v", err)
	}
}

// TestAxes: negative axes count from the end, others are errors.
func TestAxes(t *testing.T) {
	x := sinter.Arange(24, sinter.F32).Reshape(2, 3, 4)
	for axis := -3; axis < 3; axis++ {
		pos := (axis + 3) % 3
		stacked := axis // of one axis more
		if axis < 0 {
			stacked--
		}
		for name, pair := range map[string][2]*sinter.Tensor{
			"sum":     {x.Sum(sinter.Over(axis)), x.Sum(sinter.Over(pos))},
			"argmax":  {x.ArgMax(axis), x.ArgMax(pos)},
			"cumsum":  {x.CumSum(axis), x.CumSum(pos)},
			"softmax": {x.Softmax(axis), x.Softmax(pos)},
			"concat":  {sinter.Concat(axis, x, x), sinter.Concat(pos, x, x)},
			"stack":   {sinter.Stack(stacked, x, x), sinter.Stack(pos, x, x)},
			"at":      {x.At(axis, -1), x.At(pos, x.Dim(pos)-1)},
		} {
			if a, b := read(t, pair[0]), read(t, pair[1]); fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(pair[0].Shape()) != fmt.Sprint(pair[1].Shape()) {
				t.Errorf("%s: axis %d and %d differ: %v %v", name, axis, pos, pair[0].Shape(), pair[1].Shape())
			}
		}
	}
	for _, axis := range []int{4, -5} {
		if err := x.Unsqueeze(axis).Err(); !errors.Is(err, sinter.ErrShape) {
			t.Errorf("unsqueeze at %d: %v", axis, err)
		}
	}
	for _, axis := range []int{3, -4, 100, -1 << 40} {
		for _, y := range []*sinter.Tensor{x.Sum(sinter.Over(axis)), x.ArgMin(axis), x.CumSum(axis), x.Softmax(axis),
			sinter.Concat(axis, x), x.At(axis, 0), x.Squeeze(axis), x.Permute(0, 1, axis)} {
			if !errors.Is(y.Err(), sinter.ErrShape) {
				t.Errorf("axis %d: %v, %v", axis, y.Err(), y.Shape())
			}
		}
	}
	if x.Dim(-1) != 4 || x.Dim(7) != 0 || x.Rank() != 3 || x.Size() != 24 {
		t.Errorf("Dim, Rank or Size of %v", x.Shape())
	}
}

// TestBroadcast: shapes and elements as by the rule, spelled out.
func TestBroadcast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		a, b := randomShape(rng), randomShape(rng)
		x := sinter.Arange(size(a), sinter.F64).Reshape(a...)
		y := sinter.Arange(size(b), sinter.F64).Mul(100).Reshape(b...)
		z := x.Add(y)
		shape, ok := broadcast(a, b)
		if (z.Err() == nil) != ok {
			t.Errorf("%v and %v: %v", a, b, z.Err())
			continue
		}
		if !ok {
			continue
		}
		want := make([]float64, size(shape))
		for i := range want {
			want[i] = float64(source(i, shape, a) + 100*source(i, shape, b))
		}
		if got := read(t, z); fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(z.Shape()) != fmt.Sprint(shape) {
			t.Errorf("%v + %v: got %v %v, want %v %v", a, b, z.Shape(), got, shape, want)
		}
	}
}

func randomShape(rng *rand.Rand) []int {
	s := make([]int, rng.IntN(4))
	for i := range s {
		s[i] = []int{1, 1, 2, 3, 0}[rng.IntN(5)%(4+rng.IntN(2))]
	}
	return s
}

func size(s []int) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

func broadcast(a, b []int) ([]int, bool) {
	out := make([]int, max(len(a), len(b)))
	for i := range out { // from the last axis
		x, y := 1, 1
		if i < len(a) {
			x = a[len(a)-1-i]
		}
		if i < len(b) {
			y = b[len(b)-1-i]
		}
		if x != y && x != 1 && y != 1 {
			return nil, false
		}
		out[len(out)-1-i] = y
		if y == 1 {
			out[len(out)-1-i] = x
		}
	}
	return out, true
}

// source is the row-major number in s of the element that element i of shape
// repeats.
func source(i int, shape, s []int) int {
	n, scale := 0, 1
	for k := len(shape) - 1; k >= 0; k-- {
		at := i % shape[k]
		i /= shape[k]
		if j := k - (len(shape) - len(s)); j >= 0 {
			if s[j] != 1 {
				n += at * scale
			}
			scale *= s[j]
		}
	}
	return n
}

// TestArange: as numpy's arange, bounds at the ends of int included.
func TestArange(t *testing.T) {
	for _, x := range []struct {
		start, stop, step int
		want              string
	}{
		{0, 5, 2, "[0 2 4]"}, {5, 0, -2, "[5 3 1]"}, {0, 0, 1, "[]"}, {3, 1, 1, "[]"}, {1, 3, -1, "[]"}, {-2, 2, 3, "[-2 1]"},
	} {
		if got := fmt.Sprint(read(t, sinter.Of{}.Arange(x.start, x.stop, x.step, sinter.I64))); got != x.want {
			t.Errorf("arange(%d, %d, %d): got %s, want %s", x.start, x.stop, x.step, got, x.want)
		}
	}
	if err := (sinter.Of{}).Arange(0, 1, 0, sinter.I64).Err(); !errors.Is(err, sinter.ErrArgument) {
		t.Errorf("a step of 0: %v", err)
	}
}

// TestHugeShapes: views and errors of sizes that no memory holds.
func TestHugeShapes(t *testing.T) {
	x := sinter.Ones(sinter.F32, 1).Expand(1<<40, 1)
	if x.Err() != nil || x.Size() != 1<<40 {
		t.Fatalf("%v", x.Err())
	}
	if got := read(t, x.Slice(sinter.From(-2))); fmt.Sprint(got) != "[1 1]" {
		t.Errorf("got %v", got)
	}
	for _, y := range []*sinter.Tensor{sinter.Zeros(sinter.F64, 1<<62), sinter.Zeros(sinter.U8, 1<<31, 1<<31, 1<<31),
		sinter.Zeros(sinter.U8, -1), sinter.Zeros(sinter.U8, 1, 1, 1, 1, 1, 1, 1, 1, 1), x.Expand(1<<40, 1<<40), sinter.Zeros(sinter.U8, 0, 1<<62, 1<<62)} {
		if y.Err() == nil {
			t.Errorf("shape %v is no error", y.Shape())
		}
	}
}

// TestRangesAreValues: a Range of its fields alone selects from Start to Stop.
func TestRangesAreValues(t *testing.T) {
	x := sinter.Arange(10, sinter.I64)
	if got := fmt.Sprint(read(t, x.Slice(sinter.Range{Start: 2, Stop: 8, Step: 3}))); got != "[2 5]" {
		t.Errorf("got %s", got)
	}
	if err := x.Slice(sinter.Range{}).Err(); !errors.Is(err, sinter.ErrArgument) {
		t.Errorf("the zero Range: %v", err)
	}
}
