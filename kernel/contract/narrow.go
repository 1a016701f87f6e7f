package contract

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/kernel/amd64"
)

// Bytes are multiplied as signed times unsigned ones. An operand of the other kind has
// its highest bit inverted: a' = a-128 are rows, b' = b+128 columns. With za and zb 128
// where that was done, else 0,
//
//	sum a*b = sum a'*b' + (za*sum b' - za*zb*K) - zb*sum a'
//
// so sums of rows and of columns are computed as they are packed, by the micro-kernels
// themselves, and products begin from them. All of it wraps.

// sumBytes is what the sum of a row takes: a vector of equal lanes.
const sumBytes = 64

// constants are operands of the micro-kernels that add up.
var constants struct {
	zeros  [14 * sumBytes]byte // also sums of nothing
	halves [64]byte            // 64, for columns
	tops   [64]byte            // 128, for rows
}

func init() {
	for i := range constants.halves {
		constants.halves[i], constants.tops[i] = 64, 128
	}
}

// sumRows writes 128 times the sum of rows [from, to) of the operand of a trip.
func (r *round) sumRows(trip, slot, from, to int64) {
	t, o := r.Code.tiles, &r.ops[0]
	a := o.base + uintptr(r.loopOffset(trip)) + uintptr(r.rows[0]*o.row)
	if o.mode != inPlace {
		a = uintptr(r.slot(0, slot))
	}
	zeros := uintptr(unsafe.Pointer(&constants.zeros))
	x := amd64.Tile{ARow: o.row, AStep: o.kstep, B: uintptr(unsafe.Pointer(&constants.tops)), CRow: sumBytes, K: r.lanes, Cols: t.Lanes, Plus: zeros, Minus: zeros}
	for m := from - r.rows[0]; m < to-r.rows[0]; m += int64(x.Rows) {
		x.Rows = int(min(int64(t.Rows), to-r.rows[0]-m))
		x.A = a + uintptr(m*o.row)
		x.C = r.sumsAt(slot) + uintptr(m*sumBytes)
		t.Run(&x)
	}
}

func (r *round) loopOffset(trip int64) int64 {
	o := &r.ops[0]
	if o.strides == nil {
		return 0
	}
	return r.loops.at(trip, o.strides) * o.size
}

// sumsAt is where the sums of rows of a packed operand are: last in its slot.
func (r *round) sumsAt(slot int64) uintptr {
	rows := (r.slotSize[0] - r.problem.slotBytes(0, 0)) / (r.problem.slotBytes(0, 1) - r.problem.slotBytes(0, 0))
	return uintptr(r.slot(0, slot)) + uintptr(r.slotSize[0]-rows*sumBytes)
}

// rowSums is where the sums of the rows of a trip are, 0 if there are none.
func (r *round) rowSums(trip int64) uintptr {
	if !r.sides[1].flip {
		return 0
	}
	return r.sumsAt(r.slots[0][trip-r.from])
}

// sumColumns writes, behind a packed strip, 128 times the sums of its columns, less what
// their inverted bits add for n elements of k.
func (r *round) sumColumns(strip unsafe.Pointer, cols, lanes, n int64) {
	t, o := r.Code.tiles, &r.ops[1]
	zeros := uintptr(unsafe.Pointer(&constants.zeros))
	at := unsafe.Add(strip, (lanes+int64(r.panels.Lanes))*o.kstep)
	x := amd64.Tile{A: uintptr(unsafe.Pointer(&constants.halves)), B: uintptr(strip), BStep: o.kstep, C: uintptr(at), K: lanes, Rows: 1, Cols: int(cols), Plus: zeros, Minus: zeros}
	t.Run(&x)
	less := int32(0)
	if r.sides[1].flip {
		less = int32(128 * 128 * n)
	}
	sums := unsafe.Slice((*int32)(at), cols)
	for i := range sums {
		sums[i] = 2*sums[i] - less
	}
}

// fold packs columns [from, to) of rows of narrow elements.
func (r *round) fold(dst unsafe.Pointer, base uintptr, from, to [2]int64) {
	o, flip := &r.ops[1], r.sides[1].flip
	base += uintptr(from[1] * r.per * o.ks)
	whole := min(to[1], r.k/r.per) - from[1] // lanes without filling
	cols := to[0] - from[0]
	x := amd64.Panel{DstRow: o.kstep, SrcRow: o.ks}
	one := false
	r.runs(from[0], to[0], o.strides, func(_, count int64) { one = count == cols })
	if one && cols*o.size%16 == 0 {
		x.Dst, x.Src, x.K, x.Bytes = uintptr(dst), base+uintptr(r.ranges[1].at(from[0], o.strides)*o.size), whole, cols*o.size
		r.panels.Fold(&x, int(r.per), flip)
	} else {
		whole = 0
	}
	// What is left goes through a buffer, lane by lane.
	row := int64(r.Code.tiles.Cols) * o.size
	part := takeBytes(int(row * r.per))
	rows := unsafe.Pointer(unsafe.SliceData(*part))
	for k := from[1] + whole; k < to[1]; k++ {
		fill := byte(0)
		if flip {
			fill = 0x80
		}
		for i := range *part {
			(*part)[i] = fill
		}
		for i := range min(r.per, r.k-k*r.per) {
			src := base + uintptr(((k-from[1])*r.per+i)*o.ks)
			r.runs(from[0], to[0], o.strides, func(col, count int64) {
				copyBytes(unsafe.Add(rows, i*row+(col-from[0])*o.size), src+uintptr(r.ranges[1].at(col, o.strides)*o.size), count*o.size)
			})
		}
		x.Dst, x.Src, x.SrcRow, x.K, x.Bytes = uintptr(dst)+uintptr((k-from[1])*o.kstep), uintptr(rows), row, 1, row
		r.panels.Fold(&x, int(r.per), flip)
	}
	runtime.KeepAlive(part)
	giveBytes(part)
}

// copyBytes copies from memory that the launch keeps alive.
func copyBytes(dst unsafe.Pointer, src uintptr, n int64) {
	from := *(*unsafe.Pointer)(unsafe.Pointer(&src))
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(from), n))
}
