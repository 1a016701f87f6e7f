package fusion

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// BlockKind says how a block runs.
type BlockKind string

// The kinds of block.
const (
	KernelBlock  BlockKind = "kernel"  // one launch of one or more pieces
	ViewBlock    BlockKind = "view"    // nothing runs: results are arrangements of what is stored
	RoutineBlock BlockKind = "routine" // a node, submitted
	CustomBlock  BlockKind = "custom"  // an optimization of a third party's fuser
	DeadBlock    BlockKind = "dead"    // nothing runs: nobody needs the results
)

// Plan covers a segment with blocks, in a legal order.
type Plan struct {
	Segment  *Segment
	Blocks   []Block
	Peak     int64 // bytes of the segment's results alive at once
	Unfused  Cost  // of one block per node in recorded order
	Fused    Cost  // of this plan
	Refusals []Refusal

	// Lowerings is how many groups were laid out to find the plan: the work of the
	// search, in a number that does not depend on the machine.
	Lowerings int

	structure *structure // for Rebind
}

// Block is a part of a plan that runs as one.
type Block struct {
	Kind  BlockKind
	Nodes []int  // positions in the segment, in a legal order
	Fuser string // which fuser made it

	Stored []ir.ID      // results written to bases of their own, row-major
	Views  []ViewOf     // results that are arrangements of a stored one or of an input
	Pieces []BoundPiece // of a KernelBlock

	Routine      int          // position of the node to submit, of a RoutineBlock; its operands may be views
	Optimization Optimization // of a CustomBlock

	// Last are the ids whose bases are freed after the block: results that nobody
	// uses later, and dying inputs after their last use. An input is named by the
	// first input of its base.
	Last []ir.ID

	Launches int
	Read     int64 // bytes of operands, each base once
	Written  int64 // bytes of results that are stored
	Refusals []Refusal
}

// ViewOf says that a result is an arrangement of the base of a stored result or
// of an input. Nothing is computed for it.
type ViewOf struct {
	ID, Of ir.ID
	Layout ir.Layout // in the base of Of
}

// BoundPiece is a piece of a block with the kernel that serves it.
//
// The tensor of an argument may be a view; offset and strides are then already
// those in its base.
type BoundPiece struct {
	Piece  *lower.Piece
	Kernel *Kernel
	Nodes  []int   // positions in the segment of the nodes that the piece was lowered from
	Over   []ir.ID // per argument: whose base a result may overwrite, 0 for none
}

// Planner plans segments for one target. It keeps nothing between calls, and may be
// used by many goroutines if its target and fusers may.
type Planner struct {
	Target  Target
	Fusers  []Fuser // beside the built-in ones, asked first
	Options PlanOptions
}

// PlanOptions limit the search. The zero value means the defaults.
type PlanOptions struct {
	Unfused     bool                // one block per node
	Alone       func(node int) bool // operations that are not fused with others; nil: none
	NoInPlace   bool                // no result takes the memory of an operand: oracle mode, and replays
	MaxNodes    int                 // of a block, 256 if 0
	MaxPieces   int                 // of a launch, 64 if 0
	MaxAttempts int                 // lowerings tried per node of the segment, 24 if 0
}
