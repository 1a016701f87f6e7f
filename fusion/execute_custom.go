package fusion

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// custom runs an optimization of a third party's fuser. Its operands are made
// plain tensors of the device, so it need not know about views.
func (x *execution) custom(st *boundStep) error {
	b := st.block
	if err := x.flush(); err != nil {
		return err
	}
	nodes := x.nodes(st, x.values(st))
	views := nodes[:len(nodes)-len(b.Nodes)]
	if len(views) > 0 {
		if err := x.s.c.inner.Submit(x.s.ctx, views); err != nil {
			return err
		}
	}
	e := &executor{x: x}
	ops := &Operations{Nodes: nodes[len(views):], Device: e}
	err := b.Optimization.Execute(x.s.ctx, ops)
	x.frees = append(x.frees, e.made...)
	for i := range views {
		x.frees = append(x.frees, views[i].Out[0].ID)
	}
	for _, n := range ops.Nodes { // results of the group that nobody keeps
		for _, t := range n.Out {
			if !x.isBase(t.ID) {
				x.frees = append(x.frees, t.ID)
			}
		}
	}
	return err
}

// executor is the device as an optimization sees it.
type executor struct {
	x    *execution
	made []ir.ID
}

func (e *executor) Submit(ctx context.Context, nodes []ir.Node) error {
	return e.x.s.c.inner.Submit(ctx, nodes)
}

func (e *executor) Fresh(t ir.Type) ir.Tensor {
	id := e.x.s.c.newID()
	e.made = append(e.made, id)
	return ir.Tensor{ID: id, Type: t}
}
