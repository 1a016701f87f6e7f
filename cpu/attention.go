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
	for _, t := range n.In {
		d.counters.read.Add(t.Bytes())
	}
	for _, e := range out {
		d.counters.written.Add(e.typ.Bytes())
	}
	if done, err := d.runNode(n, out); done || err != nil {
		return d.settle(n, out, err)
	}
	d.counters.kernels.Add(1)
	in, results := d.locate(n, out)
	if d.accelerated() {
		if done, err := d.attendWide(n, in, results, out); done || err != nil {
			return d.settle(n, out, err)
		}
		return d.settle(n, out, d.onHost(n, out, func(from, to []Host) error {
			return d.attendTo(n, hostTensors(from), hostTensors(to))
		}))
	}
	return d.settle(n, out, d.attendTo(n, in, results))
}

func (d *Device) attendTo(n *ir.Node, in, out []kernel.Tensor) error {
	work, err := d.attend.Work(n, in, out)
	if err == nil {
		d.clockKernel(n.Row.Name, func() { d.workers.runWork(work) })
	}
	return err
}

// attendWide runs a recurrence on an accelerator, as a sequence of kernels; done is
// false if it is one for the host.
func (d *Device) attendWide(n *ir.Node, in, results []kernel.Tensor, out []*entry) (done bool, err error) {
	steps, scratch, err := d.wide.Plan(n, in, results)
	if err != nil || steps == nil {
		return false, err
	}
	var memory []*buffer
	for _, t := range n.In {
		memory = append(memory, d.store[t.ID].buf)
	}
	for _, e := range out {
		memory = append(memory, e.buf)
	}
	own := len(memory)
	defer func() { // behind the kernels that use it
		for _, b := range memory[own:] {
			d.pool.put(b)
		}
	}()
	for _, size := range scratch {
		b, err := d.memory(size)
		if err != nil { // the host needs none here
			return false, nil
		}
		memory = append(memory, b)
	}
	for i := range steps {
		s := &steps[i]
		k := d.wideReady[s.Kernel]
		if k == nil {
			made, err := d.ready(s.Kernel)
			if err != nil {
				return false, err
			}
			k = &made
			if d.wideReady == nil {
				d.wideReady = map[*kernel.Kernel]*ready{}
			}
			d.wideReady[s.Kernel] = k
		}
		p := part{ready: k, l: &kernel.Launch{Extents: s.Extents, Params: s.Params}}
		for _, a := range s.Args {
			b := memory[a.Memory]
			p.l.Args = append(p.l.Args, operand(b, a.Offset, a.Strides, 0, 0))
			p.buffers = append(p.buffers, b)
		}
		if _, err := d.runParts([]part{p}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// hostTensors are contiguous tensors on the host.
func hostTensors(hosts []Host) []kernel.Tensor {
	out := make([]kernel.Tensor, len(hosts))
	for i, h := range hosts {
		out[i] = kernel.Tensor{Type: h.Type, Operand: kernel.Operand{Base: addressIn(h.Data), Size: int64(len(h.Data)), Strides: h.Type.Shape.Strides()}}
	}
	return out
}

// locate returns the operands and results of a node where they lie.
func (d *Device) locate(n *ir.Node, out []*entry) (in, results []kernel.Tensor) {
	in, results = make([]kernel.Tensor, len(n.In)), make([]kernel.Tensor, len(out))
	for i, t := range n.In {
		in[i] = located(d.store[t.ID])
	}
	for i, e := range out {
		results[i] = located(e)
	}
	return in, results
}

// located is a tensor where it lies.
func located(e *entry) kernel.Tensor {
	return kernel.Tensor{Type: e.typ, Operand: operand(e.buf, e.layout.Offset, e.layout.Strides, 0, 0)}
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
