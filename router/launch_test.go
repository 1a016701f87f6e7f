package router_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/router"
)

// TestLaunchInPlace: what a launch consumes is the member's to overwrite if the
// client is its only owner, and not otherwise.
func TestLaunchInPlace(t *testing.T) {
	d := open(t, "cpu")
	u := use(t, device(t, owned(t, router.Options{}, named("cpu", d)), "cpu"))
	m, _ := backend.As[backend.Compiler](u.Client)
	k, err := m.Compile(addKernel())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	one := u.floats(1, 1)
	for _, shared := range []bool{false, true} {
		x := u.floats(10, 20)
		alias := u.name(x.Type)
		if shared {
			if err := u.Alias(x.ID, alias.ID); err != nil {
				t.Fatal(err)
			}
		}
		before := d.Counters().InPlace
		y := u.name(x.Type)
		args := []backend.LaunchArg{{Tensor: x, Strides: []int64{1}}, {Tensor: one, Strides: []int64{1}}, {Tensor: y, Strides: []int64{1}, Over: x.ID}}
		if err := m.Launch(context.Background(), []backend.Launch{{Consumes: []ir.ID{x.ID},
			Pieces: []backend.Piece{{Kernel: k, Extents: []int64{2}, Args: args}}}}); err != nil {
			t.Fatal(err)
		}
		u.expect(y, 11, 21)
		if _, errs := u.read(x); !errors.Is(errs[0], ir.ErrInternal) {
			t.Errorf("shared %v: what was consumed is still known: %v", shared, errs[0])
		}
		if shared {
			u.expect(alias, 10, 20)
		}
		if took := d.Counters().InPlace - before; (took == 1) == shared {
			t.Errorf("shared %v: %d results took the memory of an operand", shared, took)
		}
		u.Free(y.ID, alias.ID)
	}
	u.Free(one.ID)
	if use, err := d.MemoryUsage(context.Background()); err != nil || use.Tensors != 0 || use.InUse != 0 {
		t.Errorf("%d tensors, %d bytes left on the member, %v", use.Tensors, use.InUse, err)
	}
}

// TestLaunchSpares: of a launch that waits for an operand which never comes, the
// results that do not depend on it are computed all the same.
func TestLaunchSpares(t *testing.T) {
	f, slow, fast, y := stuck(t, router.Options{})
	m, ok := backend.As[backend.Compiler](fast.Client)
	if !ok {
		t.Fatal("the client takes no kernels")
	}
	b := kernel.NewBuilder("two", []kernel.AxisKind{kernel.Parallel})
	for i := range 4 {
		dir := kernel.In
		if i > 1 {
			dir = kernel.Out
		}
		b.AddArg(kernel.Arg{Type: ir.F32, Dir: dir, Access: []kernel.Access{kernel.Unit}})
	}
	b.Store(2, b.Op(kernel.OpMul, ir.F32, b.Load(0), b.Load(1)))
	b.Store(3, b.Op(kernel.OpAdd, ir.F32, b.Load(1), b.Load(1)))
	k, err := m.Compile(b.K)
	if err != nil {
		t.Fatal(err)
	}
	x := fast.floats(10, 20)
	moved := fast.from(slow.Client, y)
	p := fast.node("mul", []ir.Tensor{moved, x})
	half := fast.node("add", []ir.Tensor{x, x}) // an intermediate, for the rerun
	q := fast.node("mul", []ir.Tensor{half.Out[0], x})
	args := make([]backend.LaunchArg, 4)
	for i, a := range []ir.Tensor{moved, x, p.Out[0], q.Out[0]} {
		args[i] = backend.LaunchArg{Tensor: a, Strides: []int64{1}}
	}
	if err := m.Launch(context.Background(), []backend.Launch{{Nodes: backend.NodesOf(p, half, q), Consumes: []ir.ID{moved.ID, x.ID},
		Pieces: []backend.Piece{{Kernel: k, Extents: []int64{2}, Args: args}}}}); err != nil {
		t.Fatal(err)
	}
	k.Release()
	after := fast.do("add", []ir.Tensor{q.Out[0], q.Out[0]})
	f.Disconnect()
	if _, errs := fast.read(p.Out[0]); errs[0] == nil {
		t.Error("a result of an operand that was lost has no error")
	}
	fast.expect(q.Out[0], 200, 800)
	fast.expect(after, 400, 1600)
	fast.Free(p.Out[0].ID, q.Out[0].ID, after.ID)
	if n := fast.Live(); n != 0 {
		t.Errorf("%d tensors are live", n)
	}
	_ = fast.sync() // of the operand that was lost
	if use, ok := backend.As[backend.Memory](fast.Client); ok {
		if u, err := use.MemoryUsage(context.Background()); err != nil || u.InUse != 0 {
			t.Errorf("%d bytes left, %v", u.InUse, err)
		}
	}
}
