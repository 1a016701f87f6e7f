package ptxtest

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Arg describes an argument of a case: a name of the text, a type, and per axis
// a letter that says how it lies in memory: u (unit), s (strided), b (broadcast),
// r (strided, walked backwards).
type Arg struct {
	Name   string
	Type   ir.DType
	Axes   string
	Order  []int // axes from slowest to fastest in memory; nil means in order
	Pad    int64 // elements between the end of one row and the next
	Offset int64 // elements before the first
	Fill   Fill
	// Gathered is the extent of a further, slowest axis that a gather walks; 0
	// for an argument that is loaded.
	Gathered int64
}

// Spec describes a case.
type Spec struct {
	Name    string
	Kernel  string // name of the kernel; equal kernels share one, so that they are compiled once
	Class   string
	Axes    string // p and r
	Extents []int64
	In, Out []Arg
	Compute ir.DType
	Tree    kernel.Tree
	Text    string // names of In are operands, names of Out are stored
	Raw     func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref
}

// Group is how many elements are reduced for a result.
func (s Spec) Group() int64 {
	n := int64(1)
	for i, axis := range s.Axes {
		if axis == 'r' {
			n *= s.Extents[i]
		}
	}
	return n
}

// Make builds the case. It panics on a malformed spec: specs are test code.
func (s Spec) Make() *Case { return s.build(true) }

// Shape builds the case without memory for its buffers.
func (s Spec) Shape() *Case { return s.build(false) }

func (s Spec) build(data bool) *Case {
	if s.Kernel == "" {
		s.Kernel = s.Name
	}
	axes := make([]kernel.AxisKind, len(s.Axes))
	for i := range s.Axes {
		if s.Axes[i] == 'r' {
			axes[i] = kernel.Reduced
		}
	}
	b := kernel.NewBuilder(s.Kernel, axes)
	c := &Case{Name: s.Name, Class: s.Class, Elements: 1}
	c.Launch = &kernel.Launch{Extents: s.Extents}
	for _, n := range s.Extents {
		c.Elements *= n
	}
	var loads []kernel.Ref
	names := map[string]kernel.Ref{}
	for i, a := range s.In {
		c.bind(b, s, a, kernel.In, uint64(i+1), data)
		if a.Gathered > 0 {
			loads = append(loads, kernel.None)
			continue
		}
		r := b.Load(len(c.Buffers) - 1)
		loads = append(loads, r)
		if s.Raw == nil {
			if a.Type != ir.Bool {
				r = b.Convert(r, s.Compute)
			}
			names[a.Name] = r
		}
	}
	var results []kernel.Ref
	if s.Raw != nil {
		results = s.Raw(b, loads)
	} else {
		block, err := ir.Parse(s.Text)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", s.Name, err))
		}
		env := kernel.Env{T: s.Compute, Names: names, Tree: s.Tree}
		if s.Class == "matrix" {
			env.Narrow = s.In[0].Type
		}
		all, err := b.Expand(block, env)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", s.Name, err))
		}
		for _, a := range s.Out {
			r, ok := all[a.Name]
			if !ok {
				panic(fmt.Sprintf("%s: no %s", s.Name, a.Name))
			}
			results = append(results, r)
		}
	}
	for i, a := range s.Out {
		c.bind(b, s, a, kernel.Out, 0, data)
		b.Store(len(c.Buffers)-1, b.Convert(results[i], a.Type))
	}
	c.Kernel = b.K
	if err := b.K.Verify(); err != nil {
		panic(err)
	}
	if b.K.HasFault() {
		c.Launch.Fault = &kernel.Fault{}
	}
	return c
}

// bind declares an argument and gives it memory.
func (c *Case) bind(b *kernel.Builder, s Spec, a Arg, dir kernel.Direction, seed uint64, data bool) {
	order := a.Order
	if order == nil {
		for i := range a.Axes {
			order = append(order, i)
		}
	}
	strides := make([]int64, len(a.Axes))
	access := make([]kernel.Access, len(a.Axes))
	next, first := int64(1), a.Offset
	for i := len(order) - 1; i >= 0; i-- {
		axis := order[i]
		switch a.Axes[axis] {
		case 'b':
			access[axis] = kernel.Broadcast
			continue
		case 'u':
			access[axis] = kernel.Unit
			if next != 1 {
				panic(s.Name + ": unit axis is not the innermost")
			}
		}
		strides[axis] = next
		next *= s.Extents[axis]
		if i == len(order)-1 {
			next += a.Pad
		}
		if a.Axes[axis] == 'r' {
			first += strides[axis] * (s.Extents[axis] - 1)
			strides[axis] = -strides[axis]
		}
	}
	gatherStride := next
	next *= max(1, a.Gathered)
	buf := newBuffer(a.Type, a.Offset+next, dir == kernel.Out, data)
	if dir == kernel.In && data {
		buf.fill(a.Fill, seed)
	}
	c.Buffers = append(c.Buffers, buf)
	c.Moved += int64(a.Type.Size()) * (next - a.Pad)
	b.AddArg(kernel.Arg{Type: a.Type, Dir: dir, Access: access, Gather: a.Gathered > 0})
	c.Launch.Args = append(c.Launch.Args, kernel.Operand{
		Base: buf.pointer(), Size: int64(buf.bytes), Offset: first, Strides: strides,
		GatherStride: gatherStride, GatherExtent: a.Gathered,
	})
}
