//go:build unix

package cpu_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/backendtest"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// remote is an accelerator whose memory the host cannot touch: addresses are those of
// pages without access, and the contents are elsewhere. It interprets, and refuses some
// kernels.
type remote struct {
	mu      sync.Mutex
	regions map[uintptr][]byte // contents, by the first address
	seen    int
	loss    error // of a lost device
	slow    time.Duration
	refuses bool // when it is to run something
	all     bool // it takes every kernel
	loans   bool // memory may be mapped when it is closed
	// native runs a node, if it is not nil; see cpu.NodeRunner.
	native func(n *ir.Node, in, out []kernel.Tensor) (done bool, run int, err error)
	run    int         // the last one that may have noted a fault
	noted  []cpu.Noted // what nobody has asked about yet
	asked  int         // how often it was asked about faults
	open   int         // runs since then
}

// note takes down a run that may have noted a fault.
func (r *remote) note(code kernel.FaultCode, at int64) (run int) {
	r.run++
	if r.open++; r.open > cpu.MaxUnasked+1 {
		panic(fmt.Sprintf("%d runs were not asked about", r.open))
	}
	if code != kernel.NoFault {
		r.noted = append(r.noted, cpu.Noted{Run: r.run, Code: code, At: at})
	}
	return r.run
}

func (r *remote) Faults() ([]cpu.Noted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	noted := r.noted
	r.noted, r.open = nil, 0
	r.asked++
	return noted, r.loss
}

// RunNode runs a node by the native kernel, if there is one.
func (r *remote) RunNode(n *ir.Node, in, out []kernel.Tensor) (done bool, run int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.native == nil || r.loss != nil {
		return false, 0, r.loss
	}
	return r.native(n, in, out)
}

var _ cpu.NodeRunner = (*remote)(nil)

// elements are the contents of a tensor of f32 that lies in one piece.
func (r *remote) elements(t kernel.Tensor) []float32 { return elementsOf[float32](r, t) }

func elementsOf[T any](r *remote, t kernel.Tensor) []T {
	n, size := t.Type.Shape.Size(), t.Type.DType.Size()
	from := uintptr(t.Operand.Base) + uintptr(int64(size)*t.Operand.Offset)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(r.contents(from, size*n)))), n)
}

func (r *remote) Describe(i *backend.Info) { i.Kind, i.Detail = "cpu", "remote" }

func (r *remote) Map(n int64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loss != nil {
		return nil, r.loss
	}
	mem, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, err
	}
	r.regions[address(mem)] = make([]byte, n)
	return mem, nil
}

func (r *remote) Unmap(mem []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.regions, address(mem))
	if err := syscall.Munmap(mem); err != nil {
		panic(err)
	}
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// contents of n bytes at an address, up to the end of their region.
func (r *remote) contents(at uintptr, n int) []byte {
	for from, b := range r.regions {
		if at >= from && at+uintptr(n) <= from+uintptr(len(b)) {
			return b[at-from:]
		}
	}
	panic(fmt.Sprintf("%d bytes at %#x are nobody's", n, at))
}

func (r *remote) CopyIn(dst, src []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(src) > 0 {
		copy(r.contents(address(dst), len(dst)), src)
	}
	return r.loss
}

func (r *remote) CopyOut(dst, src []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(src) > 0 {
		copy(dst, r.contents(address(src), len(src)))
	}
	return r.loss
}

func (r *remote) Compile(k *kernel.Kernel) (cpu.Program, error) {
	r.mu.Lock()
	r.seen++
	refuse := r.seen%3 == 0 && !r.all
	r.mu.Unlock()
	if refuse {
		return nil, fmt.Errorf("the third")
	}
	return kernel.NewInterpreter(k)
}

func (r *remote) Run(parts []cpu.Bound) (run int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loss != nil {
		return 0, r.loss
	}
	if r.refuses {
		return 0, ir.Errorf(ir.ErrUnsupported, "the compiler does not take it")
	}
	faults := false
	var code kernel.FaultCode
	var at int64
	for _, p := range parts {
		l := *p.Launch
		l.Args = append([]kernel.Operand(nil), l.Args...)
		for i := range l.Args {
			l.Args[i].Base = unsafe.Pointer(unsafe.SliceData(r.contents(uintptr(l.Args[i].Base), int(l.Args[i].Size))))
		}
		p.Program.(kernel.Executable).Run(&l)
		if l.Fault == nil {
			continue
		}
		faults = true
		if c, a := l.Fault.First(); c != kernel.NoFault && (code == kernel.NoFault || a < at) {
			code, at = c, a
		}
	}
	if !faults {
		return 0, nil
	}
	return r.note(code, at), nil
}

func (r *remote) Flush() error { return r.state() }

func (r *remote) state() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loss
}

// set changes what goes wrong.
func (r *remote) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *remote) Sync() error {
	var slow time.Duration
	r.set(func() { slow = r.slow })
	time.Sleep(slow)
	return r.state()
}

func (r *remote) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loss = ir.Errorf(ir.ErrClosed, "the accelerator is closed")
	if len(r.regions) != 0 && !r.loans {
		return fmt.Errorf("%d slabs were not returned", len(r.regions))
	}
	return nil
}

func (r *remote) Clock(tell func(time.Duration)) func() {
	start := time.Now()
	return func() { tell(time.Since(start)) }
}

func newRemote() *remote { return &remote{regions: map[uintptr][]byte{}} }

// TestAccelerator runs the suite of backends on a device whose tensors lie where the
// host cannot touch them, and which runs kernels here and there.
func TestAccelerator(t *testing.T) {
	opts := []backendtest.Option{backendtest.WithSetup(func(t *testing.T, s backendtest.Setup) backend.Backend { return openRemote(t, s) })}
	if testing.Short() {
		opts = append(opts, backendtest.ContractOnly())
	}
	backendtest.Run(t, func(t *testing.T) backend.Backend { return openRemote(t, backendtest.Setup{}) }, opts...)
}

func openRemote(t *testing.T, s backendtest.Setup) backend.Backend {
	o := cpu.Options{Accelerator: newRemote(), Memory: s.Memory, QueueOps: s.QueueOps, Threads: 2, Routines: map[string]cpu.Routine{}}
	for name, f := range s.Opaque {
		o.Routines[name] = func(c *backend.Call) error { return f(bytesOf(c.In), bytesOf(c.Out)) }
	}
	d, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return withoutHostMemory{d}
}

func bytesOf(hosts []cpu.Host) [][]byte {
	out := make([][]byte, len(hosts))
	for i, h := range hosts {
		out[i] = h.Data
	}
	return out
}

// TestLoss: a lost device fails what is on it and what is asked of it, with the reason,
// and closes.
func TestLoss(t *testing.T) {
	r := newRemote()
	d, err := cpu.New(cpu.Options{Accelerator: r})
	if err != nil {
		t.Fatal(err)
	}
	x := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{4}}}
	if err := d.Upload(x, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.set(func() { r.loss = ir.Errorf(ir.ErrDevice, "the device is lost") })
	if _, errs, err := d.Read(t.Context(), 1); err != nil || ir.AsError(errs[0]).Kind != ir.ErrDevice {
		t.Errorf("read: %v, %v", err, errs)
	}
	if err := d.Upload(ir.Tensor{ID: 2, Type: x.Type}, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if _, errs, err := d.Read(t.Context(), 2); err != nil || ir.AsError(errs[0]).Kind != ir.ErrDevice {
		t.Errorf("read of what came later: %v, %v", err, errs)
	}
	if err := d.Sync(t.Context()); ir.AsError(err).Kind != ir.ErrDevice {
		t.Errorf("sync: %v", err)
	}
	big := ir.Tensor{ID: 3, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{1 << 20}}} // needs other memory
	if err := d.Upload(big, make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	if _, errs, err := d.Read(t.Context(), 3); err != nil || ir.AsError(errs[0]).Kind != ir.ErrDevice {
		t.Errorf("read of what found no memory: %v, %v", err, errs)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestWaiting: the end of a context ends the wait for an accelerator, and nobody else
// waits for it.
func TestWaiting(t *testing.T) {
	r := newRemote()
	d, err := cpu.New(cpu.Options{Accelerator: r})
	if err != nil {
		t.Fatal(err)
	}
	r.set(func() { r.slow = time.Second })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	waited := make(chan error)
	start := time.Now()
	go func() { waited <- d.Sync(ctx) }()
	time.Sleep(10 * time.Millisecond)
	if err := d.Upload(ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{4}}}, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Read(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err == nil || ir.AsError(err).Kind != ir.ErrCancelled {
		t.Errorf("the wait ended with %v", err)
	}
	if took := time.Since(start); took > 700*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	r.set(func() { r.slow = 0 })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefused: what an accelerator turns out not to take runs on the host.
func TestRefused(t *testing.T) {
	r := newRemote()
	d, err := cpu.New(cpu.Options{Accelerator: r})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r.set(func() { r.refuses = true })
	f32 := ir.Type{DType: ir.F32, Shape: ir.Shape{2}}
	in, out := ir.Tensor{ID: 1, Type: f32}, ir.Tensor{ID: 2, Type: f32}
	data := make([]byte, 8)
	*(*float32)(unsafe.Pointer(&data[4])) = -3
	if err := d.Upload(in, data); err != nil {
		t.Fatal(err)
	}
	if err := d.Submit(t.Context(), []ir.Node{{Row: ir.Lookup("neg"), In: []ir.Tensor{in}, Out: []ir.Tensor{out}}}); err != nil {
		t.Fatal(err)
	}
	got, errs, err := d.Read(t.Context(), 2)
	if err != nil || errs[0] != nil {
		t.Fatal(err, errs)
	}
	if v := *(*float32)(unsafe.Pointer(&got[0].Bytes[4])); v != 3 {
		t.Errorf("-(-3) is %v", v)
	}
}

// TestNative: an accelerator may run a node by kernels of its own. What it leaves to the
// host has the host's results; its errors are the node's; where memory is short beside the
// operands, it is asked again.
func TestNative(t *testing.T) {
	noMemory := ir.Errorf(ir.ErrMemory, "no room for scratch memory")
	broken := ir.Errorf(ir.ErrDevice, "the kernel failed")
	for _, c := range []struct {
		name  string
		calls []error // of the native kernel, nil where it has run
		done  bool
		kind  error // of the node's error
		fails bool
	}{
		{name: "done", calls: []error{nil}, done: true},
		{name: "not done", calls: []error{nil}},
		{name: "failed", calls: []error{broken}, kind: ir.ErrDevice, fails: true},
		{name: "short of memory", calls: []error{noMemory, nil}, done: true},
		{name: "without memory", calls: []error{noMemory, noMemory}, kind: ir.ErrMemory, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRemote()
			d, err := cpu.New(cpu.Options{Accelerator: r})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			calls := 0
			r.set(func() {
				r.native = func(n *ir.Node, in, out []kernel.Tensor) (bool, int, error) {
					if n.Row.Name != "scatter_add" || len(in) != 3 || len(out) != 1 || calls == len(c.calls) {
						t.Errorf("call %d of %s over %d operands and %d results", calls, n.Row.Name, len(in), len(out))
						return false, 0, nil
					}
					err := c.calls[calls]
					calls++
					for i := range r.elements(out[0]) {
						r.elements(out[0])[i] = 10 + r.elements(in[0])[0] // also where it is not done: it does not matter
					}
					return c.done && err == nil, 0, err
				}
			})
			vector := ir.Type{DType: ir.F32, Shape: ir.Shape{2}}
			x, index := ir.Tensor{ID: 1, Type: vector}, ir.Tensor{ID: 2, Type: ir.Type{DType: ir.I64, Shape: ir.Shape{2}}}
			y := ir.Tensor{ID: 3, Type: vector}
			data := make([]byte, 8)
			*(*float32)(unsafe.Pointer(&data[0])) = 3
			if err := d.Upload(x, data); err != nil {
				t.Fatal(err)
			}
			if err := d.Upload(index, make([]byte, 16)); err != nil {
				t.Fatal(err)
			}
			row := ir.Lookup("scatter_add")
			attrs, err := row.MakeAttrs(ir.A("axis", 0))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Submit(t.Context(), []ir.Node{{Row: row, Attrs: attrs, In: []ir.Tensor{x, index, x}, Out: []ir.Tensor{y}}}); err != nil {
				t.Fatal(err)
			}
			got, errs, err := d.Read(t.Context(), y.ID, x.ID)
			if err != nil || errs[1] != nil {
				t.Fatal(err, errs)
			}
			if calls != len(c.calls) {
				t.Errorf("%d calls, expected %d", calls, len(c.calls))
			}
			switch {
			case c.fails:
				if errs[0] == nil || ir.AsError(errs[0]).Kind != c.kind {
					t.Errorf("error %v", errs[0])
				}
				return
			case errs[0] != nil:
				t.Fatal(errs[0])
			}
			want := float32(6) // 3 + 3 + 0
			if c.done {
				want = 13
			}
			if v := *(*float32)(unsafe.Pointer(&got[0].Bytes[0])); v != want {
				t.Errorf("result %v, expected %v", v, want)
			}
		})
	}
}

// preparing is told of programs before they run.
type preparing struct {
	*remote
	told [][]cpu.Bound // the parts of launches
	asks int
	runs int
	late bool // a program ran of which it was not told
}

var _ cpu.Preparer = (*preparing)(nil)

func (p *preparing) Prepare(launches [][]cpu.Bound) {
	p.told = append(p.told, launches...)
	p.asks++
}

func (p *preparing) Run(parts []cpu.Bound) (int, error) {
	p.runs++
	for i := range parts {
		known := false
		for _, list := range p.told {
			for j := range list {
				known = known || list[j].Program == parts[i].Program
			}
		}
		p.late = p.late || !known
	}
	return p.remote.Run(parts)
}

// TestPreparing: an accelerator is told of the programs of all launches before the first of
// them runs, once each, with where operands lie that are known.
func TestPreparing(t *testing.T) {
	p := &preparing{remote: newRemote()}
	d, err := cpu.New(cpu.Options{Accelerator: p})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var kernels []backend.Compiled
	for i, op := range []kernel.Op{kernel.OpNeg, kernel.OpAbs} { // the third is refused
		b := kernel.NewBuilder(fmt.Sprint("k", i), []kernel.AxisKind{kernel.Parallel})
		unit := []kernel.Access{kernel.Unit}
		x := b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit}))
		b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit}), b.Op(op, ir.F32, x))
		k, err := d.Compile(b.K)
		if err != nil {
			t.Fatal(err)
		}
		kernels = append(kernels, k)
	}
	id := ir.ID(1)
	tensor := func() ir.Tensor {
		id++
		return ir.Tensor{ID: id, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{1}}}
	}
	x := tensor()
	if err := d.Upload(x, []byte{0, 0, 64, 64}); err != nil { // 3
		t.Fatal(err)
	}
	whole := func(t ir.Tensor) backend.LaunchArg { return backend.LaunchArg{Tensor: t, Strides: []int64{1}} }
	for range 2 {
		y, z := tensor(), tensor()
		launches := []backend.Launch{
			{Pieces: []backend.Piece{{Kernel: kernels[0], Extents: []int64{1}, Args: []backend.LaunchArg{whole(x), whole(y)}}}},
			{Pieces: []backend.Piece{{Kernel: kernels[1], Extents: []int64{1}, Args: []backend.LaunchArg{whole(y), whole(z)}}}},
		}
		if err := d.Launch(t.Context(), launches); err != nil {
			t.Fatal(err)
		}
		got, errs, err := d.Read(t.Context(), z.ID)
		if err != nil || errs[0] != nil || *(*float32)(unsafe.Pointer(&got[0].Bytes[0])) != 3 {
			t.Fatal(got, errs, err)
		}
	}
	if p.late || p.runs != 4 || p.asks != 1 || len(p.told) != 2 || len(p.told[0]) != 1 || len(p.told[1]) != 1 {
		t.Fatalf("told of %v, %d runs, late %v", p.told, p.runs, p.late)
	}
	first, second := p.told[0][0].Launch, p.told[1][0].Launch
	if first.Args[0].Base == nil || first.Args[1].Base != nil || second.Args[0].Base != nil || second.Extents[0] != 1 {
		t.Errorf("told of %+v and %+v", first, second)
	}
}

// TestReaderAfterClose: what is read of a closed device is an error.
func TestReaderAfterClose(t *testing.T) {
	r := newRemote()
	r.set(func() { r.loans = true })
	d, err := cpu.New(cpu.Options{Accelerator: r})
	if err != nil {
		t.Fatal(err)
	}
	x := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{4}}}
	if err := d.Upload(x, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	read, err := d.OpenRead(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := read.ReadAt(t.Context(), make([]byte, 4), 0); ir.AsError(err).Kind != ir.ErrClosed {
		t.Errorf("read: %v", err)
	}
	if err := d.Upload(ir.Tensor{ID: 2, Type: x.Type}, make([]byte, 16)); ir.AsError(err).Kind != ir.ErrClosed {
		t.Errorf("upload: %v", err)
	}
	read.Close()
}

// TestNotHost: memory of an accelerator is nobody's to borrow.
func TestNotHost(t *testing.T) {
	d, err := cpu.New(cpu.Options{Accelerator: newRemote()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	x := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{4}}}
	if err := d.Upload(x, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lend(t.Context(), 1); ir.AsError(err).Kind != ir.ErrUnsupported {
		t.Errorf("lend: %v", err)
	}
	if err := d.Adopt(ir.Tensor{ID: 2, Type: x.Type}, backend.Lent{Type: x.Type, Bytes: make([]byte, 16)}); ir.AsError(err).Kind != ir.ErrUnsupported {
		t.Errorf("adopt: %v", err)
	}
	if id := d.CodeID(); id != "" {
		t.Errorf("it keeps code of %q", id)
	}
}

// withoutHostMemory is a device that says of itself what an accelerated one can.
type withoutHostMemory struct{ *cpu.Device }

func (d withoutHostMemory) As(target any) bool { return d.AsAccelerated(target) }
