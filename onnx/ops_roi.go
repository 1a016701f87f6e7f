package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
)

func roiAttrs(more ...attrSpec) []attrSpec {
	return append([]attrSpec{strAttr("mode", "avg"), intAttr("output_height", 1), intAttr("output_width", 1),
		intAttr("sampling_ratio", 0), floatAttr("spatial_scale", 1)}, more...)
}

var _ = register(
	opDef{name: "RoiAlign", since: 10, in: three, out: one, run: roiAlignOp, attrs: roiAttrs()},
	opDef{name: "RoiAlign", since: 16, in: three, out: one, run: roiAlignOp, attrs: roiAttrs(strAttr("coordinate_transformation_mode", "half_pixel"))},
)

// regions are regions of interest with the same number of sampling points.
type regions struct {
	which []int // of the regions
	image []int64
	rows  samples
	cols  samples
}

// samples are positions along one axis: two neighbours with their weights, for
// each region and position.
type samples struct {
	n      int // positions of a region
	index  [2][]int64
	weight [2][]float64
}

// add appends the positions of one region.
func (s *samples) add(start, bin float64, bins, grid, extent int) {
	s.n = bins * grid
	for i := range bins {
		for j := range grid {
			v := start + float64(i)*bin + (float64(j)+0.5)*bin/float64(grid)
			out := v < -1 || v > float64(extent)
			v = max(v, 0)
			low := min(int(v), extent-1)
			high := min(low+1, extent-1)
			if low == extent-1 {
				v = float64(low)
			}
			share := v - float64(low)
			w := [2]float64{1 - share, share}
			if out {
				low, high, w = 0, 0, [2]float64{}
			}
			for k, at := range [2]int{low, high} {
				s.index[k] = append(s.index[k], int64(at))
				s.weight[k] = append(s.weight[k], w[k])
			}
		}
	}
}

func roiAlignOp(c *Call) error {
	s, r := c.Shape(0), c.Shape(1)
	height, width := c.Int("output_height"), c.Int("output_width")
	if len(s) != 4 || len(r) != 2 || r[1] != 4 || height < 1 || width < 1 || s[2] < 1 || s[3] < 1 {
		return fmt.Errorf("regions of shape %v of images of shape %v, to %d by %d", r, s, height, width)
	}
	rois, err := c.HostFloats(1)
	if err != nil {
		return err
	}
	images, err := c.HostInts(2)
	if err != nil {
		return err
	}
	if len(images) != r[0] {
		return fmt.Errorf("%d image indices for %d regions", len(images), r[0])
	}
	scale, ratio := c.Float("spatial_scale"), c.Int("sampling_ratio")
	half := 0.0
	switch m := c.Str("coordinate_transformation_mode"); m {
	case "half_pixel":
		half = 0.5
	case "", "output_half_pixel":
	default:
		return fmt.Errorf("the attribute coordinate_transformation_mode is %q", m)
	}
	greatest := false
	switch m := c.Str("mode"); m {
	case "avg":
	case "max":
		greatest = true
	default:
		return fmt.Errorf("the attribute mode is %q", m)
	}
	groups := map[[2]int]*regions{}
	var order [][2]int
	for i := range r[0] {
		if images[i] < 0 || images[i] >= s[0] {
			return fmt.Errorf("region %d is of image %d of %d", i, images[i], s[0])
		}
		v := rois[4*i:]
		x, y := v[0]*scale-half, v[1]*scale-half
		w, h := v[2]*scale-half-x, v[3]*scale-half-y
		if half == 0 {
			w, h = max(w, 1), max(h, 1)
		}
		grid := [2]int{ratio, ratio}
		if ratio <= 0 {
			grid = [2]int{max(int(math.Ceil(h/float64(height))), 0), max(int(math.Ceil(w/float64(width))), 0)}
		}
		if err := hostRoom(r[0], grid[0], height); err != nil {
			return fmt.Errorf("region %d, %v: %w", i, v[:4], err)
		}
		if err := hostRoom(r[0], grid[1], width); err != nil {
			return fmt.Errorf("region %d, %v: %w", i, v[:4], err)
		}
		g := groups[grid]
		if g == nil {
			g = &regions{}
			groups[grid], order = g, append(order, grid)
		}
		g.which, g.image = append(g.which, i), append(g.image, int64(images[i]))
		g.rows.add(y, h/float64(height), height, grid[0], s[2])
		g.cols.add(x, w/float64(width), width, grid[1], s[3])
	}
	back := make([]int64, r[0]) // where each region is among the groups
	var parts []*sinter.Tensor
	done := 0
	for _, grid := range order {
		if err := hostRoom(r[0], grid[0], height); err != nil {
			return err
		}
		if err := hostRoom(r[0], grid[1], width); err != nil {
			return err
		}
		g := groups[grid]
		for k, i := range g.which {
			back[i] = int64(done + k)
		}
		done += len(g.which)
		parts = append(parts, c.alignRegions(g, grid, height, width, greatest))
	}
	if len(parts) == 0 {
		c.Set(0, c.Full(0, c.In(0).DType(), 0, s[1], height, width))
		return nil
	}
	y := parts[0]
	if len(parts) > 1 {
		y = sinter.Concat(0, parts...).Gather(0, c.HostTensor(&Host{Elem: Int64, Shape: []int{len(back)}, Ints: back}))
	}
	c.Set(0, y)
	return nil
}

// alignRegions samples the images at the points of regions, and takes the mean of
// those of a cell, or the greatest of their weighted neighbours.
func (c *Call) alignRegions(g *regions, grid [2]int, height, width int, greatest bool) *sinter.Tensor {
	x := c.In(0)
	n := len(g.which)
	channels := x.Dim(1)
	if grid[0] == 0 || grid[1] == 0 {
		return c.Full(0, x.DType(), n, channels, height, width)
	}
	x = x.Gather(0, c.HostTensor(&Host{Elem: Int64, Shape: []int{n}, Ints: g.image}))
	part := func(s *samples, k int, shape ...int) (index, weight *sinter.Tensor) {
		index = c.HostTensor(&Host{Elem: Int64, Shape: shape, Ints: s.index[k]})
		return index, c.HostTensor(&Host{Elem: Double, Shape: shape, Floats: s.weight[k]}).Cast(x.DType())
	}
	over := sinter.Over(3, 5)
	cells := []int{n, channels, height, grid[0], width, grid[1]}
	var all *sinter.Tensor
	for i := range 2 {
		row, byRow := part(&g.rows, i, n, 1, g.rows.n, 1)
		line := x.TakeAlong(2, row).Mul(byRow)
		for j := range 2 {
			col, byCol := part(&g.cols, j, n, 1, 1, g.cols.n)
			v := line.TakeAlong(3, col).Mul(byCol)
			switch {
			case all == nil:
				all = v
			case greatest:
				all = all.Maximum(v)
			default:
				all = all.Add(v)
			}
		}
	}
	if all = all.Reshape(cells...); greatest {
		return all.Max(over)
	}
	return all.Mean(over)
}
