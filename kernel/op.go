package kernel

// Op is a machine-neutral scalar instruction.
type Op uint8

// The instructions. Arithmetic is on the result type, which is always one of
// the compute types bool, i32, i64, u32, u64, f32, f64; narrower types appear
// only as the type of a load, of a conversion, and of what is stored.
const (
	OpInvalid Op = iota

	// Leaves.
	OpConst  // constant: Imm holds the bits of Type
	OpParam  // launch parameter number Imm, given as bits of Type
	OpIndex  // i64: logical index along axis Imm (Launch.Start included)
	OpExtent // i64: full extent of axis Imm (Launch.Extents, unsliced)
	OpLoad   // element of argument Imm, of the argument's storage type
	OpGather // like OpLoad, plus A (i64) steps along the argument's gather axis; out of range: clamped, and a fault

	// Arithmetic. Integers wrap.
	OpAdd
	OpSub
	OpMul
	OpDiv   // floats: IEEE; integers: truncated, division by zero gives 0 and a fault, min/-1 wraps
	OpRem   // integers only: remainder of truncated division; by zero gives 0 and a fault
	OpMulHi // u32 only: high half of the 64-bit product
	OpNeg   // floats: flips the sign bit, also of NaN
	OpAbs   // floats: clears the sign bit; integers: wraps at the minimum
	OpFma   // floats: A*B+C rounded once
	OpSqrt  // floats: IEEE
	OpMin   // floats: NaN if either is NaN, -0 < +0
	OpMax   // floats: NaN if either is NaN, -0 < +0

	// Rounding to an integral float; -0 and the sign of results that round to zero are kept.
	OpFloor
	OpCeil
	OpTrunc
	OpRint // half to even

	// Bits, on integers and bool (bool: 0 or 1).
	OpAnd
	OpOr
	OpXor
	OpNot // integers: all bits; bool: logical
	OpShl // counts below 0 or of at least the width give 0 (for B as unsigned)
	OpShr // signed: arithmetic, large counts give the sign; unsigned: logical, large counts give 0

	// Comparison: A and B of one type, result bool. With NaN only Ne is true.
	OpEq
	OpNe
	OpLt
	OpLe

	OpSelect // A (bool) ? B : C

	// Conversion.
	OpCvt     // by value: see the rules at Convert
	OpBitcast // same width, same bits

	// Over the reduced axes.
	OpReduce // reduction number Imm of A (and B): element level to row level
	OpScan   // inclusive scan number Imm of A along the reduced axis: element level

	OpStore // writes A to argument Imm; no result

	numOps
)

type opInfo struct {
	name  string
	arity int8
}

var opTable = [numOps]opInfo{
	OpInvalid: {"invalid", 0},
	OpConst:   {"const", 0}, OpParam: {"param", 0}, OpIndex: {"index", 0}, OpExtent: {"extent", 0},
	OpLoad: {"load", 0}, OpGather: {"gather", 1},
	OpAdd: {"add", 2}, OpSub: {"sub", 2}, OpMul: {"mul", 2}, OpDiv: {"div", 2}, OpRem: {"rem", 2},
	OpMulHi: {"mulhi", 2}, OpNeg: {"neg", 1}, OpAbs: {"abs", 1}, OpFma: {"fma", 3}, OpSqrt: {"sqrt", 1},
	OpMin: {"min", 2}, OpMax: {"max", 2},
	OpFloor: {"floor", 1}, OpCeil: {"ceil", 1}, OpTrunc: {"trunc", 1}, OpRint: {"rint", 1},
	OpAnd: {"and", 2}, OpOr: {"or", 2}, OpXor: {"xor", 2}, OpNot: {"not", 1}, OpShl: {"shl", 2}, OpShr: {"shr", 2},
	OpEq: {"eq", 2}, OpNe: {"ne", 2}, OpLt: {"lt", 2}, OpLe: {"le", 2},
	OpSelect: {"select", 3}, OpCvt: {"cvt", 1}, OpBitcast: {"bitcast", 1},
	OpReduce: {"reduce", 1}, OpScan: {"scan", 1}, OpStore: {"store", 1},
}

// String returns the name of the instruction in the text form.
func (op Op) String() string {
	if op < numOps {
		return opTable[op].name
	}
	return "invalid"
}

// Arity returns the number of value operands. OpReduce has one more for the
// kinds that fold two values ([ReduceKind.Binary]).
func (op Op) Arity() int {
	if op < numOps {
		return int(opTable[op].arity)
	}
	return 0
}
