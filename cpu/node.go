package cpu

import (
	"context"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// node runs one node of the queue. Whatever happens, its results are known
// afterwards: as tensors or as errors.
func (d *Device) node(n *ir.Node) {
	d.counters.Nodes++
	runTask(&task{
		run: func() {
			for _, t := range n.In {
				e := d.store[t.ID]
				if e == nil {
					d.fail(n.Out, describe(unknown(t.ID), n))
					return
				}
				if e.err != nil { // skipped: the first error is passed on
					d.mark(n.Out, e.err)
					return
				}
			}
			if err := d.execute(n); err != nil {
				d.fail(n.Out, describe(ir.AsError(err), n))
			}
		},
		fail: func(err error) { d.fail(n.Out, describe(ir.AsError(err), n)) },
	})
}

// describe adds operation, operands and the user's line to an error.
func describe(err *ir.Error, n *ir.Node) *ir.Error {
	e := *err
	e.Op, e.Operands, e.Site = n.Row.Name, n.InTypes(), n.Site
	return &e
}

func (d *Device) execute(n *ir.Node) error {
	switch n.Row.Access {
	case ir.View:
		return d.view(n)
	case ir.Join:
		return d.join(n)
	case ir.Scatter, ir.Opaque:
		return d.routine(n)
	}
	return d.compute(n)
}

// outputs allocates the results of a node.
func (d *Device) outputs(n *ir.Node) ([]*entry, error) {
	out := make([]*entry, len(n.Out))
	for i, t := range n.Out {
		e, err := d.newEntry(t.Type)
		if err != nil {
			for _, o := range out[:i] {
				d.pool.put(o.buf)
			}
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

// settle makes the outputs known, or gives their memory back on an error.
func (d *Device) settle(n *ir.Node, out []*entry, err error) error {
	for i, e := range out {
		if err != nil {
			d.pool.put(e.buf)
		} else {
			d.setEntry(n.Out[i].ID, e)
		}
	}
	return err
}

// compute runs a node that lowers to a kernel.
func (d *Device) compute(n *ir.Node) error {
	out, err := d.outputs(n)
	if err != nil {
		return err
	}
	if n.Out[0].Shape.Size() == 0 {
		return d.settle(n, out, nil)
	}
	packed, err := d.packColumns(n)
	if err != nil {
		return d.settle(n, out, err)
	}
	find := func(id ir.ID) *entry {
		for i, t := range n.Out {
			if t.ID == id {
				return out[i]
			}
		}
		if packed != nil && id == n.In[1].ID {
			return packed
		}
		return d.store[id]
	}
	b, err := lower.New([]ir.Node{*n}, func(id ir.ID) ir.Layout { return find(id).layout }, nil)
	if err == nil {
		err = d.runBlock(b, func(id ir.ID) *buffer { return find(id).buf })
	}
	if packed != nil {
		d.pool.put(packed.buf)
	}
	return d.settle(n, out, err)
}

// packRows is the number of rows of x from which copying z pays.
const packRows = 4

// packColumns returns a contiguous copy of the second operand of a contraction
// whose columns do not lie side by side (a transposed matrix, above all): kernels
// walk columns in vectors, and read z once per row of x. nil if z is well as it is.
func (d *Device) packColumns(n *ir.Node) (*entry, error) {
	if n.Row.Access != ir.Contraction {
		return nil, nil
	}
	z := d.store[n.In[1].ID]
	last := len(z.typ.Shape) - 1
	rows := n.Out[0].Shape.Size() / max(z.typ.Shape[last], 1)
	if last < 1 || z.typ.Shape[last] < 2 || z.layout.Strides[last] == 1 || rows < packRows {
		return nil, nil
	}
	c, err := d.newEntry(z.typ)
	if err != nil {
		return nil, err
	}
	if err := d.copyInto(n.In[1].ID, z, c.buf, c.layout); err != nil {
		d.pool.put(c.buf)
		return nil, err
	}
	return c, nil
}

// view makes another arrangement of the operand's buffer; a reshape that no
// strides express copies first.
func (d *Device) view(n *ir.Node) error {
	d.counters.Views++
	e := d.store[n.In[0].ID]
	if l, ok := n.Row.View(n.Row, e.typ, e.layout, n.Attrs, n.Out[0].Type); ok {
		v := e.share()
		v.typ, v.layout = n.Out[0].Type, l
		d.setEntry(n.Out[0].ID, v)
		return nil
	}
	c, err := d.newEntry(e.typ)
	if err != nil {
		return err
	}
	if err := d.copyInto(n.In[0].ID, e, c.buf, c.layout); err != nil {
		d.pool.put(c.buf)
		return err
	}
	c.typ, c.layout = n.Out[0].Type, ir.Layout{Strides: n.Out[0].Shape.Strides()}
	d.setEntry(n.Out[0].ID, c)
	return nil
}

// join copies each operand to its part of the result.
func (d *Device) join(n *ir.Node) error {
	out, err := d.outputs(n)
	if err != nil {
		return err
	}
	for i, t := range n.In {
		var part ir.Layout
		if part, err = lower.JoinPart(n, i, out[0].layout); err != nil {
			break
		}
		if err = d.copyInto(t.ID, d.store[t.ID], out[0].buf, part); err != nil {
			break
		}
	}
	return d.settle(n, out, err)
}

// compiledKernel is a kernel compiled for a client.
type compiledKernel struct {
	d   *Device
	k   *kernel.Kernel
	exe kernel.Executable

	generated bool
}

func (c *compiledKernel) Kernel() *kernel.Kernel { return c.k }

// Generated reports whether the kernel became machine code.
func (c *compiledKernel) Generated() bool { return c.generated }

// Release returns the code once queued launches of it are done.
func (c *compiledKernel) Release() {
	_ = c.d.q.add(task{run: func() { c.exe = nil }})
}

// Compile makes a kernel ready to launch.
func (d *Device) Compile(k *kernel.Kernel) (backend.Compiled, error) {
	if err := k.Verify(); err != nil {
		return nil, &ir.Error{Kind: ir.ErrArgument, Cause: err}
	}
	var c *compiledKernel
	var failed error
	err := d.do(context.Background(), func() {
		exe, generated, err := d.compile(k)
		if err != nil {
			failed = err
			return
		}
		c = &compiledKernel{d, k, exe, generated}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Launch appends launches to the queue.
func (d *Device) Launch(ctx context.Context, launches []backend.Launch) error {
	for i := range launches {
		for j := range launches[i].Pieces {
			if c, ok := launches[i].Pieces[j].Kernel.(*compiledKernel); !ok || c.d != d {
				return ir.Errorf(ir.ErrDevice, "launch %d: the kernel of piece %d was compiled by another device", i, j)
			}
		}
	}
	return d.q.push(ctx, task{ops: len(launches), run: func() {
		d.clockNodes(func() {
			for i := range launches {
				d.clientLaunch(&launches[i])
				for _, id := range launches[i].Consumes {
					d.drop(id)
				}
			}
		})
	}})
}

func (d *Device) clientLaunch(l *backend.Launch) {
	var outs []ir.Tensor
	for i := range l.Pieces {
		p := &l.Pieces[i]
		for j, a := range p.Args {
			if p.Kernel.Kernel().Args[j].Dir == kernel.Out {
				outs = append(outs, a.Tensor)
			}
		}
	}
	raise := func(err error) {
		e := ir.AsError(err)
		if len(l.Nodes) > 0 {
			e = describe(e, &l.Nodes[len(l.Nodes)-1])
		}
		d.fail(outs, e)
	}
	runTask(&task{fail: raise, run: func() {
		for i := range l.Pieces {
			if !d.clientPiece(&l.Pieces[i], l.Nodes, outs, raise) {
				return
			}
		}
	}})
}

// clientPiece runs one piece of a launch and reports whether to go on.
func (d *Device) clientPiece(p *backend.Piece, nodes []ir.Node, outs []ir.Tensor, raise func(error)) bool {
	c := p.Kernel.(*compiledKernel)
	if c.exe == nil { // Release was queued before
		raise(ir.Errorf(ir.ErrClosed, "the kernel was released"))
		return false
	}
	run := &kernel.Launch{Extents: p.Extents, Start: p.Start, Full: p.Full, Params: p.Params, Args: make([]kernel.Operand, len(p.Args))}
	for i, a := range p.Args {
		e := d.store[a.Tensor.ID]
		switch {
		case e != nil && e.err != nil:
			d.mark(outs, e.err)
			return false
		case e == nil && c.k.Args[i].Dir == kernel.In:
			raise(unknown(a.Tensor.ID))
			return false
		case e == nil:
			fresh, err := d.newEntry(a.Tensor.Type)
			if err != nil {
				raise(err)
				return false
			}
			d.setEntry(a.Tensor.ID, fresh)
			e = fresh
		}
		run.Args[i] = operand(e.buf, a.Offset, a.Strides, a.GatherStride, a.GatherExtent)
	}
	if err := d.launch(c.exe, c.k, run, nodes); err != nil {
		raise(err)
		return false
	}
	return true
}
