package fusion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Explanation is what a plan does, as data: printed as text by String, as JSON by
// encoding/json, and as a page by WriteHTML.
type Explanation struct {
	Cut      Cut            `json:"cut,omitempty"`
	Blocks   []ExplainBlock `json:"blocks"`
	Kernels  int            `json:"kernels"`
	Launches int            `json:"launches"`
	Read     int64          `json:"bytes_read"`
	Written  int64          `json:"bytes_written"`
	Peak     int64          `json:"peak_bytes"`
	Unfused  Cost           `json:"unfused"` // of one block per node, in recorded order
	Refusals []Refusal      `json:"refusals,omitempty"`
}

// ExplainBlock is one block of an explanation.
type ExplainBlock struct {
	Kind     BlockKind     `json:"kind"`
	Fuser    string        `json:"fuser,omitempty"`
	Engine   string        `json:"engine,omitempty"` // that computes its kernels, where it takes them as they lie; "" for the device's own code
	Ops      []ExplainOp   `json:"ops"`
	Stored   []string      `json:"stored,omitempty"` // types of the results written
	InPlace  int           `json:"in_place,omitempty"`
	Pieces   int           `json:"pieces,omitempty"`
	Launches int           `json:"launches"`
	Read     int64         `json:"bytes_read"`
	Written  int64         `json:"bytes_written"`
	Time     time.Duration `json:"ns,omitempty"` // measured, if somebody did
	Refusals []Refusal     `json:"refusals,omitempty"`
}

// ExplainOp is one operation of a block, with the user's line. A node may stand in
// several blocks, if each computes it.
type ExplainOp struct {
	Node int    `json:"node"` // position in the segment
	Op   string `json:"op"`
	Type string `json:"type"`
	Site string `json:"site,omitempty"`
	From []int  `json:"from,omitempty"` // nodes whose results it reads
}

// Explain describes the plan.
func (p *Plan) Explain() Explanation {
	s := p.Segment
	e := Explanation{Cut: s.Cut, Peak: p.Peak, Unfused: p.Unfused, Refusals: p.Refusals}
	def := map[ir.ID]int{}
	types := map[ir.ID]ir.Type{}
	for i := range s.Nodes {
		for _, t := range s.Nodes[i].Out {
			def[t.ID], types[t.ID] = i, t.Type
		}
	}
	for _, b := range p.Blocks {
		x := ExplainBlock{Kind: b.Kind, Fuser: b.Fuser, Pieces: len(b.Pieces), Launches: b.Launches,
			Read: b.Read, Written: b.Written, Refusals: b.Refusals}
		for j := range b.Pieces {
			if k := b.Pieces[j].Kernel; k != nil && x.Engine == "" {
				if e, ok := k.Code.(backend.ByEngine); ok {
					x.Engine = e.Engine()
				}
			}
		}
		for _, i := range b.Nodes {
			n := &s.Nodes[i]
			op := ExplainOp{Node: i, Op: n.Row.Name, Type: n.Out[0].Type.String(), Site: n.Site.String()}
			for _, t := range n.In {
				if d, ok := def[t.ID]; ok && !slices.Contains(op.From, d) {
					op.From = append(op.From, d)
				}
			}
			x.Ops = append(x.Ops, op)
		}
		for _, id := range b.Stored {
			x.Stored = append(x.Stored, types[id].String())
		}
		for _, piece := range b.Pieces {
			for _, over := range piece.Over {
				if over != 0 {
					x.InPlace++
				}
			}
		}
		if b.Kind == KernelBlock {
			e.Kernels++
		}
		e.Launches += b.Launches
		e.Read += b.Read
		e.Written += b.Written
		e.Blocks = append(e.Blocks, x)
	}
	return e
}

// WithTimes returns the explanation with what each block took, in order.
func (e Explanation) WithTimes(times []time.Duration) Explanation {
	e.Blocks = slices.Clone(e.Blocks)
	for i := range e.Blocks {
		if i < len(times) {
			e.Blocks[i].Time = times[i]
		}
	}
	return e
}

// String returns the explanation as text, one line per block.
func (e Explanation) String() string {
	var b strings.Builder
	for i, x := range e.Blocks {
		fmt.Fprintf(&b, "%3d %-7s", i, x.Kind)
		for j, op := range x.Ops {
			if j > 0 {
				b.WriteString(" +")
			}
			fmt.Fprintf(&b, " %s %s", op.Op, op.Type)
			if op.Site != "" {
				fmt.Fprintf(&b, " (%s)", op.Site)
			}
		}
		if x.Fuser != "" {
			fmt.Fprintf(&b, "  by %s", x.Fuser)
		}
		if x.Engine != "" {
			fmt.Fprintf(&b, "  on %s", x.Engine)
		}
		if x.Launches > 0 {
			fmt.Fprintf(&b, "  launches %d, read %d, written %d", x.Launches, x.Read, x.Written)
		}
		if x.Pieces > 1 {
			fmt.Fprintf(&b, ", %d pieces", x.Pieces)
		}
		if x.InPlace > 0 {
			fmt.Fprintf(&b, ", %d in place", x.InPlace)
		}
		if x.Time > 0 {
			fmt.Fprintf(&b, ", took %v", x.Time)
		}
		b.WriteByte('\n')
		for _, r := range x.Refusals {
			fmt.Fprintf(&b, "      %s\n", r.text())
		}
	}
	fmt.Fprintf(&b, "total: %d kernels, %d launches, %d bytes read, %d written, peak %d", e.Kernels, e.Launches, e.Read, e.Written, e.Peak)
	if u := e.Unfused; u.Launches != e.Launches || u.Read+u.Written != e.Read+e.Written || u.Peak != e.Peak {
		fmt.Fprintf(&b, "; unfused: %d launches, %d bytes read, %d written, peak %d", u.Launches, u.Read, u.Written, u.Peak)
	}
	if e.Cut != "" {
		fmt.Fprintf(&b, "; cut by %s", e.Cut)
	}
	b.WriteByte('\n')
	return b.String()
}
