package backendtest

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// launcher is a client that launches kernels made by hand.
type launcher struct {
	*client
	m backend.Compiler
}

func (s *suite) launcher(t *testing.T) *launcher {
	c, m := s.withCompiler(t)
	return &launcher{c, m}
}

func (l *launcher) compile(k *kernel.Kernel) backend.Compiled {
	l.Helper()
	x, err := l.m.Compile(k)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(x.Release)
	return x
}

func (l *launcher) launch(launches ...backend.Launch) {
	l.Helper()
	if err := l.m.Launch(context.Background(), launches); err != nil {
		l.Errorf("Launch: %v", err)
	}
}

// gone fails unless nobody knows the tensors any more.
func (l *launcher) gone(ts ...ir.Tensor) {
	l.Helper()
	for _, t := range ts {
		l.expectError(t, ir.ErrInternal)
	}
}

// dense is an argument of one axis, side by side from an element on.
func dense(t ir.Tensor, from int64) backend.LaunchArg {
	return backend.LaunchArg{Tensor: t, Offset: from, Strides: []int64{1}}
}

// over is the argument of a result that may take the memory of an operand.
func over(t, operand ir.Tensor) backend.LaunchArg {
	a := dense(t, 0)
	a.Over = operand.ID
	return a
}

// elementwise is a kernel of f32 arguments of one axis, whose outputs follow its
// inputs.
func elementwise(in, out int, body func(b *kernel.Builder, x []kernel.Ref) []kernel.Ref) *kernel.Kernel {
	b := kernel.NewBuilder("test", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	for range in {
		b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit})
	}
	for range out {
		b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	}
	x := make([]kernel.Ref, in)
	for i := range x {
		x[i] = b.Load(i)
	}
	for i, y := range body(b, x) {
		b.Store(in+i, y)
	}
	return b.K
}

func doubleKernel() *kernel.Kernel {
	return elementwise(1, 1, func(b *kernel.Builder, x []kernel.Ref) []kernel.Ref {
		return []kernel.Ref{b.Op(kernel.OpAdd, ir.F32, x[0], x[0])}
	})
}

// ramp is from, from+1, ... of n elements.
func ramp(from, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(from + i)
	}
	return v
}

// launchPieces: pieces write the halves of one result, a third a result of its
// own, whether workers share them or one runs them all.
func (s *suite) launchPieces(t *testing.T) {
	l := s.launcher(t)
	add, double := l.compile(addKernel()), l.compile(doubleKernel())
	for _, n := range []int{1, 7, 200003} {
		x, y := l.floats(ramp(0, n)...), l.floats(ramp(5, n)...)
		sum := l.node("add", []ir.Tensor{x, y})
		twice := l.node("add", []ir.Tensor{x, x})
		both := l.node("concat", []ir.Tensor{sum.Out[0], twice.Out[0]}, "axis", 0)
		own := l.node("add", []ir.Tensor{y, y})
		nodes := []ir.Node{sum, twice, both, own}
		r, half := both.Out[0], int64(n)
		l.launch(backend.Launch{Nodes: backend.NodesOf(nodes...), Pieces: []backend.Piece{
			{Kernel: double, Extents: []int64{half}, Args: []backend.LaunchArg{dense(x, 0), dense(r, half)}},
			{Kernel: add, Extents: []int64{half}, Args: []backend.LaunchArg{dense(x, 0), dense(y, 0), dense(r, 0)}},
			{Kernel: double, Extents: []int64{half}, Args: []backend.LaunchArg{dense(y, 0), dense(own.Out[0], 0)}},
		}})
		want := make([]float32, 0, 3*n)
		for i := range n {
			want = append(want, float32(2*i+5))
		}
		for i := range n {
			want = append(want, float32(2*i))
		}
		l.expect(r, want...)
		want = want[:0]
		for i := range n {
			want = append(want, float32(2*i+10))
		}
		l.expect(own.Out[0], want...)
		l.gone(sum.Out[0], twice.Out[0]) // intermediates are nobody's
		l.b.Free(x.ID, y.ID, r.ID, own.Out[0].ID)
	}
	// A part of a larger space knows where it is.
	b := kernel.NewBuilder("index", []kernel.AxisKind{kernel.Parallel})
	b.AddArg(kernel.Arg{Type: ir.I64, Dir: kernel.Out, Access: []kernel.Access{kernel.Unit}})
	b.Store(0, b.Op(kernel.OpAdd, ir.I64, b.Op(kernel.OpMul, ir.I64, b.Index(0), b.Const(ir.I64, 100)), b.Extent(0)))
	at := l.compile(b.K)
	r := l.name(ir.Type{DType: ir.I64, Shape: ir.Shape{5}})
	l.launch(backend.Launch{Pieces: []backend.Piece{
		{Kernel: at, Extents: []int64{2}, Full: []int64{5}, Args: []backend.LaunchArg{dense(r, 0)}},
		{Kernel: at, Extents: []int64{3}, Start: []int64{2}, Full: []int64{5}, Args: []backend.LaunchArg{dense(r, 2)}},
	}})
	l.expect(l.do("cast", []ir.Tensor{r}, "dtype", ir.F32), 5, 105, 205, 305, 405)
}

// launchInPlace: a result may take the memory of an operand that the launch
// consumes. Nobody else can tell: not another owner, nor a view.
func (s *suite) launchInPlace(t *testing.T) {
	l := s.launcher(t)
	double := l.compile(doubleKernel())
	before, counted := l.usage()
	run := func(x ir.Tensor) ir.Tensor {
		n := l.node("add", []ir.Tensor{x, x})
		y := n.Out[0]
		l.launch(backend.Launch{Nodes: backend.NodesOf(n), Consumes: []ir.ID{x.ID}, Pieces: []backend.Piece{
			{Kernel: double, Extents: []int64{3}, Args: []backend.LaunchArg{dense(x, 0), over(y, x)}}}})
		return y
	}
	alone := l.floats(1, 2, 3)
	y := run(alone)
	l.expect(y, 2, 4, 6)
	l.gone(alone)

	shared, other := l.floats(4, 5, 6), l.name(alone.Type)
	if err := l.b.Alias(shared.ID, other.ID); err != nil {
		t.Fatal(err)
	}
	z := run(shared)
	l.expect(z, 8, 10, 12)
	l.expect(other, 4, 5, 6)
	l.gone(shared)

	base := l.floats(7, 8, 9)
	view := l.do("slice", []ir.Tensor{base}, "starts", []int{2}, "sizes", []int{3}, "steps", []int{-1})
	w := run(base)
	l.expect(view, 9, 8, 7)
	l.expect(w, 14, 16, 18)

	// A chain that consumes each of its results.
	chain := l.floats(1, 1, 1)
	for range 10 {
		chain = run(chain)
	}
	l.expect(chain, 1024, 1024, 1024)
	l.b.Free(y.ID, other.ID, z.ID, view.ID, w.ID, chain.ID)
	if u, _ := l.usage(); counted && (u.Tensors != before.Tensors || u.InUse != before.InUse) {
		t.Errorf("%d tensors, %d bytes live, before %d and %d", u.Tensors, u.InUse, before.Tensors, before.InUse)
	}
}

// launchOverReads: an operand is not overwritten while a piece may still read
// what another place of the kernel writes, whatever the client asks for.
func (s *suite) launchOverReads(t *testing.T) {
	l := s.launcher(t)
	// y0 = x + 1, y1 = x + x, where y0 may lie over x.
	two := l.compile(elementwise(1, 2, func(b *kernel.Builder, x []kernel.Ref) []kernel.Ref {
		return []kernel.Ref{b.Op(kernel.OpAdd, ir.F32, x[0], b.Const(ir.F32, uint64(ir.MakeScalar(ir.F32, 1).Bits))), b.Op(kernel.OpAdd, ir.F32, x[0], x[0])}
	}))
	n := 100000
	x := l.floats(ramp(0, n)...)
	y0, y1 := l.name(x.Type), l.name(x.Type)
	l.launch(backend.Launch{Consumes: []ir.ID{x.ID}, Pieces: []backend.Piece{
		{Kernel: two, Extents: []int64{int64(n)}, Args: []backend.LaunchArg{dense(x, 0), over(y0, x), dense(y1, 0)}}}})
	l.expect(y0, ramp(1, n)...)
	want := ramp(0, n)
	for i := range want {
		want[i] *= 2
	}
	l.expect(y1, want...)
	// Two pieces exchange the halves: each writes where the other reads.
	double := l.compile(doubleKernel())
	x = l.floats(ramp(0, n)...)
	y := l.name(x.Type)
	half := int64(n / 2)
	first, second := over(y, x), over(y, x)
	first.Offset = half
	from := dense(x, half)
	l.launch(backend.Launch{Consumes: []ir.ID{x.ID}, Pieces: []backend.Piece{
		{Kernel: double, Extents: []int64{half}, Args: []backend.LaunchArg{dense(x, 0), first}},
		{Kernel: double, Extents: []int64{half}, Args: []backend.LaunchArg{from, second}},
	}})
	l.expect(y, append(want[half:n:n], want[:half]...)...)
}

// launchRowsInPlace: functions of several passes over a row give the same bits
// where their result lies over the operand.
func (s *suite) launchRowsInPlace(t *testing.T) {
	l := s.launcher(t)
	for _, shape := range []ir.Shape{{3, 5}, {40, 130}, {2, 20011}, {1030, 3}} {
		v := make([]float32, shape.Size())
		for i := range v {
			v[i] = float32(i*7919%1009)*0.01 - 5
		}
		typ := ir.Type{DType: ir.F32, Shape: shape}
		for _, row := range []string{"relu", "softmax", "log_softmax", "layer_norm", "cumsum"} {
			for axis := range 2 {
				attrs := []any{}
				switch r := ir.Lookup(row); {
				case r.HasAttr("axis"):
					attrs = []any{"axis", axis}
				case r.HasAttr("axes"):
					attrs = []any{"axes", []int{axis}}
				case axis > 0:
					continue
				}
				x, y := l.upload(typ, bytesOf(v)), l.upload(typ, bytesOf(v))
				operands := func(x ir.Tensor) []ir.Tensor {
					in := []ir.Tensor{x}
					for len(in) < len(ir.Lookup(row).Operands) { // scale and shift
						in = append(in, l.upload(ir.Type{DType: ir.F32, Shape: ir.Shape{}}, bytesOf([]float32{1.5})))
					}
					return in
				}
				want := l.do(row, operands(y), attrs...)
				n := l.node(row, operands(x), attrs...)
				launch, release, err := blockLaunch(l.m, []ir.Node{n}, nil)
				if err != nil {
					t.Fatalf("%s of %v: %v", row, shape, err)
				}
				launch.Consumes = []ir.ID{x.ID}
				for i := range launch.Pieces {
					for j := range launch.Pieces[i].Args {
						if a := &launch.Pieces[i].Args[j]; a.Tensor.ID == n.Out[0].ID {
							a.Over = x.ID
						}
					}
				}
				l.launch(launch)
				release()
				data, errs := l.read(n.Out[0], want)
				if err := errors.Join(errs...); err != nil {
					t.Errorf("%s of %v along %d: %v", row, shape, axis, err)
					continue
				}
				a, b := decode(data[0].Type, data[0].Bytes), decode(data[1].Type, data[1].Bytes)
				if at := difference(a, b); at >= 0 {
					t.Errorf("%s of %v along %d, element %d: in place %v, else %v", row, shape, axis, at, a.scalar(at), b.scalar(at))
				}
			}
		}
	}
}

// gatherKernel is y = x[index] · z and u = z + z: a fault of y leaves u as it is.
func gatherKernel() *kernel.Kernel {
	b := kernel.NewBuilder("gather_mul_add", []kernel.AxisKind{kernel.Parallel})
	unit, none := []kernel.Access{kernel.Unit}, []kernel.Access{kernel.Broadcast}
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: none, Gather: true})
	b.AddArg(kernel.Arg{Type: ir.I64, Dir: kernel.In, Access: unit})
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit})
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	z := b.Load(2)
	b.Store(3, b.Op(kernel.OpMul, ir.F32, b.Gather(0, b.Load(1)), z))
	b.Store(4, b.Op(kernel.OpAdd, ir.F32, z, z))
	return b.K
}

// gatherLaunch is the launch of gatherKernel over the tensors. It consumes z, over
// which u may lie.
func (l *launcher) gatherLaunch(k backend.Compiled, x, index, z ir.Tensor) (launch backend.Launch, y, u ir.Tensor) {
	picked := l.node("gather", []ir.Tensor{x, index}, "axis", 0)
	scaled := l.node("mul", []ir.Tensor{picked.Out[0], z})
	twice := l.node("add", []ir.Tensor{z, z})
	y, u = scaled.Out[0], twice.Out[0]
	args := []backend.LaunchArg{{Tensor: x, Strides: []int64{0}, GatherStride: 1, GatherExtent: int64(x.Shape[0])},
		dense(index, 0), dense(z, 0), dense(y, 0), over(u, z)}
	return backend.Launch{Nodes: backend.NodesOf(picked, scaled, twice), Consumes: []ir.ID{z.ID},
		Pieces: []backend.Piece{{Kernel: k, Extents: []int64{int64(z.Shape[0])}, Args: args}}}, y, u
}

// launchFault: after a fault each result is what it would be unfused, and the
// operation at fault is the one that is named, once.
func (s *suite) launchFault(t *testing.T) {
	l := s.launcher(t)
	k := l.compile(gatherKernel())
	x := l.floats(10, 20, 30)
	before, counted := l.usage()
	launch, y, u := l.gatherLaunch(k, x, l.ints(2, 0, 1), l.floats(1, 2, 3))
	l.launch(launch)
	l.expect(y, 30, 20, 60)
	l.expect(u, 2, 4, 6)
	l.gone(launch.Nodes.List()[0].Out[0])
	l.b.Free(launch.Nodes.List()[0].In[1].ID, y.ID, u.ID)

	launch, y, u = l.gatherLaunch(k, x, l.ints(2, 0, 3), l.floats(1, 2, 3))
	n := l.node("add", []ir.Tensor{y, x})
	l.launch(launch)
	l.submit(n)
	l.expect(u, 2, 4, 6)
	err := l.expectError(y, ir.ErrData)
	if err.Op != "gather" || len(err.Operands) != 2 || !contains(err.Error(), "[2]") || err.Site.String() != "user.go:7" {
		t.Errorf("the fault of a launch is %q, of %q with operands %v at %q", err, err.Op, err.Operands, err.Site)
	}
	if got := l.expectError(n.Out[0], ir.ErrData); got.Error() != err.Error() {
		t.Errorf("what depends on a fault carries %q, want %q", got, err)
	}
	if err := l.sync(); err != nil {
		t.Errorf("Sync returns an error that was read: %v", err)
	}
	l.gone(launch.Nodes.List()[0].Out[0], launch.Nodes.List()[1].In[1]) // the intermediate, and what was consumed
	l.b.Free(launch.Nodes.List()[0].In[1].ID, y.ID, u.ID, n.Out[0].ID)
	if after, _ := l.usage(); counted && (after.Tensors != before.Tensors || after.InUse != before.InUse) {
		t.Errorf("%d tensors, %d bytes live, before %d and %d", after.Tensors, after.InUse, before.Tensors, before.InUse)
	}
	// An axis of no elements has none to pick.
	launch, y, u = l.gatherLaunch(k, x, l.ints(0), l.floats(1))
	launch.Nodes, launch.Pieces[0].Args[0] = backend.Nodes{}, backend.LaunchArg{Tensor: l.floats(), Strides: []int64{0}, GatherStride: 1}
	l.launch(launch)
	l.expectError(y, ir.ErrData)
	l.expectError(u, ir.ErrData)
	l.sync()
	// Without nodes there is nothing to run again: all results are at fault.
	launch, y, u = l.gatherLaunch(k, x, l.ints(9), l.floats(1))
	launch.Nodes = backend.Nodes{}
	l.launch(launch)
	l.expectError(y, ir.ErrData)
	l.expectError(u, ir.ErrData)
	l.sync()
}

// launchOperandError: results that do not depend on a failed operand are computed.
func (s *suite) launchOperandError(t *testing.T) {
	l := s.launcher(t)
	k := l.compile(gatherKernel())
	x := l.floats(10, 20, 30)
	bad := l.do("gather", []ir.Tensor{l.ints(0), l.ints(5, 5)}, "axis", 0)
	want := l.expectError(bad, ir.ErrData)
	launch, y, u := l.gatherLaunch(k, x, bad, l.floats(1, 2))
	l.launch(launch)
	l.expect(u, 2, 4)
	if got := l.expectError(y, ir.ErrData); got.Error() != want.Error() {
		t.Errorf("a launch over an error gives %q, want %q", got, want)
	}
	l.gone(launch.Nodes.List()[0].Out[0], launch.Nodes.List()[1].In[1])
	lost := l.name(bad.Type) // nobody makes it
	launch, y, u = l.gatherLaunch(k, x, lost, l.floats(1, 2))
	l.launch(launch)
	l.expect(u, 2, 4)
	if err := l.expectError(y, ir.ErrInternal); err.Op != "gather" {
		t.Errorf("the error of an operand that nobody knows names %q", err.Op)
	}
	// Without nodes every result may depend on every operand.
	launch, y, u = l.gatherLaunch(k, x, bad, l.floats(1, 2))
	launch.Nodes = backend.Nodes{}
	l.launch(launch)
	for _, r := range []ir.Tensor{y, u} {
		if got := l.expectError(r, ir.ErrData); got.Error() != want.Error() {
			t.Errorf("a launch over an error gives %q, want %q", got, want)
		}
	}
	// An operand that only the nodes read counts as well: unfused, the result
	// would depend on it.
	n := l.node("mul", []ir.Tensor{bad, bad})
	zero := kernel.NewBuilder("zero", []kernel.AxisKind{kernel.Parallel})
	zero.AddArg(kernel.Arg{Type: ir.I64, Dir: kernel.Out, Access: []kernel.Access{kernel.Unit}})
	zero.Store(0, zero.Const(ir.I64, 0))
	l.launch(backend.Launch{Nodes: backend.NodesOf(n), Also: []ir.ID{bad.ID}, Pieces: []backend.Piece{
		{Kernel: l.compile(zero.K), Extents: []int64{2}, Args: []backend.LaunchArg{dense(n.Out[0], 0)}}}})
	l.expectError(n.Out[0], ir.ErrData)
	if err := l.sync(); err != nil {
		t.Errorf("Sync returns an error that was read: %v", err)
	}
}

// launchNothing: a launch without pieces frees what it consumes, one over empty
// tensors makes them known, and neither does more.
func (s *suite) launchNothing(t *testing.T) {
	l := s.launcher(t)
	x, y := l.floats(1, 2), l.floats(3)
	l.launch()
	l.launch(backend.Launch{}, backend.Launch{Consumes: []ir.ID{x.ID}}, backend.Launch{Consumes: []ir.ID{x.ID, l.name(x.Type).ID}})
	l.gone(x)
	l.expect(y, 3)
	none := l.floats()
	n := l.node("add", []ir.Tensor{none, none})
	l.launch(backend.Launch{Nodes: backend.NodesOf(n), Consumes: []ir.ID{none.ID}, Pieces: []backend.Piece{
		{Kernel: l.compile(doubleKernel()), Extents: []int64{0}, Args: []backend.LaunchArg{dense(none, 0), over(n.Out[0], none)}}}})
	l.expect(n.Out[0])
	l.gone(none)
	if err := l.sync(); err != nil {
		t.Errorf("Sync: %v", err)
	}
}

// launchViews: an argument walks the elements of its tensor in row-major order,
// whatever a view of the device looks like inside.
func (s *suite) launchViews(t *testing.T) {
	l := s.launcher(t)
	double := l.compile(doubleKernel())
	base := l.upload(ir.Type{DType: ir.F32, Shape: ir.Shape{2, 3}}, bytesOf([]float32{1, 2, 3, 4, 5, 6}))
	turned := l.do("permute", []ir.Tensor{base}, "axes", []int{1, 0})
	tail := l.do("slice", []ir.Tensor{base}, "starts", []int{1, 0}, "sizes", []int{1, 3}, "steps", []int{1, 1})
	for _, x := range []struct {
		t    ir.Tensor
		want []float32
	}{{turned, []float32{2, 8, 4, 10, 6, 12}}, {tail, []float32{8, 10, 12}}} {
		n := l.node("add", []ir.Tensor{x.t, x.t})
		l.launch(backend.Launch{Nodes: backend.NodesOf(n), Consumes: []ir.ID{x.t.ID}, Pieces: []backend.Piece{
			{Kernel: double, Extents: []int64{int64(len(x.want))}, Args: []backend.LaunchArg{dense(x.t, 0), over(n.Out[0], x.t)}}}})
		l.expect(n.Out[0], x.want...)
	}
	l.expect(l.do("reshape", []ir.Tensor{base}, "shape", []int{6}), 1, 2, 3, 4, 5, 6)
}

// launchMisfits: a piece that does not fit its kernel, or whose addresses leave a
// tensor, is refused, and nothing of the call is queued.
func (s *suite) launchMisfits(t *testing.T) {
	l := s.launcher(t)
	add := l.compile(addKernel())
	x := l.floats(1, 2, 3, 4)
	good := func() backend.Piece {
		return backend.Piece{Kernel: add, Extents: []int64{4}, Args: []backend.LaunchArg{dense(x, 0), dense(x, 0), dense(l.name(x.Type), 0)}}
	}
	wide := l.name(ir.Type{DType: ir.F64, Shape: ir.Shape{4}})
	for name, spoil := range map[string]func(p *backend.Piece){
		"an extent too many":     func(p *backend.Piece) { p.Extents = []int64{4, 1} },
		"a negative extent":      func(p *backend.Piece) { p.Extents = []int64{-4} },
		"an argument missing":    func(p *backend.Piece) { p.Args = p.Args[:2] },
		"a parameter too many":   func(p *backend.Piece) { p.Params = []uint64{1} },
		"a start too many":       func(p *backend.Piece) { p.Start = []int64{0, 0} },
		"a part beyond the full": func(p *backend.Piece) { p.Start, p.Full = []int64{2}, []int64{5} },
		"too long":               func(p *backend.Piece) { p.Extents = []int64{5} },
		"before the first":       func(p *backend.Piece) { p.Args[0].Offset = -1 },
		"past the last":          func(p *backend.Piece) { p.Args[1].Offset = 1 },
		"far away":               func(p *backend.Piece) { p.Args[1].Offset = 1 << 62 },
		"another stride":         func(p *backend.Piece) { p.Args[1].Strides = []int64{2} },
		"no strides":             func(p *backend.Piece) { p.Args[1].Strides = nil },
		"another dtype":          func(p *backend.Piece) { p.Args[2].Tensor = wide },
	} {
		p := good()
		spoil(&p)
		fine := good()
		err := l.m.Launch(context.Background(), []backend.Launch{{Pieces: []backend.Piece{fine}}, {Pieces: []backend.Piece{p}}})
		if !errors.Is(err, ir.ErrArgument) && !errors.Is(err, ir.ErrDType) {
			t.Errorf("%s: %v, want a %v", name, err, ir.ErrArgument)
		}
		l.gone(fine.Args[2].Tensor)
	}
	// What the device has may be another type than the launch says.
	p := good()
	p.Args[1].Tensor = l.floats(1)
	p.Args[1].Tensor.Shape = ir.Shape{4}
	l.launch(backend.Launch{Pieces: []backend.Piece{p}})
	l.expectError(p.Args[2].Tensor, ir.ErrArgument)
	l.sync()
	p = good()
	l.launch(backend.Launch{Pieces: []backend.Piece{p}})
	l.expect(p.Args[2].Tensor, 2, 4, 6, 8)
}

// launchClosed: a closed device takes no launches, whatever they are.
func (s *suite) launchClosed(t *testing.T) {
	l := s.launcher(t)
	k := l.compile(addKernel())
	x := l.floats(1)
	if err := l.b.Close(); err != nil {
		t.Fatal(err)
	}
	p := backend.Piece{Kernel: k, Extents: []int64{1}, Args: []backend.LaunchArg{dense(x, 0), dense(x, 0), dense(l.name(x.Type), 0)}}
	for _, launches := range [][]backend.Launch{{{Pieces: []backend.Piece{p}}}, {{Consumes: []ir.ID{x.ID}}}} {
		if err := l.m.Launch(context.Background(), launches); !errors.Is(err, ir.ErrClosed) {
			t.Errorf("Launch after Close: %v, want %v", err, ir.ErrClosed)
		}
	}
}
