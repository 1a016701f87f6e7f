package kernel

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// MaxAxes is the largest number of axes of a kernel, after adjacent axes that
// every argument walks as one have been merged.
const MaxAxes = 8

// Verify checks the kernel against the rules of the IR: operands before uses,
// types, argument directions, levels. It returns the first violation found.
func (k *Kernel) Verify() error {
	if len(k.Axes) > MaxAxes {
		return fmt.Errorf("kernel %s: %d axes, at most %d", k.Name, len(k.Axes), MaxAxes)
	}
	from, to := k.ReducedAxes()
	for i := from; i < to; i++ {
		if k.Axes[i] != Reduced {
			return fmt.Errorf("kernel %s: reduced axes are not adjacent", k.Name)
		}
	}
	for i, a := range k.Args {
		if len(a.Access) != len(k.Axes) {
			return fmt.Errorf("kernel %s: arg%d has %d access classes for %d axes", k.Name, i, len(a.Access), len(k.Axes))
		}
		if !a.Type.Valid() {
			return fmt.Errorf("kernel %s: arg%d has no dtype", k.Name, i)
		}
	}
	// What the levels are computed from has to be in range first.
	for i := range k.Body {
		in := &k.Body[i]
		for _, r := range [...]Ref{in.A, in.B, in.C} {
			if r != None && (r < 0 || int(r) >= i) {
				return fmt.Errorf("kernel %s: %%%d %s: operand %%%d is not defined before", k.Name, i, in.Op, r)
			}
		}
		switch in.Op {
		case OpIndex, OpExtent:
			if in.Imm >= uint64(len(k.Axes)) {
				return fmt.Errorf("kernel %s: %%%d %s: no axis %d", k.Name, i, in.Op, in.Imm)
			}
		case OpLoad, OpGather, OpStore:
			if in.Imm >= uint64(len(k.Args)) {
				return fmt.Errorf("kernel %s: %%%d %s: no argument %d", k.Name, i, in.Op, in.Imm)
			}
		}
	}
	levels := k.Levels()
	for i := range k.Body {
		if err := k.verifyInstr(i, levels); err != nil {
			return fmt.Errorf("kernel %s: %%%d %s: %w", k.Name, i, k.Body[i].Op, err)
		}
	}
	return nil
}

func (k *Kernel) verifyInstr(i int, levels []Level) error {
	in := &k.Body[i]
	if in.Op == OpInvalid || in.Op >= numOps {
		return fmt.Errorf("unknown instruction %d", in.Op)
	}
	arity := in.Op.Arity()
	if in.Op == OpReduce || in.Op == OpScan {
		if int(in.Imm) >= len(k.Reductions) {
			return fmt.Errorf("no reduction %d", in.Imm)
		}
		if k.Reductions[in.Imm].Kind.Binary() {
			arity = 2
		}
	}
	var types [3]ir.DType
	for j, r := range [...]Ref{in.A, in.B, in.C} {
		if (r != None) != (j < arity) {
			return fmt.Errorf("operand %d: got %d, arity is %d", j, r, arity)
		}
		if r == None {
			continue
		}
		if r < 0 || int(r) >= i {
			return fmt.Errorf("operand %d: %%%d is not defined before", j, r)
		}
		if k.Body[r].Op == OpStore {
			return fmt.Errorf("operand %d: %%%d is a store", j, r)
		}
		types[j] = k.Body[r].Type
	}
	same := func(want ir.DType) error {
		for j := 0; j < arity; j++ {
			if types[j] != want {
				return fmt.Errorf("operand %d is %s, expected %s", j, types[j], want)
			}
		}
		return nil
	}
	if !in.Type.Valid() {
		return fmt.Errorf("no result type")
	}
	compute := in.Type.Compute() == in.Type
	switch in.Op {
	case OpLoad, OpGather, OpStore:
		if int(in.Imm) >= len(k.Args) {
			return fmt.Errorf("no argument %d", in.Imm)
		}
		a := k.Args[in.Imm]
		if a.Type != in.Type {
			return fmt.Errorf("argument is %s, instruction %s", a.Type, in.Type)
		}
		if (a.Dir == Out) != (in.Op == OpStore) {
			return fmt.Errorf("argument %d has the wrong direction", in.Imm)
		}
		if a.Gather != (in.Op == OpGather) {
			return fmt.Errorf("argument %d: gather flag does not match", in.Imm)
		}
		if in.Op == OpStore {
			if levels[in.A] == ElementLevel && k.ArgLevel(int(in.Imm)) < ElementLevel {
				return fmt.Errorf("an element-level value is stored to a row-level argument")
			}
			return same(in.Type)
		}
		if in.Op == OpGather {
			return same(ir.I64)
		}
	case OpConst, OpParam:
		if in.Op == OpParam && (int(in.Imm) >= len(k.Params) || k.Params[in.Imm] != in.Type) {
			return fmt.Errorf("no parameter %d of type %s", in.Imm, in.Type)
		}
	case OpIndex, OpExtent:
		if int(in.Imm) >= len(k.Axes) || in.Type != ir.I64 {
			return fmt.Errorf("axis %d, type %s", in.Imm, in.Type)
		}
	case OpEq, OpNe, OpLt, OpLe:
		if in.Type != ir.Bool {
			return fmt.Errorf("result is %s, expected bool", in.Type)
		}
		return same(types[0])
	case OpSelect:
		if types[0] != ir.Bool || types[1] != in.Type || types[2] != in.Type {
			return fmt.Errorf("operands %v, result %s", types, in.Type)
		}
	case OpCvt:
		if types[0] == in.Type {
			return fmt.Errorf("conversion from %s to itself", in.Type)
		}
	case OpBitcast:
		if types[0].Size() != in.Type.Size() {
			return fmt.Errorf("from %s to %s", types[0], in.Type)
		}
	case OpShl, OpShr:
		if !in.Type.IsInt() || !compute {
			return fmt.Errorf("on %s", in.Type)
		}
		return same(in.Type)
	case OpReduce, OpScan:
		r := k.Reductions[in.Imm]
		if from, to := k.ReducedAxes(); from == to {
			return fmt.Errorf("no reduced axis")
		}
		if r.Kind == PairDot {
			if in.Op != OpReduce || in.Type != ir.F32 || r.Tree.Kind != Sequential || r.Tree.Chunk%2 != 0 {
				return fmt.Errorf("pairs of bf16 are reduced to f32 in order, an even number at a time")
			}
			return same(ir.BF16)
		}
		if r.Kind == HalfDot {
			if in.Op != OpReduce || in.Type != ir.F32 || r.Tree.Kind != Sequential {
				return fmt.Errorf("products of f16 are reduced to f32 in order")
			}
			return same(ir.F16)
		}
		if r.Kind == ArgMax || r.Kind == ArgMin {
			if in.Type != ir.I64 {
				return fmt.Errorf("result is %s, expected i64", in.Type)
			}
			return nil
		}
		return same(in.Type)
	case OpMulHi:
		if in.Type != ir.U32 {
			return fmt.Errorf("on %s", in.Type)
		}
		return same(in.Type)
	case OpFma, OpSqrt, OpFloor, OpCeil, OpTrunc, OpRint:
		if !in.Type.IsFloat() || !compute {
			return fmt.Errorf("on %s", in.Type)
		}
		return same(in.Type)
	case OpAnd, OpOr, OpXor, OpNot:
		if in.Type != ir.Bool && !in.Type.IsInt() || !compute {
			return fmt.Errorf("on %s", in.Type)
		}
		return same(in.Type)
	case OpRem:
		if !in.Type.IsInt() || !compute {
			return fmt.Errorf("on %s", in.Type)
		}
		return same(in.Type)
	default:
		if in.Type == ir.Bool || !compute {
			return fmt.Errorf("on %s", in.Type)
		}
		return same(in.Type)
	}
	return nil
}
