package router_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/faulty"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// stuck makes a router with a device whose first neg is held, and the result of
// that neg.
func stuck(t *testing.T, o router.Options) (f *faulty.Backend, slow, fast user, y ir.Tensor) {
	f = scripted(t, "hold neg 1")
	r := owned(t, o, named("slow", f), named("fast", open(t, "cpu")))
	slow, fast = use(t, device(t, r, "slow")), use(t, device(t, r, "fast"))
	y = slow.do("neg", []ir.Tensor{slow.floats(1, 2)})
	<-f.Held()
	return f, slow, fast, y
}

// TestSlowDevice: what does not need the tensors of a device that is stuck goes
// on, before and after work that does.
func TestSlowDevice(t *testing.T) {
	f, slow, fast, y := stuck(t, router.Options{})
	x := fast.floats(10, 20)
	moved := fast.from(slow.Client, y)
	sum := fast.do("add", []ir.Tensor{moved, x}) // parked
	twice := fast.do("add", []ir.Tensor{sum, sum})
	alias := fast.name(twice.Type)
	if err := fast.Alias(twice.ID, alias.ID); err != nil {
		t.Fatal(err)
	}
	fast.Free(moved.ID, twice.ID, sum.ID)
	for range 50 { // independent work, and moves the other way, while the device is stuck
		z := fast.do("mul", []ir.Tensor{x, x})
		fast.expect(z, 100, 400)
		fast.Free(z.ID)
	}
	to := slow.from(fast.Client, x) // arrives, though nothing there runs
	later := fast.do("sub", []ir.Tensor{alias, x})
	fast.Free(x.ID) // still needed by what is parked
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := fast.Read(ctx, alias.ID); !errors.Is(err, ir.ErrCancelled) {
		t.Errorf("Read of what is parked: %v", err)
	}
	if err := fast.Sync(ctx); !errors.Is(err, ir.ErrCancelled) {
		t.Errorf("Sync does not wait for what is parked: %v", err)
	}
	if s := fast.Stats(); s.Parked == 0 || s.EverParked == 0 {
		t.Errorf("nothing is counted as parked: %+v", s)
	}
	f.Open()
	if err := fast.sync(); err != nil {
		t.Fatal(err)
	}
	fast.expect(alias, 18, 36)
	fast.expect(later, 8, 16)
	slow.expect(to, 10, 20)
	fast.Free(alias.ID, later.ID)
	if n, p := fast.Live(), fast.Stats().Parked; n != 0 || p != 0 {
		t.Errorf("%d tensors live, %d parked", n, p)
	}
}

// TestParkedOrder: parked nodes go in one call, in the order of submission.
func TestParkedOrder(t *testing.T) {
	f, slow, fast, y := stuck(t, router.Options{})
	x := fast.from(slow.Client, y)
	before := fast.Stats().Calls.Submit
	for range 100 {
		next := fast.do("add", []ir.Tensor{x, x})
		half := fast.do("sub", []ir.Tensor{next, x})
		fast.Free(x.ID, next.ID)
		x = half
	}
	f.Open()
	fast.expect(x, -1, -2)
	if n := fast.Stats().Calls.Submit - before; n != 1 {
		t.Errorf("200 parked nodes went in %d calls, want 1", n)
	}
}

// TestParkedLimit: Submit waits for room among the parked, until its context
// ends; independent work does not.
func TestParkedLimit(t *testing.T) {
	f, slow, fast, y := stuck(t, router.Options{ParkedOps: 4})
	x := fast.from(slow.Client, y)
	one := fast.floats(1, 1)
	full := false
	for i := 0; i < 10 && !full; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		n := fast.node("add", []ir.Tensor{x, one})
		err := fast.Submit(ctx, []ir.Node{n})
		cancel()
		if full = err != nil; full && !errors.Is(err, ir.ErrCancelled) {
			t.Errorf("Submit beyond the limit: %v", err)
		}
		if full {
			if _, errs := fast.read(n.Out[0]); !errors.Is(errs[0], ir.ErrInternal) {
				t.Errorf("what was not queued is known: %v", errs[0])
			}
		}
	}
	if !full {
		t.Error("10 nodes were parked, the limit is 4")
	}
	fast.expect(fast.do("add", []ir.Tensor{one, one}), 2, 2)
	done := make(chan error, 1)
	n := fast.node("add", []ir.Tensor{x, one})
	go func() { done <- fast.Submit(context.Background(), []ir.Node{n}) }()
	f.Open()
	if err := <-done; err != nil {
		t.Error(err)
	}
	fast.expect(n.Out[0], 0, -1)
}

// TestLaunchWaits: launches of compiled kernels wait for their operands too, and
// one that overwrites a tensor waits for those who still read it.
func TestLaunchWaits(t *testing.T) {
	f, slow, fast, y := stuck(t, router.Options{})
	m, ok := backend.As[backend.Compiler](fast.Client)
	if !ok {
		t.Fatal("the client takes no kernels")
	}
	k, err := m.Compile(addKernel())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	x, one := fast.floats(10, 20), fast.floats(1, 1)
	moved := fast.from(slow.Client, y)
	reader := fast.do("add", []ir.Tensor{moved, x}) // parked, reads x
	launch := func(a, b, out ir.Tensor) {
		l := backend.Launch{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{2}}}}
		for _, t := range []ir.Tensor{a, b, out} {
			l.Pieces[0].Args = append(l.Pieces[0].Args, backend.LaunchArg{Tensor: t, Strides: []int64{1}})
		}
		if err := m.Launch(context.Background(), []backend.Launch{l}); err != nil {
			t.Fatal(err)
		}
	}
	fresh, direct := fast.name(x.Type), fast.name(x.Type)
	launch(one, one, direct)
	launch(moved, one, fresh)
	launch(x, one, x) // in place
	after := fast.do("add", []ir.Tensor{x, one})
	launch(x, x, x)
	fast.expect(direct, 2, 2)
	f.Open()
	fast.expect(fresh, 0, -1)
	fast.expect(reader, 9, 18)
	fast.expect(after, 12, 22)
	fast.expect(x, 22, 42)
	alias := fast.name(x.Type)
	if err := fast.Alias(x.ID, alias.ID); err != nil {
		t.Fatal(err)
	}
	launch(one, one, x) // which would change the alias
	if _, errs := fast.read(x); !errors.Is(errs[0], ir.ErrArgument) {
		t.Errorf("a launch over a tensor with two names: %v", errs[0])
	}
	fast.expect(alias, 22, 42)
	fast.Free(moved.ID, reader.ID, fresh.ID, direct.ID, x.ID, one.ID, after.ID, alias.ID)
	if m, _ := backend.As[backend.Memory](fast.Client); m != nil {
		if u, err := m.MemoryUsage(context.Background()); err != nil || u.InUse != 0 || u.Tensors != 0 {
			t.Errorf("%d tensors, %d bytes left, %v", u.Tensors, u.InUse, err)
		}
	}
}

// TestCloseWaits: closing finishes what waits for a device that answers in time,
// and makes the rest errors.
func TestCloseWaits(t *testing.T) {
	f, slow, fast, y := stuck(t, router.Options{CloseWait: 20 * time.Millisecond})
	z := fast.do("neg", []ir.Tensor{fast.from(slow.Client, y)})
	got := make(chan error, 1)
	go func() {
		_, errs, err := fast.Read(context.Background(), z.ID)
		if err == nil {
			err = errs[0]
		}
		got <- err
	}()
	for fast.Stats().Parked < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := fast.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; !errors.Is(err, ir.ErrClosed) && !errors.Is(err, ir.ErrCancelled) {
		t.Errorf("a read of what waits for a stuck device: %v", err)
	}
	f.Open()
	slow.expect(y, -1, -2)
}
