package sinter

import (
	"github.com/sinter-go/sinter/ir"
)

// SwapAxes exchanges two axes.
func (t *Tensor) SwapAxes(a, b int) *Tensor {
	axes := upTo(t.Rank())
	x, err := ir.Axis(a, len(axes))
	if err != nil {
		return t.raise("swap_axes", err)
	}
	y, err := ir.Axis(b, len(axes))
	if err != nil {
		return t.raise("swap_axes", err)
	}
	axes[x], axes[y] = y, x
	return t.Permute(axes...)
}

// MoveAxis makes axis from the axis to of the result; the others keep their order.
func (t *Tensor) MoveAxis(from, to int) *Tensor {
	axes := upTo(t.Rank())
	x, err := ir.Axis(from, len(axes))
	if err != nil {
		return t.raise("move_axis", err)
	}
	y, err := ir.Axis(to, len(axes))
	if err != nil {
		return t.raise("move_axis", err)
	}
	axes = append(axes[:x], axes[x+1:]...)
	axes = append(axes[:y], append([]int{x}, axes[y:]...)...)
	return t.Permute(axes...)
}

// upTo is 0, 1, ..., n-1.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Flip reverses the elements along the given axes, or along all.
func (t *Tensor) Flip(axes ...int) *Tensor {
	set, err := axisSet(axes, t.Rank())
	if err != nil {
		return t.raise("flip", err)
	}
	ranges := make([]Range, len(set))
	for i := range ranges {
		if ranges[i] = All(); set[i] || len(axes) == 0 {
			ranges[i] = All().By(-1)
		}
	}
	return t.Slice(ranges...)
}

// along is ranges that take a part of one axis and all of those before it.
func along(axis int, r Range) []Range {
	ranges := make([]Range, axis+1)
	for i := range ranges {
		ranges[i] = All()
	}
	ranges[axis] = r
	return ranges
}

// Roll moves the elements along an axis by shift positions, those beyond its end
// to its beginning.
func (t *Tensor) Roll(axis, shift int) *Tensor {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return t.raise("roll", err)
	}
	n := t.shape()[a]
	if n == 0 || shift%n == 0 {
		return t.Slice()
	}
	cut := (n - shift%n) % n
	return Concat(a, t.Slice(along(a, From(cut))...), t.Slice(along(a, Until(cut))...))
}

// Tile repeats the whole tensor: counts[i] times along axis i. Of counts and
// axes the shorter list is extended with ones in front, as numpy does.
func (t *Tensor) Tile(counts ...int) *Tensor {
	y := t
	if n := len(counts) - t.Rank(); n > 0 {
		y = t.Unsqueeze(upTo(n)...)
	}
	off := y.Rank() - len(counts)
	shape := ir.Shape(y.Shape())
	for i, n := range counts { // the whole is checked before a part is made
		if off < 0 || n < 0 || n > ir.MaxElements/max(shape[off+i], 1) {
			return t.raise("tile", ir.Errorf(ir.ErrArgument, "counts %v do not apply to shape %v", counts, t.shape()))
		}
		shape[off+i] *= n
	}
	if err := shape.Check(); err != nil {
		return t.raise("tile", err)
	}
	for i, n := range counts {
		y = y.repeated("tile", off+i, n, false)
	}
	return y
}

// Repeat repeats each element count times along an axis.
func (t *Tensor) Repeat(axis, count int) *Tensor {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return t.raise("repeat", err)
	}
	return t.repeated("repeat", a, count, true)
}

// repeated repeats the elements of an axis one by one, or the axis as a whole.
func (t *Tensor) repeated(op string, axis, count int, each bool) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	if n := t.typ().Shape[axis]; count < 0 || count > ir.MaxElements/max(n, 1) {
		return t.raise(op, ir.Errorf(ir.ErrArgument, "the count of axis %d, of extent %d, is %d, expected at least 0 and a result within the limits of a tensor", axis, n, count))
	}
	if count == 1 {
		return t
	}
	s := ir.Shape(t.shape())
	outer, inner := s[:axis].Size(), s[axis+1:].Size()
	if each {
		outer *= s[axis]
	} else {
		inner *= s[axis]
	}
	wide := t.Reshape(outer, 1, inner).Expand(outer, count, inner)
	shape := s.Clone()
	shape[axis] *= count
	return wide.Reshape(shape...)
}

// BroadcastTensors expands tensors to the shape that they broadcast to.
func BroadcastTensors(ts ...*Tensor) []*Tensor {
	out := make([]*Tensor, len(ts))
	shapes := make([]ir.Shape, len(ts))
	var err error
	for i, t := range ts {
		if shapes[i] = t.shape(); err == nil && t.failure() != nil {
			err = t.failure()
		}
	}
	var shape ir.Shape
	if err == nil {
		shape, err = ir.Broadcast(shapes...)
	}
	for i, t := range ts {
		if err != nil {
			out[i] = t.raise("broadcast", err)
			continue
		}
		out[i] = t.Expand(shape...)
	}
	return out
}

// MeshGrid makes one tensor per axis of a grid: tensor i holds, at each point,
// the element of ts[i] that belongs to the index on axis i (the indexing "ij" of
// numpy; swap the first two axes for "xy"). The operands have one axis.
func MeshGrid(ts ...*Tensor) []*Tensor {
	wide := make([]*Tensor, len(ts))
	for i, t := range ts {
		if t.failure() == nil && t.Rank() != 1 {
			wide[i] = t.argument("mesh_grid", "operand %d has shape %v, expected one axis", i, t.shape())
			continue
		}
		axes := upTo(len(ts))
		wide[i] = t.Unsqueeze(append(axes[:i], axes[i+1:]...)...)
	}
	return BroadcastTensors(wide...)
}

// Split cuts a tensor along an axis into pieces of the given extents, which add
// up to that of the axis. On an error every piece carries it.
func (t *Tensor) Split(axis int, sizes ...int) []*Tensor {
	out := make([]*Tensor, len(sizes))
	fail := func(err error) []*Tensor {
		for i := range out {
			out[i] = t.raise("split", err)
		}
		return out
	}
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return fail(err)
	}
	n := t.shape()[a]
	left := n
	for _, s := range sizes {
		if s < 0 || s > left {
			left = -1
			break
		}
		left -= s
	}
	if left != 0 {
		return fail(ir.Errorf(ir.ErrShape, "pieces of %v do not make up axis %d of %v, which has extent %d", sizes, a, t.shape(), n))
	}
	at := 0
	for i, s := range sizes {
		out[i] = t.Slice(along(a, Span(at, at+s))...)
		at += s
	}
	return out
}

// maxPieces bounds the tensors that one call makes.
const maxPieces = 1 << 20

// Chunk cuts a tensor along an axis into n pieces of nearly equal extents: where
// n does not divide the axis, the first ones are longer by one.
func (t *Tensor) Chunk(axis, n int) []*Tensor {
	if n < 1 {
		return []*Tensor{t.raise("chunk", ir.Errorf(ir.ErrArgument, "%d pieces, expected at least 1", n))}
	}
	d := t.Dim(axis)
	if n > maxPieces {
		return []*Tensor{t.raise("chunk", ir.Errorf(ir.ErrArgument, "%d pieces of an axis of extent %d", n, d))}
	}
	sizes := make([]int, n)
	for i := range sizes {
		if sizes[i] = d / n; i < d%n {
			sizes[i]++
		}
	}
	return t.Split(axis, sizes...)
}

// Unstack takes a tensor apart along an axis, which goes: the inverse of [Stack].
// Of a tensor that carries an error there is one piece, which carries it too.
func (t *Tensor) Unstack(axis int) []*Tensor {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return []*Tensor{t.raise("unstack", err)}
	}
	if n := t.shape()[a]; n > maxPieces {
		return []*Tensor{t.raise("unstack", ir.Errorf(ir.ErrArgument, "%d pieces, expected at most %d", n, maxPieces))}
	}
	out := make([]*Tensor, t.shape()[a])
	for i := range out {
		out[i] = t.At(a, i)
	}
	return out
}
