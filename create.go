package sinter

import (
	"reflect"
	"unsafe"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Element are the Go types that hold elements. F16 and BF16 tensors are made
// from float32 and cast.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~int | ~uint
}

// dtypeOf returns the dtype that holds a Go type.
func dtypeOf[T Element]() DType {
	switch k := reflect.TypeFor[T]().Kind(); k {
	case reflect.Bool:
		return Bool
	case reflect.Int8:
		return I8
	case reflect.Int16:
		return I16
	case reflect.Int32:
		return I32
	case reflect.Int64:
		return I64
	case reflect.Int: // 32 bits on some targets
		if unsafe.Sizeof(int(0)) == 4 {
			return I32
		}
		return I64
	case reflect.Uint8:
		return U8
	case reflect.Uint16:
		return U16
	case reflect.Uint32:
		return U32
	case reflect.Uint64:
		return U64
	case reflect.Uint:
		if unsafe.Sizeof(uint(0)) == 4 {
			return U32
		}
		return U64
	case reflect.Float32:
		return F32
	default:
		return F64
	}
}

// Of is a device for the constructors below: On(dev) makes tensors there.
type Of struct{ s *Stream }

// On makes tensors on a device.
func On(d *Device) Of { return Of{d.stream} }

// OnStreamOf makes tensors on a stream.
func OnStreamOf(s *Stream) Of { return Of{s} }

// Beside makes tensors where operations on t are recorded, on the stream of its scope if
// that has one: for what a function makes to use with t. They belong to no scope.
func Beside(t *Tensor) Of {
	if t.failure() != nil {
		return Of{}
	}
	return Of{t.home()}
}

func (o Of) stream() *Stream {
	if o.s == nil {
		return DefaultDevice().stream
	}
	return o.s
}

// FromSlice makes a tensor of the default device from elements in row-major
// order; without a shape it has one axis. The slice is copied.
func FromSlice[T Element](data []T, shape ...int) *Tensor { return FromSliceOn(Of{}, data, shape...) }

// FromSliceOn is FromSlice on a device or stream.
func FromSliceOn[T Element](o Of, data []T, shape ...int) *Tensor {
	s := ir.Shape(shape)
	if len(shape) == 0 {
		s = ir.Shape{len(data)}
	}
	typ := ir.Type{DType: dtypeOf[T](), Shape: s.Clone()}
	if err := typ.Check(); err != nil {
		return createError("from_slice", err)
	}
	if s.Size() != len(data) {
		return createError("from_slice", ir.Errorf(ir.ErrShape, "%d elements for shape %v, which has %d", len(data), s, s.Size()))
	}
	var zero T
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(zero)))
	return upload(o.stream(), typ, raw)
}

// FromBytes makes a tensor of any dtype from its elements' bytes, row-major and
// in the machine's byte order. The bytes are copied.
func FromBytes(o Of, d DType, data []byte, shape ...int) *Tensor {
	typ := ir.Type{DType: d, Shape: ir.Shape(shape).Clone()}
	if err := typ.Check(); err != nil {
		return createError("from_bytes", err)
	}
	if typ.Bytes() != int64(len(data)) {
		return createError("from_bytes", ir.Errorf(ir.ErrShape, "%d bytes for %s, which has %d", len(data), typ, typ.Bytes()))
	}
	return upload(o.stream(), typ, data)
}

func upload(s *Stream, typ ir.Type, data []byte) *Tensor {
	v, err := s.fs.Upload(typ, data)
	if err != nil {
		return createError("upload", err)
	}
	return &Tensor{v: v}
}

func createError(op string, err error) *Tensor {
	e := *ir.AsError(err)
	e.Op, e.Site = op, callsite.Find()
	return errored(&e)
}

// Scalar makes a tensor without axes.
func Scalar[T Element](v T) *Tensor {
	t := FromSliceOn(Of{}, []T{v}, 1)
	return t.Reshape()
}

// Full makes a tensor whose elements are all v, a Go number or bool that the
// dtype can hold.
func (o Of) Full(v any, d DType, shape ...int) *Tensor {
	if !d.Valid() {
		return createError("full", ir.Errorf(ir.ErrDType, "%s is not a dtype", d))
	}
	s, err := scalarOf(v, d)
	if err != nil {
		return createError("full", err)
	}
	return full(o.stream(), shape, s)
}

// Zeros makes a tensor of zeros (false for bool).
func (o Of) Zeros(d DType, shape ...int) *Tensor { return full(o.stream(), shape, ir.Scalar{DType: d}) }

// Ones makes a tensor of ones (true for bool).
func (o Of) Ones(d DType, shape ...int) *Tensor {
	if !d.Valid() {
		return createError("ones", ir.Errorf(ir.ErrDType, "%s is not a dtype", d))
	}
	return full(o.stream(), shape, ir.Scalar{DType: d, Bits: kernel.Convert(d, I64, 1)})
}

// Arange makes the numbers from start in steps of step, below stop (above it for
// negative steps), as numpy's arange does.
func (o Of) Arange(start, stop, step int, d DType) *Tensor {
	n := uint64(0) // differences of ints fit in it
	switch {
	case step == 0:
		return createError("arange", ir.Errorf(ir.ErrArgument, "the step is 0"))
	case step > 0 && stop > start:
		n = (uint64(stop)-uint64(start)-1)/uint64(step) + 1
	case step < 0 && stop < start:
		n = (uint64(start)-uint64(stop)-1)/-uint64(step) + 1
	}
	if n > ir.MaxElements {
		return createError("arange", ir.Errorf(ir.ErrShape, "from %d to %d in steps of %d: too many elements", start, stop, step))
	}
	if start == 0 && step == 1 && d.IsInt() { // wraps like the cast below
		return indices(o.stream(), d, int(n))
	}
	t := indices(o.stream(), I64, int(n))
	return t.Mul(step).Add(start).Cast(d)
}

// Zeros makes a tensor of zeros on the default device.
func Zeros(d DType, shape ...int) *Tensor { return Of{}.Zeros(d, shape...) }

// Ones makes a tensor of ones on the default device.
func Ones(d DType, shape ...int) *Tensor { return Of{}.Ones(d, shape...) }

// Full makes a constant tensor on the default device.
func Full(v any, d DType, shape ...int) *Tensor { return Of{}.Full(v, d, shape...) }

// Arange makes 0, 1, ..., n-1 on the default device.
func Arange(n int, d DType) *Tensor { return Of{}.Arange(0, n, 1, d) }
