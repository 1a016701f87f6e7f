package backendtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// alias: either owner outlives the other, views and results too.
func (s *suite) alias(t *testing.T) {
	c := s.client(t)
	x := c.floats(1, 2, 3)
	y := c.name(x.Type)
	if err := c.b.Alias(x.ID, y.ID); err != nil {
		t.Fatal(err)
	}
	c.b.Free(x.ID)
	c.expect(y, 1, 2, 3)
	z := c.name(x.Type)
	if err := c.b.Alias(y.ID, z.ID); err != nil {
		t.Fatal(err)
	}
	c.b.Free(z.ID)
	c.expect(y, 1, 2, 3)
	// An alias of a result that is still queued, and of a view.
	sum := c.do("add", []ir.Tensor{y, y})
	view := c.do("slice", []ir.Tensor{sum}, "starts", []int{2}, "sizes", []int{2}, "steps", []int{-1})
	a, b := c.name(sum.Type), c.name(view.Type)
	if err := errors.Join(c.b.Alias(sum.ID, a.ID), c.b.Alias(view.ID, b.ID)); err != nil {
		t.Fatal(err)
	}
	c.b.Free(sum.ID, view.ID, y.ID)
	c.expect(b, 6, 4)
	c.expect(a, 2, 4, 6)
	c.expect(c.do("mul", []ir.Tensor{b, b}), 36, 16)
}

// free: operands may go as soon as their last use is submitted; what was freed is
// unknown; freeing twice or freeing nothing is harmless.
func (s *suite) free(t *testing.T) {
	c := s.client(t)
	x := c.floats(1, 2)
	for i := 0; i < 100; i++ {
		y := c.do("add", []ir.Tensor{x, x})
		c.b.Free(x.ID)
		z := c.do("sub", []ir.Tensor{y, c.floats(1)})
		c.b.Free(y.ID)
		x = z
	}
	c.expect(c.do("sub", []ir.Tensor{x, x}), 0, 0)
	c.b.Free(x.ID, x.ID)
	c.b.Free(x.ID)
	c.b.Free()
	c.b.Free(c.name(x.Type).ID)
	c.expectError(x, ir.ErrInternal)
	base := c.floats(1, 2, 3, 4)
	view := c.do("reshape", []ir.Tensor{base}, "shape", []int{2, 2})
	c.b.Free(base.ID)
	for i := 0; i < 20; i++ { // would take the buffer again if it were free
		c.b.Free(c.floats(9, 9, 9, 9).ID)
	}
	c.expect(view, 1, 2, 3, 4)
}

// leaks: whatever was done, tensors and bytes return to where they were.
func (s *suite) leaks(t *testing.T) {
	c := s.client(t)
	before, ok := c.usage()
	if !ok {
		t.Skip("the backend does not report its memory")
	}
	for i := 0; i < 30; i++ {
		x := c.floats(1, 2, 3, 4, 5, 6)
		m := c.do("reshape", []ir.Tensor{x}, "shape", []int{2, 3})
		p := c.do("permute", []ir.Tensor{m}, "axes", []int{1, 0})
		f := c.do("reshape", []ir.Tensor{p}, "shape", []int{6}) // copies
		j := c.do("concat", []ir.Tensor{f, x}, "axis", 0)
		idx := c.ints(int64(i % 9)) // out of range now and then
		g := c.do("gather", []ir.Tensor{x, idx}, "axis", 0)
		sc := c.do("scatter_add", []ir.Tensor{x, idx, g}, "axis", 0)
		e := c.do("add", []ir.Tensor{sc, f})
		al := c.name(e.Type)
		if err := c.b.Alias(e.ID, al.ID); err != nil {
			t.Fatal(err)
		}
		s := c.do("sum", []ir.Tensor{p}, "axes", []int{0})
		c.read(e, s, j)
		c.b.Free(x.ID, m.ID, p.ID, f.ID, j.ID, idx.ID, g.ID, sc.ID, e.ID, al.ID, s.ID)
	}
	after, _ := c.usage()
	if after.Tensors != before.Tensors || after.InUse != before.InUse {
		t.Errorf("%d tensors, %d bytes live, before %d and %d", after.Tensors, after.InUse, before.Tensors, before.InUse)
	}
	if after.Peak < after.InUse || after.Reserved < after.InUse {
		t.Errorf("usage %+v does not add up", after)
	}
	m, _ := backend.As[backend.Memory](c.b)
	m.Cleanup()
	if u, _ := c.usage(); u.Reserved > after.Reserved {
		t.Errorf("%d bytes reserved after clean-up, %d before", u.Reserved, after.Reserved)
	}
}

// memoryLimit: what does not fit is an error of the tensor, and of it alone.
func (s *suite) memoryLimit(t *testing.T) {
	c := s.limited(t, Setup{Memory: 1 << 20})
	x := c.floats(1)
	big := c.do("expand", []ir.Tensor{x}, "shape", []int{1 << 20})
	lost := c.do("add", []ir.Tensor{big, x})
	after := c.do("add", []ir.Tensor{lost, x})
	small := c.do("add", []ir.Tensor{x, x})
	err := c.expectError(lost, ir.ErrMemory)
	if err.Op != "add" || err.Site.String() != "user.go:7" {
		t.Errorf("the error %q names operation %q and site %q", err, err.Op, err.Site)
	}
	c.expectError(after, ir.ErrMemory)
	c.expect(small, 2)
	huge := c.upload(ir.Type{DType: ir.U8, Shape: ir.Shape{2 << 20}}, make([]byte, 2<<20))
	c.expectError(huge, ir.ErrMemory)
	// Room that is given back is room again.
	for i := 0; i < 20; i++ {
		y := c.do("add", []ir.Tensor{c.do("expand", []ir.Tensor{x}, "shape", []int{100000}), x})
		if _, errs := c.read(y); errs[0] != nil {
			t.Fatalf("round %d: %v", i, errs[0])
		}
		c.b.Free(y.ID)
	}
	if u, ok := c.usage(); ok && (u.Limit != 1<<20 || u.Peak > u.Limit) {
		t.Errorf("limit %d, peak %d", u.Limit, u.Peak)
	}
	c.sync() // whatever of the errors above is left
}

// gate is an opaque routine that waits for a signal.
type gate struct{ entered, open chan struct{} }

func newGate(t *testing.T) (*gate, Setup) {
	g := &gate{make(chan struct{}, 100), make(chan struct{})}
	return g, Setup{QueueOps: 4, Opaque: map[string]func(in, out [][]byte) error{
		"nonzero": func(_, out [][]byte) error {
			g.entered <- struct{}{}
			<-g.open
			for _, b := range out {
				clear(b)
			}
			return nil
		},
	}}
}

// block submits the operation that waits, and returns when it runs.
func (g *gate) block(c *client) ir.Tensor {
	x := c.upload(ir.Type{DType: ir.Bool, Shape: ir.Shape{2}}, []byte{1, 0})
	y := c.do("nonzero", []ir.Tensor{x}, "max", 1)
	if err := c.b.Flush(); err != nil {
		c.Fatal(err)
	}
	<-g.entered
	return y
}

// cancelledRead: the end of a context ends the wait and nothing else.
func (s *suite) cancelledRead(t *testing.T) {
	g, setup := newGate(t)
	c := s.limited(t, setup)
	x := c.floats(1)
	g.block(c)
	y := c.do("add", []ir.Tensor{x, x})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := c.b.Read(ctx, y.ID); !errors.Is(err, ir.ErrCancelled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Read whose context ends: %v", err)
	}
	if err := c.b.Sync(ctx); !errors.Is(err, ir.ErrCancelled) {
		t.Errorf("Sync whose context has ended: %v", err)
	}
	close(g.open)
	c.expect(y, 2)
	gone, stop := context.WithCancel(context.Background())
	stop()
	// The work is done: a context that has ended may cut the wait short or not.
	if _, _, err := c.b.Read(gone, y.ID); err != nil && !errors.Is(err, ir.ErrCancelled) {
		t.Errorf("Read with a context that has ended: %v", err)
	}
	c.expect(y, 2)
}

// queueFull: Submit waits for room, until its context ends; then nothing of the
// call is queued. Frees, uploads, aliases and reads are let in.
func (s *suite) queueFull(t *testing.T) {
	if s.records {
		t.Skip("recorded work waits for room when it is flushed")
	}
	g, setup := newGate(t)
	c := s.limited(t, setup)
	x := c.floats(1)
	g.block(c)
	var last ir.Tensor
	full := false
	for i := 0; i < 100 && !full; i++ {
		n := c.node("add", []ir.Tensor{x, x})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		err := c.b.Submit(ctx, []ir.Node{n})
		cancel()
		if full = err != nil; full && !errors.Is(err, ir.ErrCancelled) {
			t.Errorf("Submit to a full queue whose context ends: %v", err)
		}
		last = n.Out[0]
	}
	if !full {
		t.Error("the queue took 100 operations, its limit is 4")
	}
	late := c.floats(5)
	done := make(chan error, 1)
	n := c.node("add", []ir.Tensor{late, x})
	go func() { done <- c.b.Submit(context.Background(), []ir.Node{n}) }()
	select {
	case err := <-done:
		t.Errorf("Submit to a full queue returned %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(g.open)
	if err := <-done; err != nil {
		t.Errorf("Submit that waited for room: %v", err)
	}
	c.expect(n.Out[0], 6)
	c.expectError(last, ir.ErrInternal) // nothing was queued
	many := make([]ir.Node, 50)         // more than the limit in one call
	for i := range many {
		many[i] = c.node("add", []ir.Tensor{x, x})
	}
	c.submit(many...)
	c.expect(many[49].Out[0], 2)
}

// panics: a panic is an internal error of the results; the next operation runs.
func (s *suite) panics(t *testing.T) {
	c := s.limited(t, Setup{Opaque: map[string]func(in, out [][]byte) error{
		"nonzero": func(in, _ [][]byte) error {
			var none []byte
			return errors.New(string(none[in[0][0]]))
		},
	}})
	before, counted := c.usage()
	x := c.upload(ir.Type{DType: ir.Bool, Shape: ir.Shape{2}}, []byte{1, 0})
	for i := 0; i < 3; i++ {
		n := c.node("nonzero", []ir.Tensor{x}, "max", 1)
		c.submit(n)
		err := c.expectError(n.Out[0], ir.ErrInternal)
		if err.Op != "nonzero" || err.Detail == "" {
			t.Errorf("the error %q names operation %q and has a detail of %d bytes", err, err.Op, len(err.Detail))
		}
		c.expectError(n.Out[1], ir.ErrInternal)
		y := c.floats(1)
		c.expect(c.do("add", []ir.Tensor{y, y}), 2)
		c.b.Free(n.Out[0].ID, n.Out[1].ID)
	}
	c.sync()
	c.b.Free(x.ID)
	if u, _ := c.usage(); counted && u.Tensors-before.Tensors != 6 { // the 6 above that were not freed
		t.Errorf("%d tensors live, want 6 more than %d", u.Tensors, before.Tensors)
	} else if counted && u.InUse-before.InUse > 6*256 {
		t.Errorf("%d bytes live: panics leak", u.InUse)
	}
}

// routineError: an error that a routine returns marks its results.
func (s *suite) routineError(t *testing.T) {
	c := s.limited(t, Setup{Opaque: map[string]func(in, out [][]byte) error{
		"nonzero": func(_, _ [][]byte) error { return ir.Errorf(ir.ErrUnsupported, "not today") },
	}})
	x := c.upload(ir.Type{DType: ir.Bool, Shape: ir.Shape{2}}, []byte{1, 0})
	y := c.do("nonzero", []ir.Tensor{x}, "max", 1)
	if err := c.expectError(y, ir.ErrUnsupported); err.Op != "nonzero" || !contains(err.Error(), "not today") {
		t.Errorf("the error is %q", err)
	}
	c.sync()
}
