package fusion

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// Cut says why a stream ended a segment.
type Cut string

// The reasons for a cut. None is a timer.
const (
	CutRead  Cut = "read"
	CutSync  Cut = "sync"
	CutFlush Cut = "flush"
	CutScope Cut = "scope end"
	CutHop   Cut = "device hop"
	CutOps   Cut = "operation budget"
	CutBytes Cut = "byte budget"
)

// Segment is a run of nodes that are planned together. Its ids are dense: the
// inputs are 1 to len(Inputs), then the results follow in the order of the nodes.
type Segment struct {
	Inputs  []ir.Tensor      // bases and views of bases, defined before
	Layouts []ir.Layout      // of the inputs in their bases; an empty Strides, or none at all: row-major from 0
	Bases   []ir.ID          // of each input: the first input that shows the same base; nil: all differ
	Dies    []bool           // inputs whose base nobody needs after the segment; nil: none
	Nodes   []ir.Node        // in a legal order
	Keep    func(ir.ID) bool // results that outlive the segment; nil: all
	Cut     Cut
}

// Target is what a plan is made for.
type Target interface {
	// Kernel compiles the kernel of a piece. Pieces of one key share it.
	Kernel(p *lower.Piece) (*Kernel, error)
	// Tiles reports whether the device runs the product of a piece on packed tiles;
	// see [backend.Tiler].
	Tiles(p *lower.Piece) bool
	// Apart reports whether the product of a piece is faster apart from the rest; see
	// [backend.Tiler].
	Apart(p *lower.Piece) bool
}

// Kernel is a compiled kernel and what its launch parameters are.
type Kernel struct {
	Code   backend.Compiled
	Params []lower.ParamRef
}

// keeps reports whether a result outlives the segment.
func (s *Segment) keeps(id ir.ID) bool { return s.Keep == nil || s.Keep(id) }
