package backendtest

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// addKernel is y = a + b over one axis of f32.
func addKernel() *kernel.Kernel {
	b := kernel.NewBuilder("add", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit})
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit})
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	b.Store(2, b.Op(kernel.OpAdd, ir.F32, b.Load(0), b.Load(1)))
	return b.K
}

func (s *suite) withCompiler(t *testing.T) (*client, backend.Compiler) {
	t.Helper()
	c := s.client(t)
	m, ok := backend.As[backend.Compiler](c.b)
	if !ok {
		t.Skip("the backend does not take kernels")
	}
	return c, m
}

// compiler: a launched kernel gives what the operation gives, in order with it.
func (s *suite) compiler(t *testing.T) {
	c, m := s.withCompiler(t)
	k, err := m.Compile(addKernel())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	x, y := c.floats(1, 2, 3), c.floats(10, 20, 30)
	sum := c.do("add", []ir.Tensor{x, y})
	n := c.node("add", []ir.Tensor{sum, y})
	launch := backend.Launch{Nodes: backend.NodesOf(n), Pieces: []backend.Piece{{Kernel: k, Extents: []int64{3}}}}
	for _, a := range []ir.Tensor{sum, y, n.Out[0]} {
		launch.Pieces[0].Args = append(launch.Pieces[0].Args, backend.LaunchArg{Tensor: a, Strides: []int64{1}})
	}
	if err := m.Launch(context.Background(), []backend.Launch{launch}); err != nil {
		t.Fatal(err)
	}
	c.b.Free(sum.ID)
	c.expect(c.do("sub", []ir.Tensor{n.Out[0], x}), 20, 40, 60)
	if k.Kernel() == nil {
		t.Error("a compiled kernel does not say which")
	}
	broken := addKernel()
	broken.Body[0].Imm = 9
	if _, err := m.Compile(broken); err == nil {
		t.Error("a kernel that does not verify compiles")
	}
}

// launchBlock lowers nodes as one function and launches it. The operands are
// contiguous; stored says which results are kept.
func launchBlock(c *client, m backend.Compiler, nodes []ir.Node, stored func(ir.ID) bool) error {
	l, release, err := blockLaunch(m, nodes, stored)
	if err != nil {
		return err
	}
	defer release()
	return m.Launch(context.Background(), []backend.Launch{l})
}

// blockLaunch lowers nodes as one function and compiles its kernels, which release
// gives back.
func blockLaunch(m backend.Compiler, nodes []ir.Node, stored func(ir.ID) bool) (l backend.Launch, release func(), err error) {
	types := map[ir.ID]ir.Type{}
	for _, n := range nodes {
		for _, t := range append(n.In[:len(n.In):len(n.In)], n.Out...) {
			types[t.ID] = t.Type
		}
	}
	b, err := lower.New(nodes, func(id ir.ID) ir.Layout { return ir.Layout{Strides: types[id].Shape.Strides()} }, stored)
	if err != nil {
		return l, nil, err
	}
	l.Nodes = backend.NodesOf(nodes...)
	release = func() {
		for _, p := range l.Pieces {
			p.Kernel.Release()
		}
	}
	for _, p := range b.Pieces {
		k, params, err := p.Build()
		if err != nil {
			release()
			return l, nil, err
		}
		exe, err := m.Compile(k)
		if err != nil {
			release()
			return l, nil, err
		}
		piece := backend.Piece{Kernel: exe, Extents: p.Extents, Start: p.Start, Full: p.Full, Params: p.Bind(params)}
		for _, a := range p.Args {
			piece.Args = append(piece.Args, backend.LaunchArg{Tensor: ir.Tensor{ID: a.Tensor, Type: types[a.Tensor]}, Offset: a.Offset,
				Strides: a.Strides, GatherStride: a.GatherStride, GatherExtent: a.GatherExtent})
		}
		l.Pieces = append(l.Pieces, piece)
	}
	return l, release, nil
}

// chain builds a chain of elementwise operations over several dtypes.
func chain(c *client, shape ir.Shape, x, z ir.Tensor) []ir.Node {
	var nodes []ir.Node
	add := func(row string, in []ir.Tensor, attrs ...any) ir.Tensor {
		n := c.node(row, in, attrs...)
		nodes = append(nodes, n)
		return n.Out[0]
	}
	three := add("full", nil, "shape", shape, "dtype", ir.F32, "value", ir.MakeScalar(ir.F32, 3.1))
	a := add("mul", []ir.Tensor{x, three})
	b := add("add", []ir.Tensor{a, z}) // z broadcasts
	h := add("cast", []ir.Tensor{b}, "dtype", ir.F16)
	w := add("cast", []ir.Tensor{h}, "dtype", ir.F32) // the rounding to f16 stays
	i := add("cast", []ir.Tensor{a}, "dtype", ir.I8)
	p := add("lt", []ir.Tensor{w, x})
	q := add("where", []ir.Tensor{p, w, b})
	add("cast", []ir.Tensor{i}, "dtype", ir.I64)
	add("maximum", []ir.Tensor{q, w})
	return nodes
}

// compilerChain: a block of nodes as one kernel equals the nodes one by one, bit
// for bit, whichever results are stored.
func (s *suite) compilerChain(t *testing.T) {
	c, m := s.withCompiler(t)
	for _, shape := range []ir.Shape{{}, {1}, {5, 7}, {3, 1, 70}, {130, 200}} {
		v := make([]float32, shape.Size())
		for i := range v {
			v[i] = float32(i%701)*0.37 - 100
		}
		x := c.upload(ir.Type{DType: ir.F32, Shape: shape}, bytesOf(v))
		z := c.upload(ir.Type{DType: ir.F32, Shape: ir.Shape{}}, bytesOf([]float32{-0.7}))
		plain := chain(c, shape, x, z)
		for _, n := range plain {
			c.submit(n)
		}
		for _, keep := range []int{1, 2, 3} { // every result, every second, every third from the last
			block := chain(c, shape, x, z)
			kept := map[ir.ID]bool{}
			for i := len(block) - 1; i >= 0; i -= keep {
				kept[block[i].Out[0].ID] = true
			}
			if err := launchBlock(c, m, block, func(id ir.ID) bool { return kept[id] }); err != nil {
				t.Fatalf("%v: %v", shape, err)
			}
			for i := range block {
				got := block[i].Out[0]
				if !kept[got.ID] {
					continue
				}
				data, errs := c.read(got, plain[i].Out[0])
				if errs[0] != nil || errs[1] != nil {
					t.Fatalf("%v: %v", shape, errs)
				}
				a, b := decode(data[0].Type, data[0].Bytes), decode(data[1].Type, data[1].Bytes)
				if at := difference(a, b); !a.typ.Equal(b.typ) || at >= 0 {
					t.Errorf("%v, result %d (%s): fused and unfused differ at %d: %v, %v", shape, i, block[i].Row.Name, at, a.scalar(at), b.scalar(at))
				}
			}
		}
	}
}

// compilerFaults: launches pass errors on, note faults, and refuse what is foreign.
func (s *suite) compilerFaults(t *testing.T) {
	c, m := s.withCompiler(t)
	x := c.ints(4, 5)
	n := c.node("mod", []ir.Tensor{x, c.ints(3, 0)})
	if err := launchBlock(c, m, []ir.Node{n}, nil); err != nil {
		t.Fatal(err)
	}
	err := c.expectError(n.Out[0], ir.ErrData)
	if err.Op != "mod" || !contains(err.Error(), "[1]") || err.Site.String() != "user.go:7" {
		t.Errorf("the fault of a launch is %q, of %q at %q", err, err.Op, err.Site)
	}
	next := c.node("add", []ir.Tensor{n.Out[0], x})
	if err := launchBlock(c, m, []ir.Node{next}, nil); err != nil {
		t.Fatal(err)
	}
	if got := c.expectError(next.Out[0], ir.ErrData); got.Error() != err.Error() {
		t.Errorf("a launch over an error gives %q, want %q", got, err)
	}
	lost := c.node("add", []ir.Tensor{c.name(x.Type), x})
	if err := launchBlock(c, m, []ir.Node{lost}, nil); err != nil {
		t.Fatal(err)
	}
	c.expectError(lost.Out[0], ir.ErrInternal)
	if err := m.Launch(context.Background(), []backend.Launch{{Pieces: make([]backend.Piece, 1)}}); !errors.Is(err, ir.ErrDevice) {
		t.Errorf("Launch without a kernel: %v, want a %v", err, ir.ErrDevice)
	}
	if o, ok := backend.As[backend.Compiler](s.client(t).b); ok {
		if k, err := o.Compile(addKernel()); err != nil {
			t.Error(err)
		} else if err := m.Launch(context.Background(), []backend.Launch{{Pieces: []backend.Piece{{Kernel: k}}}}); !errors.Is(err, ir.ErrDevice) {
			t.Errorf("Launch of another backend's kernel: %v, want a %v", err, ir.ErrDevice)
		}
	}
	c.sync()
}
