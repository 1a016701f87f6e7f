package ir

// Access is the way an operation reads its operands: what fusion and lowering
// need to know about it.
type Access uint8

// The access kinds.
const (
	Elementwise Access = iota + 1 // result element i from operand elements i, after broadcasting
	View                          // another arrangement of the operand's own elements: strides, no copy
	Join                          // operands side by side in one result
	Reduce                        // along the axes that the attributes name; row programs too
	Contraction                   // sums of products over a shared axis
	Gather                        // elements picked by an index operand
	Scatter                       // elements added where an index operand says
	Scan                          // running results along one axis
	Random                        // elementwise in (key, counter, logical index), no operands
	Opaque                        // a routine of the device's own
	Recurrence                    // over blocks of an operand, as kernels in an order of their own: attention
)

// Effect is a set of effects beside the results.
type Effect uint8

// The effects.
const (
	EffectRandom     Effect = 1 << iota // draws; recomputable, never deduplicated
	EffectCollective                    // talks to other devices, in order
	EffectFault                         // may fail depending on data
)

// Class is a set of dtypes that an operand may have.
type Class uint16

// The dtype classes.
const (
	BoolClass Class = 1 << iota
	IntClass
	UintClass
	FloatClass
	I64Class // i64 only: indices

	Ints    = IntClass | UintClass
	Numbers = IntClass | UintClass | FloatClass
	AnyType = BoolClass | Numbers
)

// Has reports whether d belongs to the class.
func (c Class) Has(d DType) bool {
	switch d.Kind() {
	case KindBool:
		return c&BoolClass != 0
	case KindInt:
		return c&IntClass != 0 || c&I64Class != 0 && d == I64
	case KindUint:
		return c&UintClass != 0
	case KindFloat:
		return c&FloatClass != 0
	}
	return false
}

// String describes the class for error messages.
func (c Class) String() string {
	switch c {
	case BoolClass:
		return "bool"
	case FloatClass:
		return "floats"
	case Ints:
		return "integers"
	case Numbers:
		return "numbers"
	case AnyType:
		return "any dtype"
	case I64Class:
		return "i64"
	case IntClass | FloatClass:
		return "signed numbers"
	case BoolClass | Ints:
		return "bool or integers"
	}
	return "another dtype"
}

// Operand declares an operand of a row: its name, which the body and the
// gradient use, the dtypes it may have, and the values it is sampled from.
type Operand struct {
	Name   string
	Class  Class
	Domain Domain
}

// Domain is the range of values an operand is sampled from in conformance and
// gradient tests. Every row is also tested on special values.
type Domain uint8

// The sample domains.
const (
	AnyValue Domain = iota // the whole range, special values included
	Moderate               // about -4 to 4
	Positive               // above 0
	NonZero                // away from 0
	Index                  // 0 up to the extent of the indexed axis
	Unit                   // -1 to 1
	Fraction               // 0 to 1
	AboveOne               // 1 and above
)

// ComputeRule says in which type a body computes.
type ComputeRule uint8

// The compute rules.
const (
	FromOperand ComputeRule = iota // the compute type of the first non-bool operand (bool if all are)
	FromResult                     // the compute type of the first result: wide accumulators
)

// Body holds the text of a row's program, by the type it computes in; F32, F64
// and Int go before Any. See Parse for the language.
type Body struct {
	Any  string
	F32  string
	F64  string
	Int  string
	Bool string
}

// For returns the text for a compute type, "" if the row has none.
func (b Body) For(t DType) string {
	pick := b.Any
	switch {
	case t == F32 && b.F32 != "":
		pick = b.F32
	case t == F64 && b.F64 != "":
		pick = b.F64
	case t.IsInt() && b.Int != "":
		pick = b.Int
	case t == Bool && b.Bool != "":
		pick = b.Bool
	}
	return pick
}

// Tolerance is the largest error of a row against its exact result, in units in
// the last place of the result's compute type, tested by conformance. 0 means exact.
type Tolerance struct {
	F32, F64 float64
}

// Sample is a typical call: operand types without dtype dependence, and attributes.
type Sample struct {
	Shapes []Shape
	Attrs  []Named
}

// InferFunc is a shape and dtype rule: result types from operand types and
// attributes. It returns an *[Error] without operation and operands, which
// [Infer] adds.
type InferFunc func(r *Row, in []Type, a Attrs) ([]Type, error)

// Layout says where the elements of a tensor lie in its buffer, in elements.
type Layout struct {
	Offset  int64
	Strides []int64
}

// ViewFunc computes the layout of a view; ok is false if no strides can express
// it (a reshape of a permuted tensor), and the operand must be copied first.
type ViewFunc func(r *Row, in Type, l Layout, a Attrs, out Type) (_ Layout, ok bool)

// PartFunc returns where operand i of a Join row lies in the result, whose layout
// is l. Operands are written in order, so a later one may cover an earlier one.
type PartFunc func(r *Row, in []Type, i int, a Attrs, l Layout) Layout

// Row is the one definition of an operation.
type Row struct {
	Name    string // lower case with underscores; custom rows: domain/name@version
	Number  uint16 // in wire form; 0 for custom rows, which travel by name
	Version uint8  // of the numerics: which bits it gives
	Doc     string // the meaning, one sentence; x is the first operand, z the second, y the result

	Access   Access
	Effects  Effect
	Operands []Operand
	Variadic bool // the last operand may be repeated
	Attrs    []AttrSpec
	Results  []string // names; empty means one result, y

	Infer   InferFunc
	Part    PartFunc // of Join rows; nil puts the operands side by side along the attribute axis
	Aligned bool     // of Gather rows: index runs beside x on every axis, not in place of one
	View    ViewFunc // of View rows
	Body    Body     // of every row but View, Join, Scatter, Opaque and Recurrence ones
	Compute ComputeRule

	// Grad gives the gradient of each operand, by operand name, as a text over
	// rows: operands and results by their names, the gradient that arrives at a
	// result y as dy, float and integer attributes by theirs.
	// GradFunc does so in Go where a text cannot. An operand in neither has none.
	Grad     map[string]string
	GradFunc GradFunc

	Method  string // name of the public method, "" if the method is written by hand
	Samples []Sample
	Tol     Tolerance
	// Ref is the definition of an elementwise row in float64, the oracle of
	// accuracy. Float and integer attributes follow the operands.
	Ref func(x ...float64) float64

	Decompose DecomposeFunc // of custom rows that are made of others

	programs map[DType]*Block // parsed Body, by compute type
	grads    map[string]*Block
}

// DecomposeFunc writes a row in terms of others.
type DecomposeFunc func(g Graph, in []Value, a Attrs) []Value

// NumResults returns the number of results.
func (r *Row) NumResults() int { return max(1, len(r.Results)) }

// ResultName returns the name of result i.
func (r *Row) ResultName(i int) string {
	if len(r.Results) == 0 {
		return "y"
	}
	return r.Results[i]
}

// OperandAt returns the declaration of operand i, repeating the last one of a
// variadic row.
func (r *Row) OperandAt(i int) Operand {
	return r.Operands[min(i, len(r.Operands)-1)]
}

// ComputeType returns the type in which the body computes for the given types.
func (r *Row) ComputeType(in, out []Type) DType {
	if r.Compute == FromResult || len(in) == 0 {
		return out[0].DType.Compute()
	}
	for _, t := range in {
		if t.DType != Bool {
			return t.DType.Compute()
		}
	}
	return Bool
}

// Program returns the parsed body for a compute type, nil if there is none.
func (r *Row) Program(t DType) *Block { return r.programs[t] }

// Gradient returns the parsed gradient text of an operand, nil if there is none.
func (r *Row) Gradient(operand string) *Block { return r.grads[operand] }

// Differentiable reports whether any operand has a gradient.
func (r *Row) Differentiable() bool { return len(r.Grad) > 0 || r.GradFunc != nil }
