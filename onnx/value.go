package onnx

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/sinter-go/sinter"
)

// Value is what flows between nodes: a tensor on a device or on the host, a
// sequence of values, or nothing (an optional value that is not there). An
// optional value that is there is that value.
type Value struct {
	// Elem is the element type of a tensor, which [Elem.DType] holds.
	Elem Elem

	tensor *sinter.Tensor
	host   *Host         // the same elements on the host, where they are known
	fixed  *constant     // a constant: tensors by device
	home   *sinter.Scope // owns tensors that are made of host
	seq    []*Value
	isSeq  bool
	isNone bool
}

// TensorValue is a tensor as a value.
func TensorValue(t *sinter.Tensor) *Value { return &Value{Elem: ElemOf(t.DType()), tensor: t} }

// ArrayValue is an array as a value of an element type.
func ArrayValue(e Elem, a sinter.Array) *Value {
	return &Value{Elem: e, fixed: &constant{array: a}, host: smallHost(e, a)}
}

// HostValue is elements on the host as a value.
func HostValue(h *Host) *Value { return &Value{Elem: h.Elem, host: h} }

// SequenceValue is a sequence of values.
func SequenceValue(vs ...*Value) *Value { return &Value{isSeq: true, seq: vs} }

// NoValue is an optional value that is not there.
func NoValue() *Value { return &Value{isNone: true} }

// IsSequence reports whether the value is a sequence.
func (v *Value) IsSequence() bool { return v.isSeq }

// IsNone reports whether the value is an optional one that is not there.
func (v *Value) IsNone() bool { return v.isNone }

// Sequence returns the values of a sequence.
func (v *Value) Sequence() []*Value { return v.seq }

// Shape returns the extents of a tensor.
func (v *Value) Shape() []int {
	switch {
	case v.host != nil:
		return append([]int(nil), v.host.Shape...)
	case v.tensor != nil:
		return v.tensor.Shape()
	case v.fixed != nil:
		return append([]int(nil), v.fixed.array.Shape...)
	}
	return nil
}

// Size returns the number of elements of a tensor.
func (v *Value) Size() int { return product(v.Shape()) }

// product returns the number of elements of a shape; the greatest int if that
// does not hold it.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		if d == 0 {
			return 0
		}
		if n > math.MaxInt/max(d, 1) {
			n = math.MaxInt
		} else {
			n *= d
		}
	}
	return n
}

// Tensor returns the value as a tensor of a device, nil if it is none.
func (v *Value) Tensor(d *sinter.Device) *sinter.Tensor {
	switch {
	case v.fixed != nil:
		return v.fixed.on(d)
	case v.tensor != nil:
		if v.tensor.Device() != nil && v.tensor.Device() != d {
			return v.tensor.To(d)
		}
		return v.tensor
	case v.host != nil && v.Elem != String:
		t := v.host.tensor(d)
		if v.home != nil {
			t = v.home.Own(t)
		}
		v.tensor = t
		return t
	}
	return nil
}

// kind names what the value is, for messages.
func (v *Value) kind() string {
	switch {
	case v == nil:
		return "a missing input"
	case v.isSeq:
		return "a sequence"
	case v.isNone:
		return "an empty optional"
	}
	return fmt.Sprintf("%s%v", v.Elem, v.Shape())
}

// constant is an array with a tensor on each device that asked for it. All runs
// of a program share it.
type constant struct {
	array sinter.Array

	mu      sync.Mutex
	tensors map[*sinter.Device]*sinter.Tensor
}

func (c *constant) on(d *sinter.Device) *sinter.Tensor {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tensors[d]; t != nil && t.Err() == nil {
		return t
	}
	t := sinter.FromBytes(sinter.On(d), c.array.DType, c.array.Bytes, c.array.Shape...)
	if c.tensors == nil {
		c.tensors = map[*sinter.Device]*sinter.Tensor{}
	}
	c.tensors[d] = t
	return t
}

// release gives the tensors of all devices up.
func (c *constant) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tensors {
		t.Release()
	}
	c.tensors = nil
}

// Array waits for a tensor and returns its elements, in the dtype that holds
// them (see [Elem.DType]).
func (v *Value) Array(ctx context.Context) (sinter.Array, error) {
	switch {
	case v.isSeq || v.isNone || v.Elem == String:
		return sinter.Array{}, fmt.Errorf("onnx: %s has no array", v.kind())
	case v.fixed != nil:
		return v.fixed.array, nil
	case v.host != nil:
		return v.host.array(), nil
	}
	as, err := sinter.Read(ctx, v.tensor)
	if err != nil {
		return sinter.Array{}, err
	}
	return as[0], nil
}

// Strings returns the elements of a tensor of strings, nil of another.
func (v *Value) Strings() []string {
	if v.Elem != String || v.host == nil {
		return nil
	}
	return v.host.Strs
}

// String says what the value is.
func (v *Value) String() string { return v.kind() }
