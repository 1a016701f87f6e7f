package sinter

import (
	"context"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// To returns the tensor on another device, without waiting for it: operations on
// the result are recorded at once, and run when it has arrived. t stays usable
// and may be released at once. A tensor that is on the device already is returned
// as it is, sharing its memory.
//
// The result belongs to the scope of t, and its gradient moves back to t's
// device. An error of t becomes that of the result. The context of the device's
// default stream ends the move.
//
// Between devices of one router ([router.Router]), or into one, only what needs
// the tensor waits. Between others it passes in the background too, and work of
// the stream that needs it is held back until then, within limits.
func (t *Tensor) To(d *Device) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	raise := func(err error) *Tensor {
		e := *ir.AsError(err)
		if e.Op == "" {
			e.Op, e.Operands, e.Site = "move", []ir.Type{t.typ()}, callsite.Find()
		}
		return errored(&e)
	}
	if d == nil {
		return raise(ir.Errorf(ir.ErrArgument, "the device is nil"))
	}
	from := t.stream().dev
	if from == d {
		c := *t
		return &c
	}
	id, err := from.client.Share(d.stream.ctx, t.v)
	if err != nil {
		return raise(err)
	}
	v, err := d.receive(from, ir.Tensor{ID: id, Type: t.typ()})
	if err != nil {
		return raise(err)
	}
	out := &Tensor{v: v, scope: t.scope}
	if out.scope != nil {
		if err := out.scope.own(v); err != nil {
			v.Release()
			return raise(err)
		}
	}
	moved := []*Tensor{out}
	trackIf(moveRow, nil, []*Tensor{t}, moved, out.scope)
	return moved[0]
}

// receive makes a value of a tensor that another device shares, and frees it
// there: at once if a router below both devices orders the work that needs it,
// else in the background.
func (d *Device) receive(from *Device, t ir.Tensor) (*fusion.Value, error) {
	if m, ok := backend.As[backend.Mover](d.client); ok {
		to := d.client.FreshID()
		err := m.Receive(d.stream.ctx, from.client, t, to)
		from.client.Free(t.ID)
		if err != nil {
			return nil, err
		}
		return d.stream.fs.Take(to)
	}
	return d.stream.fs.Arriving(t.Type, func(to ir.ID) error {
		carried, err := router.Transfer(d.stream.ctx, from.client, t, d.client, to, d.runtime.host)
		from.client.Free(t.ID)
		if carried != nil {
			return carried
		}
		return err
	}), nil
}

// CopyTo is [Tensor.To] that waits until the tensor is there, and returns its error.
func (t *Tensor) CopyTo(ctx context.Context, d *Device) (*Tensor, error) {
	c := t.To(d)
	if err := c.failure(); err != nil {
		return nil, err
	}
	if _, err := Read(ctx, c); err != nil {
		return nil, err
	}
	return c, nil
}

// moveRow is what the origin of a moved tensor says. It is in no table: devices
// do not run it, and nothing else records it.
var moveRow = &ir.Row{
	Name: "move", Doc: "y = x, on another device.", Access: ir.View,
	Operands: []ir.Operand{{Name: "x", Class: ir.AnyType}},
	Infer:    func(_ *ir.Row, in []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return in, nil },
}

func init() { // To refers to the row, and its gradient to To
	moveRow.GradFunc = func(g *ir.GradContext) []ir.Value {
		dy, ok := g.DOut[0].(*Tensor)
		x, isTensor := g.In[0].(*Tensor)
		if !ok || !isTensor || x.v == nil {
			return []ir.Value{nil}
		}
		return []ir.Value{dy.To(x.stream().dev)}
	}
}

// together returns operands on one device: as they are, or moved by the rule of
// the router that they share. Others are an error that names both devices.
func together(in []*Tensor) ([]*Tensor, error) {
	apart := 0
	for i, t := range in {
		if t.stream().dev != in[0].stream().dev {
			apart = i
			break
		}
	}
	if apart == 0 {
		return in, nil
	}
	var m backend.Mover // of the first device that has one
	ok := false
	for i := 0; i < len(in) && !ok; i++ {
		m, ok = backend.As[backend.Mover](in[i].stream().dev.client)
	}
	if ok {
		of := make([]backend.Backend, len(in))
		for i, t := range in {
			of[i] = t.stream().dev.client
		}
		if at, ok := m.Meet(of, typesOf(in)); ok {
			d := in[at].stream().dev
			moved := make([]*Tensor, len(in))
			for i, t := range in {
				if moved[i] = t; t.stream().dev != d {
					moved[i] = t.To(d)
				}
				if err := moved[i].failure(); err != nil {
					return nil, err
				}
			}
			return moved, nil
		}
	}
	there, here := in[apart].stream().dev, in[0].stream().dev
	of := ""
	if there.info.ID == here.info.ID {
		of = " of another runtime"
	}
	return nil, ir.Errorf(ir.ErrDevice, "operand %d is on %s%s, the first is on %s; move one with To", apart, there, of, here)
}
