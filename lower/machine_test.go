package lower_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/lower"
)

// tensor is a value of the test machine: a layout in memory.
type tensor struct {
	ir.Type
	layout ir.Layout
	mem    []uint64
}

func (x *tensor) data() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x.mem))), len(x.mem)*8)
}

func newTensor(t ir.Type) *tensor {
	return &tensor{t, ir.Layout{Strides: t.Shape.Strides()}, make([]uint64, t.Bytes()/8+1)}
}

// elements returns the contents in row-major order.
func (x *tensor) elements() []byte {
	size := int64(x.DType.Size())
	var out []byte
	var walk func(d int, at int64)
	walk = func(d int, at int64) {
		if d == len(x.Shape) {
			out = append(out, x.data()[at*size:(at+1)*size]...)
			return
		}
		for i := 0; i < x.Shape[d]; i++ {
			walk(d+1, at+int64(i)*x.layout.Strides[d])
		}
	}
	walk(0, x.layout.Offset)
	return out
}

// machine runs programs node by node, or blocks of nodes, on the interpreter of
// the kernel IR.
type machine struct {
	values map[ir.ID]*tensor
	// refused counts what the amd64 generator says of the kernels of blocks.
	refused map[string]int
	compile bool
	pieces  int // of the last block
	kernels map[string]built
}

// built is a kernel with its parameters, which a key stands for.
type built struct {
	k      *kernel.Kernel
	params []lower.ParamRef
}

var errFault = errors.New("fault")

// launch runs a lowered block over tensors.
func (m *machine) launch(b *lower.Block, find func(ir.ID) *tensor) error {
	m.pieces = len(b.Pieces)
	for _, p := range b.Pieces {
		k, params, err := p.Build()
		if err != nil {
			return err
		}
		if m.kernels != nil {
			key := p.Key()
			if was, ok := m.kernels[key]; !ok {
				m.kernels[key] = built{k, params}
			} else if !reflect.DeepEqual(was, built{k, params}) {
				return fmt.Errorf("one key for\n%v%v\n%v%v", was.k, was.params, k, params)
			}
		}
		exe, err := kernel.NewInterpreter(k)
		if err != nil {
			return err
		}
		if m.compile && amd64.Available(amd64.AVX2) {
			gen, err := amd64.Compile(k, amd64.AVX2)
			if err != nil {
				m.refused[err.Error()]++
			} else {
				m.refused[""]++
				exe = gen
			}
		}
		l := &kernel.Launch{Extents: p.Extents, Start: p.Start, Full: p.Full, Params: p.Bind(params), Fault: new(kernel.Fault)}
		empty := false
		for _, n := range p.Extents {
			empty = empty || n == 0
		}
		if empty {
			continue
		}
		for _, a := range p.Args {
			x := find(a.Tensor)
			l.Args = append(l.Args, kernel.Operand{Base: unsafe.Pointer(unsafe.SliceData(x.mem)), Size: max(x.allBytes(), int64(x.DType.Size())), Offset: a.Offset,
				Strides: a.Strides, GatherStride: a.GatherStride, GatherExtent: a.GatherExtent})
		}
		exe.Run(l)
		if code, _ := l.Fault.First(); code != kernel.NoFault {
			return errFault
		}
	}
	return nil
}

func (x *tensor) allBytes() int64 { return int64(len(x.mem)-1)*8 + 8 }

// node runs one node as it runs unfused.
func (m *machine) node(n *ir.Node) error {
	switch n.Row.Access {
	case ir.View:
		x := m.values[n.In[0].ID]
		if l, ok := n.Row.View(n.Row, x.Type, x.layout, n.Attrs, n.Out[0].Type); ok {
			m.values[n.Out[0].ID] = &tensor{n.Out[0].Type, l, x.mem}
			return nil
		}
		y := newTensor(x.Type)
		if err := m.copy(x, y, y.layout); err != nil {
			return err
		}
		l, _ := n.Row.View(n.Row, y.Type, y.layout, n.Attrs, n.Out[0].Type) // of what lies row-major there always is one
		m.values[n.Out[0].ID] = &tensor{n.Out[0].Type, l, y.mem}
		return nil
	case ir.Join:
		y := newTensor(n.Out[0].Type)
		for i, t := range n.In {
			l, err := lower.JoinPart(n, i, y.layout)
			if err != nil {
				return err
			}
			if err := m.copy(m.values[t.ID], y, l); err != nil {
				return err
			}
		}
		m.values[n.Out[0].ID] = y
		return nil
	}
	return m.block([]ir.Node{*n}, nil, m.values)
}

func (m *machine) copy(x, y *tensor, l ir.Layout) error {
	if x.Shape.Size() == 0 {
		return nil
	}
	n := lower.CopyNode(ir.Tensor{ID: 1, Type: x.Type}, ir.Tensor{ID: 2, Type: x.Type}, ir.Site{})
	b, err := lower.New([]ir.Node{n}, func(id ir.ID) ir.Layout {
		if id == 2 {
			return l
		}
		return x.layout
	}, nil)
	if err != nil {
		return err
	}
	return m.launch(b, func(id ir.ID) *tensor {
		if id == 2 {
			return y
		}
		return x
	})
}

// block runs nodes as one function and puts what they store into out.
func (m *machine) block(nodes []ir.Node, stored func(ir.ID) bool, out map[ir.ID]*tensor) error {
	fresh := map[ir.ID]*tensor{}
	for i := range nodes {
		for _, t := range nodes[i].Out {
			if stored == nil || stored(t.ID) {
				fresh[t.ID] = newTensor(t.Type)
			}
		}
	}
	find := func(id ir.ID) *tensor {
		if x := fresh[id]; x != nil {
			return x
		}
		return m.values[id]
	}
	b, err := lower.New(nodes, func(id ir.ID) ir.Layout { return find(id).layout }, stored)
	if err != nil {
		return err
	}
	if err := m.launch(b, find); err != nil {
		return err
	}
	for id, x := range fresh {
		out[id] = x
	}
	return nil
}

// compare runs the nodes numbered in list as one block and reports a difference
// from what they gave one by one. It returns the refusal, if there is one.
func compare(t testing.TB, m *machine, nodes []ir.Node, list []int, stored func(ir.ID) bool) (refusal *lower.Refusal) {
	t.Helper()
	var block []ir.Node
	for _, i := range list {
		block = append(block, nodes[i])
	}
	got := map[ir.ID]*tensor{}
	err := m.block(block, stored, got)
	if errors.As(err, &refusal) {
		return refusal
	}
	if err != nil {
		t.Errorf("block %s: %v", text(block), err)
		return nil
	}
	for id, x := range got {
		if a, b := x.elements(), m.values[id].elements(); !equalBits(x.DType, a, b) {
			t.Errorf("block %s: %%%d differs: %s", text(block), id, difference(x.DType, a, b))
		}
	}
	return nil
}

func text(nodes []ir.Node) string {
	var b bytes.Buffer
	for i := range nodes {
		n := &nodes[i]
		fmt.Fprintf(&b, "\n  ")
		for _, t := range n.Out {
			fmt.Fprintf(&b, "%%%d:%s ", t.ID, t.Type)
		}
		fmt.Fprintf(&b, "= %s", n.Row.Name)
		for _, t := range n.In {
			fmt.Fprintf(&b, " %%%d:%s", t.ID, t.Type)
		}
		for j, a := range n.Row.Attrs {
			fmt.Fprintf(&b, " %s=%v", a.Name, n.Attrs[j])
		}
	}
	return b.String()
}

// equalBits compares elements; which NaN it is does not count.
func equalBits(d ir.DType, a, b []byte) bool { return difference(d, a, b) == "" }

func difference(d ir.DType, a, b []byte) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d bytes and %d", len(a), len(b))
	}
	size := d.Size()
	for i := 0; i < len(a); i += size {
		x, y := bits(a[i:i+size]), bits(b[i:i+size])
		if x == y {
			continue
		}
		f, g := ir.Scalar{DType: d, Bits: x}.Float(), ir.Scalar{DType: d, Bits: y}.Float()
		if f != f && g != g {
			continue
		}
		return fmt.Sprintf("element %d: %x (%v) and %x (%v)", i/size, x, f, y, g)
	}
	return ""
}

func bits(b []byte) (v uint64) {
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// fill gives the inputs of a program contents, contiguous ones.
func (m *machine) fill(rng *rand.Rand, p *ir.Program, special float64) {
	for i, data := range irtest.InputData(rng, p, special) {
		x := newTensor(p.Inputs[i].Type)
		copy(x.data(), data)
		m.values[p.Inputs[i].ID] = x
	}
}
