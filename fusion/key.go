package fusion

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// keyBuffer describes an instance in two parts. The path is its structure:
// operations, which feeds which, dtypes, ranks, the class of each extent of a
// leaf and the way leaves lie in their bases. The dims are everything else that
// decides what is launched, but for values: extents, strides and offsets of
// leaves, sizes among attributes. Plans are found by path; a plan is bound to
// dims. Relations between dims are no part of the path: a plan that relies on one
// says so when it is bound to dims that break it ([Planner.Rebind]).
type keyBuffer struct {
	path []uint32
	dims []int64

	// Of the leaves: the first one that shows the base of each, and how many show it.
	shown  []int32
	shares []int32
	slots  []int32
}

// The classes of an extent.
const (
	dimZero = iota
	dimOne
	dimWhole // a multiple of 16
	dimOther
)

func dimClass(n int) uint32 {
	switch {
	case n == 0:
		return dimZero
	case n == 1:
		return dimOne
	case n%16 == 0:
		return dimWhole
	}
	return dimOther
}

// The classes of a stride.
func strideClass(n int64) uint32 {
	switch {
	case n == 0:
		return 0
	case n == 1:
		return 1
	case n > 0:
		return 2
	}
	return 3
}

// fill describes an instance.
func (k *keyBuffer) fill(in *instance) {
	k.share(in)
	k.path, k.dims = k.path[:0], k.dims[:0]
	k.path = append(k.path, uint32(len(in.leaves)))
	for i := range in.leaves {
		l := &in.leaves[i]
		head := uint32(l.typ.DType) | uint32(len(l.typ.Shape))<<8
		placed := len(l.st.layout.Strides) > 0 || l.st.layout.Offset != 0 // a scalar has no strides
		if placed {
			head |= 1 << 12
		}
		head |= uint32(k.shown[i]) << 14
		var classes uint32
		for j, d := range l.typ.Shape {
			classes |= dimClass(d) << (2 * j)
			k.dims = append(k.dims, int64(d))
		}
		if placed {
			k.dims = append(k.dims, l.st.layout.Offset)
			for j, st := range l.st.layout.Strides {
				classes |= strideClass(st) << (16 + 2*j)
				k.dims = append(k.dims, st)
			}
		}
		k.path = append(k.path, head, classes)
	}
	for i := range in.recs {
		r := &in.recs[i]
		k.path = append(k.path, r.op.id)
		for _, ref := range r.in {
			k.path = append(k.path, uint32(ref))
		}
		if len(r.in) > 3 || r.op.Row.Variadic {
			k.path = append(k.path, uint32(len(r.in)))
		}
		for _, a := range r.op.sizes {
			k.dims = append(k.dims, int64(len(r.attrs[a].List)))
			k.dims = append(k.dims, r.attrs[a].List...)
		}
	}
}

// share finds out which leaves show the same bases.
func (k *keyBuffer) share(in *instance) {
	n := len(in.leaves)
	size := 1 << bits.Len(uint(2*n))
	k.slots = slices.Grow(k.slots[:0], size)[:size] // 1 + the number of a leaf
	clear(k.slots)
	k.shown = slices.Grow(k.shown[:0], n)[:n]
	k.shares = slices.Grow(k.shares[:0], n)[:n]
	clear(k.shares)
	for i := range in.leaves {
		b := in.leaves[i].st.base
		at := 0
		if b != nil { // nil if it failed
			at = int(uint64(b.id)*0x9e3779b97f4a7c15>>32) & (size - 1)
		}
		for k.slots[at] != 0 && in.leaves[k.slots[at]-1].st.base != b {
			at = (at + 1) & (size - 1)
		}
		if k.slots[at] == 0 {
			k.slots[at] = int32(i) + 1
		}
		first := k.slots[at] - 1
		k.shown[i] = first
		k.shares[first]++
	}
}

// holds returns how many references the leaves hold to the base of one.
func (k *keyBuffer) holds(leaf int) int32 { return k.shares[k.shown[leaf]] }

// baseOf returns the first leaf that shows the same base as leaf i.
func (in *instance) baseOf(i int) int {
	b := in.leaves[i].st.base
	return slices.IndexFunc(in.leaves[:i+1], func(l leaf) bool { return l.st.base == b })
}

var seed = maphash.MakeSeed()

func hashPath(path []uint32) uint64 {
	return maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(path))), 4*len(path)))
}

// segment makes what the planner plans.
func (in *instance) segment(dies []bool, keep []bool, cut Cut) *Segment {
	s := &Segment{Dies: dies, Cut: cut}
	results := ir.ID(len(in.leaves)) + 1
	for i := range in.leaves {
		s.Inputs = append(s.Inputs, in.tensor(^int32(i)))
		s.Layouts = append(s.Layouts, in.leaves[i].st.layout)
		s.Bases = append(s.Bases, ir.ID(in.baseOf(i)+1))
	}
	for i := range in.recs {
		s.Nodes = append(s.Nodes, in.recs[i].node(in.tensor))
	}
	kept := append([]bool(nil), keep...)
	s.Keep = func(id ir.ID) bool { return id >= results && kept[id-results] }
	return s
}
