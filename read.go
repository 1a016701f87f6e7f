package sinter

import (
	"context"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Array is a tensor on the host: row-major elements in the machine's byte order.
type Array struct {
	DType DType
	Shape []int
	Bytes []byte
}

// Read waits for tensors and returns their contents, in one round trip per
// device. The error is that of the first tensor that carries one; arrays of the
// others are valid all the same.
func Read(ctx context.Context, ts ...*Tensor) ([]Array, error) {
	out := make([]Array, len(ts))
	var first error
	at := len(ts)
	note := func(i int, err error) {
		if i < at && err != nil {
			first, at = err, i
		}
	}
	byDevice := map[*Device][]int{}
	var order []*Device
	for i, t := range ts {
		if err := t.failure(); err != nil {
			note(i, err)
			continue
		}
		d := t.stream().dev
		if byDevice[d] == nil {
			order = append(order, d)
		}
		byDevice[d] = append(byDevice[d], i)
	}
	type answer struct {
		data []backend.Data
		errs []error
		err  error
	}
	answers := make([]answer, len(order))
	ask := func(k int) {
		d := order[k]
		values := make([]*fusion.Value, 0, len(ts))
		for _, i := range byDevice[d] {
			values = append(values, ts[i].v)
		}
		a := &answers[k]
		a.data, a.errs, a.err = d.client.ReadValues(ctx, values)
	}
	var wg sync.WaitGroup
	for k := 1; k < len(order); k++ {
		wg.Go(func() { ask(k) })
	}
	if len(order) > 0 {
		ask(0)
	}
	wg.Wait()
	for k, d := range order {
		a := answers[k]
		if a.err != nil {
			at := byDevice[d][0]
			e := *ir.AsError(a.err) // of the device as a whole, which knows no line
			if e.Op == "" {
				e.Op, e.Operands, e.Site = "read", typesOf(ts[at:at+1]), callsite.Find()
			}
			note(at, &e)
			continue
		}
		for j, i := range byDevice[d] {
			note(i, a.errs[j])
			if a.errs[j] == nil {
				out[i] = Array{a.data[j].Type.DType, a.data[j].Type.Shape, a.data[j].Bytes}
			}
		}
	}
	return out, first
}

// check returns an error if the bytes are not those of the shape.
func (a Array) check() error {
	t := ir.Type{DType: a.DType, Shape: a.Shape}
	if err := t.Check(); err != nil {
		return err
	}
	if int64(len(a.Bytes)) != t.Bytes() {
		return ir.Errorf(ir.ErrArgument, "an array of %s has %d bytes, expected %d", t, len(a.Bytes), t.Bytes())
	}
	return nil
}

// Values returns the elements of an array as a Go slice. T must hold the array's
// dtype exactly: []float32 for f32; [Tensor.Cast] f16 and bf16 to f32 first.
func Values[T Element](a Array) ([]T, error) {
	if d := dtypeOf[T](); d != a.DType {
		var zero T
		return nil, &ir.Error{Kind: ir.ErrDType, Op: "values", Site: callsite.Find(),
			Msg: "the array is " + a.DType.String() + ", but []" + typeName(zero) + " holds " + d.String()}
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	if len(a.Bytes) == 0 {
		return []T{}, nil
	}
	var zero T
	out := make([]T, len(a.Bytes)/int(unsafe.Sizeof(zero)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(a.Bytes)), a.Bytes)
	return out, nil
}

// Data waits for a tensor and returns its elements in row-major order.
func Data[T Element](ctx context.Context, t *Tensor) ([]T, error) {
	if err := t.failure(); err != nil {
		return nil, err
	}
	if d := dtypeOf[T](); d != t.typ().DType { // before waiting
		return Values[T](Array{DType: t.typ().DType})
	}
	a, err := Read(ctx, t)
	if err != nil {
		return nil, err
	}
	return Values[T](a[0])
}

// Item waits for a tensor of one element and returns it.
func Item[T Element](ctx context.Context, t *Tensor) (T, error) {
	var zero T
	if err := t.failure(); err != nil {
		return zero, err
	}
	if t.Size() != 1 {
		return zero, t.argument("item", "%v has %d elements, expected 1", t.typ().Shape, t.Size()).Err()
	}
	v, err := Data[T](ctx, t)
	if err != nil {
		return zero, err
	}
	return v[0], nil
}
