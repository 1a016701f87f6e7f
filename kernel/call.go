package kernel

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// The functions and operators that a text may use, beside the names of rows.
// The result of a function in sameFuncs has the type of its operands.
var sameFuncs = map[string]Op{
	"+": OpAdd, "-": OpSub, "*": OpMul, "/": OpDiv, "quo": OpDiv, "rem": OpRem,
	"&": OpAnd, "|": OpOr, "^": OpXor, "&&": OpAnd, "||": OpOr, "<<": OpShl, ">>": OpShr,
	"!": OpNot, "neg": OpNeg, "abs": OpAbs, "fma": OpFma, "sqrt": OpSqrt, "min": OpMin, "max": OpMax,
	"floor": OpFloor, "ceil": OpCeil, "trunc": OpTrunc, "rint": OpRint, "mulhi": OpMulHi,
}

var compareFuncs = map[string]struct {
	op   Op
	swap bool
}{
	"==": {OpEq, false}, "!=": {OpNe, false}, "<": {OpLt, false}, "<=": {OpLe, false},
	">": {OpLt, true}, ">=": {OpLe, true},
}

var convertFuncs = map[string]ir.DType{
	"f32": ir.F32, "f64": ir.F64, "i32": ir.I32, "i64": ir.I64, "u32": ir.U32, "u64": ir.U64,
}

var reduceFuncs = map[string]ReduceKind{
	"reduce_sum": Sum, "reduce_prod": Prod, "reduce_max": Max, "reduce_min": Min,
	"reduce_argmax": ArgMax, "reduce_argmin": ArgMin, "reduce_dot": Dot, "reduce_m2": M2,
}

var scanFuncs = map[string]ReduceKind{
	"scan_sum": Sum, "scan_prod": Prod, "scan_max": Max, "scan_min": Min,
}

// sameWidth returns the type of a bit cast: floats to integers and back.
func sameWidth(name string, from ir.DType) (ir.DType, bool) {
	wide := from.Size() == 8
	pick := func(narrow, w ir.DType) ir.DType {
		if wide {
			return w
		}
		return narrow
	}
	switch {
	case from.Size() != 4 && !wide:
	case name == "bits" && from != ir.I32 && from != ir.I64:
		return pick(ir.I32, ir.I64), true
	case name == "ubits" && from != ir.U32 && from != ir.U64:
		return pick(ir.U32, ir.U64), true
	case name == "float" && from.IsInt():
		return pick(ir.F32, ir.F64), true
	}
	return ir.Invalid, false
}

// call emits an operator, function or row.
func (b *Builder) call(e *ir.Expr, env *Env, want ir.DType) (Ref, error) {
	arity := func(n int) error {
		if len(e.Args) != n {
			return fmt.Errorf("%s takes %d arguments, got %d", e.Name, n, len(e.Args))
		}
		return nil
	}
	if op, ok := sameFuncs[e.Name]; ok && !(e.Name == "min" || e.Name == "max") || ok && len(e.Args) == 2 {
		if err := arity(op.Arity()); err != nil {
			return None, err
		}
		args, err := b.evalArgs(e.Args, 0, env, want)
		if err != nil {
			return None, err
		}
		return b.checked(e.Name, Instr{Op: op, Type: b.Type(args[0])}, args)
	}
	if c, ok := compareFuncs[e.Name]; ok {
		args, err := b.evalArgs(e.Args, 0, env, ir.Invalid)
		if err != nil {
			return None, err
		}
		if c.swap {
			args[0], args[1] = args[1], args[0]
		}
		return b.checked(e.Name, Instr{Op: c.op, Type: ir.Bool}, args)
	}
	if t, ok := convertFuncs[e.Name]; ok {
		if err := arity(1); err != nil {
			return None, err
		}
		v, err := b.eval(e.Args[0], env, t)
		if err != nil {
			return None, err
		}
		return b.Convert(v, t), nil
	}
	if kind, ok := reduceFuncs[e.Name]; ok {
		return b.reduceCall(e, kind, env)
	}
	if kind, ok := scanFuncs[e.Name]; ok {
		if err := arity(1); err != nil {
			return None, err
		}
		v, err := b.eval(e.Args[0], env, env.T)
		if err != nil {
			return None, err
		}
		if env.Empty {
			return v, nil // of no elements
		}
		return b.Scan(kind, ScanTree, v), nil
	}
	switch e.Name {
	case "select":
		if err := arity(3); err != nil {
			return None, err
		}
		args, err := b.evalArgs(e.Args, 1, env, want)
		if err != nil {
			return None, err
		}
		return b.checked(e.Name, Instr{Op: OpSelect, Type: b.Type(args[1])}, args)
	case "bits", "ubits", "float":
		if err := arity(1); err != nil {
			return None, err
		}
		v, err := b.eval(e.Args[0], env, ir.Invalid)
		if err != nil {
			return None, err
		}
		t, ok := sameWidth(e.Name, b.Type(v))
		if !ok {
			return None, fmt.Errorf("%s of %s", e.Name, b.Type(v))
		}
		return b.Op(OpBitcast, t, v), nil
	case "num":
		if err := arity(1); err != nil {
			return None, err
		}
		v, err := b.eval(e.Args[0], env, env.T)
		if err != nil {
			return None, err
		}
		return b.Convert(v, env.T), nil
	case "count":
		if env.Empty {
			return b.Const(env.T, 0), nil
		}
		from, to := b.K.ReducedAxes()
		n := b.Extent(from)
		for i := from + 1; i < to; i++ {
			n = b.Op(OpMul, ir.I64, n, b.Extent(i))
		}
		return b.Convert(n, env.T), nil
	case "index":
		if env.Linear == nil {
			return None, fmt.Errorf("index() has no meaning here")
		}
		return env.Linear(), nil
	case "gather":
		return b.gatherCall(e, env)
	}
	return b.rowCall(e, env)
}

// checked emits an instruction after verifying its operand types, so that a
// malformed text is an error and not a kernel that fails later.
func (b *Builder) checked(name string, in Instr, args []Ref) (Ref, error) {
	in.A, in.B, in.C = None, None, None
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
	n := len(b.K.Body)
	r := b.Emit(in)
	if int(r) == n { // new: verify once
		if err := b.K.verifyInstr(n, make([]Level, n+1)); err != nil {
			return None, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

func (b *Builder) reduceCall(e *ir.Expr, kind ReduceKind, env *Env) (Ref, error) {
	n := 1
	if kind.Binary() {
		n = 2
	}
	if len(e.Args) != n {
		return None, fmt.Errorf("%s takes %d arguments, got %d", e.Name, n, len(e.Args))
	}
	args, err := b.evalArgs(e.Args, 0, env, env.T)
	if err != nil {
		return None, err
	}
	if env.Empty {
		t := b.Type(args[0])
		return b.Const(t, kind.Identity(t)), nil
	}
	tree := env.Tree
	switch kind {
	case Dot:
		tree = DotTree
		if narrow, ok := map[ir.DType]ReduceKind{ir.BF16: PairDot, ir.F16: HalfDot}[env.Narrow]; ok {
			kind = narrow
			for i, v := range args {
				args[i] = b.narrowed(v, env.Narrow)
			}
		}
	case Max, Min, ArgMax, ArgMin:
		tree = StripedTree // any order gives the same value: one key for all
	}
	return b.Reduce(kind, tree, args...), nil
}

// narrowed emits the conversion of a value that t represents exactly: where it was
// widened from t, what it was before.
func (b *Builder) narrowed(v Ref, t ir.DType) Ref {
	if in := &b.K.Body[v]; in.Op == OpCvt && b.Type(in.A) == t {
		return in.A
	}
	return b.Convert(v, t)
}

func (b *Builder) gatherCall(e *ir.Expr, env *Env) (Ref, error) {
	if len(e.Args) != 2 || e.Args[0].Kind != ir.ExprName {
		return None, fmt.Errorf("gather takes the name of an operand and an index")
	}
	arg, ok := env.Gathered[e.Args[0].Name]
	if !ok {
		return None, fmt.Errorf("%s is not a gathered operand", e.Args[0].Name)
	}
	index, err := b.eval(e.Args[1], env, ir.I64)
	if err != nil {
		return None, err
	}
	// Negative indices count from the end of the gathered axis.
	extent, ok := env.Attr("extent")
	if !ok {
		return None, fmt.Errorf("the extent of the gathered axis is not known")
	}
	negative := b.Op(OpLt, ir.Bool, index, b.Const(ir.I64, 0))
	index = b.Op(OpSelect, ir.I64, negative, b.Op(OpAdd, ir.I64, index, extent), index)
	return b.Gather(arg, index), nil
}

// rowCall expands the body of another row in place, without rounding between.
func (b *Builder) rowCall(e *ir.Expr, env *Env) (Ref, error) {
	row := ir.Lookup(e.Name)
	if row == nil || row.Access != ir.Elementwise || len(row.Attrs) > 0 {
		return None, fmt.Errorf("%s is neither a function of the language nor an elementwise row", e.Name)
	}
	if len(e.Args) != len(row.Operands) {
		return None, fmt.Errorf("%s takes %d arguments, got %d", e.Name, len(row.Operands), len(e.Args))
	}
	args, err := b.evalArgs(e.Args, 0, env, env.T)
	if err != nil {
		return None, err
	}
	inner := Env{T: b.Type(args[0]), Names: map[string]Ref{}, depth: env.depth + 1}
	for i, a := range args {
		if row.Operands[i].Class != ir.BoolClass {
			inner.T = b.Type(a)
		}
		inner.Names[row.Operands[i].Name] = a
	}
	block := row.Program(inner.T)
	if block == nil {
		return None, fmt.Errorf("%s does not compute in %s", e.Name, inner.T)
	}
	names, err := b.Expand(block, inner)
	if err != nil {
		return None, fmt.Errorf("%s: %w", e.Name, err)
	}
	v, ok := names["y"]
	if !ok {
		return None, fmt.Errorf("%s does not define y", e.Name)
	}
	return v, nil
}
