package fusion

import (
	"context"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// RunProgram runs a program and returns its outputs, row-major, with the error
// that each carries. Inputs are row-major in the machine's byte order; nil are
// zeros. What nobody asks for is not stored.
func (c *Client) RunProgram(ctx context.Context, p *ir.Program, inputs [][]byte) ([]backend.Data, []error, error) {
	if err := p.Verify(); err != nil {
		return nil, nil, err
	}
	if len(inputs) > len(p.Inputs) {
		return nil, nil, ir.Errorf(ir.ErrArgument, "data for %d inputs, the program has %d", len(inputs), len(p.Inputs))
	}
	s := c.NewStream(ctx)
	values := map[ir.ID]*Value{}
	defer func() {
		for _, v := range values {
			v.Release()
		}
	}()
	for i, t := range p.Inputs {
		var data []byte
		if i < len(inputs) {
			data = inputs[i]
		}
		if data == nil {
			data = make([]byte, t.Bytes())
		}
		v, err := s.Upload(t.Type, data)
		if err != nil {
			return nil, nil, err
		}
		values[t.ID] = v
	}
	wanted := map[ir.ID]bool{}
	for _, id := range p.Outputs {
		wanted[id] = true
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in, out := make([]*Value, len(n.In)), make([]*Value, len(n.Out))
		for j, t := range n.In {
			in[j] = values[t.ID]
		}
		for j, t := range n.Out {
			out[j] = new(Value)
			values[t.ID] = out[j]
		}
		if err := s.Record(OpOf(n.Row, n.Attrs), n.Attrs, in, n.OutTypes(), out, nil, func() ir.Site { return n.Site }); err != nil {
			return nil, nil, err
		}
	}
	outputs := make([]*Value, len(p.Outputs))
	for i, id := range p.Outputs {
		outputs[i] = values[id]
	}
	for id, v := range values {
		if !wanted[id] {
			v.Release()
		}
	}
	s.Flush()
	return c.ReadValues(ctx, outputs)
}
