package kernel

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Ref names a value: the position of its instruction in the body.
type Ref int32

// None is the absent value.
const None Ref = -1

// Instr is one instruction of a body. The fields used depend on Op; unused
// references are None and an unused Imm is 0, so equal instructions compare
// equal.
type Instr struct {
	Op      Op
	Type    ir.DType // of the result; for OpStore: of the value stored
	A, B, C Ref
	Imm     uint64
}

// AxisKind says whether an axis is kept or reduced.
type AxisKind uint8

// The kinds of axis.
const (
	Parallel AxisKind = iota
	Reduced
)

// Access is the class of an argument's stride along one axis. Generated code
// may rely on it; the stride itself is a launch parameter.
type Access uint8

// The access classes.
const (
	Strided   Access = iota // any stride, negative ones included
	Unit                    // stride 1
	Broadcast               // stride 0
)

// Direction of an argument.
type Direction uint8

// Arguments are read or written, never both; an output buffer may be the same
// memory as an input only if both have equal strides and the kernel has one stage.
const (
	In Direction = iota
	Out
)

// Arg describes one buffer of a kernel: storage type, direction and, per axis,
// the access class. Gathered arguments have one further stride and extent.
type Arg struct {
	Type   ir.DType
	Dir    Direction
	Access []Access // one per axis of the kernel
	Gather bool
}

// ReduceKind is the combining operation of a reduction or scan.
type ReduceKind uint8

// The reductions. Max, Min, ArgMax and ArgMin are associative and take any
// order; the others follow the tree exactly.
const (
	Sum     ReduceKind = iota
	Prod               // same tree as Sum, from 1
	Max                // NaN wins, -0 < +0; of nothing: -inf or the smallest integer
	Min                // NaN wins, -0 < +0; of nothing: +inf or the largest integer
	ArgMax             // i64: lowest index of the greatest value, -0 = +0; the first NaN wins
	ArgMin             // i64: lowest index of the least value, -0 = +0; the first NaN wins
	Dot                // sum of A*B by fma, ascending (tree kind Sequential)
	M2                 // sum of squared deviations from the mean (Chan's formula over chunks)
	PairDot            // sum of A*B of bf16, in f32: by pairs of elements, see PairFMA (tree kind Sequential)
	HalfDot            // sum of A*B of f16, in f32: Dot of the operands converted, but on matrix units, which have an order of their own
)

// Binary reports whether the reduction folds two values per element.
func (k ReduceKind) Binary() bool { return k == Dot || k == PairDot || k == HalfDot }

// Reduction is what an OpReduce or OpScan does.
type Reduction struct {
	Kind ReduceKind
	Tree Tree
}

// Rare marks the instructions [From,To) as needed only where Mask is true:
// every use outside is the second operand of a select on Mask. Executing them
// always is correct; a generator may branch around them.
type Rare struct {
	Mask     Ref
	From, To Ref
}

// Kernel is a loop nest with a body. The reduced axes, if any, are adjacent.
// Two kernels with equal fields are the same kernel.
type Kernel struct {
	Name       string
	Axes       []AxisKind
	Args       []Arg
	Params     []ir.DType // types of the scalar launch parameters
	Body       []Instr
	Reductions []Reduction
	Rares      []Rare
}

// Operand binds an argument to memory for one launch. Base points at the whole
// allocation of Size bytes; Offset and Strides count elements of the argument's
// storage type from Base.
type Operand struct {
	Base    unsafe.Pointer
	Size    int64
	Offset  int64
	Strides []int64
	// Of a gathered argument: the stride and the extent of the gathered axis.
	GatherStride, GatherExtent int64
}

// Tensor is an operand or a result of a node in memory: its type, and where its elements
// lie, with one stride per axis.
type Tensor struct {
	Type    ir.Type
	Operand Operand
}

// Launch carries what may differ between two runs of one compiled kernel. Every
// extent is at least 1: empty results are never launched, and reductions of
// nothing are filled by their identity.
type Launch struct {
	Extents []int64 // of the part to run, one per axis
	Start   []int64 // first logical index of that part, one per axis; nil means zeros
	Full    []int64 // extents of the whole for OpExtent; nil means Extents
	Args    []Operand
	Params  []uint64 // bits of the scalar parameters
	Fault   *Fault   // where faults that depend on data are noted; nil if the kernel has none
}

// Executable is a compiled kernel. Run executes one launch to the end on the
// calling goroutine and may be called from many goroutines at once. Work is
// split by slicing launches along parallel axes ([Launch.Slice]): no result
// depends on how.
type Executable interface {
	Run(l *Launch)
}

// Slice returns the part [from,to) of the launch along a parallel axis. The
// result shares parameters and fault with l.
func (l *Launch) Slice(axis int, from, to int64) *Launch {
	s := new(Launch)
	l.SliceInto(s, axis, from, to)
	return s
}

// SliceInto makes s the part [from,to) of the launch along a parallel axis, in the
// memory that s has from earlier slices. s shares parameters and fault with l.
func (l *Launch) SliceInto(s *Launch, axis int, from, to int64) {
	s.Params, s.Fault = l.Params, l.Fault
	s.Extents = append(s.Extents[:0], l.Extents...)
	s.Extents[axis] = to - from
	s.Start = append(s.Start[:0], l.Start...)
	for len(s.Start) < len(l.Extents) {
		s.Start = append(s.Start, 0)
	}
	s.Start[axis] += from
	s.Full = l.Full
	if s.Full == nil {
		s.Full = l.Extents
	}
	s.Args = append(s.Args[:0], l.Args...)
	for i := range s.Args {
		s.Args[i].Offset += from * s.Args[i].Strides[axis]
	}
}
