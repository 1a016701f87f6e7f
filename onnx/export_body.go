package onnx

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Rows without an operator of their own are written as their bodies. A body
// computes in the compute type and rounds once at its end; so do the nodes, since
// each of its functions rounds as the operator of the same name.

// typed is a value of a body with its type.
type typed struct {
	name string
	t    ir.DType
}

// scopeOfBody is the names of a body.
type scopeOfBody struct {
	t     ir.DType // in which the body computes
	names map[string]typed
	depth int
	axes  []int64 // over which it reduces, nil of an elementwise row
	count int     // of the elements of these axes
}

const maxBodyDepth = 20

var errOfNothing = errors.New("it reduces axes without elements, where ONNX has other values")

// expand writes the body of an elementwise row, or of one that reduces axes.
func (x *exporter) expand(n *ir.Node, in []string) ([]string, error) {
	t := n.Row.ComputeType(n.InTypes(), n.OutTypes())
	s := &scopeOfBody{t: t, names: map[string]typed{}}
	for i, v := range in {
		d, o := n.In[i].DType, n.Row.OperandAt(i)
		to := d.Compute()
		if o.Class != ir.BoolClass && o.Class != ir.I64Class {
			to = t // as kernels do
		}
		s.names[o.Name] = typed{x.cast(v, d, to), to}
	}
	for i, spec := range n.Row.Attrs {
		switch a := n.Attrs[i]; spec.Kind {
		case ir.AttrFloat:
			s.names[spec.Name] = typed{x.scalar(t, ir.MakeScalar(t, a.Float()).Bits), t}
		case ir.AttrInt:
			s.names[spec.Name] = typed{x.scalar(ir.I64, uint64(a.Int)), ir.I64}
		}
	}
	if n.Row.Access == ir.Reduce {
		if err := s.reduces(n); err != nil {
			return nil, err
		}
	}
	if err := x.body(n.Row, s); err != nil {
		return nil, err
	}
	out := make([]string, len(n.Out))
	for i, o := range n.Out {
		y, ok := s.names[n.Row.ResultName(i)]
		if !ok {
			return nil, errNoCounterpart
		}
		out[i] = x.cast(y.name, y.t, o.DType)
		if s.axes != nil && len(o.Shape) != len(n.In[0].Shape) { // reduced axes are kept within the body
			out[i] = x.reshape(out[i], o.Shape)
		}
	}
	return out, nil
}

// reduces finds the axes over which a row reduces.
func (s *scopeOfBody) reduces(n *ir.Node) error {
	rank := len(n.In[0].Shape)
	for i, spec := range n.Row.Attrs {
		switch {
		case spec.Name == "axis" && spec.Kind == ir.AttrInt:
			s.axes = []int64{n.Attrs[i].Int}
		case spec.Name == "axes" && spec.Kind == ir.AttrInts:
			if s.axes = n.Attrs[i].List; len(s.axes) == 0 {
				for a := range rank {
					s.axes = append(s.axes, int64(a))
				}
			}
		}
	}
	if len(s.axes) == 0 {
		return errNoCounterpart
	}
	s.count = 1
	for _, a := range s.axes {
		if a < 0 {
			a += int64(rank)
		}
		s.count *= n.In[0].Shape[a]
	}
	if s.count == 0 {
		return errOfNothing
	}
	return nil
}

// body writes the statements of a row's body.
func (x *exporter) body(r *ir.Row, s *scopeOfBody) error {
	b := r.Program(s.t)
	if b == nil {
		return errNoCounterpart
	}
	if s.depth++; s.depth > maxBodyDepth {
		return errNoCounterpart
	}
	for _, st := range b.Stmts {
		v, err := x.eval(st.Expr, s, ir.Invalid)
		if err != nil {
			return err
		}
		s.names[st.Name] = v
	}
	return nil
}

func (x *exporter) eval(e *ir.Expr, s *scopeOfBody, want ir.DType) (typed, error) {
	switch e.Kind {
	case ir.ExprNumber:
		if want == ir.Invalid {
			want = s.t
		}
		bits, err := e.Number.Bits(want)
		if err != nil {
			return typed{}, err
		}
		return typed{x.scalar(want, bits), want}, nil
	case ir.ExprName:
		if v, ok := s.names[e.Name]; ok {
			return v, nil
		}
		return typed{}, errNoCounterpart
	}
	return x.call(e, s, want)
}

// args writes arguments; literals take the type of the first other one from
// position like on.
func (x *exporter) args(list []*ir.Expr, like int, s *scopeOfBody, want ir.DType) ([]typed, error) {
	out := make([]typed, len(list))
	t := want
	for pass := range 2 {
		for i, a := range list {
			if (a.Kind == ir.ExprNumber) != (pass == 1) {
				continue
			}
			w := ir.Invalid
			if pass == 1 {
				w = t
			}
			v, err := x.eval(a, s, w)
			if err != nil {
				return nil, err
			}
			out[i] = v
			if pass == 0 && i >= like && (t == ir.Invalid || t == want) {
				t = v.t
			}
		}
	}
	return out, nil
}

// bodyOps are the operators of functions whose result has the operands' type.
var bodyOps = map[string]string{"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "neg": "Neg", "abs": "Abs", "sqrt": "Sqrt",
	"min": "Min", "max": "Max", "floor": "Floor", "ceil": "Ceil", "rint": "Round"}

var bodyCompare = map[string]string{"==": "Equal", "!=": "Equal", "<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual"}

var bodyLogic = map[string][2]string{"&": {"And", "BitwiseAnd"}, "|": {"Or", "BitwiseOr"}, "^": {"Xor", "BitwiseXor"}, "!": {"Not", "BitwiseNot"},
	"&&": {"And", "And"}, "||": {"Or", "Or"}}

var bodyReduce = map[string]string{"reduce_sum": "ReduceSum", "reduce_prod": "ReduceProd", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin"}

var bodyConvert = map[string]ir.DType{"f32": ir.F32, "f64": ir.F64, "i32": ir.I32, "i64": ir.I64, "u32": ir.U32, "u64": ir.U64}

func (x *exporter) call(e *ir.Expr, s *scopeOfBody, want ir.DType) (typed, error) {
	emit := func(op string, t ir.DType, args []typed) typed {
		in := make([]string, len(args))
		for i, a := range args {
			in[i] = a.name
		}
		return typed{x.emit(op, in), t}
	}
	if to, ok := bodyConvert[e.Name]; ok && len(e.Args) == 1 {
		v, err := x.eval(e.Args[0], s, to)
		if err != nil {
			return typed{}, err
		}
		if v.t == ir.F64 && to == ir.F32 || v.t == ir.F32 && to == ir.F64 || v.t.IsInt() == to.IsInt() || v.t.IsInt() {
			return typed{x.cast(v.name, v.t, to), to}, nil
		}
		return typed{}, errNoCounterpart
	}
	if op, ok := bodyCompare[e.Name]; ok {
		a, err := x.args(e.Args, 0, s, ir.Invalid)
		if err != nil {
			return typed{}, err
		}
		v := emit(op, ir.Bool, a)
		if e.Name == "!=" {
			v = emit("Not", ir.Bool, []typed{v})
		}
		return v, nil
	}
	if e.Name == "select" && len(e.Args) == 3 {
		a, err := x.args(e.Args, 1, s, want)
		if err != nil {
			return typed{}, err
		}
		return emit("Where", a[1].t, a), nil
	}
	if e.Name == "num" && len(e.Args) == 1 {
		v, err := x.eval(e.Args[0], s, s.t)
		if err != nil {
			return typed{}, err
		}
		return typed{x.cast(v.name, v.t, s.t), s.t}, nil
	}
	if op, ok := bodyReduce[e.Name]; ok && s.axes != nil && len(e.Args) == 1 {
		v, err := x.eval(e.Args[0], s, s.t)
		if err != nil {
			return typed{}, err
		}
		return typed{x.emit(op, []string{v.name, x.ints(s.axes...)}, putIntAttr("keepdims", 1)), v.t}, nil
	}
	if e.Name == "count" && s.axes != nil {
		return typed{x.scalar(s.t, ir.MakeScalar(s.t, float64(s.count)).Bits), s.t}, nil
	}
	op, plain := bodyOps[e.Name]
	logic, isLogic := bodyLogic[e.Name]
	if plain || isLogic || e.Name == "trunc" {
		a, err := x.args(e.Args, 0, s, want)
		if err != nil {
			return typed{}, err
		}
		switch t := a[0].t; {
		case e.Name == "trunc":
			return typed{x.trunc(a[0].name, t), t}, nil
		case isLogic && t == ir.Bool:
			return emit(logic[0], t, a), nil
		case isLogic:
			return emit(logic[1], t, a), nil
		case e.Name == "/" && !t.IsFloat():
			return typed{}, errNoCounterpart
		default:
			return emit(op, t, a), nil
		}
	}
	return x.row(e, s)
}

// row writes a call of another row, in the type of the body.
func (x *exporter) row(e *ir.Expr, s *scopeOfBody) (typed, error) {
	r := ir.Lookup(e.Name)
	if r == nil || r.Access != ir.Elementwise && (r.Access != ir.Reduce || s.axes == nil) || len(r.Operands) != len(e.Args) || len(r.Attrs) > 0 {
		return typed{}, errNoCounterpart
	}
	a, err := x.args(e.Args, 0, s, s.t)
	if err != nil {
		return typed{}, err
	}
	if len(a) == 0 {
		return typed{}, errNoCounterpart
	}
	if op := sameOperator[e.Name]; op != "" && r.Body.Any == "" { // elementary functions
		in := make([]string, len(a))
		for i := range a {
			in[i] = a[i].name
		}
		return typed{x.emit(op, in), a[0].t}, nil
	}
	inner := &scopeOfBody{t: a[0].t, names: map[string]typed{}, depth: s.depth, axes: s.axes, count: s.count}
	for i, v := range a {
		inner.names[r.Operands[i].Name] = v
	}
	if err := x.body(r, inner); err != nil {
		return typed{}, fmt.Errorf("%w", err)
	}
	y, ok := inner.names[r.ResultName(0)]
	if !ok {
		return typed{}, errNoCounterpart
	}
	return y, nil
}

// trunc is x without its fraction, the sign of zero included.
func (x *exporter) trunc(v string, t ir.DType) string {
	below := x.emit("Less", []string{v, x.scalar(t, 0)})
	return x.emit("Where", []string{below, x.emit("Ceil", []string{v}), x.emit("Floor", []string{v})})
}
