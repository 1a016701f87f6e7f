package kernel

import "fmt"

// TreeKind is the shape of a summation tree.
type TreeKind uint8

// The kinds of tree. Every tree depends on the logical shape and the axes
// alone: never on layout, threads, vector width or device.
const (
	// Striped: chunks of Chunk elements; inside a chunk, element i is added to
	// partial i mod Lanes, in ascending order, the partials starting from +0;
	// then the partials are folded by halves (p[i] += p[i+Lanes/2], then
	// Lanes/4, down to 1). The chunk results are a vector that is reduced in
	// the same way, again and again until one value is left. A group of at
	// most Chunk elements is one chunk.
	Striped TreeKind = iota
	// Columns: chunks of Chunk elements, each added in ascending order from
	// +0. The n chunk results are folded by halves: with w the largest power
	// of two below n, r[i] += r[i+w] for every i with i+w < n, then w/2, down
	// to 1.
	Columns
	// Sequential: chunks of Chunk elements, each folded in ascending order
	// from +0; the chunk results are added in ascending order to the first
	// chunk's. Contractions use it.
	Sequential
)

// Tree is a summation tree. Lanes is a power of two and matters to Striped only.
type Tree struct {
	Kind  TreeKind
	Chunk int
	Lanes int
}

// The trees of numerics version 1 (RATIONALE.md has the measurements).
var (
	StripedTree = Tree{Striped, 1024, 128}
	ColumnsTree = Tree{Columns, 64, 1}
	DotTree     = Tree{Sequential, 1024, 1}
	ScanTree    = Tree{Sequential, 1024, 1}
)

// KeptInsideMin is the number of kept elements inside (after) a reduced group
// from which sums use ColumnsTree instead of StripedTree.
const KeptInsideMin = 16

// SumTree returns the tree of a sum over a group after which kept elements lie
// inside, counted over the logical shape.
func SumTree(keptInside int64) Tree {
	if keptInside < KeptInsideMin {
		return StripedTree
	}
	return ColumnsTree
}

// String returns the text form, such as "striped(1024,128)".
func (t Tree) String() string {
	switch t.Kind {
	case Striped:
		return fmt.Sprintf("striped(%d,%d)", t.Chunk, t.Lanes)
	case Columns:
		return fmt.Sprintf("columns(%d)", t.Chunk)
	default:
		return fmt.Sprintf("sequential(%d)", t.Chunk)
	}
}
