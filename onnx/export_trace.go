package onnx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Port is an input of a function to trace: its name in the model, dtype and
// extents.
type Port struct {
	Name  string
	DType sinter.DType
	Shape []int
}

// Trace calls f once with tensors on a device that notes what is recorded and
// computes nothing, and returns the program. Tensors of other devices that f uses
// with them, such as the parameters of a module, become constants with the values
// they have now; so do tensors that f makes of slices on the device.
//
// The program is what f recorded for these extents: loops and branches of Go are
// those that were taken. f cannot read a tensor that it computes.
func Trace(ctx context.Context, f func(in []*sinter.Tensor) ([]*sinter.Tensor, error), in ...Port) (*Traced, error) {
	r := &recorder{ctx: ctx, name: fmt.Sprintf("onnx-trace-%d", traces.Add(1)), types: map[ir.ID]ir.Type{}, constants: map[ir.ID]sinter.Array{}, origin: map[ir.ID]ir.ID{}}
	device := sinter.Default().Adopt(r)
	defer device.Close()
	scope := sinter.NewScope("trace", sinter.NoGrad())
	defer scope.End()
	t := &Traced{Program: &ir.Program{}, Constants: map[ir.ID]sinter.Array{}}
	args := make([]*sinter.Tensor, len(in))
	for i, p := range in {
		typ := ir.Type{DType: p.DType, Shape: p.Shape}
		if err := typ.Check(); err != nil {
			return nil, fmt.Errorf("onnx: trace: input %q: %w", p.Name, err)
		}
		x := sinter.FromBytes(sinter.On(device), p.DType, make([]byte, typ.Bytes()), p.Shape...)
		if err := x.Err(); err != nil {
			return nil, fmt.Errorf("onnx: trace: input %q: %w", p.Name, err)
		}
		args[i] = scope.Own(x)
		t.Inputs = append(t.Inputs, p.Name)
	}
	ids, err := r.find(args)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		delete(r.constants, id)
		t.Program.Inputs = append(t.Program.Inputs, ir.Tensor{ID: id, Type: ir.Type{DType: in[i].DType, Shape: in[i].Shape}})
	}
	out, err := f(args)
	if err != nil {
		return nil, fmt.Errorf("onnx: trace: %w", err)
	}
	if len(out) == 0 {
		return nil, errors.New("onnx: trace: the function returned no tensor")
	}
	for i, y := range out {
		if err := y.Err(); err != nil {
			return nil, fmt.Errorf("onnx: trace: output %d: %w", i, err)
		}
		if y.Device() != device {
			return nil, fmt.Errorf("onnx: trace: output %d does not depend on the arguments: it is on the device %s", i, y.Device())
		}
	}
	if t.Program.Outputs, err = r.find(out); err != nil {
		return nil, err
	}
	t.Program.Nodes = r.nodes
	for id, a := range r.constants {
		t.Constants[id] = a
	}
	for _, id := range r.order {
		if _, ok := r.constants[id]; ok {
			t.Program.Inputs = append(t.Program.Inputs, ir.Tensor{ID: id, Type: r.types[id]})
		}
	}
	return t, nil
}

// traces numbers the devices of traces: each has a name of its own.
var traces atomic.Int64

// recorder is the device of a trace.
type recorder struct {
	ctx  context.Context
	name string

	mu        sync.Mutex
	nodes     []ir.Node
	types     map[ir.ID]ir.Type
	constants map[ir.ID]sinter.Array
	order     []ir.ID         // of constants
	origin    map[ir.ID]ir.ID // of aliases
	finding   bool            // reads are those of find
	found     []ir.ID
	closed    bool
}

var (
	_ backend.Backend = (*recorder)(nil)
	_ backend.Mover   = (*recorder)(nil)
)

// find returns the ids under which the device knows tensors.
func (r *recorder) find(ts []*sinter.Tensor) ([]ir.ID, error) {
	ids := make([]ir.ID, len(ts))
	for i, t := range ts {
		r.mu.Lock()
		r.finding, r.found = true, nil
		r.mu.Unlock()
		_, err := sinter.Read(r.ctx, t)
		r.mu.Lock()
		r.finding = false
		found := r.found
		r.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("onnx: trace: %w", err)
		}
		if len(found) != 1 {
			return nil, ir.Errorf(ir.ErrInternal, "onnx: trace: a tensor has %d names on the device", len(found))
		}
		ids[i] = found[0]
	}
	return ids, nil
}

// Name names the device.
func (r *recorder) Name() string { return r.name }

// Info describes a device with every dtype.
func (r *recorder) Info() backend.Info {
	i := backend.Info{ID: r.name, Kind: "trace", Detail: "notes operations, computes nothing"}
	for d := ir.DType(1); d.Valid(); d++ {
		i.DTypes = append(i.DTypes, d)
	}
	return i
}

// Usage is everything.
func (r *recorder) Usage(ir.DType) backend.Usage { return backend.CanStore | backend.CanCompute }

// Submit notes nodes.
func (r *recorder) Submit(_ context.Context, nodes []ir.Node) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ir.Errorf(ir.ErrClosed, "the trace is over")
	}
	for _, n := range nodes {
		n.In = append([]ir.Tensor(nil), n.In...)
		for i := range n.In {
			n.In[i].ID = r.real(n.In[i].ID)
		}
		for _, o := range n.Out {
			r.types[o.ID] = o.Type
		}
		r.nodes = append(r.nodes, n)
	}
	return nil
}

// Upload notes a constant.
func (r *recorder) Upload(t ir.Tensor, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ir.Errorf(ir.ErrClosed, "the trace is over")
	}
	r.types[t.ID] = t.Type
	r.constants[t.ID] = sinter.Array{DType: t.DType, Shape: t.Shape.Clone(), Bytes: append([]byte(nil), data...)}
	r.order = append(r.order, t.ID)
	return nil
}

// Alias notes a second name.
func (r *recorder) Alias(from, to ir.ID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.origin[to] = r.real(from)
	return nil
}

// real returns the first name of a tensor.
func (r *recorder) real(id ir.ID) ir.ID {
	if o, ok := r.origin[id]; ok {
		return o
	}
	return id
}

// Free does nothing: what was computed from a tensor still needs it.
func (r *recorder) Free(...ir.ID) {}

// Read tells what is read to find; others get an error.
func (r *recorder) Read(_ context.Context, ids ...ir.ID) ([]backend.Data, []error, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, errs := make([]backend.Data, len(ids)), make([]error, len(ids))
	for i, id := range ids {
		id = r.real(id)
		if !r.finding {
			errs[i] = ir.Errorf(ir.ErrUnsupported, "the function reads a tensor while it is traced, when nothing has been computed")
			continue
		}
		r.found = append(r.found, id)
		t := r.types[id]
		data[i] = backend.Data{Type: t, Bytes: make([]byte, t.Bytes())}
	}
	return data, errs, nil
}

// Flush does nothing.
func (r *recorder) Flush() error { return nil }

// Sync does nothing.
func (r *recorder) Sync(context.Context) error { return nil }

// Close ends the trace.
func (r *recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// Receive makes a tensor of another device a constant.
func (r *recorder) Receive(ctx context.Context, from backend.Backend, t ir.Tensor, to ir.ID) error {
	data, errs, err := from.Read(ctx, t.ID)
	if err == nil && len(errs) > 0 {
		err = errs[0]
	}
	if err != nil {
		return err
	}
	return r.Upload(ir.Tensor{ID: to, Type: t.Type}, data[0].Bytes)
}

// Meet moves operands here.
func (r *recorder) Meet(of []backend.Backend, _ []ir.Type) (int, bool) {
	for i, b := range of {
		if b == backend.Backend(r) {
			return i, true
		}
	}
	return 0, false
}
