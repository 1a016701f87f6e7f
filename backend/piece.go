package backend

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Check returns an error unless the piece fits its kernel and every address lies
// inside the tensor named: what is launched cannot leave its operands.
func (p *Piece) Check() error {
	k := p.Kernel.Kernel()
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

func checkArg(a *LaunchArg, arg *kernel.Arg, extents []int64, empty bool) error {
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
