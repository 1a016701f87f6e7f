package onnx

import (
	"context"
	"errors"
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// errNotHost is the answer of an operator's host function that leaves the node
// to its run function.
var errNotHost = errors.New("not on the host")

// Call is one application of an operator: what its functions see.
type Call struct {
	step    *step
	frame   *frame
	in      []*Value
	out     []*Value
	scope   *sinter.Scope   // of the node: what is not an output ends with it
	entered []enteredTensor // inputs as members of the scope
	results []*Value        // of graphs that the node ran
}

type enteredTensor struct {
	value    *Value
	from, to *sinter.Tensor
}

// Name names the node in messages.
func (c *Call) Name() string { return c.step.label }

// Op returns the operator's name.
func (c *Call) Op() string { return c.step.op.name }

// Opset returns the version of the operator's domain that the model imports.
func (c *Call) Opset() int { return c.step.opset }

// Context is the context of the run.
func (c *Call) Context() context.Context { return c.frame.run.ctx }

// Device is where the run takes place.
func (c *Call) Device() *sinter.Device { return c.frame.run.device }

// Of makes tensors on the device; see [Call.Own].
func (c *Call) Of() sinter.Of { return sinter.On(c.frame.run.device) }

// Scope owns the tensors that the node makes.
func (c *Call) Scope() *sinter.Scope { return c.scope }

// Own puts a tensor that was made by a constructor, not from other tensors, into
// the node's scope, so that it is released with it.
func (c *Call) Own(t *sinter.Tensor) *sinter.Tensor { return c.scope.Own(t) }

// Full makes a tensor of one Go constant.
func (c *Call) Full(v any, d sinter.DType, shape ...int) *sinter.Tensor {
	return c.Own(c.Of().Full(v, d, shape...))
}

// Arange makes the integers from 0 below n.
func (c *Call) Arange(n int, d sinter.DType) *sinter.Tensor { return c.Own(c.Of().Arange(0, n, 1, d)) }

// HostTensor makes a tensor of elements on the host.
func (c *Call) HostTensor(h *Host) *sinter.Tensor { return c.Own(h.tensor(c.Device())) }

// NumIn returns the number of inputs, those left out included.
func (c *Call) NumIn() int { return len(c.in) }

// Has reports whether input i is there.
func (c *Call) Has(i int) bool { return i < len(c.in) && c.in[i] != nil && !c.in[i].isNone }

// Value returns input i, nil if it is left out.
func (c *Call) Value(i int) *Value {
	if i < len(c.in) {
		return c.in[i]
	}
	return nil
}

// Elem returns the element type of input i.
func (c *Call) Elem(i int) Elem {
	if c.Has(i) {
		return c.in[i].Elem
	}
	return Undefined
}

// Shape returns the extents of input i.
func (c *Call) Shape(i int) []int {
	if c.Has(i) {
		return c.in[i].Shape()
	}
	return nil
}

// In returns input i as a tensor in the node's scope. What is no tensor, or left
// out, becomes a tensor that carries an error.
func (c *Call) In(i int) *sinter.Tensor {
	if !c.Has(i) {
		return sinter.Failed(ir.Errorf(ir.ErrArgument, "input %d is missing", i))
	}
	return c.Enter(c.in[i])
}

// InOpt is In that returns nil for an input left out.
func (c *Call) InOpt(i int) *sinter.Tensor {
	if !c.Has(i) {
		return nil
	}
	return c.In(i)
}

// Ins returns all inputs as tensors.
func (c *Call) Ins() []*sinter.Tensor {
	ts := make([]*sinter.Tensor, len(c.in))
	for i := range ts {
		ts[i] = c.In(i)
	}
	return ts
}

// Enter returns a value, an element of a sequence for instance, as a tensor in
// the node's scope.
func (c *Call) Enter(v *Value) *sinter.Tensor {
	for _, e := range c.entered {
		if e.value == v {
			return e.to
		}
	}
	if v == nil || v.isSeq || v.isNone || v.Elem == String {
		return sinter.Failed(ir.Errorf(ir.ErrDType, "expected a tensor of numbers, got %s", v.kind()))
	}
	from := v.Tensor(c.Device())
	to := c.scope.In(from)
	c.entered = append(c.entered, enteredTensor{v, from, to})
	return to
}

// Wants reports whether output i is used.
func (c *Call) Wants(i int) bool { return i < len(c.step.out) && c.step.out[i] >= 0 }

// NumOut returns the number of outputs that the node names.
func (c *Call) NumOut() int { return len(c.step.out) }

// Set makes a tensor output i. Its element type is that of its dtype, or that of
// input 0 for operators that keep it.
func (c *Call) Set(i int, t *sinter.Tensor) {
	e := ElemOf(t.DType())
	if c.step.op.keeps && len(c.in) > 0 && c.in[0] != nil && c.in[0].Elem.DType() == t.DType() {
		e = c.in[0].Elem
	}
	c.SetElem(i, e, t)
}

// SetElem is Set with an element type, which the dtype of the tensor holds.
func (c *Call) SetElem(i int, e Elem, t *sinter.Tensor) { c.SetValue(i, c.Made(e, t)) }

// Made makes a value of a tensor of this node, for sequences.
func (c *Call) Made(e Elem, t *sinter.Tensor) *Value {
	for _, in := range c.entered {
		if in.to == t {
			if in.value.Elem == e {
				return in.value
			}
			return &Value{Elem: e, tensor: in.from}
		}
	}
	return &Value{Elem: e, tensor: t}
}

// SetHost makes elements on the host output i.
func (c *Call) SetHost(i int, h *Host) { c.SetValue(i, HostValue(h)) }

// SetValue makes a value output i.
func (c *Call) SetValue(i int, v *Value) {
	if i >= 0 && i < len(c.out) {
		c.out[i] = v
	}
}

// Known returns input i on the host if it is known there without waiting.
func (c *Call) Known(i int) (*Host, bool) {
	if c.Has(i) && c.in[i].host != nil {
		return c.in[i].host, true
	}
	return nil, false
}

// Host returns input i on the host. It waits for the device if it must.
func (c *Call) Host(i int) (*Host, error) {
	if !c.Has(i) {
		return nil, fmt.Errorf("input %d is missing", i)
	}
	return c.HostOf(c.in[i])
}

// HostOf is Host of a value.
func (c *Call) HostOf(v *Value) (*Host, error) {
	switch {
	case v.isSeq || v.isNone:
		return nil, fmt.Errorf("expected a tensor, got %s", v.kind())
	case v.host != nil:
		return v.host, nil
	case v.fixed != nil: // not kept: runs share the value
		return hostOf(v.Elem, v.fixed.array), nil
	}
	as, err := sinter.Read(c.Context(), v.tensor)
	if err != nil {
		return nil, err
	}
	h := hostOf(v.Elem, as[0])
	if h.Size() <= hostLimit {
		v.host = h
	}
	return h, nil
}

// HostInts returns integer input i on the host.
func (c *Call) HostInts(i int) ([]int, error) {
	h, err := c.Host(i)
	if err != nil {
		return nil, err
	}
	v, err := h.ints()
	if err != nil {
		return nil, fmt.Errorf("input %d: %w", i, err)
	}
	return v, nil
}

// HostInt returns integer input i, which has one element.
func (c *Call) HostInt(i int) (int, error) {
	v, err := c.HostInts(i)
	if err == nil && len(v) != 1 {
		err = fmt.Errorf("input %d has %d elements, expected 1", i, len(v))
	}
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// HostFloats returns input i on the host, converted to float64.
func (c *Call) HostFloats(i int) ([]float64, error) {
	h, err := c.Host(i)
	if err != nil {
		return nil, err
	}
	return h.floats()
}

// HostFloat returns input i, which has one element.
func (c *Call) HostFloat(i int) (float64, error) {
	v, err := c.HostFloats(i)
	if err == nil && len(v) != 1 {
		err = fmt.Errorf("input %d has %d elements, expected 1", i, len(v))
	}
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// HasAttr reports whether the node has an attribute.
func (c *Call) HasAttr(name string) bool { return c.step.attrs[name] != nil }

// Attr returns an attribute, nil if the node does not have it.
func (c *Call) Attr(name string) *Attr { return c.step.attrs[name] }

// def returns the default of an attribute.
func (c *Call) def(name string) any {
	for _, s := range c.step.op.attrs {
		if s.name == name {
			return s.def
		}
	}
	return nil
}

// Int returns an attribute or its default.
func (c *Call) Int(name string) int {
	if a := c.step.attrs[name]; a != nil {
		return int(a.Int)
	}
	v, _ := c.def(name).(int64)
	return int(v)
}

// Bool returns an integer attribute or its default as a flag.
func (c *Call) Bool(name string) bool { return c.Int(name) != 0 }

// Float returns an attribute or its default.
func (c *Call) Float(name string) float64 {
	if a := c.step.attrs[name]; a != nil {
		return float64(a.Float)
	}
	v, _ := c.def(name).(float32)
	return float64(v)
}

// Str returns an attribute or its default.
func (c *Call) Str(name string) string {
	if a := c.step.attrs[name]; a != nil {
		return a.Str
	}
	v, _ := c.def(name).(string)
	return v
}

// Ints returns an attribute or its default.
func (c *Call) Ints(name string) []int {
	v, _ := c.def(name).([]int64)
	if a := c.step.attrs[name]; a != nil {
		v = a.Ints
	}
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(x)
	}
	return out
}

// Floats returns an attribute or its default.
func (c *Call) Floats(name string) []float64 {
	v, _ := c.def(name).([]float32)
	if a := c.step.attrs[name]; a != nil {
		v = a.Floats
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// Strs returns an attribute.
func (c *Call) Strs(name string) []string {
	if a := c.step.attrs[name]; a != nil {
		return a.Strs
	}
	return nil
}

// Axis normalises an axis, which may count from the end of rank axes.
func Axis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, fmt.Errorf("axis %d of a tensor with %d axes", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// AxisAttr returns the attribute "axis", normalised for input i.
func (c *Call) AxisAttr(i int) (int, error) { return Axis(c.Int("axis"), len(c.Shape(i))) }

// RunGraph runs the graph of an attribute with values for its inputs, and
// returns those of its outputs. They belong to the node.
func (c *Call) RunGraph(attr string, in ...*Value) ([]*Value, error) {
	b := c.step.blocks[attr]
	if b == nil {
		return nil, fmt.Errorf("the attribute %s is missing", attr)
	}
	out, err := c.frame.nested(c.scope, b, in)
	c.results = append(c.results, out...)
	return out, err
}

// Drop says that the node does not need a value anymore that RunGraph returned:
// its memory can go before the node ends, unless an output holds it too.
func (c *Call) Drop(vs ...*Value) {
	for _, v := range vs {
		for i, r := range c.results {
			if r == v && v != nil {
				c.results = append(c.results[:i], c.results[i+1:]...)
				c.frame.run.drop(v)
				break
			}
		}
	}
}

// GraphArity returns the numbers of inputs and outputs of the graph of an
// attribute.
func (c *Call) GraphArity(attr string) (in, out int) {
	if b := c.step.blocks[attr]; b != nil {
		return len(b.inputs), len(b.outputs)
	}
	return 0, 0
}

// Arrays waits for inputs and returns their elements.
func (c *Call) Arrays(inputs ...int) ([]sinter.Array, error) {
	ts := make([]*sinter.Tensor, len(inputs))
	for k, i := range inputs {
		ts[k] = c.In(i)
	}
	return sinter.Read(c.Context(), ts...)
}

// ArrayTensor makes a tensor of an array.
func (c *Call) ArrayTensor(a sinter.Array) *sinter.Tensor {
	return c.Own(sinter.FromBytes(c.Of(), a.DType, a.Bytes, a.Shape...))
}
