package fusion

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// Fuser recognises groups of nodes that it executes better than the planner would:
// as one, or merely better. Fusers of a [Planner] are asked before its own search.
//
// Each fuser is started at every node and offered the nodes that follow in recorded
// order, save those that nothing needs and those whose group could not run as one
// (something outside would lie between). The best ready state of each builder is a
// candidate; candidates with higher scores win where they overlap. What an
// optimization computes must have the bits of its nodes run one by one: the planner
// cannot check that.
type Fuser interface {
	// Name identifies the fuser in plans, explanations and saved state.
	Name() string
	// Start opens a builder that holds one node of the segment, or returns nil if
	// no group of this fuser begins with it.
	Start(s *Segment, node int) Builder
	// Restore makes an optimization again from its saved state.
	Restore(state []byte) (Optimization, error)
}

// Builder grows one group of nodes. Proposals are transactions: a refused one
// leaves the builder as it was.
type Builder interface {
	// Add proposes a node of the segment that follows those added before. A nil
	// refusal means that the builder took it. Producer and Consumer of a refusal
	// are filled in by the caller.
	Add(node int) *Refusal
	// Undo takes back the last node added. It is called as often as nodes were
	// added, and a builder that was closed may be open again after it.
	Undo()
	// Status says whether the builder may take more nodes.
	Status() Status
	// Properties says what finishing now would give.
	Properties() Properties
	// Finish makes an optimization of the nodes added so far. It is called once, and
	// only where Properties says that it is ready.
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
	Score uint64 // higher is better: the modelled bytes saved, see [Cost.Total]
	Ready bool   // whether Finish would succeed
}

// Optimization executes a group of nodes as one. It is kept in plans and may run
// many times, for other tensors and other sizes.
type Optimization interface {
	Name() string
	// Len returns the number of nodes that it covers.
	Len() int
	// MaxDim returns the highest symbolic dim that it uses, -1 for none.
	MaxDim() int
	// Execute runs the group. The operations are those of the block, in order, with
	// their operands stored, row-major; it must give every result that they define.
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
