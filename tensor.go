package sinter

import (
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// DType is the element type of a tensor.
type DType = ir.DType

// The element types.
const (
	Bool = ir.Bool
	I8   = ir.I8
	I16  = ir.I16
	I32  = ir.I32
	I64  = ir.I64
	U8   = ir.U8
	U16  = ir.U16
	U32  = ir.U32
	U64  = ir.U64
	F16  = ir.F16
	BF16 = ir.BF16
	F32  = ir.F32
	F64  = ir.F64
)

// Tensor is an array of elements of one dtype on a device: a value, never
// changed once made. Methods record operations and return at once. It is safe
// for concurrent use. Tensors made by hand (&Tensor{}) carry an error.
type Tensor struct {
	v      *fusion.Value // shared by the tensors that [Scope.In], [Tensor.Track] and the like make of it
	err    *ir.Error
	scope  *Scope
	origin *Origin // how it was made, if gradients may be asked for
	result int     // which result of the origin it is
}

// made is a tensor with its value, in one allocation. It never has an origin: another
// tensor of the same value would keep that alive.
type made struct {
	Tensor
	value fusion.Value
}

// typ returns the type, that without a dtype for a tensor that carries an error.
func (t *Tensor) typ() ir.Type {
	if t.v == nil {
		return ir.Type{}
	}
	return t.v.Type()
}

// stream returns the stream that the value was recorded on. The tensor has one.
func (t *Tensor) stream() *Stream { return t.v.Stream().Owner.(*Stream) }

// home returns the stream on which operations on the tensor are recorded. The tensor
// has one.
func (t *Tensor) home() *Stream {
	s := t.stream()
	if t.scope != nil && t.scope.stream != nil && t.scope.stream.dev == s.dev {
		return t.scope.stream
	}
	return s
}

// errored returns a tensor that carries an error.
func errored(err error) *Tensor { return &Tensor{err: ir.AsError(err)} }

// Failed returns a tensor that carries an error, for functions of tensors that
// report errors as their operations do. A nil error is a fault of the caller and
// becomes an error that says so.
func Failed(err error) *Tensor {
	if err == nil {
		err = ir.Errorf(ir.ErrArgument, "a failed tensor was made of no error")
	}
	return errored(err)
}

// failure returns the error that a tensor is known to carry without asking the
// device.
func (t *Tensor) failure() *ir.Error {
	switch {
	case t == nil:
		return ir.Errorf(ir.ErrArgument, "the tensor is nil")
	case t.err != nil:
		return t.err
	case t.v == nil:
		return ir.Errorf(ir.ErrArgument, "the tensor was not made by this package")
	case t.v.Released():
		return ir.Errorf(ir.ErrClosed, "the tensor was released, or its scope has ended")
	}
	return nil
}

// Err returns the error that recording gave the tensor: a wrong shape or dtype,
// a released operand. Errors of running show when the tensor is read.
func (t *Tensor) Err() error {
	if err := t.failure(); err != nil {
		return err
	}
	return nil
}

// Shape returns the extents; nil for a tensor that carries an error.
func (t *Tensor) Shape() []int {
	if t == nil {
		return nil
	}
	return t.typ().Shape.Clone()
}

// Rank returns the number of axes.
func (t *Tensor) Rank() int {
	if t == nil {
		return 0
	}
	return len(t.typ().Shape)
}

// Dim returns the extent of an axis; negative axes count from the end. It is 0
// for an axis that the tensor does not have.
func (t *Tensor) Dim(axis int) int {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return 0
	}
	return t.typ().Shape[a]
}

// Size returns the number of elements.
func (t *Tensor) Size() int {
	if t == nil || t.err != nil {
		return 0
	}
	return t.typ().Shape.Size()
}

// DType returns the element type.
func (t *Tensor) DType() DType {
	if t == nil {
		return ir.Invalid
	}
	return t.typ().DType
}

// Device returns the device that the tensor lives on, nil if it carries an error.
func (t *Tensor) Device() *Device {
	if t == nil || t.v == nil {
		return nil
	}
	return t.stream().dev
}

// Unfused runs what the tensor needs and keeps it in memory, without waiting, so
// that nothing that uses it is fused with what makes it. It returns t.
func (t *Tensor) Unfused() *Tensor {
	if t.failure() == nil {
		_ = t.v.Store() // an error is the tensor's, and shows when it is used
	}
	return t
}

// Release says that the program will not use the tensor again, nor any that
// shares its value ([Scope.In], [Tensor.Track]). Views and results made
// before stay valid. Releasing twice is harmless.
func (t *Tensor) Release() {
	if t != nil && t.v != nil {
		t.v.Release()
	}
}
