package kernel

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Builder makes the body of a kernel. Equal instructions are emitted once: all
// are pure, so the first serves every use.
type Builder struct {
	K      *Kernel
	seen   map[Instr]Ref
	inRare int
}

// NewBuilder starts a kernel over the given axes.
func NewBuilder(name string, axes []AxisKind) *Builder {
	return &Builder{K: &Kernel{Name: name, Axes: axes}, seen: map[Instr]Ref{}}
}

// Type returns the type of a value.
func (b *Builder) Type(r Ref) ir.DType { return b.K.Body[r].Type }

// Emit appends an instruction, or returns the equal one that is there already.
func (b *Builder) Emit(in Instr) Ref {
	if in.Op != OpStore {
		if r, ok := b.seen[in]; ok {
			return r
		}
	}
	b.K.Body = append(b.K.Body, in)
	r := Ref(len(b.K.Body) - 1)
	if b.inRare == 0 { // a value inside a rare region may not be used outside it
		b.seen[in] = r
	}
	return r
}

// Op emits an instruction with up to three operands.
func (b *Builder) Op(op Op, t ir.DType, args ...Ref) Ref {
	in := Instr{Op: op, Type: t, A: None, B: None, C: None}
	for i, a := range args {
		switch i {
		case 0:
			in.A = a
		case 1:
			in.B = a
		case 2:
			in.C = a
		}
	}
	return b.Emit(in)
}

// Const emits a constant given by its bits.
func (b *Builder) Const(t ir.DType, bits uint64) Ref {
	return b.Emit(Instr{Op: OpConst, Type: t, A: None, B: None, C: None, Imm: bits})
}

// AddArg declares an argument and returns its number.
func (b *Builder) AddArg(a Arg) int {
	b.K.Args = append(b.K.Args, a)
	return len(b.K.Args) - 1
}

// AddParam declares a scalar launch parameter and returns its value.
func (b *Builder) AddParam(t ir.DType) Ref {
	b.K.Params = append(b.K.Params, t)
	return b.Emit(Instr{Op: OpParam, Type: t, A: None, B: None, C: None, Imm: uint64(len(b.K.Params) - 1)})
}

// Load emits the load of an argument.
func (b *Builder) Load(arg int) Ref {
	return b.Emit(Instr{Op: OpLoad, Type: b.K.Args[arg].Type, A: None, B: None, C: None, Imm: uint64(arg)})
}

// Gather emits the load of a gathered argument at an index.
func (b *Builder) Gather(arg int, index Ref) Ref {
	return b.Emit(Instr{Op: OpGather, Type: b.K.Args[arg].Type, A: index, B: None, C: None, Imm: uint64(arg)})
}

// Store emits the store of a value to an argument.
func (b *Builder) Store(arg int, v Ref) {
	b.Emit(Instr{Op: OpStore, Type: b.K.Args[arg].Type, A: v, B: None, C: None, Imm: uint64(arg)})
}

// Index and Extent emit the logical index along an axis, and its full extent.
func (b *Builder) Index(axis int) Ref {
	return b.Emit(Instr{Op: OpIndex, Type: ir.I64, A: None, B: None, C: None, Imm: uint64(axis)})
}

// Extent emits the full extent of an axis.
func (b *Builder) Extent(axis int) Ref {
	return b.Emit(Instr{Op: OpExtent, Type: ir.I64, A: None, B: None, C: None, Imm: uint64(axis)})
}

// Convert emits the conversion of a value to a type, nothing if it has it.
func (b *Builder) Convert(v Ref, t ir.DType) Ref {
	if b.Type(v) == t {
		return v
	}
	return b.Op(OpCvt, t, v)
}

// Reduce emits a reduction of one value, or of two for binary kinds.
func (b *Builder) Reduce(kind ReduceKind, tree Tree, args ...Ref) Ref {
	return b.over(OpReduce, kind, tree, args)
}

// Scan emits an inclusive scan along the reduced axis.
func (b *Builder) Scan(kind ReduceKind, tree Tree, v Ref) Ref {
	return b.over(OpScan, kind, tree, []Ref{v})
}

func (b *Builder) over(op Op, kind ReduceKind, tree Tree, args []Ref) Ref {
	want := Reduction{kind, tree}
	i := 0
	for ; i < len(b.K.Reductions) && b.K.Reductions[i] != want; i++ {
	}
	if i == len(b.K.Reductions) {
		b.K.Reductions = append(b.K.Reductions, want)
	}
	t := b.Type(args[0])
	switch kind {
	case ArgMax, ArgMin:
		t = ir.I64
	case PairDot, HalfDot:
		t = ir.F32
	}
	in := Instr{Op: op, Type: t, A: args[0], B: None, C: None, Imm: uint64(i)}
	if kind.Binary() {
		in.B = args[1]
	}
	return b.Emit(in)
}

// Identity returns the result of a reduction of nothing, as bits of t.
func (k ReduceKind) Identity(t ir.DType) uint64 {
	one, low, high := uint64(1), uint64(0), ^uint64(0)
	switch t {
	case ir.F32:
		one, low, high = 0x3f800000, 0xff800000, 0x7f800000
	case ir.F64:
		one, low, high = 0x3ff0000000000000, 0xfff0000000000000, 0x7ff0000000000000
	case ir.I32:
		low, high = 0x80000000, 0x7fffffff
	case ir.U32:
		high = 0xffffffff
	case ir.I64:
		low, high = 1<<63, 1<<63-1
	}
	switch k {
	case Prod:
		return one
	case Max:
		return low
	case Min:
		return high
	}
	return 0
}

// Env is what a text may refer to when it is expanded into a body.
type Env struct {
	T     ir.DType       // the compute type: literals without a neighbour have it
	Names map[string]Ref // operands (converted to T) and earlier names
	// Attr returns the value of an attribute used by name, as a launch parameter.
	Attr func(name string) (Ref, bool)
	// Tree is the summation tree of reduce_sum, reduce_prod and reduce_m2.
	Tree Tree
	// Gathered says for an operand name which argument it is read from.
	Gathered map[string]int
	// Narrow is the dtype of what dot products multiply, where that is narrower than T: of
	// bf16 they are [PairDot], of f16 [HalfDot].
	Narrow ir.DType
	// Empty: the reduced group has no elements, and reductions give their identity.
	Empty bool
	// Linear returns the row-major index of the result element, as i64.
	Linear func() Ref

	depth int
}

// Expand emits a parsed text and returns the values of its names.
func (b *Builder) Expand(block *ir.Block, env Env) (map[string]Ref, error) {
	if env.depth > 16 {
		return nil, fmt.Errorf("rows call each other too deeply")
	}
	names := make(map[string]Ref, len(env.Names)+len(block.Stmts))
	for k, v := range env.Names {
		names[k] = v
	}
	env.Names = names
	for i, s := range block.Stmts {
		for _, r := range block.Rares {
			if r.From == i {
				mask, ok := names[r.Mask]
				if !ok {
					return nil, fmt.Errorf("rare: %s is not defined", r.Mask)
				}
				b.inRare++
				b.K.Rares = append(b.K.Rares, Rare{Mask: mask, From: Ref(len(b.K.Body))})
			}
		}
		v, err := b.eval(s.Expr, &env, ir.Invalid)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		names[s.Name] = v
		for _, r := range block.Rares {
			if r.To == i+1 {
				b.inRare--
				b.K.Rares[len(b.K.Rares)-1].To = Ref(len(b.K.Body))
			}
		}
	}
	return names, nil
}

// eval emits an expression. A literal takes the type want, or the compute type.
func (b *Builder) eval(e *ir.Expr, env *Env, want ir.DType) (Ref, error) {
	switch e.Kind {
	case ir.ExprNumber:
		if want == ir.Invalid {
			want = env.T
		}
		bits, err := e.Number.Bits(want)
		if err != nil {
			return None, err
		}
		return b.Const(want, bits), nil
	case ir.ExprName:
		if v, ok := env.Names[e.Name]; ok {
			return v, nil
		}
		if env.Attr != nil {
			if v, ok := env.Attr(e.Name); ok {
				env.Names[e.Name] = v
				return v, nil
			}
		}
		return None, fmt.Errorf("%s is not defined", e.Name)
	}
	return b.call(e, env, want)
}

// evalArgs emits the arguments of a call. Literals take the type of the first
// argument from position like on that is not one.
func (b *Builder) evalArgs(args []*ir.Expr, like int, env *Env, want ir.DType) ([]Ref, error) {
	out := make([]Ref, len(args))
	t := want
	for i, a := range args {
		if a.Kind == ir.ExprNumber {
			continue
		}
		v, err := b.eval(a, env, ir.Invalid)
		if err != nil {
			return nil, err
		}
		out[i] = v
		if i >= like && (t == ir.Invalid || t == want) {
			t = b.Type(v)
		}
	}
	for i, a := range args {
		if a.Kind != ir.ExprNumber {
			continue
		}
		v, err := b.eval(a, env, t)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}
