package cpu

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/attend"
)

// recur runs a recurrence over blocks, whose operands are read where they lie.
func (d *Device) recur(n *ir.Node) error {
	out, err := d.outputs(n)
	if err != nil {
		return err
	}
	in, results := make([]attend.Tensor, len(n.In)), make([]attend.Tensor, len(n.Out))
	for i, t := range n.In {
		in[i] = attended(d.store[t.ID])
		d.counters.read.Add(t.Bytes())
	}
	for i, e := range out {
		results[i] = attended(e)
		d.counters.written.Add(e.typ.Bytes())
	}
	work, err := d.attend.Work(n, in, results)
	if err == nil {
		d.counters.kernels.Add(1)
		d.workers.runWork(work)
	}
	return d.settle(n, out, err)
}

func attended(e *entry) attend.Tensor {
	return attend.Tensor{Type: e.typ, Operand: operand(e.buf, e.layout.Offset, e.layout.Strides, 0, 0)}
}

// newAttend makes an engine that takes the device's kernels.
func (d *Device) newAttend() *attend.Engine {
	e := attend.New(func(k *kernel.Kernel) (kernel.Executable, error) {
		exe, _, err := d.compile(k)
		return exe, err
	})
	if level, ok := levels[d.opt.Generator]; ok {
		e.UseTiles(level)
	}
	return e
}
