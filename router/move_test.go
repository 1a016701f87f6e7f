package router_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// ways are pairs of members, and the bridge that serves them.
var ways = []struct {
	name, bridge string
	open         func(t testing.TB) (a, b *router.Client)
}{
	{"cpu to interp", "shared", func(t testing.TB) (a, b *router.Client) { return pair(t, open(t, "cpu"), open(t, "interp")) }},
	{"pieces", "bytes", func(t testing.TB) (a, b *router.Client) {
		return pair(t, scripted(t, "drop HostMemory"), open(t, "interp"))
	}},
	{"whole", "bytes", func(t testing.TB) (a, b *router.Client) {
		return pair(t, open(t, "cpu"), scripted(t, "drop HostMemory Streams"))
	}},
	{"inner router", "router", func(t testing.TB) (a, b *router.Client) {
		inner := owned(t, router.Options{}, named("cpu", open(t, "cpu")), named("interp", open(t, "interp")))
		return pair(t, device(t, inner, "cpu"), device(t, inner, "interp"))
	}},
	{"two inner routers", "shared", func(t testing.TB) (a, b *router.Client) {
		x := owned(t, router.Options{}, named("cpu", open(t, "cpu")))
		y := owned(t, router.Options{}, named("cpu", open(t, "cpu")))
		return pair(t, device(t, x, "cpu"), device(t, y, "cpu"))
	}},
}

func pair(t testing.TB, a, b backend.Backend) (x, y *router.Client) {
	r := owned(t, router.Options{Chunk: 256}, named("a", a), named("b", b))
	ids := r.Devices()
	return device(t, r, ids[0].String()), device(t, r, ids[1].String())
}

// TestMoves: every dtype, shapes of all sizes, views and their sources, through
// every bridge. The source stays usable, and may be freed at once.
func TestMoves(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			a, b := w.open(t)
			src, dst := use(t, a), use(t, b)
			rng := rand.New(rand.NewPCG(1, 2))
			for _, d := range ir.DTypes() {
				for _, s := range []ir.Shape{{}, {0}, {3, 0, 2}, {1}, {5, 7}, {33, 40}} {
					x := src.name(ir.Type{DType: d, Shape: s})
					data := make([]byte, x.Bytes())
					for i := range data {
						data[i] = byte(rng.Uint32())
						if d == ir.Bool {
							data[i] &= 1
						}
					}
					if err := src.Upload(x, data); err != nil {
						t.Fatal(err)
					}
					y := dst.from(a, x)
					src.Free(x.ID)
					z := src.from(b, y)
					got, errs := dst.read(y)
					back, errs2 := src.read(z)
					if errs[0] != nil || errs2[0] != nil {
						t.Fatalf("%v: %v, %v", x.Type, errs[0], errs2[0])
					}
					if !bytes.Equal(got[0].Bytes, data) || !bytes.Equal(back[0].Bytes, data) || !got[0].Type.Equal(x.Type) {
						t.Errorf("%v: the contents are not those moved", x.Type)
					}
					dst.Free(y.ID)
					src.Free(z.ID)
				}
			}
			x := src.floats(1, 2, 3, 4, 5, 6)
			m := src.do("reshape", []ir.Tensor{x}, "shape", []int{2, 3})
			p := src.do("permute", []ir.Tensor{m}, "axes", []int{1, 0})
			y := dst.from(a, p)
			dst.expect(dst.do("sum", []ir.Tensor{y}, "axes", []int{1}), 5, 7, 9)
			src.expect(src.do("add", []ir.Tensor{x, x}), 2, 4, 6, 8, 10, 12)
			if s := b.Stats(); s.Bridges[w.bridge] == 0 || len(s.Bridges) != 1 || s.MovesIn == 0 || s.BytesIn == 0 {
				t.Errorf("moves to b went by %v, want %s", s.Bridges, w.bridge)
			}
			src.Free(x.ID, m.ID, p.ID)
		})
	}
}

// TestSharedMemory: between backends in host memory nothing is copied where the
// elements lie in order.
func TestSharedMemory(t *testing.T) {
	cpu0, cpu1 := open(t, "cpu"), open(t, "interp")
	a, b := pair(t, cpu0, cpu1)
	src, dst := use(t, a), use(t, b)
	x := src.floats(make([]float32, 1<<18)...)
	y := dst.from(a, x)
	z := dst.do("neg", []ir.Tensor{y})
	dst.read(z)
	u, err := cpu1.MemoryUsage(context.Background())
	if err != nil || u.InUse > 1<<20+4096 {
		t.Errorf("%d bytes in use on the destination, want those of the result only: %v", u.InUse, err)
	}
	src.Free(x.ID) // the borrower holds the memory
	dst.do("neg", []ir.Tensor{y})
	dst.Free(y.ID)
	if err := dst.sync(); err != nil {
		t.Fatal(err)
	}
	if u, _ := cpu0.MemoryUsage(context.Background()); u.InUse != 0 || u.Tensors != 0 {
		t.Errorf("%d bytes, %d tensors at the source after all were freed", u.InUse, u.Tensors)
	}
}

// TestErrorsMove: the error of a tensor is that of its copies, with a note in the
// detail; Sync of the source still returns it, that of the destination does not.
func TestErrorsMove(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			a, b := w.open(t)
			src, dst := use(t, a), use(t, b)
			x := src.floats(1, 2)
			index := src.name(ir.Type{DType: ir.I64, Shape: ir.Shape{1}})
			if err := src.Upload(index, raw([]int64{7})); err != nil {
				t.Fatal(err)
			}
			bad := src.do("gather", []ir.Tensor{x, index}, "axis", 0)
			moved := dst.from(a, bad)
			next := dst.do("neg", []ir.Tensor{moved})
			lost := dst.from(a, src.name(x.Type))
			_, errs := dst.read(moved, next, lost)
			if err := src.sync(); !errors.Is(err, ir.ErrData) && !errors.Is(err, ir.ErrInternal) {
				t.Errorf("Sync of the source: %v", err)
			}
			_, want := src.read(bad)
			for i, err := range errs[:2] {
				if err == nil || err.Error() != want[0].Error() {
					t.Errorf("tensor %d carries %v, want %v", i, err, want[0])
				}
			}
			if !strings.Contains(ir.AsError(errs[0]).Detail, "moved from ") {
				t.Errorf("the detail is %q", ir.AsError(errs[0]).Detail)
			}
			if !errors.Is(errs[2], ir.ErrInternal) {
				t.Errorf("a move of an unknown tensor: %v", errs[2])
			}
			if err := dst.sync(); err != nil {
				t.Errorf("Sync of the destination: %v", err)
			}
			dst.expect(dst.do("neg", []ir.Tensor{dst.from(a, x)}), -1, -2)
		})
	}
}

// meter is a bridge that counts, and fails or panics on demand.
type meter struct {
	moves int
	fail  func()
}

func (m *meter) Name() string                           { return "meter" }
func (m *meter) Connects(from, to backend.Backend) bool { return from.Name() == "interp" }
func (m *meter) Move(ctx context.Context, x router.Move) (*ir.Error, error) {
	m.moves++
	if m.fail != nil {
		m.fail()
		return nil, fmt.Errorf("the link is down")
	}
	data, errs, err := x.From.Read(ctx, x.Tensor.ID)
	if err != nil || errs[0] != nil {
		return nil, errors.Join(err, errs[0])
	}
	return nil, x.To.Upload(ir.Tensor{ID: x.ID, Type: x.Tensor.Type}, data[0].Bytes)
}

func TestOwnBridge(t *testing.T) {
	m := &meter{}
	r := owned(t, router.Options{Bridges: []router.Bridge{m}}, named("a", open(t, "cpu")), named("b", open(t, "interp")))
	a, b := use(t, device(t, r, "a")), use(t, device(t, r, "b"))
	x := b.floats(3)
	a.expect(a.from(b.Client, x), 3)
	b.expect(b.from(a.Client, a.floats(4)), 4)
	if m.moves != 1 {
		t.Errorf("the bridge moved %d tensors, want the one that it connects", m.moves)
	}
	for _, fail := range []func(){func() {}, func() { panic("no luck") }} {
		m.fail = fail
		y := a.from(b.Client, x)
		_, errs := a.read(y, a.do("neg", []ir.Tensor{y}))
		for _, err := range errs {
			if !errors.Is(err, ir.ErrInternal) || ir.AsError(err).Op != "move" {
				t.Errorf("a tensor whose move failed: %v", err)
			}
		}
		if err := a.sync(); !errors.Is(err, ir.ErrInternal) && err != nil {
			t.Errorf("Sync: %v", err)
		}
	}
	b.expect(x, 3)
}

// TestCancelledMove: the end of a move's context ends the move and nothing else.
func TestCancelledMove(t *testing.T) {
	f := scripted(t, "hold neg 1")
	a, b := pair(t, f, open(t, "interp"))
	src, dst := use(t, a), use(t, b)
	x := src.floats(1, 2)
	y := src.do("neg", []ir.Tensor{x})
	<-f.Held()
	ctx, cancel := context.WithCancel(context.Background())
	moved, kept := dst.name(y.Type), dst.from(a, y)
	if err := dst.Receive(ctx, a, y, moved.ID); err != nil {
		t.Fatal(err)
	}
	next := dst.do("add", []ir.Tensor{moved, moved})
	src.Free(y.ID)
	cancel()
	_, errs := dst.read(moved, next)
	for _, err := range errs {
		if !errors.Is(err, ir.ErrCancelled) || !errors.Is(err, context.Canceled) {
			t.Errorf("a tensor whose move was cancelled: %v", err)
		}
	}
	f.Open()
	dst.expect(dst.do("add", []ir.Tensor{kept, kept}), -2, -4)
}

// TestAdopt: a client takes a tensor that its member already knows; one of
// another backend is an error, and Receive moves it.
func TestAdopt(t *testing.T) {
	ctx := context.Background()
	own, other := open(t, "cpu"), open(t, "interp")
	foreign := open(t, "cpu")
	t.Cleanup(func() { foreign.Close() })
	a, _ := pair(t, own, other)
	u := use(t, a)
	u.floats(0)                                                               // id 1 of the client
	one := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{2}}} // and 1 of the members
	for i, b := range []backend.Backend{own, other, foreign} {
		if err := b.Upload(one, raw([]float32{1, float32(i)})); err != nil {
			t.Fatal(err)
		}
	}
	x := u.name(one.Type)
	if err := a.Adopt(own, one, x.ID); err != nil {
		t.Fatal(err)
	}
	u.expect(x, 1, 0)
	for _, b := range []backend.Backend{other, foreign, nil} {
		if err := a.Adopt(b, one, u.name(one.Type).ID); !errors.Is(err, ir.ErrDevice) {
			t.Errorf("Adopt of a handle of another backend: %v", err)
		}
	}
	for i, b := range []backend.Backend{own, other, foreign} {
		y := u.name(one.Type)
		if err := a.Receive(ctx, b, one, y.ID); err != nil {
			t.Fatal(err)
		}
		b.Free(one.ID)
		u.expect(u.do("neg", []ir.Tensor{y}), -1, -float32(i))
		u.Free(y.ID)
	}
	u.expect(x, 1, 0)
	u.Free(x.ID)
	if u, err := foreign.MemoryUsage(ctx); err != nil || u.Tensors != 0 {
		t.Errorf("%d tensors are left on the foreign backend, %v", u.Tensors, err)
	}
}
