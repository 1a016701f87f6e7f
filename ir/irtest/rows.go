package irtest

import "github.com/sinter-go/sinter/ir"

// special holds the rows whose attributes depend on shapes in a way that
// guessing would rarely hit. All others are called by [gen.call]'s rules.
var special = map[string]func(*gen, *ir.Row) bool{
	"reshape":     (*gen).reshape,
	"permute":     (*gen).permute,
	"expand":      (*gen).expand,
	"slice":       (*gen).slice,
	"concat":      (*gen).concat,
	"gather":      (*gen).gather,
	"scatter_add": (*gen).scatterAdd,
	"matmul":      (*gen).matmul,
}

const guesses = 12

// call applies the row to values of the program, if that can be done.
func (g *gen) call(r *ir.Row) {
	if f := special[r.Name]; f != nil && g.chance(0.97) {
		f(g, r)
		return
	}
	for i := 0; i < guesses; i++ {
		in, ok := g.operands(r)
		if !ok {
			break
		}
		attrs, ok := g.attrs(r, in)
		if !ok {
			continue
		}
		if _, ok := g.emit(r, in, attrs); ok {
			return
		}
	}
	g.callSample(r)
}

// operands guesses operands by classes: none; one of any shape; several that
// broadcast, for elementwise rows.
func (g *gen) operands(r *ir.Row) ([]ir.Tensor, bool) {
	switch {
	case len(r.Operands) == 0:
		return nil, true
	case r.Access != ir.Elementwise && (len(r.Operands) > 1 || r.Variadic):
		return nil, false
	}
	shared := g.shared(r)
	shape := g.shape()
	if v, ok := g.pick(func(v ir.Tensor) bool { return r.Operands[0].Class.Has(v.DType) }); ok && g.chance(0.9) {
		shape = v.Shape
		if v.DType != ir.Bool || len(r.Operands) == 1 { // a lone condition does not fix the dtype
			shared = v.DType
		}
	}
	in := make([]ir.Tensor, len(r.Operands))
	for i, o := range r.Operands {
		d := shared
		if !o.Class.Has(d) {
			d = g.dtype(o.Class)
		}
		if g.mayFault(r, o) {
			in[i] = g.divisor(d, g.narrowed(shape, i))
			continue
		}
		fits := func(v ir.Tensor) bool {
			if v.DType != d {
				return false
			}
			b, err := ir.Broadcast(shape, v.Shape)
			return err == nil && b.Equal(shape)
		}
		if v, ok := g.pick(fits); ok && g.chance(0.8) {
			in[i] = v
			continue
		}
		in[i] = g.fresh(ir.Type{DType: d, Shape: g.narrowed(shape, i)})
	}
	return in, true
}

// shared returns a dtype that as many operands as possible can have.
func (g *gen) shared(r *ir.Row) ir.DType {
	all := ir.AnyType
	for _, o := range r.Operands {
		if o.Class != ir.BoolClass && o.Class != ir.I64Class {
			all &= o.Class
		}
	}
	return g.dtype(all)
}

// narrowed returns a small shape that broadcasts to s, s itself for the first
// operand.
func (g *gen) narrowed(s ir.Shape, operand int) ir.Shape {
	if operand == 0 || g.chance(0.5) {
		return s
	}
	out := s[g.IntN(len(s)+1):].Clone()
	for i := range out {
		if g.chance(0.3) {
			out[i] = 1
		}
	}
	if !g.small(out) { // s is small only by an axis of extent 0 that was dropped
		return s
	}
	return out
}

func (g *gen) mayFault(r *ir.Row, o ir.Operand) bool {
	return r.Effects&ir.EffectFault != 0 && o.Domain == ir.NonZero && !g.opts.Faults
}

// divisor makes a value that is nowhere 0: an input, which InputData fills so,
// or a constant.
func (g *gen) divisor(d ir.DType, s ir.Shape) ir.Tensor {
	if g.chance(0.5) {
		v := ir.Scalar{DType: d, Bits: element(g.Rand, d, ir.NonZero, 0.2)}
		if y, ok := g.do("full", nil, "shape", s, "dtype", d, "value", v); ok {
			return y
		}
	}
	return g.input(d, s)
}

// attrs guesses attributes by kind, name and samples.
func (g *gen) attrs(r *ir.Row, in []ir.Tensor) (ir.Attrs, bool) {
	rank := 0
	if len(in) > 0 {
		rank = len(in[0].Shape)
	}
	dtype := g.dtype(ir.AnyType)
	var named []ir.Named
	for _, s := range r.Attrs {
		if s.Default != nil && g.chance(0.3) {
			continue
		}
		var v any
		switch s.Kind {
		case ir.AttrInt:
			switch {
			case s.Name == "axis" && rank == 0:
				return nil, false
			case s.Name == "axis":
				v = g.IntN(2*rank) - rank
			case s.Name == "key":
				v = int64(g.Uint64())
			default:
				v = g.IntN(9)
			}
		case ir.AttrInts:
			switch s.Name {
			case "axes":
				v = g.axes(rank)
			case "shape":
				v = g.shape()
			}
		case ir.AttrBool:
			v = g.chance(0.5)
		case ir.AttrDType:
			v = dtype
		case ir.AttrScalar:
			v = g.scalar(dtype)
		case ir.AttrFloat:
			v = []float64{0.5, 1, 0.1, 2, -0.5, 1e-5}[g.IntN(6)]
		}
		if w, ok := sampled(r, s.Name, g.IntN(max(1, len(r.Samples)))); ok && (v == nil || g.chance(0.2)) {
			v = w
		}
		if v == nil {
			return nil, false
		}
		named = append(named, ir.Named{Name: s.Name, Value: v})
	}
	a, err := r.MakeAttrs(named)
	return a, err == nil
}

func sampled(r *ir.Row, name string, sample int) (any, bool) {
	if sample < len(r.Samples) {
		for _, n := range r.Samples[sample].Attrs {
			if n.Name == name {
				return n.Value, true
			}
		}
	}
	return nil, false
}

// axes returns a subset of the axes in any order and spelling; none means all.
func (g *gen) axes(rank int) []int {
	var out []int
	for _, x := range g.Perm(rank) {
		if g.chance(0.5) {
			out = append(out, g.spelled(x, rank))
		}
	}
	return out
}

// spelled returns the axis, or its negative form.
func (g *gen) spelled(axis, rank int) int {
	if g.chance(0.3) {
		return axis - rank
	}
	return axis
}

// callSample calls the row as one of its samples does.
func (g *gen) callSample(r *ir.Row) {
	if len(r.Samples) == 0 {
		return
	}
	s := r.Samples[g.IntN(len(r.Samples))]
	attrs, err := r.MakeAttrs(s.Attrs)
	if err != nil || len(s.Shapes) < len(r.Operands) {
		return
	}
	for try := 0; try < guesses; try++ {
		shared := g.shared(r)
		types := make([]ir.Type, len(s.Shapes))
		other := map[ir.Class]ir.DType{} // of operands that cannot have the shared one
		for i, shape := range s.Shapes {
			types[i] = ir.Type{DType: shared, Shape: shape}
			if c := r.OperandAt(i).Class; !c.Has(shared) {
				if other[c] == ir.Invalid {
					other[c] = g.dtype(c)
				}
				types[i].DType = other[c]
			}
		}
		if _, err := ir.Infer(r, types, attrs); err != nil {
			continue
		}
		in := make([]ir.Tensor, len(types))
		for i, t := range types {
			switch o := r.OperandAt(i); {
			case g.mayFault(r, o):
				in[i] = g.divisor(t.DType, t.Shape)
			case o.Domain == ir.Index:
				in[i] = g.input(t.DType, t.Shape) // InputData knows its range
			default:
				in[i] = g.value(t)
			}
		}
		g.emit(r, in, attrs)
		return
	}
}
