package cpu

import (
	"context"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/contract"
	"github.com/sinter-go/sinter/lower"
)

// CodeID names what generates code here, "" if the device interprets. Saved code
// is good on devices of the same id. See [backend.CodeKeeper].
func (d *Device) CodeID() string {
	level, ok := levels[d.opt.Generator]
	if !ok || d.accelerated() {
		return ""
	}
	return contract.BuildID(level)
}

// SaveCode returns the machine code of a kernel of this device, nil if it is
// interpreted or was released.
func (d *Device) SaveCode(ctx context.Context, k backend.Compiled) ([]byte, error) {
	c, ok := k.(*compiledKernel)
	if !ok || c.d != d {
		return nil, ir.Errorf(ir.ErrDevice, "the kernel is another device's")
	}
	var made code
	if err := d.inOrder(ctx, func() { made, _ = c.exe.(code) }); err != nil || made == nil || d.accelerated() {
		return nil, err
	}
	return saveCode(made), nil
}

// LoadCode makes a kernel of its saved code, which is executed as it is.
func (d *Device) LoadCode(k *kernel.Kernel, data []byte) (backend.Compiled, error) {
	level, ok := levels[d.opt.Generator]
	switch {
	case d.q.isClosed():
		return nil, errClosed
	case k == nil || !ok || d.accelerated():
		return nil, ir.Errorf(ir.ErrUnsupported, "the device takes no code")
	}
	exe, err := loadCode(level, k, data)
	if err != nil {
		return nil, err
	}
	d.choose(exe)
	return &compiledKernel{d: d, ready: newReady(k, exe, true), fault: k.HasFault(), decisive: k.FaultArgs()}, nil
}

// Warm compiles what a node will need; see [backend.Warmer].
func (d *Device) Warm(n *ir.Node, operands []ir.Layout) error {
	if d.q.isClosed() {
		return errClosed
	}
	if len(n.Out) == 0 || n.Out[0].Shape.Size() == 0 {
		return nil
	}
	at := map[ir.ID]ir.Layout{}
	plain := func(t ir.Tensor) ir.Layout { return ir.Layout{Strides: t.Shape.Strides()} }
	for i, t := range n.In {
		at[t.ID] = plain(t)
		if i < len(operands) && len(operands[i].Strides) == len(t.Shape) {
			at[t.ID] = operands[i]
		}
	}
	for _, t := range n.Out {
		at[t.ID] = plain(t)
	}
	switch n.Row.Access {
	case ir.View, ir.Recurrence: // the kernels of recurrences are few, and kept
		return nil
	case ir.Join:
		for i, t := range n.In {
			l, err := lower.JoinPart(n, i, at[n.Out[0].ID])
			if err == nil {
				err = d.warmCopy(t.Type, at[t.ID], l)
			}
			if err != nil {
				return err
			}
		}
		return nil
	case ir.Scatter, ir.Opaque: // routines take operands in order
		for _, t := range n.In {
			if e := (&entry{typ: t.Type, layout: at[t.ID]}); e.contiguous() {
				continue
			}
			if err := d.warmCopy(t.Type, at[t.ID], plain(t)); err != nil {
				return err
			}
		}
		return nil
	}
	return d.warmBlock([]ir.Node{*n}, func(id ir.ID) ir.Layout { return at[id] })
}

// warmCopy compiles what copies a tensor from one layout to another.
func (d *Device) warmCopy(t ir.Type, from, to ir.Layout) error {
	if t.Shape.Size() == 0 {
		return nil
	}
	n := lower.CopyNode(ir.Tensor{ID: 1, Type: t}, ir.Tensor{ID: 2, Type: t}, ir.Site{})
	return d.warmBlock([]ir.Node{n}, func(id ir.ID) ir.Layout {
		if id == 1 {
			return from
		}
		return to
	})
}

func (d *Device) warmBlock(nodes []ir.Node, layouts lower.Layouts) error {
	b, err := lower.New(nodes, layouts, nil)
	if err != nil {
		return err
	}
	for _, p := range b.Pieces {
		if _, err := d.kernelFor(p); err != nil {
			return err
		}
	}
	return nil
}
