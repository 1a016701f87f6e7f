package cpu

import (
	"fmt"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// part is a kernel over its iteration space, bound to memory: what workers run.
type part struct {
	exe kernel.Executable
	k   *kernel.Kernel
	l   *kernel.Launch
}

// checkPiece returns an error unless the piece fits its kernel and every address
// lies inside the tensor named: what is launched cannot leave its operands.
func checkPiece(p *backend.Piece, k *kernel.Kernel) error {
	axes := len(k.Axes)
	if len(p.Extents) != axes || p.Start != nil && len(p.Start) != axes || p.Full != nil && len(p.Full) != axes {
		return ir.Errorf(ir.ErrArgument, "%d extents, %d starts and %d full extents for a kernel of %d axes", len(p.Extents), len(p.Start), len(p.Full), axes)
	}
	if len(p.Args) != len(k.Args) || len(p.Params) != len(k.Params) {
		return ir.Errorf(ir.ErrArgument, "%d arguments and %d parameters, expected %d and %d", len(p.Args), len(p.Params), len(k.Args), len(k.Params))
	}
	empty := false
	for i, n := range p.Extents {
		start, full := int64(0), n
		if p.Start != nil {
			start, full = p.Start[i], start+n
		}
		if p.Full != nil {
			full = p.Full[i]
		}
		if n < 0 || start < 0 || full < 0 || p.Full != nil && start > full-n {
			return ir.Errorf(ir.ErrArgument, "axis %d: %d elements from %d of %d", i, n, start, full)
		}
		empty = empty || n == 0
	}
	for i := range p.Args {
		a := &p.Args[i]
		if err := checkArg(a, &k.Args[i], p.Extents, empty); err != nil {
			return &ir.Error{Kind: ir.ErrArgument, Msg: fmt.Sprintf("argument %d", i), Cause: err}
		}
	}
	return nil
}

func checkArg(a *backend.LaunchArg, arg *kernel.Arg, extents []int64, empty bool) error {
	if err := a.Tensor.Check(); err != nil {
		return err
	}
	if a.Tensor.DType != arg.Type {
		return ir.Errorf(ir.ErrDType, "tensor %d is %s, the kernel takes %s", a.Tensor.ID, a.Tensor.DType, arg.Type)
	}
	if len(a.Strides) != len(extents) {
		return ir.Errorf(ir.ErrArgument, "%d strides for %d axes", len(a.Strides), len(extents))
	}
	for i, s := range a.Strides {
		if arg.Access[i] == kernel.Unit && s != 1 || arg.Access[i] == kernel.Broadcast && s != 0 {
			return ir.Errorf(ir.ErrArgument, "the stride along axis %d is %d, for which the kernel was not made", i, s)
		}
	}
	if a.GatherExtent < 0 {
		return ir.Errorf(ir.ErrArgument, "a gathered axis of extent %d", a.GatherExtent)
	}
	if empty || arg.Gather && a.GatherExtent == 0 { // nothing is read
		return nil
	}
	l, n := ir.Layout{Offset: a.Offset, Strides: a.Strides}, extents
	if arg.Gather {
		l.Strides = append(l.Strides[:len(extents):len(extents)], a.GatherStride)
		n = append(n[:len(extents):len(extents)], a.GatherExtent)
	}
	if size := int64(a.Tensor.Shape.Size()); !l.Inside(n, size) {
		return ir.Errorf(ir.ErrArgument, "extents %v from element %d with strides %v leave tensor %d of %d elements", n, l.Offset, l.Strides, a.Tensor.ID, size)
	}
	return nil
}

// traffic returns the bytes that a run reads and writes, each argument once and
// no more of it than there is.
func (p *part) traffic() (read, written int64) {
	for i := range p.k.Args {
		a, o := &p.k.Args[i], &p.l.Args[i]
		n := int64(a.Type.Size())
		for axis, s := range o.Strides {
			if (s != 0 || a.Gather) && n <= o.Size {
				n *= p.l.Extents[axis]
			}
		}
		if a.Dir == kernel.Out {
			written += min(n, o.Size)
		} else {
			read += min(n, o.Size)
		}
	}
	return read, written
}

// runParts runs the parts of one function, in any order or at once, and counts
// them as one kernel. It returns the fault at the lowest index.
func (d *Device) runParts(parts []part) (code kernel.FaultCode, at int64) {
	live := parts[:0:0]
	for _, p := range parts {
		empty := false
		for _, n := range p.l.Extents {
			empty = empty || n == 0
		}
		if empty {
			continue
		}
		for i := range p.k.Args {
			if p.k.Args[i].Gather && p.l.Args[i].GatherExtent <= 0 { // any index is out of range
				return kernel.IndexOutOfRange, 0
			}
		}
		if p.k.HasFault() {
			p.l.Fault = new(kernel.Fault)
		}
		live = append(live, p)
	}
	if len(live) == 0 {
		return kernel.NoFault, 0
	}
	d.counters.kernels.Add(1)
	for i := range live {
		read, written := live[i].traffic()
		d.counters.read.Add(read)
		d.counters.written.Add(written)
	}
	d.workers.run(live)
	for i := range live {
		if live[i].l.Fault == nil {
			continue
		}
		if c, a := live[i].l.Fault.First(); c != kernel.NoFault && (code == kernel.NoFault || a < at) {
			code, at = c, a
		}
	}
	return code, at
}
