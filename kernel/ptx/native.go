package ptx

import (
	"encoding/binary"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Natives plans nodes whose kernels are written for them as a whole: those that the
// kernel IR cannot say, such as a recurrence whose state stays on the chip. It is safe
// for concurrent use.
type Natives struct {
	target    Target
	marksFrom int64 // placings mark what they hit where that saves so many bytes of copies

	mu      sync.Mutex
	entries map[string]*Entry
}

// NewNatives returns the native kernels of a target.
func NewNatives(target Target) *Natives {
	return &Natives{target: target, marksFrom: 16 << 20, entries: map[string]*Entry{}}
}

// natives says how a node of a row is planned. A plan of nil means that this node has no
// native kernel. Tensors have at least one element.
var natives = map[string]func(c *nativeCall) (*Plan, error){}

// Covers reports whether nodes of a row may have native kernels.
func (x *Natives) Covers(row string) bool { return natives[row] != nil }

// AppendKey appends what the plan of a node depends on beside the addresses of its
// tensors, operands and then results, as far as they are whole lines apart.
func (x *Natives) AppendKey(b []byte, n *ir.Node, tensors []kernel.Tensor) []byte {
	put := func(v int64) { b = binary.LittleEndian.AppendUint64(b, uint64(v)) }
	b = append(b, n.Row.Name...)
	for _, a := range n.Attrs {
		put(a.Int)
		put(int64(a.Bits))
		put(int64(len(a.List)))
		for _, v := range a.List {
			put(v)
		}
	}
	for i := range tensors {
		t := &tensors[i]
		put(int64(t.Type.DType))
		put(int64(len(t.Type.Shape)))
		for _, v := range t.Type.Shape {
			put(int64(v))
		}
		for _, v := range t.Operand.Strides {
			put(v)
		}
		put(int64(firstOf(t) % alignments))
	}
	return b
}

// Plan decides how to run a node; nil if it has no native kernel. Tensors are the
// operands and then the results; the error is [*Unsupported].
func (x *Natives) Plan(n *ir.Node, tensors []kernel.Tensor) (*Plan, error) {
	plan := natives[n.Row.Name]
	if plan == nil {
		return nil, nil
	}
	for i := range tensors {
		if tensors[i].Type.Shape.Size() == 0 {
			return nil, nil
		}
	}
	c := &nativeCall{Natives: x, Node: n, tensors: tensors, plan: &Plan{moved: make([]uint64, len(tensors))}}
	for i := range tensors {
		c.plan.first = append(c.plan.first, firstOf(&tensors[i]))
	}
	return plan(c)
}

// MoveTo moves the plan of a node to the tensors of another one of the same key.
func (p *Plan) MoveTo(tensors []kernel.Tensor) {
	for i := range p.first {
		to := firstOf(&tensors[i])
		p.moved[i], p.first[i] = to-p.first[i], to
	}
	p.move(nil)
}

// firstOf is the address of the first element of a tensor.
func firstOf(t *kernel.Tensor) uint64 {
	return uint64(uintptr(t.Operand.Base)) + uint64(t.Operand.Offset*int64(t.Type.DType.Size()))
}

// nativeCall is a node on its way to a plan.
type nativeCall struct {
	*Natives
	*ir.Node
	tensors []kernel.Tensor
	plan    *Plan
}

// add appends a launch of a native kernel, made if there is none of the variant's name
// yet. numbers are its parameters of kind slotNumber, scratch is where its scratch memory
// begins in that of the plan.
func (c *nativeCall) add(variant string, threads int, write func(a *asm), x, y int64, scratch int64, numbers ...uint64) *Step {
	e := c.entry(variant, threads, write)
	s := Step{Entry: e, GridX: uint32(x), GridY: uint32(y), Params: make([]uint64, len(e.slots)), at: uint64(scratch)}
	for i, sl := range e.slots {
		switch sl.kind {
		case slotPointer:
			s.Params[i] = c.plan.first[sl.i]
		case slotNumber:
			s.Params[i] = numbers[sl.i]
		}
	}
	c.plan.Steps = append(c.plan.Steps, s)
	return &c.plan.Steps[len(c.plan.Steps)-1]
}

// room takes scratch memory from that of the plan, and returns where it begins: at a
// multiple of 256 bytes.
func (c *nativeCall) room(bytes int64) (at int64) {
	at = c.plan.Scratch
	c.plan.Scratch += (bytes + 255) &^ 255
	return at
}

// maxEntries bounds the texts that are kept: those of transforms are made for a length.
const maxEntries = 4096

// entry returns the kernel of a variant.
func (x *Natives) entry(variant string, threads int, write func(a *asm)) *Entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.entries[variant]; e != nil {
		return e
	}
	a := newAsm()
	write(a)
	name := "n_" + identifier(variant)
	if len(x.entries) >= maxEntries {
		clear(x.entries)
	}
	e := &Entry{Name: name, Text: a.finish(x.target, name, threads), Threads: threads, Shared: a.dynamic, Maps: a.maps, Waits: x.target.waits(), slots: a.slots}
	x.entries[variant] = e
	return e
}
