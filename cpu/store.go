package cpu

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// entry is what an id names: a tensor, whose buffer other entries may share, or
// the error of a tensor that could not be computed.
type entry struct {
	typ    ir.Type
	layout ir.Layout
	buf    *buffer
	err    *ir.Error
}

// share returns another owner of the same contents.
func (e *entry) share() *entry {
	c := *e
	if c.buf != nil {
		c.buf.refs++
	}
	return &c
}

// contiguous reports whether the elements lie in row-major order without gaps.
func (e *entry) contiguous() bool {
	st := e.typ.Shape.Strides()
	for i, d := range e.typ.Shape {
		if d > 1 && e.layout.Strides[i] != st[i] {
			return false
		}
	}
	return true
}

// bytes returns the memory of a contiguous entry.
func (e *entry) bytes() []byte {
	from := e.layout.Offset * int64(e.typ.DType.Size())
	n := e.typ.Bytes()
	if n == 0 {
		return nil
	}
	return e.buf.data[from : from+n]
}

func unknown(id ir.ID) *ir.Error {
	return ir.Errorf(ir.ErrInternal, "tensor %d is not known to the device: it was freed, or never made", id)
}

func (d *Device) setEntry(id ir.ID, e *entry) {
	d.drop(id)
	d.store[id] = e
}

func (d *Device) drop(id ir.ID) {
	if e := d.store[id]; e != nil {
		delete(d.store, id)
		if e.buf != nil {
			d.pool.put(e.buf)
		}
	}
}

// newEntry allocates a contiguous tensor.
func (d *Device) newEntry(t ir.Type) (*entry, error) {
	e := &entry{typ: t, layout: ir.Layout{Strides: t.Shape.Strides()}}
	buf, err := d.memory(t.Bytes())
	if err != nil {
		return nil, err
	}
	e.buf = buf
	return e, nil
}

// memory makes a buffer. If there is no room, what can be made again goes first.
func (d *Device) memory(n int64) (*buffer, error) {
	buf, err := d.pool.get(max(n, 1))
	if err != nil {
		d.pool.forgetAll()
		d.kernels.shrink()
		buf, err = d.pool.get(max(n, 1))
	}
	return buf, err
}

// adoptBuffer makes a tensor of a buffer that nobody else owns.
func (d *Device) adoptBuffer(t ir.Tensor, b *buffer) {
	d.setEntry(t.ID, &entry{typ: t.Type, layout: ir.Layout{Strides: t.Shape.Strides()}, buf: b})
}

// fail marks tensors with an error that began here.
func (d *Device) fail(out []ir.Tensor, err *ir.Error) { d.mark(out, d.raise(err)) }

// raise completes an error that began here, and keeps it for Sync.
func (d *Device) raise(err *ir.Error) *ir.Error {
	if err.Device == "" {
		e := *err
		e.Device = d.opt.ID
		if e.Detail == "" {
			e.Detail = fusedWith(&e, d.among)
		}
		err = &e
	}
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, err)
	}
	return err
}

// maxFusedWith bounds the operations that an error lists.
const maxFusedWith = 16

// fusedWith lists the other operations of the function in which an operation
// failed, with the user's lines.
func fusedWith(err *ir.Error, nodes []ir.Node) string {
	var with []string
	for i := range nodes {
		n := &nodes[i]
		if n.Row.Name == err.Op && n.Site == err.Site {
			continue
		}
		if len(with) == maxFusedWith {
			with = append(with, fmt.Sprintf("and %d more", len(nodes)-i))
			break
		}
		with = append(with, strings.TrimSuffix(n.Row.Name+" "+n.Site.String(), " "))
	}
	if len(with) == 0 {
		return ""
	}
	return "fused with " + strings.Join(with, ", ")
}

// mark gives tensors an error, which may come from an operand.
func (d *Device) mark(out []ir.Tensor, err *ir.Error) {
	for _, t := range out {
		d.setEntry(t.ID, &entry{typ: t.Type, err: err})
	}
}

// reported takes an error that a Read returned off the list for Sync.
func (d *Device) reported(err error) {
	for i, e := range d.errs {
		if e == err {
			d.errs = append(d.errs[:i], d.errs[i+1:]...)
			return
		}
	}
}

// contents returns a copy of a tensor's elements in row-major order.
func (d *Device) contents(id ir.ID) ([]byte, ir.Type, error) {
	e := d.store[id]
	if e == nil {
		return nil, ir.Type{}, unknown(id)
	}
	if e.err != nil {
		return nil, e.typ, e.err
	}
	c, err := d.compact(id, e)
	if err != nil {
		return nil, e.typ, err
	}
	out, err := d.copyOut(c)
	if c != e {
		d.pool.put(c.buf)
	}
	return out, e.typ, err
}

// compact returns e itself if it is contiguous, else a contiguous copy that the
// caller must put back.
func (d *Device) compact(id ir.ID, e *entry) (*entry, error) {
	if e.contiguous() {
		return e, nil
	}
	c, err := d.newEntry(e.typ)
	if err != nil {
		return nil, err
	}
	if err := d.copyInto(id, e, c.buf, c.layout); err != nil {
		d.pool.put(c.buf)
		return nil, err
	}
	return c, nil
}

// copyInto copies a tensor to a layout in a buffer.
func (d *Device) copyInto(id ir.ID, e *entry, buf *buffer, l ir.Layout) error {
	if e.typ.Shape.Size() == 0 {
		return nil
	}
	const target = ^ir.ID(0)
	n := lower.CopyNode(ir.Tensor{ID: id, Type: e.typ}, ir.Tensor{ID: target, Type: e.typ}, ir.Site{})
	block, err := lower.New([]ir.Node{n}, func(t ir.ID) ir.Layout {
		if t == target {
			return l
		}
		return e.layout
	}, nil)
	if err != nil {
		return err
	}
	return d.runBlock(block, func(t ir.ID) *buffer {
		if t == target {
			return buf
		}
		return e.buf
	})
}

// runBlock runs a lowered block over buffers and turns a fault into an error.
func (d *Device) runBlock(b *lower.Block, buffers func(ir.ID) *buffer) error {
	parts := make([]part, len(b.Pieces))
	for i, p := range b.Pieces {
		c, err := d.kernelFor(p)
		if err != nil {
			return err
		}
		l := &kernel.Launch{Extents: p.Extents, Start: p.Start, Full: p.Full, Params: p.Bind(c.params), Args: make([]kernel.Operand, len(p.Args))}
		memory := make([]*buffer, len(p.Args))
		for j, a := range p.Args {
			memory[j] = buffers(a.Tensor)
			l.Args[j] = operand(memory[j], a.Offset, a.Strides, a.GatherStride, a.GatherExtent)
		}
		parts[i] = part{&c.ready, l, memory}
	}
	f, err := d.runParts(parts)
	if err == nil {
		f, err = d.ask(f)
	}
	if err != nil {
		return err
	}
	if f.code != kernel.NoFault {
		return faultError(f.code, f.at, b.Nodes[len(b.Nodes)-1].Out[0].Shape)
	}
	return nil
}

func faultError(code kernel.FaultCode, at int64, shape ir.Shape) *ir.Error {
	return ir.Errorf(ir.ErrData, "%s, first at element %s of the result", code, position(shape, at))
}

func operand(buf *buffer, offset int64, strides []int64, gatherStride, gatherExtent int64) kernel.Operand {
	return kernel.Operand{Base: unsafe.Pointer(unsafe.SliceData(buf.data)), Size: int64(cap(buf.data)),
		Offset: offset, Strides: strides, GatherStride: gatherStride, GatherExtent: gatherExtent}
}

// position turns a linear index into coordinates.
func position(shape ir.Shape, linear int64) string {
	at := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] > 0 {
			at[i] = linear % int64(shape[i])
			linear /= int64(shape[i])
		}
	}
	return fmt.Sprint(at)
}
