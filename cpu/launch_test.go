package cpu

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// bench is a device with ids and f32 tensors of one axis.
type bench struct {
	*testing.T
	d    *Device
	last ir.ID
}

func newBench(t *testing.T, opt Options) *bench {
	t.Helper()
	d, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return &bench{T: t, d: d}
}

func (b *bench) name(n int) ir.Tensor {
	b.last++
	return ir.Tensor{ID: b.last, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{n}}}
}

func (b *bench) floats(v ...float32) ir.Tensor {
	b.Helper()
	t := b.name(len(v))
	if err := b.d.Upload(t, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))); err != nil {
		b.Fatal(err)
	}
	return t
}

func (b *bench) expect(t ir.Tensor, want ...float32) {
	b.Helper()
	data, errs, err := b.d.Read(context.Background(), t.ID)
	if err != nil || errs[0] != nil {
		b.Fatalf("tensor %d: %v, %v", t.ID, errs, err)
	}
	if got := view[float32](data[0].Bytes); !slices.Equal(got, want) {
		b.Errorf("tensor %d: got %v, want %v", t.ID, got, want)
	}
}

func (b *bench) launch(l backend.Launch) {
	b.Helper()
	if err := b.d.Launch(context.Background(), []backend.Launch{l}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) compile(k *kernel.Kernel) backend.Compiled {
	b.Helper()
	c, err := b.d.Compile(k)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// addKernel is y = x + z over one axis of f32.
func addKernel() *kernel.Kernel {
	b := kernel.NewBuilder("add", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit})
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit})
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	b.Store(2, b.Op(kernel.OpAdd, ir.F32, b.Load(0), b.Load(1)))
	return b.K
}

func whole(t ir.Tensor) backend.LaunchArg { return backend.LaunchArg{Tensor: t, Strides: []int64{1}} }

func placed(t, over ir.Tensor) backend.LaunchArg {
	a := whole(t)
	a.Over = over.ID
	return a
}

// TestInPlaceCounts: memory is taken exactly where nobody can tell, and counted.
func TestInPlaceCounts(t *testing.T) {
	b := newBench(t, Options{})
	k := b.compile(addKernel())
	one := b.floats(1, 1, 1)
	sum := func(x ir.Tensor, arg func(y ir.Tensor) backend.LaunchArg, consumes ...ir.ID) ir.Tensor {
		y := b.name(x.Shape[0])
		b.launch(backend.Launch{Consumes: consumes, Pieces: []backend.Piece{{Kernel: k, Extents: []int64{int64(x.Shape[0])},
			Args: []backend.LaunchArg{whole(x), whole(one), arg(y)}}}})
		return y
	}
	check := func(name string, taken int64, f func()) {
		t.Helper()
		before := b.d.Counters()
		f()
		if after := b.d.Counters(); after.InPlace-before.InPlace != taken || after.Launches-before.Launches != 1 || after.Kernels-before.Kernels != 1 {
			t.Errorf("%s: %d taken, expected %d; %d launches, %d kernels", name, after.InPlace-before.InPlace, taken,
				after.Launches-before.Launches, after.Kernels-before.Kernels)
		}
	}
	check("the only owner", 1, func() {
		x := b.floats(1, 2, 3)
		b.expect(sum(x, func(y ir.Tensor) backend.LaunchArg { return placed(y, x) }, x.ID), 2, 3, 4)
	})
	check("not consumed", 0, func() {
		x := b.floats(1, 2, 3)
		b.expect(sum(x, func(y ir.Tensor) backend.LaunchArg { return placed(y, x) }), 2, 3, 4)
		b.expect(x, 1, 2, 3)
	})
	check("another owner", 0, func() {
		x, z := b.floats(1, 2, 3), b.name(3)
		if err := b.d.Alias(x.ID, z.ID); err != nil {
			t.Fatal(err)
		}
		b.expect(sum(x, func(y ir.Tensor) backend.LaunchArg { return placed(y, x) }, x.ID), 2, 3, 4)
		b.expect(z, 1, 2, 3)
	})
	check("on loan", 0, func() {
		x := b.floats(1, 2, 3)
		m, err := b.d.Lend(context.Background(), x.ID)
		if err != nil {
			t.Fatal(err)
		}
		b.expect(sum(x, func(y ir.Tensor) backend.LaunchArg { return placed(y, x) }, x.ID), 2, 3, 4)
		if v := view[float32](m.Bytes); v[0] != 1 || v[2] != 3 {
			t.Errorf("what was lent is %v now", v)
		}
		m.Release()
	})
	check("borrowed", 0, func() {
		raw, x := []float32{1, 2, 3}, b.name(3)
		m := backend.Lent{Type: x.Type, Bytes: unsafe.Slice((*byte)(unsafe.Pointer(&raw[0])), 12), Release: func() {}}
		if err := b.d.Adopt(x, m); err != nil {
			t.Fatal(err)
		}
		b.expect(sum(x, func(y ir.Tensor) backend.LaunchArg { return placed(y, x) }, x.ID), 2, 3, 4)
		if raw[0] != 1 {
			t.Errorf("borrowed memory is %v now", raw)
		}
	})
	check("another size", 0, func() {
		x, big := b.floats(1, 2, 3), b.floats(make([]float32, 100)...)
		b.expect(sum(x, func(y ir.Tensor) backend.LaunchArg { return placed(y, big) }, big.ID), 2, 3, 4)
	})
	check("read elsewhere", 0, func() { // the second operand begins one element further on
		x, y := b.floats(1, 2, 3, 4), b.name(4)
		shifted := whole(x)
		shifted.Offset = 1
		b.launch(backend.Launch{Consumes: []ir.ID{x.ID}, Pieces: []backend.Piece{{Kernel: k, Extents: []int64{3},
			Args: []backend.LaunchArg{whole(x), shifted, placed(y, x)}}}})
		if err := b.d.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	if u, err := b.d.MemoryUsage(context.Background()); err != nil || u.Tensors == 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

// TestLaunchBytes: kernels count what their arguments read and write.
func TestLaunchBytes(t *testing.T) {
	b := newBench(t, Options{})
	bk := kernel.NewBuilder("scale", []kernel.AxisKind{kernel.Parallel, kernel.Parallel})
	bk.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: []kernel.Access{kernel.Strided, kernel.Unit}})
	bk.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: []kernel.Access{kernel.Broadcast, kernel.Unit}})
	bk.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: []kernel.Access{kernel.Strided, kernel.Unit}})
	bk.Store(2, bk.Op(kernel.OpMul, ir.F32, bk.Load(0), bk.Load(1)))
	k := b.compile(bk.K)
	x, row, y := b.floats(make([]float32, 300)...), b.floats(make([]float32, 100)...), b.name(300)
	before := b.d.Counters()
	b.launch(backend.Launch{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{3, 100}, Args: []backend.LaunchArg{
		{Tensor: x, Strides: []int64{100, 1}}, {Tensor: row, Strides: []int64{0, 1}}, {Tensor: y, Strides: []int64{100, 1}}}}}})
	after := b.d.Counters()
	if r, w := after.BytesRead-before.BytesRead, after.BytesWritten-before.BytesWritten; r != 1200+400 || w != 1200 {
		t.Errorf("%d bytes read and %d written, expected 1600 and 1200", r, w)
	}
}

// panicking is code with a fault of ours.
type panicking struct{}

func (panicking) Run(*kernel.Launch) { panic("no luck") }

// TestLaunchPanic: a panic in a kernel, on whatever goroutine, is an internal
// error of the results; nothing leaks, and the next launch runs.
func TestLaunchPanic(t *testing.T) {
	for _, threads := range []int{1, 3} {
		b := newBench(t, Options{Threads: threads})
		n := 300000
		k := b.compile(addKernel())
		bad := &compiledKernel{d: b.d, ready: newReady(addKernel(), panicking{}, false)}
		x := b.floats(make([]float32, n)...)
		piece := func(k backend.Compiled, y ir.Tensor) backend.Launch {
			return backend.Launch{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{int64(n)}, Args: []backend.LaunchArg{whole(x), whole(x), whole(y)}}}}
		}
		ctx := context.Background()
		before, err := b.d.MemoryUsage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			y, z := b.name(n), b.name(n)
			b.launch(piece(bad, y))
			b.launch(piece(k, z))
			_, errs, err := b.d.Read(ctx, y.ID, z.ID)
			if err != nil || !errors.Is(errs[0], ir.ErrInternal) || errs[1] != nil {
				t.Fatalf("%d threads: %v, %v", threads, errs, err)
			}
			b.d.Free(y.ID, z.ID)
		}
		if after, _ := b.d.MemoryUsage(ctx); after.InUse != before.InUse || after.Tensors != before.Tensors {
			t.Errorf("%d threads: %d bytes and %d tensors live, before %d and %d", threads, after.InUse, after.Tensors, before.InUse, before.Tensors)
		}
	}
}

// TestCompileConcurrently: kernels are compiled by their callers while the device
// works, and say whether they became code.
func TestCompileConcurrently(t *testing.T) {
	b := newBench(t, Options{})
	hold := make(chan struct{})
	if err := b.d.q.add(task{run: func() { <-hold }}); err != nil { // the device is busy
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			k, err := b.d.Compile(addKernel())
			if err != nil {
				t.Error(err)
				return
			}
			if k.Generated() != (b.d.opt.Generator != Interpret) {
				t.Errorf("generated: %v with %s", k.Generated(), b.d.opt.Generator)
			}
			k.Release()
		}()
	}
	wg.Wait()
	close(hold)
	if c := b.d.Counters(); c.Compiled+c.Interpreted != 8 {
		t.Errorf("%d compiled and %d interpreted, expected 8 together", c.Compiled, c.Interpreted)
	}
	b2 := newBench(t, Options{Generator: Interpret})
	if b2.compile(addKernel()).Generated() {
		t.Error("an interpreted kernel says that it is code")
	}
}
