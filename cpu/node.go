package cpu

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// node runs one node of the queue. Whatever happens, its results are known
// afterwards: as tensors or as errors.
func (d *Device) node(n *ir.Node) {
	d.counters.nodes.Add(1)
	runTask(&task{
		run: func() {
			for again := true; again; {
				again = d.attempt(n)
			}
		},
		fail: func(err error) { d.fail(n.Out, describe(ir.AsError(err), n)) },
	})
}

// attempt runs a node, or tells that it is to be tried again.
func (d *Device) attempt(n *ir.Node) (again bool) {
	for _, t := range n.In {
		e := d.store[t.ID]
		if e == nil {
			d.fail(n.Out, describe(unknown(t.ID), n))
			return false
		}
		if e.err != nil { // skipped: the first error is passed on
			d.mark(n.Out, e.err)
			d.did(deed{node: n, failed: t.ID, err: e.err})
			return false
		}
	}
	err := d.execute(n)
	if d.again(err) {
		return true
	}
	if err != nil {
		d.fail(n.Out, describe(ir.AsError(err), n))
		return false
	}
	d.did(deed{node: n})
	return false
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
	case ir.Recurrence:
		return d.recur(n)
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
	find := func(id ir.ID) *entry {
		for i, t := range n.Out {
			if t.ID == id {
				return out[i]
			}
		}
		return d.store[id]
	}
	b, err := lower.New([]ir.Node{*n}, func(id ir.ID) ir.Layout { return find(id).layout }, nil)
	if err == nil {
		err = d.runBlock(b, func(id ir.ID) *buffer { return find(id).buf })
	}
	return d.settle(n, out, err)
}

// view makes another arrangement of the operand's buffer; one that no strides
// express is a view of a contiguous copy.
func (d *Device) view(n *ir.Node) error {
	d.counters.views.Add(1)
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
	l, ok := n.Row.View(n.Row, e.typ, c.layout, n.Attrs, n.Out[0].Type)
	if !ok {
		d.pool.put(c.buf)
		return ir.Errorf(ir.ErrInternal, "no strides express the view even of a contiguous operand")
	}
	c.typ, c.layout = n.Out[0].Type, l
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
