package backendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// closed: every method of a closed backend says so, and none waits or panics.
func (s *suite) closed(t *testing.T) {
	c := s.client(t)
	x := c.floats(1)
	n := c.node("add", []ir.Tensor{x, x})
	if err := c.b.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := c.b.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	calls := map[string]func() error{
		"Submit": func() error { return c.b.Submit(ctx, []ir.Node{n}) },
		"Upload": func() error { return c.b.Upload(c.name(x.Type), make([]byte, 4)) },
		"Alias":  func() error { return c.b.Alias(x.ID, c.name(x.Type).ID) },
		"Read":   func() error { _, _, err := c.b.Read(ctx, x.ID); return err },
		"Flush":  c.b.Flush,
		"Sync":   func() error { return c.b.Sync(ctx) },
	}
	if m, ok := backend.As[backend.Memory](c.b); ok {
		calls["MemoryUsage"] = func() error { _, err := m.MemoryUsage(ctx); return err }
		m.Cleanup()
	}
	if m, ok := backend.As[backend.Compiler](c.b); ok {
		calls["Compile"] = func() error { _, err := m.Compile(addKernel()); return err }
		calls["Launch"] = func() error { return m.Launch(ctx, nil) }
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ir.ErrClosed) {
			t.Errorf("%s of a closed backend: %v, want %v", name, err, ir.ErrClosed)
		}
	}
	c.b.Free(x.ID)
	if m, ok := backend.As[backend.Counting](c.b); ok {
		m.Counters()
	}
	if c.b.Name() == "" || c.b.Info().ID == "" {
		t.Error("a closed backend has no name")
	}
}

// closeFinishes: reads that were waiting when Close was called are answered.
func (s *suite) closeFinishes(t *testing.T) {
	c := s.client(t)
	x := c.floats(make([]float32, 1000)...)
	for i := 0; i < 300; i++ {
		x = c.do("add", []ir.Tensor{x, x})
	}
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			data, errs, err := c.b.Read(context.Background(), x.ID)
			switch {
			case errors.Is(err, ir.ErrClosed): // came too late
			case err != nil || errs[0] != nil:
				t.Errorf("Read while closing: %v %v", err, errs)
			case len(data[0].Bytes) != 4000:
				t.Errorf("Read while closing: %d bytes", len(data[0].Bytes))
			}
		}()
	}
	for i := 0; i < 2; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := c.b.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}()
	}
	wg.Wait()
}

// concurrent: all methods from many goroutines, each over tensors of its own and
// one that they share.
func (s *suite) concurrent(t *testing.T) {
	c := s.client(t)
	shared := c.floats(1, 2, 3, 4)
	before, counted := c.usage()
	var wg sync.WaitGroup
	for g := 0; g < 16; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := c.worker(shared, float32(g)); err != nil {
				t.Errorf("goroutine %d: %v", g, err)
			}
		}()
	}
	wg.Wait()
	c.sync() // the errors that no worker read
	c.expect(shared, 1, 2, 3, 4)
	if u, _ := c.usage(); counted && (u.Tensors != before.Tensors || u.InUse != before.InUse) {
		t.Errorf("%d tensors, %d bytes live, before %d and %d", u.Tensors, u.InUse, before.Tensors, before.InUse)
	}
}

func (c *client) worker(shared ir.Tensor, g float32) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for round := 0; round < 20; round++ {
		x := c.floats(g)
		y := c.do("mul", []ir.Tensor{shared, x})
		z := c.do("add", []ir.Tensor{y, x})
		index := c.ints(4)
		bad := c.do("gather", []ir.Tensor{z, index}, "axis", 0)
		a := c.name(z.Type)
		if err := c.b.Alias(z.ID, a.ID); err != nil {
			return err
		}
		c.b.Free(y.ID, z.ID)
		if round%5 == 0 {
			if err := c.b.Flush(); err != nil {
				return err
			}
		}
		data, errs, err := c.b.Read(ctx, a.ID, bad.ID)
		if err != nil || errs[0] != nil {
			return fmt.Errorf("read: %v, %v", err, errs)
		}
		if !errors.Is(errs[1], ir.ErrData) {
			return fmt.Errorf("index out of range: %v", errs[1])
		}
		for i, v := range elements[float32](data[0].Bytes) {
			if v != float32(i+1)*g+g {
				return fmt.Errorf("element %d is %v, want %v", i, v, float32(i+1)*g+g)
			}
		}
		c.b.Free(x.ID, a.ID, bad.ID, index.ID)
	}
	return nil
}
