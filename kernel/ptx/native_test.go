package ptx

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// array is a tensor on the host: row-major contents, and how they are to lie on the GPU.
type array struct {
	typ    ir.Type
	data   []byte
	layout layout
}

// layout says how a tensor lies in its memory.
type layout uint8

const (
	rowMajor layout = iota
	turned          // the first axis is the fastest
	spaced          // each second element of the last axis, behind a few others
	backward        // along the first axis
	splat           // all elements are one
	numLayouts
)

func (l layout) String() string {
	return [...]string{"row-major", "turned", "spaced", "backward", "splat"}[l]
}

func newArray(t ir.DType, shape ...int) *array {
	s := ir.Shape(shape)
	return &array{typ: ir.Type{DType: t, Shape: s}, data: make([]byte, s.Size()*t.Size())}
}

func (a *array) at(i int) []byte { return a.data[i*a.typ.DType.Size():][:a.typ.DType.Size()] }

// indices are an array of integers.
func indices(shape ir.Shape, at func(i int) int64) *array {
	a := newArray(ir.I64, shape...)
	for i := range shape.Size() {
		binary.LittleEndian.PutUint64(a.at(i), uint64(at(i)))
	}
	return a
}

// random fills an array: small numbers, many of them equal, any bits now and then.
func random(rng *rand.Rand, t ir.DType, shape ...int) *array {
	a := newArray(t, shape...)
	for i := range a.typ.Shape.Size() {
		bits := rng.Uint64()
		if rng.IntN(8) > 0 {
			bits = kernel.Convert(t, ir.F64, floatBits(float64(rng.IntN(9)-4)/2))
		}
		if t == ir.Bool {
			bits &= 1
		}
		writeSized(a.at(i), t.Size(), bits)
	}
	return a
}

func floatBits(v float64) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Pointer(&v))[:])
}

// place lays the contents out, and says where the first element is and the strides.
func (a *array) place() (mem []byte, offset int64, strides []int64) {
	shape, size := a.typ.Shape, int64(a.typ.DType.Size())
	strides = shape.Strides()
	n := int64(max(1, shape.Size()))
	rank := len(shape)
	switch a.layout {
	case turned:
		at := int64(1)
		for i, d := range shape {
			strides[i], at = at, at*int64(d)
		}
	case spaced:
		for i := range strides {
			strides[i] *= 2
		}
		offset, n = 3, 2*n+3
	case backward:
		if rank > 0 {
			offset = strides[0] * int64(shape[0]-1)
			strides[0] = -strides[0]
		}
	case splat:
		clear(strides)
		n = 1
		for i := range shape.Size() {
			copy(a.at(i), a.at(0))
		}
	}
	mem = bytes.Repeat([]byte{0x5a}, int(n*size))
	for i := range shape.Size() {
		p, rest := offset, i
		for axis := rank - 1; axis >= 0; axis-- {
			p += int64(rest%shape[axis]) * strides[axis]
			rest /= shape[axis]
		}
		copy(mem[p*size:], a.at(i))
	}
	return mem, offset, strides
}

// nativeNode is a node and its operands.
type nativeNode struct {
	node ir.Node
	in   []*array
}

func newNativeNode(t testing.TB, row string, attrs []ir.Named, in ...*array) *nativeNode {
	t.Helper()
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(attrs)
	if err != nil {
		t.Fatal(err)
	}
	n := &nativeNode{node: ir.Node{Row: r, Attrs: a}, in: in}
	for i, x := range in {
		n.node.In = append(n.node.In, ir.Tensor{ID: ir.ID(i + 1), Type: x.typ})
	}
	types, err := ir.Infer(r, n.node.InTypes(), a)
	if err != nil {
		t.Fatal(err)
	}
	for i, typ := range types {
		n.node.Out = append(n.node.Out, ir.Tensor{ID: ir.ID(i + 100), Type: typ})
	}
	return n
}

// onHost are the results of the node on the processor, nil if it fails.
func (n *nativeNode) onHost(t testing.TB) [][]byte {
	t.Helper()
	d, err := cpu.New(cpu.Options{Generator: cpu.Interpret, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i, x := range n.in {
		if err := d.Upload(n.node.In[i], x.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Submit(t.Context(), []ir.Node{n.node}); err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, o := range n.node.Out {
		data, errs, err := d.Read(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		if errs[0] != nil {
			return nil
		}
		out = append(out, append([]byte(nil), data[0].Bytes...))
	}
	return out
}

// tensors lay operands and results out in the simulator's memory.
func (n *nativeNode) tensors(s *simulator) (all []kernel.Tensor, results [][]byte) {
	place := func(typ ir.Type, mem []byte, offset int64, strides []int64) {
		base := uint64(0x1_0000_0000 * (len(all) + 1))
		s.buffers = append(s.buffers, simBuffer{base, mem})
		o := kernel.Operand{Size: int64(len(mem)), Offset: offset, Strides: strides}
		*(*uint64)(unsafe.Pointer(&o.Base)) = base
		all = append(all, kernel.Tensor{Type: typ, Operand: o})
	}
	for _, x := range n.in {
		mem, offset, strides := x.place()
		place(x.typ, mem, offset, strides)
	}
	for _, o := range n.node.Out {
		mem := bytes.Repeat([]byte{0xa5}, o.Shape.Size()*o.DType.Size())
		place(o.Type, mem, 0, o.Shape.Strides())
		results = append(results, mem)
	}
	return all, results
}

// simulated are the results of the node's native kernels, nil if they note a fault.
func (n *nativeNode) simulated(t testing.TB, x *Natives) [][]byte {
	t.Helper()
	s := &simulator{}
	tensors, results := n.tensors(s)
	plan, err := x.Plan(&n.node, tensors)
	if err != nil || plan == nil {
		t.Fatalf("plan %v, %v", plan, err)
	}
	const scratch, fault = 0x5_0000_0000_00, 0x6_0000_0000_00
	word := make([]byte, 8)
	s.buffers = append(s.buffers, simBuffer{scratch, bytes.Repeat([]byte{0xb6}, int(plan.Scratch))}, simBuffer{fault, word})
	plan.Bind(scratch, fault)
	for _, st := range plan.Steps {
		if err := Check(st.Entry.Text); err != nil {
			t.Fatalf("%s: %v\n%s", st.Entry.Name, err, st.Entry.Text)
		}
		assemble(t, st.Entry)
		pr, err := load(st.Entry.Text)
		if err != nil {
			t.Fatal(err)
		}
		pr.dynamic = st.Entry.Shared
		if err := s.launch(pr, st.GridX, st.GridY, st.Params); err != nil {
			t.Fatalf("%s: %v\n%s", st.Entry.Name, err, st.Entry.Text)
		}
	}
	if code, _ := DecodeFault(readSized(word, 8)); code != kernel.NoFault {
		if !plan.Fault {
			t.Error("a fault that the plan does not speak of")
		}
		return nil
	}
	return results
}

// check compares the native kernels with the processor.
func (n *nativeNode) check(t testing.TB, x *Natives) {
	t.Helper()
	got, want := n.simulated(t, x), n.onHost(t)
	if (got == nil) != (want == nil) {
		t.Errorf("fault: %v, on the host %v", got == nil, want == nil)
		return
	}
	for i := range want {
		if bad, first := ptxtest.Mismatches(n.node.Out[i].DType, got[i], want[i]); bad > 0 {
			t.Errorf("result %d: %d mismatches, %s", i, bad, first)
		}
	}
}

var assembled sync.Map // by text

// assemble runs the assembler of the CUDA toolkit over a text it has not seen, where
// there is one, for the architecture that the text names.
func assemble(t testing.TB, e *Entry) {
	tool := os.Getenv("SINTER_PTXAS")
	if tool == "" {
		return
	}
	if _, seen := assembled.LoadOrStore(e.Text, true); seen {
		return
	}
	_, arch, _ := strings.Cut(e.Text, ".target ")
	arch, _, _ = strings.Cut(arch, "\n")
	f := filepath.Join(t.TempDir(), "n.ptx")
	if err := os.WriteFile(f, []byte(e.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-v", "-arch="+arch, "-o", f+".cubin", f).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", e.Name, err, out, e.Text)
	}
	t.Logf("%s: %s", e.Name, usage(string(out)))
}

var everyType = []ir.DType{ir.Bool, ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64, ir.F16, ir.BF16, ir.F32, ir.F64}
