package sinter_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
)

// grid is a tensor on the host, the model of the tests of moves.
type grid struct {
	shape []int
	v     []float64
}

// gridOf makes a grid of a function of the coordinates.
func gridOf(shape []int, f func(at []int) float64) grid {
	g := grid{shape: shape, v: []float64{}}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for i := range n {
		at := make([]int, len(shape))
		for j, rest := len(shape)-1, i; j >= 0; j-- {
			at[j], rest = rest%shape[j], rest/shape[j]
		}
		g.v = append(g.v, f(at))
	}
	return g
}

// at is the element at coordinates.
func (g grid) at(at ...int) float64 {
	p := 0
	for i, c := range at {
		if c < 0 || c >= g.shape[i] {
			panic(fmt.Sprint(at, " is outside of ", g.shape))
		}
		p = p*g.shape[i] + c
	}
	return g.v[p]
}

// random is a grid of 0 to 8, which every dtype holds.
func randomGrid(rng *rand.Rand, shape ...int) grid {
	return gridOf(shape, func([]int) float64 { return float64(rng.IntN(9)) })
}

// moveTypes are the dtypes that moves are tested over.
var moveTypes = []sinter.DType{sinter.F32, sinter.F16, sinter.I64, sinter.U8, sinter.Bool}

// in makes a tensor of the grid; layout says how it lies in memory.
func (g grid) in(d sinter.DType, layout int) *sinter.Tensor {
	x := sinter.FromSlice(g.v, g.shape...).Cast(d)
	axes := make([]int, len(g.shape))
	for i := range axes {
		axes[i] = len(axes) - 1 - i
	}
	switch layout {
	case 1: // a view of a view: negative strides in another order
		return sinter.Concat(0, x.Flip()).Flip().Permute(axes...).Permute(axes...)
	case 2: // column by column, inside of a larger tensor
		y := sinter.Concat(0, x.Permute(axes...), x.Permute(axes...))
		return y.Slice(sinter.From(x.Dim(-1))).Permute(axes...)
	}
	return x
}

// as is the grid as a dtype holds it.
func (g grid) as(d sinter.DType) grid {
	if d != sinter.Bool {
		return g
	}
	return gridOf(g.shape, func(at []int) float64 {
		if g.at(at...) != 0 {
			return 1
		}
		return 0
	})
}

func (g grid) check(t *testing.T, name string, got *sinter.Tensor) {
	t.Helper()
	if err := got.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if !slices.Equal(got.Shape(), g.shape) {
		t.Errorf("%s: shape %v, want %v", name, got.Shape(), g.shape)
		return
	}
	v := read(t, got)
	for i := range v {
		if v[i] != g.v[i] && (v[i] == v[i] || g.v[i] == g.v[i]) {
			t.Errorf("%s: element %d is %v, want %v: %v, want %v", name, i, v[i], g.v[i], clip(v), clip(g.v))
			return
		}
	}
}

// mod is the floored remainder.
func mod(a, n int) int { return ((a % n) + n) % n }

// TestRearrange compares rearrangements with models that index the operand.
func TestRearrange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name  string
		shape []int
		f     func(x *sinter.Tensor) *sinter.Tensor
		out   []int
		from  func(x grid, at []int) float64
	}{
		{"swap_axes", []int{2, 3, 4}, func(x *sinter.Tensor) *sinter.Tensor { return x.SwapAxes(0, -1) }, []int{4, 3, 2}, func(x grid, at []int) float64 { return x.at(at[2], at[1], at[0]) }},
		{"move_axis", []int{2, 3, 4}, func(x *sinter.Tensor) *sinter.Tensor { return x.MoveAxis(0, -1) }, []int{3, 4, 2}, func(x grid, at []int) float64 { return x.at(at[2], at[0], at[1]) }},
		{"move_axis back", []int{2, 3, 4}, func(x *sinter.Tensor) *sinter.Tensor { return x.MoveAxis(-1, 0) }, []int{4, 2, 3}, func(x grid, at []int) float64 { return x.at(at[1], at[2], at[0]) }},
		{"flip", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Flip(-1) }, []int{2, 3}, func(x grid, at []int) float64 { return x.at(at[0], 2-at[1]) }},
		{"flip all", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Flip() }, []int{2, 3}, func(x grid, at []int) float64 { return x.at(1-at[0], 2-at[1]) }},
		{"roll", []int{2, 5}, func(x *sinter.Tensor) *sinter.Tensor { return x.Roll(-1, 2) }, []int{2, 5}, func(x grid, at []int) float64 { return x.at(at[0], mod(at[1]-2, 5)) }},
		{"roll back", []int{5, 2}, func(x *sinter.Tensor) *sinter.Tensor { return x.Roll(0, -8) }, []int{5, 2}, func(x grid, at []int) float64 { return x.at(mod(at[0]+8, 5), at[1]) }},
		{"roll none", []int{5}, func(x *sinter.Tensor) *sinter.Tensor { return x.Roll(0, 5) }, []int{5}, func(x grid, at []int) float64 { return x.at(at...) }},
		{"roll nothing", []int{0, 2}, func(x *sinter.Tensor) *sinter.Tensor { return x.Roll(0, 5) }, []int{0, 2}, nil},
		{"tile", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Tile(2, 1, 3) }, []int{2, 2, 9}, func(x grid, at []int) float64 { return x.at(at[1], at[2]%3) }},
		{"tile short", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Tile(2) }, []int{2, 6}, func(x grid, at []int) float64 { return x.at(at[0], at[1]%3) }},
		{"tile away", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Tile(0, 1) }, []int{0, 3}, nil},
		{"tile of rank 8", []int{1, 2, 1, 1, 2, 1, 1, 1}, func(x *sinter.Tensor) *sinter.Tensor { return x.Tile(2, 2, 1, 1, 1, 2, 1, 1) }, []int{2, 4, 1, 1, 2, 2, 1, 1}, func(x grid, at []int) float64 { return x.at(0, at[1]%2, 0, 0, at[4], 0, 0, 0) }},
		{"repeat", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Repeat(-1, 2) }, []int{2, 6}, func(x grid, at []int) float64 { return x.at(at[0], at[1]/2) }},
		{"repeat rows", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Repeat(0, 3) }, []int{6, 3}, func(x grid, at []int) float64 { return x.at(at[0]/3, at[1]) }},
		{"squeeze", []int{1, 3, 1, 1}, func(x *sinter.Tensor) *sinter.Tensor { return x.Squeeze(-1, 0) }, []int{3, 1}, func(x grid, at []int) float64 { return x.at(0, at[0], at[1], 0) }},
		{"squeeze all", []int{1, 3, 1, 1}, func(x *sinter.Tensor) *sinter.Tensor { return x.Squeeze() }, []int{3}, func(x grid, at []int) float64 { return x.at(0, at[0], 0, 0) }},
		{"unsqueeze", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Unsqueeze(-1, 0) }, []int{1, 2, 3, 1}, func(x grid, at []int) float64 { return x.at(at[1], at[2]) }},
		{"unfold", []int{2, 7}, func(x *sinter.Tensor) *sinter.Tensor { return x.Unfold(-1, 3, 2, 1) }, []int{2, 3, 3}, func(x grid, at []int) float64 { return x.at(at[0], 2*at[1]+at[2]) }},
		{"unfold twice", []int{5, 6}, func(x *sinter.Tensor) *sinter.Tensor { return x.Unfold(0, 2, 3, 1).Unfold(1, 2, 1, 4) }, []int{2, 2, 2, 2}, func(x grid, at []int) float64 { return x.at(3*at[0]+at[2], at[1]+4*at[3]) }},
		{"unfold of reversed", []int{6}, func(x *sinter.Tensor) *sinter.Tensor { return x.Flip().Unfold(0, 4, 1, 1).SwapAxes(0, 1) }, []int{4, 3}, func(x grid, at []int) float64 { return x.at(5 - at[0] - at[1]) }},
		{"diagonal", []int{3, 4, 2}, func(x *sinter.Tensor) *sinter.Tensor { return x.Diagonal(1, 0, 1) }, []int{2, 3}, func(x grid, at []int) float64 { return x.at(at[1], at[1]+1, at[0]) }},
		{"diagonal below", []int{2, 4, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Diagonal(-2, -2, -1).Flip(1) }, []int{2, 2}, func(x grid, at []int) float64 { return x.at(at[0], 3-at[1], 1-at[1]) }},
		{"diagonal beyond", []int{3, 4}, func(x *sinter.Tensor) *sinter.Tensor { return x.Diagonal(-3, 0, 1) }, []int{0}, nil},
		{"diag", []int{3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Diag(-1) }, []int{4, 4}, func(x grid, at []int) float64 {
			if at[1] == at[0]-1 {
				return x.at(at[1])
			}
			return 0
		}},
		{"diag of a matrix", []int{3, 5}, func(x *sinter.Tensor) *sinter.Tensor { return x.Diag(3) }, []int{2}, func(x grid, at []int) float64 { return x.at(at[0], at[0]+3) }},
		{"diag of nothing", []int{0}, func(x *sinter.Tensor) *sinter.Tensor { return x.Diag(2) }, []int{2, 2}, func(grid, []int) float64 { return 0 }},
		{"tril", []int{2, 3, 4}, func(x *sinter.Tensor) *sinter.Tensor { return x.Tril(1) }, []int{2, 3, 4}, func(x grid, at []int) float64 {
			if at[2] > at[1]+1 {
				return 0
			}
			return x.at(at...)
		}},
		{"triu", []int{4, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Triu(-1) }, []int{4, 3}, func(x grid, at []int) float64 {
			if at[1] < at[0]-1 {
				return 0
			}
			return x.at(at...)
		}},
		{"triu of nothing", []int{0, 3}, func(x *sinter.Tensor) *sinter.Tensor { return x.Triu(1 << 60) }, []int{0, 3}, nil},
		{"stack", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return sinter.Stack(-1, x, x.Flip(1)) }, []int{2, 3, 2}, func(x grid, at []int) float64 { return x.at(at[0], at[1]+at[2]*(2-2*at[1])) }},
		{"split", []int{2, 6}, func(x *sinter.Tensor) *sinter.Tensor { return x.Split(1, 2, 0, 3, 1)[2] }, []int{2, 3}, func(x grid, at []int) float64 { return x.at(at[0], at[1]+2) }},
		{"chunk", []int{7, 2}, func(x *sinter.Tensor) *sinter.Tensor { return x.Chunk(0, 3)[1] }, []int{2, 2}, func(x grid, at []int) float64 { return x.at(at[0]+3, at[1]) }},
		{"unstack", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor { return sinter.Stack(0, x.Unstack(-1)...) }, []int{3, 2}, func(x grid, at []int) float64 { return x.at(at[1], at[0]) }},
		{"mesh_grid", []int{3}, func(x *sinter.Tensor) *sinter.Tensor { return sinter.MeshGrid(x.Slice(sinter.Until(2)), x)[1] }, []int{2, 3}, func(x grid, at []int) float64 { return x.at(at[1]) }},
		{"broadcast", []int{3, 1}, func(x *sinter.Tensor) *sinter.Tensor {
			return sinter.BroadcastTensors(x, x.Reshape(1, 1, 3).Expand(2, 1, 3))[0]
		}, []int{2, 3, 3}, func(x grid, at []int) float64 { return x.at(at[1], 0) }},
		{"set_slice", []int{4, 5}, func(x *sinter.Tensor) *sinter.Tensor {
			part := x.Slice(sinter.Until(2), sinter.From(1).By(2))
			return x.SetSlice([]sinter.Range{sinter.All().By(-2), sinter.Span(0, 3).Back(2)}, part)
		}, []int{4, 5}, func(x grid, at []int) float64 {
			if at[0]%2 == 1 && at[1]%2 == 0 && at[1] < 3 {
				return x.at((3-at[0])/2, 3-at[1])
			}
			return x.at(at...)
		}},
		{"set_slice broadcast", []int{2, 3}, func(x *sinter.Tensor) *sinter.Tensor {
			return x.SetSlice([]sinter.Range{sinter.All(), sinter.From(1)}, x.Slice(sinter.From(-1), sinter.Until(1)))
		}, []int{2, 3}, func(x grid, at []int) float64 {
			if at[1] > 0 {
				return x.at(1, 0)
			}
			return x.at(at...)
		}},
	} {
		for _, d := range moveTypes {
			x := randomGrid(rng, c.shape...)
			want := gridOf(c.out, func(at []int) float64 { return c.from(x.as(d), at) })
			for layout := range 3 {
				want.check(t, fmt.Sprintf("%s of %s, layout %d", c.name, d, layout), c.f(x.in(d, layout)))
			}
		}
	}
}

// TestPad compares paddings with models over many pads, of both signs.
func TestPad(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	mirror := func(p, n, period int) int {
		p = mod(p, period)
		return min(p, period-p)
	}
	modes := map[sinter.PadMode]func(p, n int) int{
		sinter.PadReflect: func(p, n int) int {
			if n == 1 {
				return 0
			}
			return mirror(p, n, 2*(n-1))
		},
		sinter.PadSymmetric: func(p, n int) int { return min(mod(p, 2*n), 2*n-1-mod(p, 2*n)) },
		sinter.PadEdge:      func(p, n int) int { return min(max(p, 0), n-1) },
		sinter.PadWrap:      mod,
	}
	pads := [][2]int{{0, 0}, {2, 1}, {7, 0}, {-1, 2}, {-2, -1}, {-5, 4}, {0, -3}, {4, -5}}
	for _, n := range []int{1, 3, 4} {
		x := randomGrid(rng, 2, n)
		for _, p := range pads {
			m := n + p[0] + p[1]
			if m < 0 {
				if err := x.in(sinter.F32, 0).Pad(0, p).Err(); !errors.Is(err, sinter.ErrShape) {
					t.Errorf("pads %v of %d: %v", p, n, err)
				}
				continue
			}
			for _, d := range moveTypes {
				name := fmt.Sprintf("pads %v of %d, %s", p, n, d)
				var value any = 1
				if d == sinter.Bool {
					value = true
				}
				gridOf([]int{2, m}, func(at []int) float64 {
					if c := at[1] - p[0]; c >= 0 && c < n {
						return x.as(d).at(at[0], c)
					}
					return 1
				}).check(t, name, x.in(d, 1).Pad(value, p))
				for mode, place := range modes {
					gridOf([]int{2, m}, func(at []int) float64 { return x.as(d).at(at[0], place(at[1]-p[0], n)) }).
						check(t, fmt.Sprint(name, " mode ", mode), x.in(d, 2).PadWith(mode, p))
				}
			}
		}
	}
	y := randomGrid(rng, 2, 3)
	gridOf([]int{3, 5}, func(at []int) float64 {
		return y.at(min(at[0], 1), mod(at[1]-1, 3))
	}).check(t, "two axes", y.in(sinter.I32, 0).PadWith(sinter.PadEdge, [2]int{0, 1}, [2]int{0, 0}).PadWith(sinter.PadWrap, [2]int{1, 1}))
	empty := sinter.Zeros(sinter.F32, 0, 2)
	gridOf([]int{2, 2}, func([]int) float64 { return 5 }).check(t, "nothing", empty.Pad(5, [2]int{1, 1}, [2]int{0, 0}))
	if err := empty.PadWith(sinter.PadEdge, [2]int{1, 0}, [2]int{0, 0}).Err(); !errors.Is(err, sinter.ErrShape) {
		t.Errorf("edges of nothing: %v", err)
	}
}

// TestFold: fold adds what unfold takes, and is its adjoint.
func TestFold(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct{ n, size, step, dilation int }{{7, 3, 2, 1}, {6, 2, 1, 3}, {5, 5, 1, 1}, {8, 2, 3, 2}, {4, 1, 9, 9}} {
		x := randomGrid(rng, 2, c.n, 3)
		w := x.in(sinter.F64, 1).Unfold(1, c.size, c.step, c.dilation)
		uses := make([]int, c.n)
		for i := range w.Dim(1) {
			for k := range c.size {
				uses[i*c.step+k*c.dilation]++
			}
		}
		gridOf(x.shape, func(at []int) float64 { return x.at(at...) * float64(uses[at[1]]) }).
			check(t, fmt.Sprint(c), w.Fold(1, c.n, c.step, c.dilation))
		if err := w.Fold(1, (c.size-1)*c.dilation, c.step, c.dilation).Err(); !errors.Is(err, sinter.ErrShape) {
			t.Errorf("%v: an axis too short: %v", c, err)
		}
	}
}

// TestMoveErrors: wrong calls are errors of a kind, and name the operation.
func TestMoveErrors(t *testing.T) {
	x := sinter.Zeros(sinter.F32, 2, 3)
	failed := sinter.Zeros(sinter.F32, -1)
	for name, c := range map[string]struct {
		got  *sinter.Tensor
		kind error
	}{
		"swap_axes": {x.SwapAxes(0, 2), sinter.ErrShape}, "move_axis": {x.MoveAxis(-3, 0), sinter.ErrShape},
		"flip twice": {x.Flip(0, -2), sinter.ErrShape}, "roll": {x.Roll(2, 1), sinter.ErrShape},
		"repeat": {x.Repeat(0, -1), sinter.ErrArgument}, "tile": {x.Tile(1, -1), sinter.ErrArgument}, "tile huge": {x.Tile(1<<40, 1<<40), sinter.ErrShape}, "repeat huge": {x.Repeat(0, 1<<60), sinter.ErrArgument},
		"squeeze": {x.Squeeze(0), sinter.ErrShape}, "unsqueeze": {x.Unsqueeze(0, 0), sinter.ErrShape}, "unsqueeze far": {x.Unsqueeze(4), sinter.ErrShape},
		"unfold long": {x.Unfold(1, 4, 1, 1), sinter.ErrShape}, "unfold wide": {x.Unfold(1, 2, 1, 3), sinter.ErrShape}, "unfold": {x.Unfold(1, 0, 1, 1), sinter.ErrArgument},
		"unfold step": {x.Unfold(1, 2, 0, 1), sinter.ErrArgument}, "diagonal": {x.Diagonal(0, 1, -1), sinter.ErrShape}, "diag": {x.Unsqueeze(0).Diag(0), sinter.ErrShape},
		"diag huge": {x.At(0, 0).Diag(1 << 62), sinter.ErrShape}, "diag wide": {x.At(0, 0).Diag(1 << 40), sinter.ErrShape}, "tril": {x.At(0, 0).Tril(0), sinter.ErrShape},
		"split": {x.Split(1, 1, 1)[1], sinter.ErrShape}, "split more": {x.Split(1, 3, 1)[0], sinter.ErrShape}, "split negative": {x.Split(1, 4, -1)[0], sinter.ErrShape},
		"chunk": {x.Chunk(0, 0)[0], sinter.ErrArgument}, "chunks": {x.Chunk(0, 1<<60)[0], sinter.ErrArgument}, "pieces": {x.At(0, 0).Unsqueeze(0).Expand(1<<40, 3).Unstack(0)[0], sinter.ErrArgument}, "unstack": {x.Unstack(2)[0], sinter.ErrShape}, "broadcast": {sinter.BroadcastTensors(x, x.Transpose())[1], sinter.ErrShape},
		"mesh_grid": {sinter.MeshGrid(x, x.At(0, 0))[1], sinter.ErrShape}, "pads": {x.Pad(0, [2]int{}, [2]int{}, [2]int{}), sinter.ErrShape},
		"pad mode": {x.PadWith(9, [2]int{1, 1}), sinter.ErrArgument}, "pad huge": {x.Pad(0, [2]int{1 << 62, 1 << 62}), sinter.ErrShape}, "pad value": {x.Pad("0", [2]int{1, 1}), sinter.ErrDType},
		"set_slice": {x.SetSlice([]sinter.Range{sinter.All()}, sinter.Zeros(sinter.F32, 4)), sinter.ErrShape}, "set_slice dtype": {x.SetSlice(nil, sinter.Zeros(sinter.F64)), sinter.ErrDType},
		"set_slice ranges": {x.SetSlice(make([]sinter.Range, 3), 0), sinter.ErrShape}, "back": {x.Slice(sinter.All().Back(-1)), sinter.ErrArgument},
		"passed on": {failed.Roll(0, 1), sinter.ErrShape}, "nil": {(*sinter.Tensor)(nil).Pad(0, [2]int{1, 1}), sinter.ErrArgument},
	} {
		if err := c.got.Err(); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want a %v", name, err, c.kind)
		}
	}
	for n, want := range map[int]string{1: "[4 3 2 1 0]", 2: "[4 2 0]", 7: "[4]"} {
		if got := fmt.Sprint(read(t, sinter.Arange(5, sinter.I64).Slice(sinter.Span(0, 5).Back(n)))); got != want {
			t.Errorf("back by %d: %s", n, got)
		}
	}
	if got := fmt.Sprint(read(t, sinter.Arange(5, sinter.I64).Slice(sinter.Span(1, 4).Back(2)))); got != "[3 1]" {
		t.Errorf("span back: %s", got)
	}
}
