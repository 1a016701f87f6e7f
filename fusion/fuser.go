package fusion

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// Fuser recognises groups of nodes that it can execute better than one by one.
type Fuser interface {
	// Name identifies the fuser in plans, explanations and saved state.
	Name() string
	// Start opens a builder at a node of the segment, or returns nil if no group
	// of this fuser begins with it.
	Start(s *Segment, node int) Builder
	// Restore makes an optimization again from its saved state.
	Restore(state []byte) (Optimization, error)
}

// Builder grows one group of nodes. Proposals are transactions: a refused one
// leaves the builder as it was.
type Builder interface {
	// Add proposes a node of the segment that follows those added before. A nil
	// refusal means that the builder took it.
	Add(node int) *Refusal
	// Undo takes back the last node added.
	Undo()
	// Status says whether the builder may take more nodes.
	Status() Status
	// Properties says what finishing now would give.
	Properties() Properties
	// Finish makes an optimization of the nodes added so far.
	Finish() (Optimization, error)
}

// Status says whether a builder may take more nodes.
type Status uint8

// The states of a builder.
const (
	Open Status = iota
	Closed
)

// Properties rate what a builder has.
type Properties struct {
	Score uint64 // higher is better; compared between fusers that cover the same nodes
	Ready bool   // whether Finish would succeed
}

// Optimization executes a group of nodes as one.
type Optimization interface {
	Name() string
	// Len returns the number of nodes that it covers.
	Len() int
	// MaxDim returns the highest symbolic dim that it uses, -1 for none.
	MaxDim() int
	// Execute runs the group. The operations are those of the block, in order, with
	// their operands stored; it must give every result that the group defines.
	Execute(ctx context.Context, ops *Operations) error
	// State returns what Restore needs to make it again.
	State() ([]byte, error)
}

// Operations are the nodes of a group at the time they run, with the tensors of
// the device.
type Operations struct {
	Nodes  []ir.Node
	Device Executor
}

// Executor is what an optimization runs its work on.
type Executor interface {
	// Submit appends nodes to the queue of the device, in order. Their operands
	// are operands of the group or results of nodes submitted before.
	Submit(ctx context.Context, nodes []ir.Node) error
	// Fresh names a new tensor, for intermediates; it is freed after the group.
	Fresh(t ir.Type) ir.Tensor
}
