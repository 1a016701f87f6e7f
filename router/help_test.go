package router_test

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/faulty"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/router"
)

// patience bounds every wait that should be short.
const patience = 30 * time.Second

func named(name string, b backend.Backend) router.Member {
	return router.Member{Name: name, Backend: b}
}

// open opens "cpu" or "interp".
func open(t testing.TB, kind string) *cpu.Device {
	t.Helper()
	o := cpu.Options{ID: kind, Threads: 2}
	if kind == "interp" {
		o.Generator = cpu.Interpret
	}
	d, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// scripted opens a cpu device that misbehaves.
func scripted(t testing.TB, script string) *faulty.Backend {
	t.Helper()
	s, err := faulty.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	return faulty.New(open(t, "cpu"), s)
}

// owned makes a router that closes its members, and is closed with the test.
func owned(t testing.TB, o router.Options, members ...router.Member) *router.Router {
	t.Helper()
	o.Own = true
	r, err := o.New(members...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func device(t testing.TB, r *router.Router, id string) *router.Client {
	t.Helper()
	c, err := r.Device(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// user is a user of a client: it chooses ids, and fails the test on errors that
// nothing calls for.
type user struct {
	testing.TB
	*router.Client
	last *ir.ID
}

func use(t testing.TB, c *router.Client) user { return user{t, c, new(ir.ID)} }

func (u user) name(t ir.Type) ir.Tensor {
	*u.last++
	return ir.Tensor{ID: *u.last, Type: t}
}

func (u user) floats(v ...float32) ir.Tensor {
	u.Helper()
	x := u.name(ir.Type{DType: ir.F32, Shape: ir.Shape{len(v)}})
	if err := u.Upload(x, raw(v)); err != nil {
		u.Fatal(err)
	}
	return x
}

func (u user) node(row string, in []ir.Tensor, attrs ...any) ir.Node {
	u.Helper()
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(ir.A(attrs...))
	if err != nil {
		u.Fatal(err)
	}
	n := ir.Node{Row: r, Attrs: a, In: in, Site: ir.Site{Text: "user.go:7"}}
	types, err := ir.Infer(r, n.InTypes(), a)
	if err != nil {
		u.Fatal(err)
	}
	for _, t := range types {
		n.Out = append(n.Out, u.name(t))
	}
	return n
}

func (u user) do(row string, in []ir.Tensor, attrs ...any) ir.Tensor {
	u.Helper()
	n := u.node(row, in, attrs...)
	if err := u.Submit(context.Background(), []ir.Node{n}); err != nil {
		u.Fatal(err)
	}
	return n.Out[0]
}

// from moves a tensor here.
func (u user) from(src backend.Backend, t ir.Tensor) ir.Tensor {
	u.Helper()
	to := u.name(t.Type)
	if err := u.Receive(context.Background(), src, t, to.ID); err != nil {
		u.Fatal(err)
	}
	return to
}

func (u user) read(ts ...ir.Tensor) ([]backend.Data, []error) {
	u.Helper()
	ids := make([]ir.ID, len(ts))
	for i, t := range ts {
		ids[i] = t.ID
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data, errs, err := u.Read(ctx, ids...)
	if err != nil {
		u.Fatal(err)
	}
	return data, errs
}

func (u user) expect(t ir.Tensor, want ...float32) {
	u.Helper()
	data, errs := u.read(t)
	if errs[0] != nil {
		u.Fatalf("tensor %d: %v", t.ID, errs[0])
	}
	got := elements[float32](data[0].Bytes)
	ok := len(got) == len(want) && data[0].Type.Equal(t.Type)
	for i := range got {
		ok = ok && got[i] == want[i]
	}
	if !ok {
		u.Fatalf("tensor %d: got %v %v, want %v %v", t.ID, data[0].Type, got, t.Type, want)
	}
}

func (u user) sync() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return u.Sync(ctx)
}

func raw[T any](v []T) []byte {
	var zero T
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))...)
}

func elements[T any](b []byte) []T {
	var zero T
	out := make([]T, len(b)/int(unsafe.Sizeof(zero)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(b)), b)
	return out
}

// addKernel is y = a + b over one axis of f32.
func addKernel() *kernel.Kernel {
	b := kernel.NewBuilder("add", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	for _, d := range []kernel.Direction{kernel.In, kernel.In, kernel.Out} {
		b.AddArg(kernel.Arg{Type: ir.F32, Dir: d, Access: unit})
	}
	b.Store(2, b.Op(kernel.OpAdd, ir.F32, b.Load(0), b.Load(1)))
	return b.K
}
