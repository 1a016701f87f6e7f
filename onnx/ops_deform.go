package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

// deformConvOp is a convolution whose windows' elements are moved by offsets:
// they are interpolated into columns, which the weights are multiplied with.
func deformConvOp(c *Call) error {
	x, w := c.In(0), c.In(1)
	if x.Rank() != w.Rank() || x.Rank() < 3 {
		return firstError(fmt.Errorf("the operands have %d and %d axes", x.Rank(), w.Rank()), x, w)
	}
	sp := space(x)
	n := len(sp)
	p, err := c.windows(sp, space(w))
	if err != nil {
		return err
	}
	groups, moved := c.Int("group"), c.Int("offset_group")
	batch, channels, outs := x.Dim(0), x.Dim(1), w.Dim(0)
	if groups < 1 || moved < 1 || channels%groups != 0 || outs%groups != 0 || channels%moved != 0 || w.Dim(1) != channels/groups {
		return fmt.Errorf("%d channels to %d in %d groups, moved in %d groups, by weights of shape %v", channels, outs, groups, moved, w.Shape())
	}
	out := make([]int, n)
	taps, points := 1, 1
	for i, d := range sp {
		if err := hostRoom(taps, points, p.kernel[i]); err != nil {
			return err
		}
		if out[i] = (d+p.pad[i]+p.pad[n+i]-p.span(i))/p.stride[i] + 1; out[i] < 1 {
			return fmt.Errorf("the kernel %v does not fit into %v with padding %v", p.kernel, sp, p.pad)
		}
		taps, points = taps*p.kernel[i], points*out[i]
	}
	if err := hostRoom(taps, points); err != nil {
		return err
	}
	// Offsets [batch, groups, taps, axes of space, points].
	offset := c.In(2).Reshape(batch, moved, taps, n, points)
	at := make([]*sinter.Tensor, n) // coordinates [batch, groups, 1, taps·points]
	for a := range n {
		grid := append(append([]int{}, p.kernel...), out...)
		base := make([]int64, taps*points)
		for i := range base {
			k := i / product(grid[a+1:]) % grid[a]
			o := i / product(grid[n+a+1:]) % grid[n+a]
			base[i] = int64(o*p.stride[a] - p.pad[a] + k*p.dilation[a])
		}
		b := c.HostTensor(&Host{Elem: Int64, Shape: []int{taps, points}, Ints: base}).Cast(x.DType())
		at[a] = offset.At(3, a).Add(b).Reshape(batch, moved, 1, taps*points)
	}
	flat := x.Reshape(batch, moved, channels/moved, product(sp))
	cols := sampleLinear(flat, sp, at)
	if c.Has(4) {
		cols = cols.Mul(c.In(4).Reshape(batch, moved, 1, taps*points))
	}
	cols = cols.Reshape(batch, groups, channels/groups*taps, points)
	y := w.Reshape(1, groups, outs/groups, channels/groups*taps).MatMul(cols)
	c.Set(0, addChannels(y.Reshape(append([]int{batch, outs}, out...)...), c.InOpt(3)))
	return nil
}

// sampleLinear interpolates flat images [..., extents of space flattened] at
// points: for each axis of space coordinates [..., points]. Outside there are
// zeros.
func sampleLinear(flat *sinter.Tensor, space []int, at []*sinter.Tensor) *sinter.Tensor {
	floor := make([]*sinter.Tensor, len(at))
	for a, t := range at {
		floor[a] = t.Floor()
	}
	var sum *sinter.Tensor
	for corner := range 1 << len(at) {
		var index, weight, inside *sinter.Tensor
		for a, t := range at {
			part := t.Sub(floor[a])
			i := floor[a]
			if corner>>a&1 == 1 {
				i = i.Add(1)
			} else {
				part = part.Neg().Add(1)
			}
			in := i.Ge(0).And(i.Le(space[a] - 1))
			cell := i.Maximum(0).Minimum(space[a] - 1).Cast(sinter.I64)
			if index == nil {
				index, weight, inside = cell, part, in
			} else {
				index, weight, inside = index.Mul(space[a]).Add(cell), weight.Mul(part), inside.And(in)
			}
		}
		v := flat.TakeAlong(-1, index).Mul(sinter.Where(inside, weight, 0))
		if sum == nil {
			sum = v
		} else {
			sum = sum.Add(v)
		}
	}
	return sum
}
