package onnx

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"sort"

	"github.com/sinter-go/sinter"
)

// Operators whose shapes depend on data: they wait for the device.

var _ = register(
	opDef{name: "NonZero", since: 9, in: one, out: one, run: func(c *Call) error {
		x := c.In(0)
		if x.Rank() == 0 {
			x = x.Unsqueeze(0)
		}
		y, err := x.NonZero(c.Context())
		if err != nil {
			return err
		}
		c.Set(0, y.Permute(1, 0))
		return nil
	}},
	opDef{name: "Compress", since: 9, in: two, out: one, keeps: true, attrs: []attrSpec{plainAttr("axis", AttrInt)}, run: compressOp},
	opDef{name: "Unique", since: 11, in: one, out: arity{1, 4}, attrs: []attrSpec{plainAttr("axis", AttrInt), intAttr("sorted", 1)}, run: uniqueOp},
)

func compressOp(c *Call) error {
	cond, err := c.Host(1)
	if err != nil {
		return err
	}
	x, axis := c.In(0), 0
	if c.HasAttr("axis") {
		if axis, err = c.AxisAttr(0); err != nil {
			return err
		}
	} else {
		x = x.Flatten()
	}
	if cond.Elem != Bool || len(cond.Shape) != 1 || x.Rank() == 0 || len(cond.Ints) > x.Dim(axis) {
		return fmt.Errorf("a condition of %s%v for the extents %v", cond.Elem, cond.Shape, x.Shape())
	}
	keep := []int{}
	for i, v := range cond.Ints {
		if v != 0 {
			keep = append(keep, i)
		}
	}
	c.Set(0, x.Gather(axis, c.HostTensor(HostInts(keep...))))
	return nil
}

// uniqueOp finds the distinct slices along an axis, or the distinct elements.
func uniqueOp(c *Call) error {
	shape := append([]int{}, c.Shape(0)...)
	x := c.In(0)
	axis := -1
	if c.HasAttr("axis") {
		var err error
		if axis, err = c.AxisAttr(0); err != nil {
			return err
		}
		order := []int{axis}
		for a := range shape {
			if a != axis {
				order = append(order, a)
			}
		}
		x = x.Permute(order...)
	} else {
		x = x.Flatten()
	}
	as, err := sinter.Read(c.Context(), x)
	if err != nil {
		return err
	}
	a := as[0]
	n := a.Shape[0]
	width := 0
	if n > 0 {
		width = len(a.Bytes) / n
	}
	slice := func(i int) []byte { return a.Bytes[i*width : (i+1)*width] }
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	less := byElements(a)
	sort.SliceStable(order, func(i, j int) bool { return less(order[i], order[j]) < 0 })
	// Groups of equal slices, each by the first of its members.
	group := make([]int, n)
	var first []int
	for k, i := range order {
		if k == 0 || less(order[k-1], i) != 0 {
			first = append(first, i)
		}
		group[i] = len(first) - 1
	}
	if !c.Bool("sorted") {
		by := make([]int, len(first))
		for i := range by {
			by[i] = i
		}
		sort.Slice(by, func(i, j int) bool { return first[by[i]] < first[by[j]] })
		rank, sorted := make([]int, len(by)), make([]int, len(by))
		for i, g := range by {
			rank[g], sorted[i] = i, first[g]
		}
		for i := range group {
			group[i] = rank[group[i]]
		}
		first = sorted
	}
	counts := make([]int, len(first))
	for _, g := range group {
		counts[g]++
	}
	var out bytes.Buffer
	for _, i := range first {
		out.Write(slice(i))
	}
	yShape := append([]int{len(first)}, a.Shape[1:]...)
	y := c.ArrayTensor(sinter.Array{DType: a.DType, Shape: yShape, Bytes: out.Bytes()})
	if axis > 0 {
		y = y.MoveAxis(0, axis)
	}
	c.Set(0, y)
	for i, v := range [][]int{first, group, counts} {
		if c.Wants(i + 1) {
			c.SetHost(i+1, HostInts(v...))
		}
	}
	return nil
}

// byElements compares slices along the first axis of an array, element by
// element; NaN is greatest.
func byElements(a sinter.Array) func(i, j int) int {
	h := hostOf(ElemOf(a.DType), a)
	n := 1
	if a.Shape[0] > 0 {
		n = h.Size() / a.Shape[0]
	}
	return func(i, j int) int {
		for k := range n {
			c := 0
			switch {
			case h.IsFloat():
				x, y := h.Floats[i*n+k], h.Floats[j*n+k]
				if math.IsNaN(x) || math.IsNaN(y) {
					c = int(flag(math.IsNaN(x)) - flag(math.IsNaN(y)))
				} else {
					c = cmp.Compare(x, y)
				}
			case h.Elem == Uint64:
				c = cmp.Compare(uint64(h.Ints[i*n+k]), uint64(h.Ints[j*n+k]))
			default:
				c = cmp.Compare(h.Ints[i*n+k], h.Ints[j*n+k])
			}
			if c != 0 {
				return c
			}
		}
		return 0
	}
}
