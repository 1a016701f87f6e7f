package sinter

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// builtin is a built-in row with the uses of it that were recorded last: equal
// attributes are made once, and recording finds them without an allocation.
type builtin struct {
	row  *ir.Row
	bare *use // without attributes
	uses [16]atomic.Pointer[use]
}

// row finds a built-in row for recording. The names are those of the attributes
// that [builtin.with] gets, in the order of the row; anything else is a fault of
// this package and panics when it is initialised.
func row(name string, attrs ...string) *builtin {
	r := ir.Lookup(name)
	if r == nil {
		panic("sinter: BUG: there is no row " + name)
	}
	names := make([]string, len(r.Attrs))
	for i, a := range r.Attrs {
		names[i] = a.Name
	}
	if !slices.Equal(names, attrs) {
		panic(fmt.Sprintf("sinter: BUG: the attributes of %s are %q", name, names))
	}
	b := &builtin{row: r}
	if len(attrs) == 0 {
		b.bare = &use{row: r, op: fusion.OpOf(r, nil)}
	}
	return b
}

// with returns the use of the row with attributes.
func (b *builtin) with(attrs ...ir.Attr) *use {
	h := uint64(len(attrs))
	mix := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15 }
	for i := range attrs {
		a := &attrs[i]
		mix(uint64(a.Int) ^ a.Bits)
		for _, v := range a.List {
			mix(uint64(v))
		}
	}
	slot := &b.uses[h>>60]
	if u := slot.Load(); u != nil && u.has(attrs) {
		return u
	}
	u := &use{row: b.row, attrs: make(ir.Attrs, len(attrs))}
	for i := range attrs {
		a := &attrs[i]
		u.attrs[i] = ir.Attr{Kind: a.Kind, Int: a.Int, Bits: a.Bits, List: append([]int64(nil), a.List...)}
	}
	u.op = fusion.OpOf(b.row, u.attrs)
	slot.Store(u)
	return u
}

func (u *use) has(attrs []ir.Attr) bool {
	for i := range attrs {
		if !attrs[i].Equal(u.attrs[i]) {
			return false
		}
	}
	return true
}

// intList is room for the integers of an attribute on the caller's stack.
type intList [8]int64

func (l *intList) of(v []int) ir.Attr {
	list := l[:0]
	for _, x := range v {
		list = append(list, int64(x))
	}
	return ir.Attr{Kind: ir.AttrInts, List: list}
}

func intAttr(v int) ir.Attr { return ir.Attr{Kind: ir.AttrInt, Int: int64(v)} }

func floatAttr(v float64) ir.Attr { return ir.Attr{Kind: ir.AttrFloat, Bits: math.Float64bits(v)} }

func dtypeAttr(d DType) ir.Attr { return ir.Attr{Kind: ir.AttrDType, Int: int64(d)} }

func boolAttr(v bool) ir.Attr {
	a := ir.Attr{Kind: ir.AttrBool}
	if v {
		a.Int = 1
	}
	return a
}

// unary, binary and ternary record a use with one result.
func (u *use) unary(x *Tensor) *Tensor {
	in, out := [1]*Tensor{x}, [1]*Tensor{}
	u.on(nil, in[:], out[:])
	return out[0]
}

func (u *use) binary(x, z *Tensor) *Tensor {
	in, out := [2]*Tensor{x, z}, [1]*Tensor{}
	u.on(nil, in[:], out[:])
	return out[0]
}

func (u *use) ternary(x, y, z *Tensor) *Tensor {
	in, out := [3]*Tensor{x, y, z}, [1]*Tensor{}
	u.on(nil, in[:], out[:])
	return out[0]
}

// several records a use with one result of any number of operands.
func (u *use) several(in []*Tensor) *Tensor {
	out := [1]*Tensor{}
	u.on(nil, in, out[:])
	return out[0]
}

// fresh records a use without operands.
func (u *use) fresh(s *Stream) *Tensor {
	out := [1]*Tensor{}
	u.on(s, nil, out[:])
	return out[0]
}
