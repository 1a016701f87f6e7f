package lower

import (
	"encoding/binary"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Arg is one argument of a lowered kernel: which tensor it is, and how the
// iteration space walks it.
type Arg struct {
	Tensor                     ir.ID
	Offset                     int64 // elements
	Strides                    []int64
	GatherStride, GatherExtent int64
}

// Block is a function to be: nodes, and the pieces that compute the stored
// results together.
type Block struct {
	Nodes  []ir.Node
	Pieces []*Piece
}

// Piece is a kernel to be: the nodes of a block over one iteration space, with all
// their operands and results laid out. Its key says which compiled kernel serves it.
type Piece struct {
	Extents     []int64
	Start, Full []int64 // of a part of a larger space; nil for a whole one
	Args        []Arg   // in the order of the kernel's arguments

	nodes  []ir.Node
	space  space
	spaces []space // per node, over the same axes
	inArgs [][]int // per node and operand: argument number, or -1 for a value of the block
	stored [][]int // per node and result: argument number, -1 if it is not stored
	empty  bool    // the reduced group has no elements
	tree   kernel.Tree
}

// ParamRef says where a launch parameter of a built kernel comes from: an
// attribute of a node, or the extent of its gathered axis.
type ParamRef struct {
	Node, Attr int // Attr is -1 for the extent
	Type       ir.DType
}

// Layouts gives the layout of every tensor that a block reads or stores.
type Layouts func(ir.ID) ir.Layout

// New lays out a block. A block of one node may be of any access kind that has
// a body. A longer one must consist of elementwise nodes whose results have one
// shape; stored tells which results are written (nil: all of them).
func New(nodes []ir.Node, layouts Layouts, stored func(ir.ID) bool) (*Block, error) {
	b := &Piece{nodes: nodes}
	inside := map[ir.ID]bool{}
	for i := range nodes {
		n := &nodes[i]
		if len(nodes) > 1 && (n.Row.Access != ir.Elementwise || !n.Out[0].Shape.Equal(nodes[0].Out[0].Shape)) {
			return nil, ir.Errorf(ir.ErrInternal, "%s does not share the iteration space of the block", n.Row.Name)
		}
		for _, t := range n.Out[1:] {
			if !t.Shape.Equal(n.Out[0].Shape) {
				return nil, ir.Errorf(ir.ErrUnsupported, "results of shapes %v and %v do not come from one body", n.Out[0].Shape, t.Shape)
			}
		}
		in, out := make([]ir.Layout, len(n.In)), make([]ir.Layout, len(n.Out))
		for j, t := range n.In {
			if inside[t.ID] {
				in[j] = ir.Layout{Strides: t.Shape.Strides()} // walks like the result that it is
			} else {
				in[j] = layouts(t.ID)
			}
		}
		for j, t := range n.Out {
			inside[t.ID] = true
			if stored == nil || stored(t.ID) {
				out[j] = layouts(t.ID)
			} else {
				out[j] = ir.Layout{Strides: t.Shape.Strides()}
			}
		}
		s, err := spaceOf(n, in, out)
		if err != nil {
			return nil, err
		}
		b.spaces = append(b.spaces, *s)
	}
	b.space.domain, b.space.along = b.spaces[0].domain, b.spaces[0].along
	b.tree = kernel.SumTree(b.space.keptInside)
	b.empty = b.space.reducedCount() == 0
	b.collectArgs(inside, stored)
	b.space.collapse()
	if b.empty {
		b.dropReduced()
	}
	b.Extents = b.space.extents
	accesses := append(b.space.in, b.space.out...)
	for i := range b.Args {
		a := accesses[i]
		b.Args[i].Offset, b.Args[i].Strides = a.offset, a.strides
		b.Args[i].GatherStride, b.Args[i].GatherExtent = a.gatherStride, a.gatherExtent
	}
	return &Block{Nodes: nodes, Pieces: []*Piece{b}}, nil
}

// collectArgs numbers the arguments: distinct outside operands first, in order of
// use, then the stored results. Equal operands with equal walks share a number.
func (b *Piece) collectArgs(inside map[ir.ID]bool, stored func(ir.ID) bool) {
	for i := range b.nodes {
		n := &b.nodes[i]
		numbers := make([]int, len(n.In))
		for j, t := range n.In {
			numbers[j] = -1
			if inside[t.ID] || b.empty {
				continue
			}
			a := b.spaces[i].in[j]
			for k := range b.space.in {
				if b.Args[k].Tensor == t.ID && equalAccess(&b.space.in[k], &a) {
					numbers[j] = k
				}
			}
			if numbers[j] < 0 {
				numbers[j] = len(b.Args)
				b.Args = append(b.Args, Arg{Tensor: t.ID})
				b.space.in = append(b.space.in, a)
			}
		}
		b.inArgs = append(b.inArgs, numbers)
	}
	for i := range b.nodes {
		numbers := make([]int, len(b.nodes[i].Out))
		for j, t := range b.nodes[i].Out {
			numbers[j] = -1
			if stored == nil || stored(t.ID) {
				numbers[j] = len(b.Args)
				b.Args = append(b.Args, Arg{Tensor: t.ID})
				b.space.out = append(b.space.out, b.spaces[i].out[j])
			}
		}
		b.stored = append(b.stored, numbers)
	}
}

func equalAccess(a, b *access) bool {
	if a.offset != b.offset || a.gather != b.gather || a.gatherStride != b.gatherStride {
		return false
	}
	for i := range a.strides {
		if a.strides[i] != b.strides[i] {
			return false
		}
	}
	return true
}

// dropReduced removes the reduced axes of a reduction of nothing: what is left
// fills the results with what the body makes of the identities.
func (b *Piece) dropReduced() {
	s := &b.space
	for i := len(s.kinds) - 1; i >= 0; i-- {
		if s.kinds[i] == kernel.Reduced {
			s.extents = append(s.extents[:i], s.extents[i+1:]...)
			s.kinds = append(s.kinds[:i], s.kinds[i+1:]...)
			for j := range s.out {
				st := s.out[j].strides
				s.out[j].strides = append(st[:i], st[i+1:]...)
			}
		}
	}
}

// Key identifies the kernel that serves the piece: rows, dtypes, attributes that
// are not bindings, axes, access classes and tree. Sizes are not in it.
func (b *Piece) Key() string {
	buf := make([]byte, 0, 128)
	local := map[ir.ID]int{} // results in order
	for i := range b.nodes {
		n := &b.nodes[i]
		buf = append(buf, n.Row.Name...)
		buf = append(buf, 0, n.Row.Version, byte(len(n.In)))
		for j, t := range n.In {
			source := 0
			if b.inArgs[i][j] >= 0 {
				source = 1 + b.inArgs[i][j]
			} else if p, ok := local[t.ID]; ok {
				source = -1 - p
			}
			buf = binary.AppendVarint(append(buf, byte(t.DType)), int64(source))
		}
		for j, t := range n.Out {
			buf = binary.AppendVarint(append(buf, byte(t.DType)), int64(b.stored[i][j]))
			local[t.ID] = len(local)
		}
	}
	buf = append(buf, byte(b.tree.Kind))
	buf = binary.AppendUvarint(buf, uint64(b.tree.Chunk))
	buf = binary.AppendUvarint(buf, uint64(b.tree.Lanes))
	if b.empty {
		buf = append(buf, 1)
	}
	for _, k := range b.space.kinds {
		buf = append(buf, 'a'+byte(k))
	}
	for i := range b.Args {
		for _, c := range classesOf(b.Args[i].Strides) {
			buf = append(buf, '0'+byte(c))
		}
	}
	return string(buf)
}

func classesOf(strides []int64) []kernel.Access {
	a := access{strides: strides}
	return a.classes()
}

// Build makes the kernel of the piece and says what its parameters are.
func (b *Piece) Build() (*kernel.Kernel, []ParamRef, error) {
	name := b.nodes[0].Row.Name
	for i := 1; i < len(b.nodes); i++ {
		name += "_" + b.nodes[i].Row.Name
	}
	kb := kernel.NewBuilder(name, append([]kernel.AxisKind(nil), b.space.kinds...))
	accesses := append(append([]access(nil), b.space.in...), b.space.out...)
	argType := make([]ir.DType, len(b.Args))
	for i := range b.nodes {
		for j, k := range b.inArgs[i] {
			if k >= 0 {
				argType[k] = b.nodes[i].In[j].DType
			}
		}
		for j, k := range b.stored[i] {
			if k >= 0 {
				argType[k] = b.nodes[i].Out[j].DType
			}
		}
	}
	for i := range b.Args {
		dir := kernel.In
		if i >= len(b.space.in) {
			dir = kernel.Out
		}
		kb.AddArg(kernel.Arg{Type: argType[i], Dir: dir, Access: classesOf(b.Args[i].Strides), Gather: accesses[i].gather})
	}
	values := map[ir.ID]kernel.Ref{}
	var params []ParamRef
	for i := range b.nodes {
		results, err := b.expand(kb, i, values, &params)
		if err != nil {
			return nil, nil, &ir.Error{Kind: ir.ErrInternal, Op: b.nodes[i].Row.Name, Operands: b.nodes[i].InTypes(), Cause: err}
		}
		for j, v := range results {
			values[b.nodes[i].Out[j].ID] = v
			if k := b.stored[i][j]; k >= 0 {
				kb.Store(k, v)
			}
		}
	}
	if err := kb.K.Verify(); err != nil {
		return nil, nil, &ir.Error{Kind: ir.ErrInternal, Op: name, Cause: err}
	}
	return kb.K, params, nil
}

// expand emits the body of node i and returns its results, rounded to their dtypes.
func (b *Piece) expand(kb *kernel.Builder, i int, values map[ir.ID]kernel.Ref, params *[]ParamRef) ([]kernel.Ref, error) {
	n := &b.nodes[i]
	t := n.Row.ComputeType(n.InTypes(), n.OutTypes())
	program := n.Row.Program(t)
	if program == nil {
		return nil, ir.Errorf(ir.ErrDType, "%s does not compute in %s", n.Row.Name, t)
	}
	env := kernel.Env{T: t, Names: map[string]kernel.Ref{}, Gathered: map[string]int{}, Tree: b.tree, Empty: b.empty}
	for j, in := range n.In {
		o := n.Row.OperandAt(j)
		fixed := o.Class == ir.BoolClass || o.Class == ir.I64Class
		k := b.inArgs[i][j]
		switch {
		case k >= 0 && b.space.in[k].gather:
			env.Gathered[o.Name] = k
			continue
		case k >= 0:
			env.Names[o.Name] = kb.Load(k)
		case b.empty:
			env.Names[o.Name] = kb.Const(t, 0)
			continue
		default:
			env.Names[o.Name] = values[in.ID]
		}
		if !fixed {
			env.Names[o.Name] = kb.Convert(env.Names[o.Name], t)
		}
	}
	env.Attr = func(name string) (kernel.Ref, bool) {
		ref := ParamRef{Node: i, Attr: -1, Type: ir.I64}
		for k, spec := range n.Row.Attrs {
			if spec.Name != name {
				continue
			}
			ref.Attr = k
			switch spec.Kind {
			case ir.AttrInt:
			case ir.AttrFloat, ir.AttrScalar:
				ref.Type = t
			default:
				return kernel.None, false
			}
		}
		if ref.Attr < 0 && name != "extent" {
			return kernel.None, false
		}
		*params = append(*params, ref)
		return kb.AddParam(ref.Type), true
	}
	env.Linear = func() kernel.Ref {
		linear := kb.Index(0)
		for a := 1; a < len(kb.K.Axes); a++ {
			linear = kb.Op(kernel.OpAdd, ir.I64, kb.Op(kernel.OpMul, ir.I64, linear, kb.Extent(a)), kb.Index(a))
		}
		return linear
	}
	names, err := kb.Expand(program, env)
	if err != nil {
		return nil, err
	}
	results := make([]kernel.Ref, len(n.Out))
	for j, t := range n.Out {
		y, ok := names[n.Row.ResultName(j)]
		if !ok {
			return nil, ir.Errorf(ir.ErrInternal, "the body does not define %s", n.Row.ResultName(j))
		}
		results[j] = kb.Convert(y, t.DType)
	}
	return results, nil
}

// Bind returns the bits of the launch parameters.
func (b *Piece) Bind(params []ParamRef) []uint64 {
	if len(params) == 0 {
		return nil
	}
	out := make([]uint64, len(params))
	for i, p := range params {
		if p.Attr < 0 {
			for j, k := range b.inArgs[p.Node] {
				if k >= 0 && b.space.in[k].gather {
					out[i] = uint64(b.Args[b.inArgs[p.Node][j]].GatherExtent)
				}
			}
			continue
		}
		a := b.nodes[p.Node].Attrs[p.Attr]
		switch a.Kind {
		case ir.AttrInt:
			out[i] = uint64(a.Int)
		case ir.AttrScalar:
			out[i] = kernel.Convert(p.Type, a.DType(), a.Bits)
		default:
			out[i] = kernel.Convert(p.Type, ir.F64, a.Bits)
		}
	}
	return out
}
