package onnx

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// run is the state of one call of [Program.Run]. One goroutine uses it.
type run struct {
	ctx    context.Context
	device *sinter.Device
	refs   map[*sinter.Tensor]*tensorRef
	depth  int
	// tracked says that gradients may be asked for, which need what the run made:
	// nothing is released, and one scope owns it all.
	tracked bool
	draws   *sinter.Generator // of nodes without a seed
	observe func(Step)
}

// tensorRef counts the values that hold a tensor made in this run, and says
// which scope owns it: it is released when the last value is not needed anymore.
type tensorRef struct {
	n     int
	scope *sinter.Scope
}

// frame holds the values of one execution of a block.
type frame struct {
	run   *run
	block *block
	vals  []*Value
	up    *frame
	scope *sinter.Scope
}

// at returns the value that a reference names, nil for an input left out.
func (f *frame) at(r ref) *Value {
	if r.slot < 0 {
		return nil
	}
	for range r.up {
		f = f.up
	}
	return f.vals[r.slot]
}

// Run computes the outputs of the model from tensors for its inputs, by name. It
// may be called from any number of goroutines at once. It runs on the device of
// the inputs (that of [On], or the default one, if there are none) and returns
// before the device is done: errors that depend on data show when an output is
// read. What is not an output is released as soon as it is not needed, unless an
// input is tracked: gradients need it. Outputs are the caller's, to be released
// each by itself. If inputs belong to a scope, so do the outputs.
//
// Inputs must have the dtype, rank and known extents that the model declares.
// Outputs that are no tensors need [Program.RunValues].
func (p *Program) Run(ctx context.Context, inputs map[string]*sinter.Tensor) (map[string]*sinter.Tensor, error) {
	in := make(map[string]*Value, len(inputs))
	for name, t := range inputs {
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("onnx: input %q: %w", name, err)
		}
		v := TensorValue(t)
		if want := p.typeOf(name); want != nil && want.Elem.Narrow() {
			v.Elem = want.Elem
		}
		in[name] = v
	}
	values, device, err := p.runValues(ctx, in)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*sinter.Tensor, len(values))
	for name, v := range values {
		t := v.Tensor(device)
		if t == nil {
			return nil, fmt.Errorf("onnx: output %q is %s, not a tensor of numbers; use RunValues", name, v.kind())
		}
		if v.fixed != nil { // the program's own
			t = t.Reshape(t.Shape()...)
		}
		out[name] = t
	}
	return out, nil
}

// RunValues is [Program.Run] with values: sequences, optional values, and
// tensors of element types that have no dtype.
func (p *Program) RunValues(ctx context.Context, inputs map[string]*Value) (map[string]*Value, error) {
	out, _, err := p.runValues(ctx, inputs)
	return out, err
}

func (p *Program) runValues(ctx context.Context, inputs map[string]*Value) (map[string]*Value, *sinter.Device, error) {
	if err := p.checkInputs(inputs); err != nil {
		return nil, nil, err
	}
	device, outer := p.device, (*sinter.Scope)(nil)
	tracked := false
	for _, v := range p.inputs {
		t := firstTensor(inputs[v.Name])
		if t == nil {
			continue
		}
		if device == nil {
			device = t.Device()
		}
		if outer == nil {
			outer = t.Scope()
		}
		tracked = tracked || t.Tracked()
	}
	if device == nil {
		device = sinter.DefaultDevice()
	}
	scope := outer
	switch {
	case outer == nil:
		scope = sinter.NewScope("onnx", sinter.Here()) // if it is tracked, the collector ends it
	case !tracked:
		scope = outer.Sub("onnx", sinter.Here())
	}
	if !tracked {
		defer scope.End()
	}
	r := &run{tracked: tracked, ctx: ctx, device: device, refs: map[*sinter.Tensor]*tensorRef{}, draws: p.draws, observe: p.observe}
	f := &frame{run: r, block: p.main, vals: make([]*Value, p.main.slots), scope: scope}
	for i, slot := range p.main.inputs {
		v := inputs[p.inputs[i].Name]
		if v == nil {
			v = p.defaults[p.inputs[i].Name]
		}
		f.vals[slot] = r.enter(v, scope)
	}
	if err := f.execute(); err != nil {
		return nil, nil, err
	}
	out := make(map[string]*Value, len(p.main.outputs))
	kept := keeper{run: r, from: scope, to: outer, kept: map[*sinter.Tensor]*sinter.Tensor{}}
	taken := map[*sinter.Tensor]bool{}
	for _, slot := range p.main.inputs {
		if v := f.vals[slot]; v != nil {
			taken[v.tensor] = true
		}
	}
	for i, o := range p.main.outputs {
		v := kept.keep(f.at(o))
		if v.tensor != nil && v.fixed == nil && taken[v.tensor] { // a view, so that each can be released
			v = &Value{Elem: v.Elem, tensor: v.tensor.Reshape(v.tensor.Shape()...), host: v.host}
		}
		taken[v.tensor] = true
		out[p.outputs[i].Name] = v
	}
	return out, device, nil
}

// enter returns an input for use in a run. Values of the caller are not changed.
func (r *run) enter(v *Value, scope *sinter.Scope) *Value {
	if v == nil {
		return nil
	}
	c := *v
	if v.tensor != nil && v.tensor.Device() != r.device {
		c.tensor = v.tensor.To(r.device)
	}
	if v.host != nil && v.tensor == nil && v.fixed == nil {
		c.home = scope
	}
	c.seq = make([]*Value, len(v.seq))
	for i, e := range v.seq {
		c.seq[i] = r.enter(e, scope)
	}
	return &c
}

func firstTensor(v *Value) *sinter.Tensor {
	if v == nil || v.tensor != nil {
		if v == nil {
			return nil
		}
		return v.tensor
	}
	for _, e := range v.seq {
		if t := firstTensor(e); t != nil {
			return t
		}
	}
	return nil
}

// execute runs the steps of a block.
func (f *frame) execute() error {
	for _, c := range f.block.consts {
		f.vals[c.slot] = c.value
	}
	for _, s := range f.block.steps {
		if err := f.run.ctx.Err(); err != nil {
			return fmt.Errorf("onnx: %s: %w", s.label, err)
		}
		exec := f.exec
		if f.run.observe != nil {
			exec = f.observed
		}
		if err := exec(s); err != nil {
			return err
		}
		for _, slot := range s.dies {
			f.run.drop(f.vals[slot])
			f.vals[slot] = nil
		}
	}
	return nil
}

// exec runs one step: on the host if all that it needs is known there.
func (f *frame) exec(s *step) error {
	c := &Call{step: s, frame: f, in: make([]*Value, len(s.in)), out: make([]*Value, len(s.out))}
	for i, r := range s.in {
		c.in[i] = f.at(r)
		if c.in[i] == nil && r.slot >= 0 {
			return fmt.Errorf("onnx: %s: input %d has no value", s.label, i)
		}
		// In the body of a function an input may be one that the call leaves out.
		if c.in[i] == nil && i < s.op.in.least && !slices.Contains(s.op.optional, i) {
			return fmt.Errorf("onnx: %s: input %d is left out, and the operator needs it", s.label, i)
		}
	}
	if s.op.host != nil && c.onHost() {
		err := c.guard(s.op.host)
		if err == nil {
			f.store(s, c.out)
			return nil
		}
		if err != errNotHost {
			return fmt.Errorf("onnx: %s: %w", s.label, err)
		}
		clear(c.out)
	}
	if c.scope = f.scope; !f.run.tracked {
		c.scope = f.scope.Sub(s.op.name)
		defer c.scope.End()
	}
	err := c.narrowInputs()
	if err == nil {
		err = c.guard(s.op.run)
	}
	if err == nil {
		err = c.checkOutputs()
	}
	if err != nil {
		return fmt.Errorf("onnx: %s: %w%s", s.label, err, c.operands())
	}
	k := keeper{run: f.run, from: c.scope, to: f.scope, kept: map[*sinter.Tensor]*sinter.Tensor{}}
	for i, v := range c.out {
		if c.Wants(i) {
			c.out[i] = k.keep(v)
		}
	}
	for _, v := range c.results {
		f.run.drop(v)
	}
	f.store(s, c.out)
	return nil
}

func (f *frame) store(s *step, out []*Value) {
	for i, slot := range s.out {
		if slot < 0 {
			continue
		}
		v := out[i]
		if v != nil && v.host != nil && v.Elem != String && v.tensor == nil && v.fixed == nil && v.home == nil {
			v.home = f.scope
		}
		f.vals[slot] = v
	}
}

// onHost reports whether all inputs are known on the host and few.
func (c *Call) onHost() bool {
	for _, v := range c.in {
		if v == nil {
			continue
		}
		if v.host == nil || v.host.Size() > hostLimit {
			return false
		}
	}
	return true
}

// guard calls a function of an operator. A panic is a fault of the operator and
// becomes an error of the node.
func (c *Call) guard(f func(*Call) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ir.Errorf(ir.ErrInternal, "the operator failed: %v", p)
		}
	}()
	return f(c)
}

// narrowInputs refuses values of types without arithmetic, except to operators
// that know them.
func (c *Call) narrowInputs() error {
	if c.step.op.narrow || c.step.op.keeps {
		return nil
	}
	for i, v := range c.in {
		if v != nil && (v.Elem.Narrow() || v.Elem == String) {
			return fmt.Errorf("input %d has elements of type %s, which the operator does not take", i, v.Elem)
		}
	}
	return nil
}

// checkOutputs makes errors that tensors carry, and outputs that were not made,
// errors of the node.
func (c *Call) checkOutputs() error {
	for i, v := range c.out {
		if !c.Wants(i) {
			continue
		}
		if v == nil {
			return fmt.Errorf("the operator makes no output %d for these inputs", i)
		}
		if v.tensor != nil && v.host == nil {
			if err := v.tensor.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// operands describes the inputs, for messages.
func (c *Call) operands() string {
	if len(c.in) == 0 {
		return ""
	}
	parts := make([]string, len(c.in))
	for i, v := range c.in {
		if v == nil {
			parts[i] = "-"
		} else {
			parts[i] = v.kind()
		}
	}
	return " (inputs " + strings.Join(parts, ", ") + ")"
}

// maxCallDepth bounds how deep graphs run in graphs.
const maxCallDepth = 64

// nested runs a block inside a node, whose scope then owns the outputs.
func (f *frame) nested(scope *sinter.Scope, b *block, in []*Value) ([]*Value, error) {
	if f.run.depth++; f.run.depth > maxCallDepth {
		return nil, fmt.Errorf("graphs run more than %d deep", maxCallDepth)
	}
	defer func() { f.run.depth-- }()
	if len(in) != len(b.inputs) {
		return nil, fmt.Errorf("the graph has %d inputs, %d values are given", len(b.inputs), len(in))
	}
	inner := &frame{run: f.run, block: b, vals: make([]*Value, b.slots), up: f, scope: scope}
	if !f.run.tracked {
		inner.scope = scope.Sub("graph")
		defer inner.scope.End()
	}
	for i, slot := range b.inputs {
		inner.vals[slot] = in[i]
	}
	if err := inner.execute(); err != nil {
		return nil, err
	}
	k := keeper{run: f.run, from: inner.scope, to: scope, kept: map[*sinter.Tensor]*sinter.Tensor{}}
	out := make([]*Value, len(b.outputs))
	for i, o := range b.outputs {
		out[i] = k.keep(inner.at(o))
	}
	return out, nil
}
