package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestSortOrder: sorts, top-k and argsort of every dtype, with ties, NaN,
// infinities and zeros of both signs, against a stable sort of Go's.
func TestSortOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	special := []float64{nan, inf, -inf, 0, neg0, 1, -1, 2}
	for _, d := range []sinter.DType{sinter.F64, sinter.F32, sinter.F16, sinter.BF16, sinter.I8, sinter.I16, sinter.I32, sinter.I64,
		sinter.U8, sinter.U16, sinter.U32, sinter.U64, sinter.Bool} {
		for _, n := range []int{0, 1, 2, 9, 300} {
			g := gridOf([]int{2, n, 2}, func([]int) float64 {
				if d.IsFloat() {
					return special[rng.IntN(len(special))]
				}
				return float64(rng.IntN(5))
			})
			x := g.in(d, rng.IntN(3))
			g = g.as(d)
			for _, down := range []bool{false, true} {
				values, index := x.Sort(1, down)
				k := n / 2
				top, topIndex := x.TopK(k, -2, down)
				before := func(a, b float64) bool {
					if down {
						a, b = b, a
					}
					return a < b || !math.IsNaN(a) && math.IsNaN(b)
				}
				var lanes [2][2][]int
				for i := range lanes {
					for j := range lanes[i] {
						at := make([]int, n)
						for p := range at {
							at[p] = p
						}
						sort.SliceStable(at, func(a, b int) bool { return before(g.at(i, at[a], j), g.at(i, at[b], j)) })
						lanes[i][j] = at
					}
				}
				name := fmt.Sprintf("%d of %s, descending %v", n, d, down)
				want := gridOf(g.shape, func(at []int) float64 { return float64(lanes[at[0]][at[2]][at[1]]) })
				want.check(t, "argsort "+name, index)
				sorted := gridOf(g.shape, func(at []int) float64 { return g.at(at[0], int(want.at(at...)), at[2]) })
				sorted.check(t, "sort "+name, values)
				sorted.check(t, "taken "+name, x.TakeAlong(1, x.ArgSort(1, down)))
				part := []int{2, k, 2}
				gridOf(part, func(at []int) float64 { return sorted.at(at...) }).check(t, "topk "+name, top)
				gridOf(part, func(at []int) float64 { return want.at(at...) }).check(t, "topk index "+name, topIndex)
			}
		}
	}
	big := sinter.FromSlice([]uint64{1 << 63, 1, math.MaxUint64, 1<<63 - 1})
	if got := fmt.Sprint(read(t, big.ArgSort(0, false))); got != "[1 3 0 2]" {
		t.Errorf("u64: %s", got)
	}
	far := sinter.FromSlice([]int64{math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, -1})
	if got := fmt.Sprint(read(t, far.ArgSort(0, true))); got != "[0 1 3 2]" {
		t.Errorf("i64: %s", got)
	}
	v, i := sinter.FromSlice([]float32{4, 1, 3}).KthValue(1, 0)
	if got := fmt.Sprint(read(t, v), read(t, i)); got != "[3] [2]" {
		t.Errorf("kth value: %s", got)
	}
}

// TestSearchSorted counts the elements before each, by hand.
func TestSearchSorted(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, d := range []sinter.DType{sinter.F64, sinter.F16, sinter.I32, sinter.U8} {
		for _, n := range []int{0, 1, 2, 17} {
			x := make([]float64, n)
			for i := range x {
				x[i] = float64(rng.IntN(6))
			}
			slices.Sort(x)
			z := gridOf([]int{2, 4}, func(at []int) float64 { return float64(at[0]*4 + at[1]) })
			for _, right := range []bool{false, true} {
				want := gridOf(z.shape, func(at []int) float64 {
					count := 0
					for _, v := range x {
						if v < z.at(at...) || right && v == z.at(at...) {
							count++
						}
					}
					return float64(count)
				})
				want.check(t, fmt.Sprint(d, n, right), sinter.FromSlice(x).Cast(d).SearchSorted(z.in(d, 2), right))
			}
		}
	}
	rows := sinter.FromSlice([]float32{1, 3, float32(inf), 0, 0, float32(nan)}, 2, 3)
	z := sinter.FromSlice([]float32{3, float32(nan), 0, float32(neg0)}, 2, 2)
	if got := fmt.Sprint(read(t, rows.SearchSorted(z, false)), read(t, rows.SearchSorted(z, true))); got != "[1 3 0 0] [2 3 2 2]" {
		t.Errorf("rows: %s", got)
	}
	if got := fmt.Sprint(read(t, rows.At(0, 0).SearchSorted(2, false))); got != "[1]" {
		t.Errorf("a constant: %s", got)
	}
	for name, y := range map[string]*sinter.Tensor{"scalar": sinter.Scalar(float32(1)).SearchSorted(z, false), "rows": rows.SearchSorted(z.At(0, 0), false)} {
		if err := y.Err(); !errors.Is(err, sinter.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := rows.SearchSorted(z.Cast(sinter.F64), false).Err(); !errors.Is(err, sinter.ErrDType) {
		t.Errorf("dtypes: %v", err)
	}
}

func TestUnique(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		x    *sinter.Tensor
		want string
	}{
		"f32":     {sinter.FromSlice([]float64{2, nan, -1, 2, nan, 0, neg0, 2}).Cast(sinter.F32), "[-1 0 2 NaN] [2 3 0 2 3 1 1 2] [1 2 3 2]"},
		"i8":      {sinter.FromSlice([]int8{-1, 5, -128, 5}, 2, 2), "[-128 -1 5] [1 2 0 2] [1 1 2]"},
		"bool":    {sinter.FromSlice([]bool{true, true}), "[1] [0 0] [2]"},
		"nothing": {sinter.Zeros(sinter.F16, 0, 3), "[] [] []"},
		"view":    {sinter.Arange(4, sinter.U16).Expand(2, 4).Slice(sinter.All(), sinter.From(-1).By(-2)), "[1 3] [1 0 1 0] [2 2]"},
	} {
		v, inverse, counts, err := c.x.Unique(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(read(t, v), read(t, inverse), read(t, counts)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if !slices.Equal(inverse.Shape(), c.x.Shape()) {
			t.Errorf("%s: inverse has shape %v", name, inverse.Shape())
		}
	}
	v, inverse, counts, count := sinter.FromSlice([]int32{7, 5, 7, 9}).UniqueMax(2)
	if got := fmt.Sprint(read(t, v), read(t, inverse), read(t, counts), read(t, count)); got != "[5 7] [1 0 1 2] [1 2] [3]" {
		t.Errorf("two at most: %s", got)
	}
	v, _, _, _ = sinter.Ones(sinter.F32, 2).UniqueMax(-1)
	if err := v.Err(); !errors.Is(err, sinter.ErrArgument) {
		t.Errorf("less than none: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, _, err := sinter.Ones(sinter.F32, 2).Unique(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	g := randomGrid(rng, 3, 5, 2)
	for _, q := range []float64{0, 0.3, 0.5, 0.77, 1} {
		lane := func(v []float64) float64 {
			slices.Sort(v)
			p := q * float64(len(v)-1)
			low := int(p)
			return v[low] + (v[min(low+1, len(v)-1)]-v[low])*(p-float64(low))
		}
		x := g.in(sinter.F64, 2)
		gridOf([]int{3, 2}, func(at []int) float64 {
			var v []float64
			for i := range 5 {
				v = append(v, g.at(at[0], i, at[1]))
			}
			return lane(v)
		}).check(t, fmt.Sprint("axis 1, ", q), x.Quantile(q, sinter.Over(1)))
		gridOf([]int{1, 5, 1}, func(at []int) float64 {
			var v []float64
			for i := range 6 {
				v = append(v, g.at(i/2, at[1], i%2))
			}
			return lane(v)
		}).check(t, fmt.Sprint("axes 0 and 2, ", q), x.Quantile(q, sinter.Over(-1, 0).KeepDims()))
	}
	f32 := func(v ...float64) *sinter.Tensor { return sinter.FromSlice(v).Cast(sinter.F32) }
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		want string
	}{
		"fault 19": {f32(1, 2, 3, 4).Quantile(0.5), "[2.5]"}, "median": {f32(3, 1, 2).Median(), "[2]"}, "NaN": {f32(1, nan, 2).Median(), "[NaN]"},
		"ints": {sinter.FromSlice([]int32{1, 2}).Median(), "[1.5]"}, "infinities": {f32(inf, inf, -inf, inf).Median(), "[+Inf]"}, "both": {f32(inf, -inf).Quantile(1), "[+Inf]"},
	} {
		if got := fmt.Sprint(read(t, c.got)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	for name, y := range map[string]*sinter.Tensor{"q": f32(1).Quantile(1.5), "NaN": f32(1).Quantile(nan)} {
		if err := y.Err(); !errors.Is(err, sinter.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, y := range map[string]*sinter.Tensor{"nothing": sinter.Zeros(sinter.F32, 0).Median(), "axis": f32(1).Median(sinter.Over(1)),
		"axes": f32(1).Median(sinter.Over(0, 0)), "k": f32(1).Slice(sinter.Until(0)).Median()} {
		if err := y.Err(); !errors.Is(err, sinter.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCounts(t *testing.T) {
	x := sinter.FromSlice([]float64{0, 0.5, 1, 2, 3, 3.5, -1, nan, 2.9}, 3, 3).Cast(sinter.F32)
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		want string
	}{
		"histogram":      {x.Histogram(sinter.LinSpace(0, 3, 4, sinter.F32)), "[2 1 3]"},
		"one bin":        {x.Histogram(sinter.FromSlice([]float32{0, 3})), "[6]"},
		"of nothing":     {x.Slice(sinter.Until(0)).Histogram(sinter.FromSlice([]float32{0, 3})), "[0]"},
		"ints":           {sinter.Arange(10, sinter.I32).Histogram(sinter.FromSlice([]int32{0, 3, 9})), "[3 7]"},
		"bin_count":      {sinter.FromSlice([]uint8{1, 3, 1, 0}, 2, 2).BinCount(5, nil), "[1 2 0 1 0]"},
		"weights":        {sinter.FromSlice([]int32{1, 0, 1}).BinCount(2, sinter.FromSlice([]float32{1, 2, 4})), "[2 5]"},
		"bins of none":   {sinter.Zeros(sinter.I32, 0).BinCount(0, nil), "[]"},
		"none in 2 bins": {sinter.Zeros(sinter.I32, 0).BinCount(2, nil), "[0 0]"},
	} {
		if got := fmt.Sprint(read(t, c.got)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	i := sinter.Ones(sinter.I32, 2)
	for name, y := range map[string]*sinter.Tensor{"edges": x.Histogram(x), "one edge": x.Histogram(x.At(0, 0).Slice(sinter.Until(1))), "floats": x.BinCount(2, nil),
		"negative": i.BinCount(-1, nil), "no bins": i.BinCount(0, nil), "weights": i.BinCount(2, x), "nil": i.Histogram(nil)} {
		if y.Err() == nil {
			t.Errorf("%s is no error", name)
		}
	}
}

// TestMasks: masked operations, with masks that broadcast and views.
func TestMasks(t *testing.T) {
	ctx := context.Background()
	x := sinter.Arange(6, sinter.I32).Reshape(3, 2).Transpose() // 0 2 4, 1 3 5
	m := sinter.FromSlice([]bool{true, false, true})
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		want string
	}{
		"fill":         {x.MaskedFill(m, 9), "[9 2 9 9 3 9]"},
		"fill tensor":  {x.MaskedFill(x.Gt(2), sinter.FromSlice([]int32{7, 8}, 2, 1)), "[0 2 7 1 8 8]"},
		"scatter":      {x.MaskedScatter(m, sinter.Arange(5, sinter.I32).Add(10)), "[10 2 11 12 3 13]"},
		"scatter none": {x.Slice(sinter.Until(0)).MaskedScatter(m, x), "[]"},
	} {
		if got := fmt.Sprint(read(t, c.got)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	y, err := x.MaskedSelect(ctx, m)
	if err != nil || fmt.Sprint(read(t, y), y.Shape()) != "[0 4 1 5] [4]" {
		t.Errorf("select: %v %v", y, err)
	}
	for _, most := range []int{0, 3, 8} {
		v, count := x.MaskedSelectMax(m, most)
		if got := fmt.Sprint(read(t, v), read(t, count)); got != map[int]string{0: "[] [4]", 3: "[0 4 1] [4]", 8: "[0 4 1 5 0 0 0 0] [4]"}[most] {
			t.Errorf("at most %d: %s", most, got)
		}
	}
	for _, d := range []sinter.DType{sinter.F16, sinter.Bool} {
		v, count := sinter.Zeros(d, 0, 3).MaskedSelectMax(m, 2)
		if got := fmt.Sprint(read(t, v), read(t, count)); got != "[0 0] [0]" {
			t.Errorf("%s, of nothing: %s", d, got)
		}
	}
	if y, err := x.MaskedSelect(ctx, m.Not()); err != nil || fmt.Sprint(read(t, y)) != "[2 3]" {
		t.Errorf("select: %v %v", y, err)
	}
	if y, err := x.MaskedSelect(ctx, sinter.Zeros(sinter.Bool)); err != nil || fmt.Sprint(read(t, y), y.Shape()) != "[] [0]" {
		t.Errorf("select none: %v %v", y, err)
	}
	if _, err := sinter.Read(ctx, x.MaskedScatter(m, sinter.Arange(3, sinter.I32))); !errors.Is(err, sinter.ErrData) {
		t.Errorf("too few elements: %v", err)
	}
	for name, y := range map[string]*sinter.Tensor{"wide": x.At(0, 0).MaskedFill(x.Gt(0), 1), "shape": x.MaskedFill(m.Slice(sinter.Until(2)), 1), "value": x.MaskedFill(m, 1.5)} {
		if y.Err() == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if _, err := x.MaskedSelect(ctx, x); !errors.Is(err, sinter.ErrDType) {
		t.Errorf("a mask of numbers: %v", err)
	}
}

func TestRangesOfFloats(t *testing.T) {
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		want string
	}{
		"lin_space":     {sinter.LinSpace(0, 1, 5, sinter.F64), "[0 0.25 0.5 0.75 1]"},
		"ends":          {sinter.LinSpace(0.1, 0.7, 4, sinter.F64).At(0, -1), "[0.7]"},
		"down":          {sinter.LinSpace(3, -3, 3, sinter.I8), "[3 0 -3]"},
		"one":           {sinter.LinSpace(2, 5, 1, sinter.F16), "[2]"},
		"none":          {sinter.LinSpace(2, 5, 0, sinter.F16), "[]"},
		"arange":        {sinter.ArangeFloat(0, 1, 0.25, sinter.F32), "[0 0.25 0.5 0.75]"},
		"arange short":  {sinter.ArangeFloat(0, 0.8, 0.25, sinter.F32), "[0 0.25 0.5 0.75]"},
		"arange down":   {sinter.ArangeFloat(1, 0, -0.5, sinter.F32), "[1 0.5]"},
		"arange empty":  {sinter.ArangeFloat(1, 0, 0.5, sinter.F32), "[]"},
		"eye":           {sinter.Of{}.Eye(2, 3, sinter.Bool), "[1 0 0 0 1 0]"},
		"eye square":    {sinter.Eye(2, sinter.U8), "[1 0 0 1]"},
		"tri":           {sinter.Tri(3, sinter.BF16), "[1 0 0 1 1 0 1 1 1]"},
		"tri offset":    {sinter.Of{}.Tri(2, 3, 1, sinter.F32), "[1 1 0 1 1 1]"},
		"tri of none":   {sinter.Of{}.Tri(0, 3, -1<<62, sinter.F32), "[]"},
		"full_like":     {sinter.Zeros(sinter.I16, 2).FullLike(-7), "[-7 -7]"},
		"ones_like":     {sinter.Zeros(sinter.Bool, 2).OnesLike(), "[1 1]"},
		"zeros_like":    {sinter.Ones(sinter.Bool, 2).ZerosLike(), "[0 0]"},
		"ones_like f16": {sinter.Zeros(sinter.F16, 1, 1).OnesLike(), "[1]"},
	} {
		if got := fmt.Sprint(read(t, c.got)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	for name, y := range map[string]*sinter.Tensor{"n": sinter.LinSpace(0, 1, -1, sinter.F32), "step": sinter.ArangeFloat(0, 1, 0, sinter.F32), "endless": sinter.ArangeFloat(0, inf, 1, sinter.F32),
		"NaN": sinter.ArangeFloat(0, nan, 1, sinter.F32), "bool": sinter.LinSpace(0, 1, 2, sinter.Bool), "dtype": sinter.Eye(2, 99), "eye": sinter.Eye(-1, sinter.F32),
		"tri": sinter.Of{}.Tri(1<<40, 1<<40, 0, sinter.F32), "like": sinter.Zeros(sinter.U8, 1).FullLike(-1), "no dtype": sinter.LinSpace(0, 1, 2, 0)} {
		if y.Err() == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
