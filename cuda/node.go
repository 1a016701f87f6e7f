package cuda

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// maxNodes bounds the plans of nodes: all are dropped when there would be more.
const maxNodes = 1024

// nodes are the plans of nodes that have native kernels. The lock of the gpu guards it.
type nodes struct {
	natives *ptx.Natives
	plans   map[string]*planned // nil for those that have none
	key     []byte
	tensors []kernel.Tensor
}

// plan is the plan of a node, nil if it has no native kernel.
func (x *nodes) plan(n *ir.Node, tensors []kernel.Tensor) (*planned, error) {
	x.key = x.natives.AppendKey(x.key[:0], n, tensors)
	if made, ok := x.plans[string(x.key)]; ok {
		return made, nil
	}
	p, err := x.natives.Plan(n, tensors)
	if err != nil {
		return nil, refused(err)
	}
	var made *planned
	if p != nil {
		made = &planned{Plan: p, age: -1}
	}
	if len(x.plans) >= maxNodes || x.plans == nil {
		x.plans = map[string]*planned{}
	}
	x.plans[string(x.key)] = made
	return made, nil
}

// RunNode holds back the steps of a node that has native kernels.
func (g *gpu) RunNode(n *ir.Node, in, out []kernel.Tensor) (done bool, run int, err error) {
	if !g.nodes.natives.Covers(n.Row.Name) {
		return false, 0, nil
	}
	err = g.do(func() error {
		x := &g.nodes
		x.tensors = append(append(x.tensors[:0], in...), out...)
		made, err := x.plan(n, x.tensors)
		if made == nil || err != nil {
			return err
		}
		if err := g.ready(made); err != nil {
			return err
		}
		word, number, err := g.faults.word(made.Fault)
		if err != nil {
			return err
		}
		made.MoveTo(x.tensors)
		g.batch.begin(n.Row.Name)
		if err := g.append(made, word); err != nil {
			return err
		}
		done, run = true, g.faults.took(number)
		return g.issueIfFull()
	})
	if err != nil && ir.AsError(err).Kind == ir.ErrUnsupported {
		return false, 0, nil
	}
	return done && err == nil, run, err
}
