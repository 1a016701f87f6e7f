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

// RunNode runs a node by native kernels. If they note a fault, done is false, and the
// operands are as they were.
func (g *gpu) RunNode(n *ir.Node, in, out []kernel.Tensor) (done bool, err error) {
	if !g.nodes.natives.Covers(n.Row.Name) {
		return false, nil
	}
	faults := false
	err = g.do(func() error {
		x := &g.nodes
		x.tensors = append(append(x.tensors[:0], in...), out...)
		made, err := x.plan(n, x.tensors)
		if made == nil || err != nil {
			return err
		}
		done, faults = true, made.Fault
		if err := g.ready(made); err != nil {
			return err
		}
		if faults {
			g.batch.fill32(g.fault, 0, 2)
		}
		made.MoveTo(x.tensors)
		if err := g.append(made); err != nil || !faults && !g.batch.full() {
			return err
		}
		return g.send(faults)
	})
	if err != nil && ir.AsError(err).Kind == ir.ErrUnsupported {
		return false, nil
	}
	if err == nil && faults {
		if err = g.wait(g.noted); err == nil {
			code, _ := g.firstFault()
			done = code == kernel.NoFault
		}
	}
	return done && err == nil, err
}
