package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestAlong compares taking and putting along an axis with models, for every
// dtype, mode and layout; indices repeat, and some count from the end.
func TestAlong(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	modes := map[sinter.PutMode]func(a, b float64) float64{
		sinter.PutReplace: func(_, b float64) float64 { return b },
		sinter.PutAdd:     func(a, b float64) float64 { return a + b },
		sinter.PutMul:     func(a, b float64) float64 { return a * b },
		sinter.PutMax:     func(a, b float64) float64 { return max(a, b) },
		sinter.PutMin:     func(a, b float64) float64 { return min(a, b) },
	}
	for range 20 {
		shape := []int{1 + rng.IntN(3), 1 + rng.IntN(4), rng.IntN(4)}
		axis := rng.IntN(2)
		wide := append([]int(nil), shape...)
		wide[axis] = rng.IntN(4)
		x, z := randomGrid(rng, shape...), gridOf(wide, func([]int) float64 { return float64(rng.IntN(4)) })
		index := gridOf(wide, func([]int) float64 { return float64(rng.IntN(2*shape[axis]) - shape[axis]) })
		target := func(at []int) []int {
			to := append([]int(nil), at...)
			to[axis] = mod(int(index.at(at...)), shape[axis])
			return to
		}
		for i, d := range moveTypes {
			at := index.in(sinter.I64, i%3)
			name := fmt.Sprintf("%v of %v along %d, %s", wide, shape, axis, d)
			gridOf(wide, func(at []int) float64 { return x.as(d).at(target(at)...) }).
				check(t, "take "+name, x.in(d, (i+1)%3).TakeAlong(axis-3, at))
			for mode, f := range modes {
				y := x.in(d, i%3).PutAlong(axis, at, z.in(d, (i+2)%3), mode)
				if d == sinter.Bool && mode != sinter.PutReplace {
					if err := y.Err(); !errors.Is(err, sinter.ErrDType) {
						t.Errorf("put bool, mode %d: %v", mode, err)
					}
					continue
				}
				want := gridOf(shape, func(at []int) float64 { return x.as(d).at(at...) })
				gridOf(wide, func(at []int) float64 {
					p := 0
					for j, c := range target(at) {
						p = p*shape[j] + c
					}
					want.v[p] = f(want.v[p], z.as(d).at(at...))
					return 0
				})
				if d == sinter.U8 {
					for j := range want.v {
						want.v[j] = float64(mod(int(want.v[j]), 256))
					}
				}
				if d == sinter.F16 && mode == sinter.PutMul {
					continue // beyond what it holds exactly
				}
				want.check(t, fmt.Sprint("put ", name, " mode ", mode), y)
			}
		}
	}
}

// TestPutForms: constants, slices by one index per slice, coordinates, broadcast
// indices, one-hot rows.
func TestPutForms(t *testing.T) {
	i64 := func(v ...int64) *sinter.Tensor { return sinter.FromSlice(v) }
	x := sinter.Arange(6, sinter.F32).Reshape(2, 3)
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		want string
	}{
		"constant":           {x.PutAlong(1, i64(0, -1).Unsqueeze(1), 9, sinter.PutReplace), "[9 1 2 3 4 9]"},
		"constant broadcast": {x.PutAlong(0, i64(1).Unsqueeze(0), 9, sinter.PutMax), "[0 1 2 9 9 9]"},
		"slices":             {x.Scatter(1, i64(2, 0, 2), sinter.Ones(sinter.F32, 2, 3), sinter.PutAdd), "[1 1 4 4 4 7]"},
		"slices last wins":   {x.Scatter(0, i64(1, 1), x, sinter.PutReplace), "[0 1 2 3 4 5]"},
		"take broadcast":     {x.TakeAlong(1, i64(2).Unsqueeze(0)), "[2 5]"},
		"gather_nd":          {x.GatherND(sinter.FromSlice([]int64{1, 0, -1, -1}, 2, 2)), "[3 5]"},
		"gather_nd slices":   {x.GatherND(i64(1, 0, 1).Unsqueeze(1)), "[3 4 5 0 1 2 3 4 5]"},
		"gather_nd one":      {x.GatherND(i64(0, 2)), "[2]"},
		"scatter_nd":         {x.ScatterND(sinter.FromSlice([]int64{0, 0, 0, 0}, 2, 2), sinter.FromSlice([]float32{2, 3}), sinter.PutAdd), "[5 1 2 3 4 5]"},
		"scatter_nd slices":  {x.ScatterND(i64(0, 0).Unsqueeze(1), x.Add(1), sinter.PutMul), "[0 10 36 3 4 5]"},
		"one_hot":            {i64(1, -1, 0, 2).OneHot(2, sinter.U8), "[0 1 0 0 1 0 0 0]"},
		"one_hot of u8":      {sinter.FromSlice([]uint8{1}).OneHot(300, sinter.I32).Sum(), "[1]"},
	} {
		if got := fmt.Sprint(read(t, c.got)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if got := fmt.Sprint(read(t, x)); got != "[0 1 2 3 4 5]" {
		t.Errorf("the operand became %s", got)
	}
}

// TestIndexFaults: the error of an index out of range names the first one.
func TestIndexFaults(t *testing.T) {
	x := sinter.Zeros(sinter.F32, 2, 3)
	bad := sinter.FromSlice([]int64{0, 1, 3, -4}, 2, 2)
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		says string
	}{
		"take_along":    {x.TakeAlong(1, bad), "[1 0]"},
		"scatter_along": {x.PutAlong(1, bad, 1, sinter.PutAdd), "index[1 0] is 3, axis 1 has extent 3"},
		"gather_nd":     {x.GatherND(bad), "index[1 0] is 3, axis 0 has extent 2"},
		"scatter_nd":    {x.ScatterND(bad, sinter.Ones(sinter.F32, 2), sinter.PutMax), "index[1 0] is 3, axis 0 has extent 2"},
		"scatter":       {x.Scatter(0, sinter.FromSlice([]int64{0, -3}), x, sinter.PutReplace), "index[1 0] is -3"},
		"bin_count":     {sinter.FromSlice([]int32{1, -1}).BinCount(2, nil), "index[1] is 2, the axis has extent 2"},
	} {
		_, err := sinter.Read(context.Background(), c.got)
		if !errors.Is(err, sinter.ErrData) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "along_test.go") {
			t.Errorf("%s: got %v, want one that says %q", name, err, c.says)
		}
		if _, err := sinter.Read(context.Background(), c.got.Add(c.got)); !errors.Is(err, sinter.ErrData) {
			t.Errorf("%s: what depends on it: %v", name, err)
		}
	}
}

// TestIndexErrors: shapes and dtypes that do not fit are errors while recording.
func TestIndexErrors(t *testing.T) {
	x, none := sinter.Zeros(sinter.F32, 2, 3), sinter.Zeros(sinter.F32, 0, 3)
	at := sinter.Zeros(sinter.I64, 2, 2)
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		kind error
	}{
		"take rank":        {x.TakeAlong(0, sinter.Zeros(sinter.I64, 2)), sinter.ErrShape},
		"take shape":       {x.TakeAlong(1, sinter.Zeros(sinter.I64, 3, 2)), sinter.ErrShape},
		"take axis":        {x.TakeAlong(2, at), sinter.ErrShape},
		"take dtype":       {x.TakeAlong(1, at.Cast(sinter.I32)), sinter.ErrDType},
		"take nothing":     {none.TakeAlong(0, sinter.Zeros(sinter.I64, 1, 3)), sinter.ErrShape},
		"put mode":         {x.PutAlong(1, at, 1, 5), sinter.ErrArgument},
		"put shape":        {x.PutAlong(1, at, sinter.Zeros(sinter.F32, 2, 3), 0), sinter.ErrShape},
		"put dtype":        {x.PutAlong(1, at, sinter.Zeros(sinter.F64, 2, 2), 0), sinter.ErrDType},
		"put value":        {x.PutAlong(1, at, "1", 0), sinter.ErrDType},
		"put nothing":      {none.PutAlong(0, sinter.Zeros(sinter.I64, 1, 3), 1, 0), sinter.ErrShape},
		"put nil index":    {x.PutAlong(0, nil, 1, 0), sinter.ErrArgument},
		"scatter index":    {x.Scatter(1, at, x, 0), sinter.ErrShape},
		"gather_nd long":   {x.GatherND(sinter.Zeros(sinter.I64, 3)), sinter.ErrShape},
		"gather_nd scalar": {x.GatherND(sinter.Scalar(int64(1))), sinter.ErrShape},
		"gather_nd none":   {x.GatherND(sinter.Zeros(sinter.I64, 2, 0)), sinter.ErrShape},
		"scatter_nd shape": {x.ScatterND(at, sinter.Zeros(sinter.F32, 3), 0), sinter.ErrShape},
		"one_hot":          {x.OneHot(3, sinter.F32), sinter.ErrDType},
		"one_hot size":     {at.OneHot(-1, sinter.F32), sinter.ErrShape},
		"one_hot dtype":    {at.OneHot(2, 99), sinter.ErrArgument},
	} {
		if err := c.got.Err(); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want a %v", name, err, c.kind)
		}
	}
	empty := none.GatherND(sinter.Zeros(sinter.I64, 0, 1))
	if got := fmt.Sprint(read(t, empty), empty.Shape()); got != "[] [0 3]" {
		t.Errorf("nothing at nothing: %s", got)
	}
}
