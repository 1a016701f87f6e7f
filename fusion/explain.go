package fusion

import (
	"fmt"
	"strings"
)

// Explanation is what a plan does, as data: printed as text by String, and as
// JSON by encoding/json.
type Explanation struct {
	Cut      Cut            `json:"cut,omitempty"`
	Blocks   []ExplainBlock `json:"blocks"`
	Kernels  int            `json:"kernels"`
	Launches int            `json:"launches"`
	Read     int64          `json:"bytes_read"`
	Written  int64          `json:"bytes_written"`
	Peak     int64          `json:"peak_bytes"`
}

// ExplainBlock is one block of an explanation.
type ExplainBlock struct {
	Kind     BlockKind   `json:"kind"`
	Ops      []ExplainOp `json:"ops"`
	Launches int         `json:"launches"`
	Read     int64       `json:"bytes_read"`
	Written  int64       `json:"bytes_written"`
	Refusals []Refusal   `json:"refusals,omitempty"`
}

// ExplainOp is one operation of a block, with the user's line.
type ExplainOp struct {
	Op   string `json:"op"`
	Type string `json:"type"`
	Site string `json:"site,omitempty"`
}

// Explain describes the plan.
func (p *Plan) Explain() Explanation {
	e := Explanation{Cut: p.Segment.Cut, Peak: p.Peak}
	for _, b := range p.Blocks {
		x := ExplainBlock{Kind: b.Kind, Launches: b.Launches, Read: b.Read, Written: b.Written, Refusals: b.Refusals}
		for _, i := range b.Nodes {
			n := &p.Segment.Nodes[i]
			x.Ops = append(x.Ops, ExplainOp{n.Row.Name, n.Out[0].Type.String(), n.Site.String()})
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
		if x.Launches > 0 {
			fmt.Fprintf(&b, "  launches %d, read %d, written %d", x.Launches, x.Read, x.Written)
		}
		b.WriteByte('\n')
		for _, r := range x.Refusals {
			fmt.Fprintf(&b, "      not fused with %d: %s (%g, limit %g)\n", r.Consumer, r.Rule, r.Got, r.Limit)
		}
	}
	fmt.Fprintf(&b, "total: %d kernels, %d launches, %d bytes read, %d written, peak %d", e.Kernels, e.Launches, e.Read, e.Written, e.Peak)
	if e.Cut != "" {
		fmt.Fprintf(&b, "; cut by %s", e.Cut)
	}
	b.WriteByte('\n')
	return b.String()
}
