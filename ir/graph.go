package ir

// Value is a value of a [Graph]: opaque to the rows that use it.
type Value any

// Graph applies rows to values. Gradients and decompositions are written
// against it; the root package implements it over tensors. Errors stick to the
// values, so nothing here returns one.
type Graph interface {
	Apply(row string, in []Value, attrs ...Named) Value
	ApplyN(row string, in []Value, attrs ...Named) []Value
	// Scalar is a constant of the given type, converted from a float64.
	Scalar(v float64, t DType) Value
	Type(v Value) Type
}

// GradContext is what a gradient sees of a node: operands, results, attributes
// and the gradients that arrive at the results (nil where none does).
type GradContext struct {
	Graph
	Row   *Row
	Attrs Attrs
	In    []Value
	Out   []Value
	DOut  []Value
	// Need says for which operands a gradient is wanted.
	Need []bool
	// Track says that what is recorded will be differentiated itself: rows that have no
	// gradient are not for it.
	Track bool
}

// GradFunc returns the gradients of the operands, nil for those that have none
// or are not needed. A gradient may still have the broadcast shape: whoever
// calls sums it to the operand's. It may be a [Part].
type GradFunc func(g *GradContext) []Value

// Part is a gradient that is 0 but for a part of the operand, in the attributes of
// slice. Whoever sums gradients puts it in its place: parts that lie side by side
// need no zeros.
type Part struct {
	Value                // of shape Sizes
	Starts, Sizes, Steps []int64
}

// Do applies a row with named attributes given as pairs.
func (g *GradContext) Do(row string, in []Value, attrs ...any) Value {
	return g.Apply(row, in, A(attrs...)...)
}

// Backward returns the gradients of a node's operands: by its GradFunc, or by
// the texts of its Grad, in which the gradient that arrives at result y is dy,
// and zeros where none does.
func (g *GradContext) Backward() []Value {
	if g.Row.GradFunc != nil {
		return g.Row.GradFunc(g)
	}
	return g.texts()
}

// texts evaluates the texts of the row's Grad.
func (g *GradContext) texts() []Value {
	grads := make([]Value, len(g.In))
	env := map[string]Value{}
	compute := Invalid // the type of numbers without a neighbour
	for i, v := range g.Out {
		env[g.Row.ResultName(i)] = v
		d := g.DOut[i]
		if d == nil {
			d = g.Scalar(0, g.Type(v).DType)
		} else if compute == Invalid {
			compute = g.Type(d).DType
		}
		env["d"+g.Row.ResultName(i)] = d
	}
	for i, s := range g.Row.Attrs {
		switch a := g.Attrs[i]; a.Kind {
		case AttrFloat:
			env[s.Name] = a.Float()
		case AttrInt:
			env[s.Name] = float64(a.Int)
		}
	}
	for i, v := range g.In {
		env[g.Row.OperandAt(i).Name] = v
	}
	for i := range g.In {
		if block := g.Row.Gradient(g.Row.OperandAt(i).Name); block != nil && g.Need[i] {
			grads[i] = block.evalGraph(g, env, compute)
		}
	}
	return grads
}

// byRow is the gradient of a row of one operand that is a row itself, of x and dy, which
// computes as bodies do: rounded once. To the second order it is the row's text.
func byRow(name string) GradFunc {
	return func(g *GradContext) []Value {
		if g.Track {
			return g.texts()
		}
		return []Value{g.Do(name, []Value{g.In[0], g.DOut[0]})}
	}
}

// operatorRows maps the operators and instruction names of the language to rows,
// for texts that are evaluated over a graph.
var operatorRows = map[string]string{
	"+": "add", "-": "sub", "*": "mul", "/": "div",
	"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
	"&&": "and", "||": "or", "!": "not", "neg": "neg", "select": "where",
}

// evalGraph evaluates a parsed text over a graph and returns the last value.
func (b *Block) evalGraph(g Graph, env map[string]Value, t DType) Value {
	local := make(map[string]Value, len(env)+len(b.Stmts))
	for k, v := range env {
		local[k] = v
	}
	var last Value
	for _, s := range b.Stmts {
		last = evalExpr(g, s.Expr, local, t)
		local[s.Name] = last
	}
	return last
}

// number returns the value of a literal or of an attribute.
func (e *Expr) number(env map[string]Value) (float64, bool) {
	switch e.Kind {
	case ExprNumber:
		return e.Number.Float(), true
	case ExprName:
		v, ok := env[e.Name].(float64)
		return v, ok
	}
	return 0, false
}

func evalExpr(g Graph, e *Expr, env map[string]Value, t DType) Value {
	if v, ok := e.number(env); ok {
		return g.Scalar(v, t)
	}
	if e.Kind == ExprName {
		return env[e.Name]
	}
	in := make([]Value, len(e.Args))
	for i, a := range e.Args {
		if _, ok := a.number(env); !ok {
			in[i] = evalExpr(g, a, env, t)
		} // else its dtype is that of another operand, below
	}
	for i, a := range e.Args {
		v, ok := a.number(env)
		if !ok {
			continue
		}
		dt := t
		for j := range in { // a constant adapts to its neighbours; conditions are bool
			if in[j] != nil && g.Type(in[j]).DType != Bool {
				dt = g.Type(in[j]).DType
			}
		}
		in[i] = g.Scalar(v, dt)
	}
	row := e.Name
	if r, ok := operatorRows[row]; ok {
		row = r
	}
	return g.Apply(row, in)
}
