package fusion

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// Cut says why a stream ended a segment.
type Cut string

// The reasons for a cut. None is a timer.
const (
	CutRead   Cut = "read"
	CutSync   Cut = "sync"
	CutFlush  Cut = "flush"
	CutScope  Cut = "scope end"
	CutOpaque Cut = "opaque operation"
	CutHop    Cut = "device hop"
	CutOps    Cut = "operation budget"
	CutBytes  Cut = "byte budget"
)

// Segment is a run of nodes that are planned together.
type Segment struct {
	Inputs []ir.Tensor // defined before the segment, contiguous
	Nodes  []ir.Node
	Keep   func(ir.ID) bool // which results outlive the segment; nil: all
	Cut    Cut
}

// BlockKind says how a block runs.
type BlockKind string

// The kinds of block.
const (
	KernelBlock  BlockKind = "kernel"
	ViewBlock    BlockKind = "view"
	JoinBlock    BlockKind = "join" // one copy per operand
	RoutineBlock BlockKind = "routine"
	CopyBlock    BlockKind = "copy" // a reshape that no strides express
)

// Block is a part of a plan that runs as one.
type Block struct {
	Kind     BlockKind
	Nodes    []int // positions in the segment
	Kernel   *kernel.Kernel
	Launches int
	Read     int64 // bytes of operands, each counted once
	Written  int64 // bytes of results that are stored
	Refusals []Refusal
}

// Refusal is a fusion that was considered and not done.
type Refusal struct {
	Producer, Consumer int // positions in the segment
	Rule               string
	Got, Limit         float64
}

// Plan covers a segment.
type Plan struct {
	Segment *Segment
	Blocks  []Block
	Peak    int64 // bytes of results alive at once, freed after their last use
}

// Unfused plans one block per node, in recorded order.
func Unfused(s *Segment) (*Plan, error) {
	layouts := map[ir.ID]ir.Layout{}
	for _, t := range s.Inputs {
		layouts[t.ID] = ir.Layout{Strides: t.Shape.Strides()}
	}
	p := &Plan{Segment: s}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, t := range n.In {
			if _, ok := layouts[t.ID]; !ok {
				return nil, ir.Errorf(ir.ErrArgument, "node %d (%s) uses %%%d, which the segment does not define before", i, n.Row.Name, t.ID)
			}
		}
		for _, t := range n.Out {
			layouts[t.ID] = ir.Layout{Strides: t.Shape.Strides()}
		}
		b, err := one(n, layouts)
		if err != nil {
			return nil, err
		}
		b.Nodes = []int{i}
		p.Blocks = append(p.Blocks, b)
	}
	p.Peak = p.peak()
	return p, nil
}

// one makes the block of a single node.
func one(n *ir.Node, layouts map[ir.ID]ir.Layout) (Block, error) {
	b := Block{}
	seen := map[ir.ID]bool{}
	for _, t := range n.In {
		if !seen[t.ID] {
			seen[t.ID] = true
			b.Read += t.Bytes()
		}
	}
	for _, t := range n.Out {
		b.Written += t.Bytes()
	}
	switch n.Row.Access {
	case ir.View:
		if l, ok := n.Row.View(n.Row, n.In[0].Type, layouts[n.In[0].ID], n.Attrs, n.Out[0].Type); ok {
			layouts[n.Out[0].ID] = l
			return Block{Kind: ViewBlock}, nil
		}
		b.Kind, b.Launches = CopyBlock, 1
	case ir.Join:
		b.Kind, b.Launches = JoinBlock, len(n.In)
	case ir.Scatter, ir.Opaque:
		b.Kind, b.Launches = RoutineBlock, 1
	default:
		b.Kind = KernelBlock
		if n.Out[0].Shape.Size() == 0 {
			return b, nil
		}
		lowered, err := lower.New([]ir.Node{*n}, func(id ir.ID) ir.Layout { return layouts[id] }, nil)
		if err != nil {
			return b, err
		}
		if b.Kernel, _, err = lowered.Build(); err != nil {
			return b, err
		}
		b.Launches = 1
	}
	return b, nil
}

// peak simulates the segment with every result freed after its last use, and
// returns the most bytes alive at once. Views own nothing.
func (p *Plan) peak() int64 {
	nodes := p.Segment.Nodes
	owner := map[ir.ID]ir.ID{} // of views: whose bytes they show
	last := map[ir.ID]int{}
	resolve := func(id ir.ID) ir.ID {
		if o, ok := owner[id]; ok {
			return o
		}
		return id
	}
	for i := range nodes {
		if p.Blocks[i].Kind == ViewBlock {
			owner[nodes[i].Out[0].ID] = resolve(nodes[i].In[0].ID)
		}
		for _, t := range nodes[i].In {
			last[resolve(t.ID)] = i
		}
		for _, t := range nodes[i].Out {
			if p.Segment.Keep == nil || p.Segment.Keep(t.ID) {
				last[resolve(t.ID)] = len(nodes)
			} else if _, ok := last[resolve(t.ID)]; !ok {
				last[resolve(t.ID)] = i
			}
		}
	}
	size := map[ir.ID]int64{}
	var live, peak int64
	for i := range nodes {
		if p.Blocks[i].Kind != ViewBlock {
			for _, t := range nodes[i].Out {
				size[t.ID] = t.Bytes()
				live += t.Bytes()
			}
		}
		peak = max(peak, live)
		for id, n := range size {
			if last[id] <= i {
				live -= n
				delete(size, id)
			}
		}
	}
	return peak
}
