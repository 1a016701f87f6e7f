package ir

import (
	"math"
	"strconv"
	"strings"
)

// Limits of a tensor. They bound what hostile programs and files can ask for.
const (
	MaxRank     = 8
	MaxElements = math.MaxInt / 16 // so that byte counts of any dtype fit in an int
)

// Shape is the list of extents of a tensor; a scalar has none.
type Shape []int

// String returns the shape as in "[2,3]".
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(d))
	}
	b.WriteByte(']')
	return b.String()
}

// Size returns the number of elements; 1 for a scalar.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Equal reports whether two shapes are the same.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// Clone returns a copy that shares nothing with s.
func (s Shape) Clone() Shape { return append(Shape{}, s...) }

// Check returns an error if the shape has a negative extent, too many axes or
// too many elements.
func (s Shape) Check() error {
	if len(s) > MaxRank {
		return Errorf(ErrShape, "shape %v has %d axes, at most %d are supported", s, len(s), MaxRank)
	}
	n := int64(1)
	for _, d := range s {
		if d < 0 {
			return Errorf(ErrShape, "shape %v has a negative extent", s)
		}
		if d == 0 {
			continue // the size is 0, but the other extents are bounded all the same
		}
		if n > MaxElements/int64(d) {
			return Errorf(ErrShape, "shape %v has too many elements", s)
		}
		n *= int64(d)
	}
	return nil
}

// Strides returns the row-major strides of a contiguous tensor, in elements.
func (s Shape) Strides() []int64 {
	st := make([]int64, len(s))
	n := int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= int64(max(s[i], 1))
	}
	return st
}

// extent converts an attribute to an extent; what an int cannot hold becomes
// one that Check refuses.
func extent(d int64) int {
	if int64(int(d)) != d {
		return math.MaxInt
	}
	return int(d)
}

// Type is what is known of a tensor before it is computed.
type Type struct {
	DType DType
	Shape Shape
}

// String returns the type as in "f32[2,3]".
func (t Type) String() string { return t.DType.String() + t.Shape.String() }

// Equal reports whether two types are the same.
func (t Type) Equal(u Type) bool { return t.DType == u.DType && t.Shape.Equal(u.Shape) }

// Bytes returns the bytes of a contiguous tensor of the type.
func (t Type) Bytes() int64 { return int64(t.Shape.Size()) * int64(t.DType.Size()) }

// Check returns an error if the type is not one a tensor can have.
func (t Type) Check() error {
	if !t.DType.Valid() {
		return Errorf(ErrDType, "%s is not a dtype", t.DType)
	}
	return t.Shape.Check()
}

// Axis normalises a possibly negative axis of a tensor of the given rank.
func Axis(axis, rank int) (int, error) {
	a := axis
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		return 0, Errorf(ErrShape, "axis %d is out of range for rank %d", axis, rank)
	}
	return a, nil
}

// Axes normalises a list of axes: negative ones count from the end, an empty
// list means all, duplicates are an error. The result is ascending.
func Axes(axes []int64, rank int) ([]int, error) {
	var set [MaxRank]bool
	if len(axes) == 0 {
		for i := 0; i < rank; i++ {
			set[i] = true
		}
	}
	for _, x := range axes {
		a, err := Axis(extent(x), rank)
		if err != nil {
			return nil, err
		}
		if set[a] {
			return nil, Errorf(ErrShape, "axis %d is named twice in %v", x, axes)
		}
		set[a] = true
	}
	out := make([]int, 0, rank)
	for i := 0; i < rank; i++ {
		if set[i] {
			out = append(out, i)
		}
	}
	return out, nil
}

// Broadcast returns the shape to which all the given shapes broadcast by
// numpy's rule: aligned at the last axis, an extent of 1 stretches.
func Broadcast(shapes ...Shape) (Shape, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make(Shape, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		off := rank - len(s)
		for i, d := range s {
			switch cur := out[off+i]; {
			case d == cur || d == 1:
			case cur == 1:
				out[off+i] = d
			default:
				list := make([]string, len(shapes))
				for j, t := range shapes {
					list[j] = t.String()
				}
				return nil, Errorf(ErrShape, "shapes %s do not broadcast: axis %d has extents %d and %d",
					strings.Join(list, " and "), off+i-rank, cur, d)
			}
		}
	}
	return out, nil
}
