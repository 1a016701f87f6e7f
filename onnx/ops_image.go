package onnx

import (
	"fmt"
	"math"
	"sort"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

var _ = register(
	opDef{name: "GridSample", since: 16, in: two, out: one, run: gridSampleOp,
		attrs: []attrSpec{intAttr("align_corners", 0), strAttr("mode", "linear"), strAttr("padding_mode", "zeros")}},
	opDef{name: "AffineGrid", since: 20, in: two, out: one, run: affineGridOp, attrs: []attrSpec{intAttr("align_corners", 0)}},
	opDef{name: "NonMaxSuppression", since: 10, in: arity{2, 5}, out: one, run: nonMaxSuppressionOp, attrs: []attrSpec{intAttr("center_point_box", 0)}},
)

func gridSampleOp(c *Call) error {
	o := fn.GridOptions{AlignCorners: c.Bool("align_corners")}
	switch p := c.Str("padding_mode"); p {
	case "zeros":
	case "border":
		o.Padding = fn.PadBorder
	case "reflection":
		o.Padding = fn.PadReflect
	default:
		return fmt.Errorf("the attribute padding_mode is %q", p)
	}
	x, grid := c.In(0), c.In(1)
	switch m := c.Str("mode"); m {
	case "linear", "bilinear":
	case "nearest":
		o.Nearest = true
	case "cubic", "bicubic":
		y, err := gridCubic(x, grid, o)
		if err == nil {
			c.Set(0, y)
		}
		return err
	default:
		return fmt.Errorf("the attribute mode is %q", m)
	}
	c.Set(0, fn.GridSample(x, grid.Cast(x.DType()), o))
	return nil
}

// gridCubic samples images at points by cubic convolution of 16 neighbours.
func gridCubic(x, grid *sinter.Tensor, o fn.GridOptions) (*sinter.Tensor, error) {
	s, g := x.Shape(), grid.Shape()
	if len(s) != 4 || len(g) != 4 || g[3] != 2 || g[0] != s[0] {
		return nil, firstError(fmt.Errorf("cubic sampling of %v at %v: expected images of two axes", s, g), x, grid)
	}
	grid = grid.Cast(x.DType())
	weights := func(d *sinter.Tensor) []*sinter.Tensor { // of the neighbours -1 to 2, d above neighbour 0
		const a = -0.75
		near := func(d *sinter.Tensor) *sinter.Tensor { // up to 1
			return d.Mul(a + 2).Sub(a + 3).Mul(d).Mul(d).Add(1)
		}
		far := func(d *sinter.Tensor) *sinter.Tensor { // from 1 to 2
			return d.Mul(a).Sub(5 * a).Mul(d).Add(8 * a).Mul(d).Sub(4 * a)
		}
		e := d.Neg().Add(1)
		return []*sinter.Tensor{far(d.Add(1)), near(d), near(e), far(e.Add(1))}
	}
	var cells, insides, shares [2][]*sinter.Tensor
	for a := range 2 { // rows, columns
		n := s[2+a]
		at := grid.At(3, 1-a).Add(1)
		if o.AlignCorners {
			at = at.Mul(float64(n-1) / 2)
		} else {
			at = at.Mul(float64(n) / 2).Sub(0.5)
		}
		below := at.Floor()
		shares[a] = weights(at.Sub(below))
		for k := -1; k <= 2; k++ {
			i := below.Add(k)
			switch o.Padding {
			case fn.PadBorder:
			case fn.PadReflect:
				i = reflected(i, n, o.AlignCorners)
			default:
				insides[a] = append(insides[a], i.Ge(0).And(i.Le(n-1)))
			}
			cells[a] = append(cells[a], i.Maximum(0).Minimum(n-1).Cast(sinter.I64))
		}
	}
	flat := x.Reshape(s[0], s[1], s[2]*s[3])
	points := g[1] * g[2]
	var sum *sinter.Tensor
	for r := range 4 {
		var row *sinter.Tensor
		for k := range 4 {
			index := cells[0][r].Mul(s[3]).Add(cells[1][k]).Reshape(s[0], 1, points)
			v := flat.TakeAlong(2, index).Reshape(s[0], s[1], g[1], g[2])
			if insides[0] != nil {
				v = sinter.Where(insides[0][r].And(insides[1][k]).Unsqueeze(1), v, 0)
			}
			v = v.Mul(shares[1][k].Unsqueeze(1))
			if row == nil {
				row = v
			} else {
				row = row.Add(v)
			}
		}
		row = row.Mul(shares[0][r].Unsqueeze(1))
		if sum == nil {
			sum = row
		} else {
			sum = sum.Add(row)
		}
	}
	return sum, nil
}

// reflected folds positions back into an axis of n elements, at the centres of
// the outer elements or at their borders.
func reflected(i *sinter.Tensor, n int, corners bool) *sinter.Tensor {
	low, span := -0.5, float64(n)
	if corners {
		low, span = 0, float64(n-1)
	}
	if span == 0 {
		return i.Mul(0)
	}
	d := i.Sub(low).Mod(2 * span)
	return d.Minimum(d.Neg().Add(2 * span)).Add(low)
}

// affineGridOp maps the points of an image by a matrix for each.
func affineGridOp(c *Call) error {
	size, err := c.HostInts(1)
	if err != nil {
		return err
	}
	theta := c.In(0)
	n := len(size) - 2
	if s := c.Shape(0); (n != 2 && n != 3) || len(s) != 3 || s[0] != size[0] || s[1] != n || s[2] != n+1 {
		return fmt.Errorf("matrices of shape %v for the size %v", s, size)
	}
	space := size[2:]
	var coords []*sinter.Tensor // of the last axis first, then 1
	for a := n - 1; a >= 0; a-- {
		d := space[a]
		if d < 1 || hostRoom(d) != nil {
			return fmt.Errorf("the size is %v", size)
		}
		at := make([]float64, d)
		for i := range at {
			if c.Bool("align_corners") {
				if d > 1 {
					at[i] = -1 + 2*float64(i)/float64(d-1)
				} else {
					at[i] = -1
				}
			} else {
				at[i] = (2*float64(i)+1)/float64(d) - 1
			}
		}
		t := c.HostTensor(&Host{Elem: Double, Shape: []int{d}, Floats: at}).Cast(theta.DType())
		coords = append(coords, alongAxis(t, a, n).Expand(space...).Flatten())
	}
	coords = append(coords, c.Full(1, theta.DType(), product(space)))
	points := sinter.Stack(1, coords...) // [points, n+1]
	y := points.Unsqueeze(0).MatMul(theta.Transpose())
	c.Set(0, y.Reshape(append(append([]int{size[0]}, space...), n)...))
	return nil
}

// nonMaxSuppressionOp picks boxes by score that overlap none picked before. What
// it picks depends on the data in each step, so it runs on the host.
func nonMaxSuppressionOp(c *Call) error {
	bs, ss := c.Shape(0), c.Shape(1)
	if len(bs) != 3 || bs[2] != 4 || len(ss) != 3 || ss[0] != bs[0] || ss[2] != bs[1] {
		return fmt.Errorf("boxes of shape %v with scores of shape %v", bs, ss)
	}
	boxes, err := c.HostFloats(0)
	if err != nil {
		return err
	}
	scores, err := c.HostFloats(1)
	if err != nil {
		return err
	}
	most, overlap, least := 0, 0.0, math.Inf(-1)
	if c.Has(2) {
		if most, err = c.HostInt(2); err != nil {
			return err
		}
	}
	if c.Has(3) {
		if overlap, err = c.HostFloat(3); err != nil {
			return err
		}
	}
	if c.Has(4) {
		if least, err = c.HostFloat(4); err != nil {
			return err
		}
	}
	centred := c.Bool("center_point_box")
	n := bs[1]
	var out []int64
	for b := range bs[0] {
		corner := make([][4]float64, n) // the lesser corner, then the greater
		for i := range corner {
			v := boxes[(b*n+i)*4:]
			if centred {
				corner[i] = [4]float64{v[0] - v[2]/2, v[1] - v[3]/2, v[0] + v[2]/2, v[1] + v[3]/2}
			} else {
				corner[i] = [4]float64{min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]), max(v[1], v[3])}
			}
		}
		for class := range ss[1] {
			if err := c.Context().Err(); err != nil {
				return err
			}
			score := scores[(b*ss[1]+class)*n:][:n]
			var order []int
			for i, s := range score {
				if s > least {
					order = append(order, i)
				}
			}
			sort.SliceStable(order, func(i, j int) bool { return score[order[i]] > score[order[j]] })
			var picked []int
			for _, i := range order {
				if len(picked) >= most {
					break
				}
				free := true
				for _, j := range picked {
					free = free && shared(corner[i], corner[j]) <= overlap
				}
				if free {
					picked = append(picked, i)
					out = append(out, int64(b), int64(class), int64(i))
				}
			}
		}
	}
	c.SetValue(0, ArrayValue(Int64, (&Host{Elem: Int64, Shape: []int{len(out) / 3, 3}, Ints: out}).array()))
	return nil
}

// shared is the area that two boxes share, over that which they cover.
func shared(a, b [4]float64) float64 {
	area := func(v [4]float64) float64 { return (v[2] - v[0]) * (v[3] - v[1]) }
	h, w := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	if h <= 0 || w <= 0 || area(a) <= 0 || area(b) <= 0 {
		return 0
	}
	return h * w / (area(a) + area(b) - h*w)
}
