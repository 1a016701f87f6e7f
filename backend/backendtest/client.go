package backendtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// client is a user of a backend: it chooses ids and fails the test on errors
// that nothing calls for. Its methods may be called from many goroutines.
type client struct {
	*testing.T
	b    backend.Backend
	last atomic.Uint64
}

// patience bounds every wait that should be short.
const patience = 30 * time.Second

func (c *client) name(t ir.Type) ir.Tensor {
	return ir.Tensor{ID: ir.ID(c.last.Add(1)), Type: t}
}

func (c *client) upload(t ir.Type, data []byte) ir.Tensor {
	x := c.name(t)
	if err := c.b.Upload(x, data); err != nil {
		c.Errorf("Upload of %v: %v", t, err)
	}
	return x
}

// floats uploads an f32 tensor of one axis.
func (c *client) floats(v ...float32) ir.Tensor {
	return c.upload(ir.Type{DType: ir.F32, Shape: ir.Shape{len(v)}}, bytesOf(v))
}

// ints uploads an i64 tensor of one axis.
func (c *client) ints(v ...int64) ir.Tensor {
	return c.upload(ir.Type{DType: ir.I64, Shape: ir.Shape{len(v)}}, bytesOf(v))
}

// node makes a node, inferring its results.
func (c *client) node(row string, in []ir.Tensor, attrs ...any) ir.Node {
	r := ir.Lookup(row)
	if r == nil {
		c.Errorf("there is no row %s", row)
		return ir.Node{}
	}
	a, err := r.MakeAttrs(ir.A(attrs...))
	if err != nil {
		c.Errorf("attributes of %s: %v", row, err)
	}
	return c.infer(r, in, a)
}

func (c *client) infer(r *ir.Row, in []ir.Tensor, a ir.Attrs) ir.Node {
	n := ir.Node{Row: r, Attrs: a, In: in, Site: ir.Site{Text: "user.go:7"}}
	types, err := ir.Infer(r, n.InTypes(), a)
	if err != nil {
		c.Errorf("%v", err)
	}
	for _, t := range types {
		n.Out = append(n.Out, c.name(t))
	}
	return n
}

// do submits one node and returns its first result.
func (c *client) do(row string, in []ir.Tensor, attrs ...any) ir.Tensor {
	n := c.node(row, in, attrs...)
	c.submit(n)
	return n.Out[0]
}

func (c *client) submit(nodes ...ir.Node) {
	if err := c.b.Submit(context.Background(), nodes); err != nil {
		c.Errorf("Submit: %v", err)
	}
}

// read returns the contents of tensors and their errors.
func (c *client) read(ts ...ir.Tensor) ([]backend.Data, []error) {
	ids := make([]ir.ID, len(ts))
	for i, t := range ts {
		ids[i] = t.ID
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data, errs, err := c.b.Read(ctx, ids...)
	if err != nil {
		c.Errorf("Read: %v", err)
		return make([]backend.Data, len(ts)), make([]error, len(ts))
	}
	if len(data) != len(ts) || len(errs) != len(ts) {
		c.Errorf("Read of %d tensors returned %d contents and %d errors", len(ts), len(data), len(errs))
		return make([]backend.Data, len(ts)), make([]error, len(ts))
	}
	return data, errs
}

// expect fails unless the tensor is an f32 one with these elements.
func (c *client) expect(t ir.Tensor, want ...float32) {
	data, errs := c.read(t)
	if errs[0] != nil {
		c.Errorf("tensor %d: %v", t.ID, errs[0])
		return
	}
	got := elements[float32](data[0].Bytes)
	ok := len(got) == len(want) && data[0].Type.Equal(t.Type)
	for i := range got {
		ok = ok && got[i] == want[i]
	}
	if !ok {
		c.Errorf("tensor %d: got %v %v, want %v %v", t.ID, data[0].Type, got, t.Type, want)
	}
}

// expectError fails unless the tensor carries an error of the kind, and returns it.
func (c *client) expectError(t ir.Tensor, kind error) *ir.Error {
	_, errs := c.read(t)
	if errs[0] == nil {
		c.Errorf("tensor %d: no error, want a %v", t.ID, kind)
		return &ir.Error{}
	}
	if !errors.Is(errs[0], kind) {
		c.Errorf("tensor %d: got %v, want a %v", t.ID, errs[0], kind)
	}
	return ir.AsError(errs[0])
}

func (c *client) sync() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.b.Sync(ctx)
}

// usage returns the memory report; ok is false if the backend gives none.
func (c *client) usage() (u backend.MemoryUsage, ok bool) {
	m, ok := backend.As[backend.Memory](c.b)
	if !ok {
		return u, false
	}
	u, err := m.MemoryUsage(context.Background())
	if err != nil {
		c.Errorf("MemoryUsage: %v", err)
	}
	return u, true
}

func bytesOf[T any](v []T) []byte {
	var zero T
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))...)
}

func elements[T any](b []byte) []T {
	var zero T
	out := make([]T, len(b)/int(unsafe.Sizeof(zero)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(b)), b)
	return out
}
