package fusion

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// bound is a plan bound to dims: everything of its launches but the ids of
// tensors and the values of attributes.
type bound struct {
	dims  []int64
	plan  *Plan
	steps []boundStep

	// By id; 0 is none.
	types   []ir.Type
	layouts []ir.Layout // in their bases, of inputs and of results that are views
	owned   []bool      // results with a base of their own

	found Found // how it was come by the last time; guarded by the cache's lock
	miss  Miss
}

// boundStep is one block, ready to launch.
type boundStep struct {
	block  *Block
	pieces []pieceStep
	args   int     // of all pieces
	also   []ir.ID // operands that no piece reads
	valued []int   // of the block's nodes: those with attributes that may differ from run to run
}

type pieceStep struct {
	launch  backend.Piece // without args; params as they were when the plan was bound
	args    []backend.LaunchArg
	dynamic []dynamicParam
}

// dynamicParam is a launch parameter that is the value of an attribute.
type dynamicParam struct {
	at, rec int
	ref     lower.ParamRef
}

// bind prepares the launches of a plan.
func bind(p *Plan, dims []int64) *bound {
	b := &bound{dims: append([]int64(nil), dims...), plan: p, steps: make([]boundStep, len(p.Blocks))}
	for i := range p.Blocks {
		block := &p.Blocks[i]
		st := boundStep{block: block}
		for j := range block.Pieces {
			bp := &block.Pieces[j]
			ps := pieceStep{launch: backend.Piece{Kernel: bp.Kernel.Code, Extents: bp.Piece.Extents, Start: bp.Piece.Start, Full: bp.Piece.Full,
				Params: bp.Piece.Bind(bp.Kernel.Params)}}
			for k, ref := range bp.Kernel.Params {
				if ref.Dynamic() {
					ps.dynamic = append(ps.dynamic, dynamicParam{k, bp.Nodes[bp.Piece.Node(ref)], ref})
				}
			}
			for k, a := range bp.Piece.Args {
				arg := backend.LaunchArg{Tensor: ir.Tensor{ID: a.Tensor}, Offset: a.Offset, Strides: a.Strides,
					GatherStride: a.GatherStride, GatherExtent: a.GatherExtent}
				if k < len(bp.Over) {
					arg.Over = bp.Over[k]
				}
				ps.args = append(ps.args, arg)
			}
			st.args += len(ps.args)
			st.pieces = append(st.pieces, ps)
		}
		st.also = unreadOperands(p, block)
		for _, n := range block.Nodes {
			if hasValues(p.Segment.Nodes[n].Row) {
				st.valued = append(st.valued, n)
			}
		}
		b.steps[i] = st
	}
	b.describe()
	return b
}

// describe fills what is known of each id.
func (b *bound) describe() {
	seg := b.plan.Segment
	b.types = make([]ir.Type, 1, len(seg.Inputs)+len(seg.Nodes)+1)
	for _, t := range seg.Inputs {
		b.types = append(b.types, t.Type)
	}
	for i := range seg.Nodes {
		for _, t := range seg.Nodes[i].Out {
			b.types = append(b.types, t.Type)
		}
	}
	b.layouts, b.owned = make([]ir.Layout, len(b.types)), make([]bool, len(b.types))
	for i := range seg.Layouts {
		b.layouts[i+1] = seg.Layouts[i]
	}
	for i := range b.plan.Blocks {
		for _, v := range b.plan.Blocks[i].Views {
			b.layouts[v.ID] = v.Layout
		}
		for _, id := range b.plan.Blocks[i].Stored {
			b.owned[id] = true
		}
	}
}

func hasValues(r *ir.Row) bool {
	for i := range r.Attrs {
		if roleOf(&r.Attrs[i]) == valued {
			return true
		}
	}
	return false
}

// unreadOperands returns the operands of a block's nodes that none of its pieces reads.
func unreadOperands(p *Plan, b *Block) []ir.ID {
	known := map[ir.ID]bool{} // read, or made inside
	for i := range b.Pieces {
		for _, a := range b.Pieces[i].Piece.Args {
			known[a.Tensor] = true
		}
	}
	var out []ir.ID
	for _, i := range b.Nodes {
		n := &p.Segment.Nodes[i]
		for _, t := range n.In {
			if !known[t.ID] {
				known[t.ID] = true
				out = append(out, t.ID)
			}
		}
		for _, t := range n.Out {
			known[t.ID] = true
		}
	}
	return out
}
