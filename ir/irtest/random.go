// Package irtest makes random programs and their input data, for tests that run
// one program in many ways.
//
// Every program that [Random] returns verifies and, unless faults are asked for,
// runs without a fault on the data of [InputData]. How a row is called follows
// from its declaration (operand classes, attributes, samples), with [ir.Infer]
// as the judge of a guess: a new row needs no change here.
package irtest

import (
	"math/rand/v2"

	"github.com/sinter-go/sinter/ir"
)

// Options bound and shape a random program. The zero value is useful.
type Options struct {
	Nodes       int        // about how many operations; 0 means 20
	MaxInputs   int        // about how many inputs; 0 means 6
	MaxElements int        // of any tensor; 0 means 4096
	DTypes      []ir.DType // of inputs, constants and casts; nil means all
	Rows        []*ir.Row  // nil means the built-in ones
	// Faults allows operations that fail depending on data: indices that may be
	// out of range, integer divisors that may be 0.
	Faults bool
}

// weights say how often each access kind is picked; within one, rows are equal.
var weights = map[ir.Access]int{
	ir.Elementwise: 16, ir.View: 10, ir.Join: 3, ir.Reduce: 7, ir.Contraction: 2,
	ir.Gather: 2, ir.Scatter: 2, ir.Scan: 2, ir.Random: 2, ir.Opaque: 4, ir.Recurrence: 2,
}

// Random returns a well-typed random program; the same state of rng and options
// give the same program.
func Random(rng *rand.Rand, opts Options) *ir.Program {
	if opts.Nodes == 0 {
		opts.Nodes = 20
	}
	if opts.MaxInputs == 0 {
		opts.MaxInputs = 6
	}
	if opts.MaxElements == 0 {
		opts.MaxElements = 4096
	}
	if opts.DTypes == nil {
		opts.DTypes = ir.DTypes()
	}
	if opts.Rows == nil {
		for _, r := range ir.Rows() {
			if r.Decompose == nil { // else it is recorded as others
				opts.Rows = append(opts.Rows, r)
			}
		}
	}
	g := &gen{Rand: rng, opts: opts, prog: &ir.Program{Name: "random"}, used: map[ir.ID]int{}}
	var kinds []ir.Access
	byKind := map[ir.Access][]*ir.Row{}
	for _, r := range opts.Rows {
		if byKind[r.Access] == nil {
			for i := 0; i < max(1, weights[r.Access]); i++ {
				kinds = append(kinds, r.Access)
			}
		}
		byKind[r.Access] = append(byKind[r.Access], r)
	}
	for i := 1 + g.IntN(3); i > 0; i-- {
		g.input(g.dtype(ir.AnyType), g.shape())
	}
	for try := 0; len(g.prog.Nodes) < opts.Nodes && try < 20*opts.Nodes; try++ {
		rows := byKind[kinds[g.IntN(len(kinds))]]
		g.call(rows[g.IntN(len(rows))])
	}
	g.outputs()
	return g.prog
}

type gen struct {
	*rand.Rand
	opts   Options
	prog   *ir.Program
	values []ir.Tensor // all that is defined, inputs too
	used   map[ir.ID]int
}

func (g *gen) chance(p float64) bool { return g.Float64() < p }

func (g *gen) define(t ir.Type) ir.Tensor {
	v := ir.Tensor{ID: ir.ID(len(g.values) + 1), Type: t}
	g.values = append(g.values, v)
	return v
}

func (g *gen) input(d ir.DType, s ir.Shape) ir.Tensor {
	v := g.define(ir.Type{DType: d, Shape: s})
	g.prog.Inputs = append(g.prog.Inputs, v)
	return v
}

// emit appends a node if the row's rules accept it and its results are small.
func (g *gen) emit(r *ir.Row, in []ir.Tensor, attrs ir.Attrs) ([]ir.Tensor, bool) {
	n := ir.Node{Row: r, In: in, Attrs: attrs}
	types, err := ir.Infer(r, n.InTypes(), attrs)
	if err != nil {
		return nil, false
	}
	for _, t := range types {
		if !g.small(t.Shape) {
			return nil, false
		}
	}
	for _, t := range in {
		g.used[t.ID]++
	}
	for _, t := range types {
		n.Out = append(n.Out, g.define(t))
	}
	g.prog.Nodes = append(g.prog.Nodes, n)
	return n.Out, true
}

// do applies a built-in row with attributes given as pairs.
func (g *gen) do(row string, in []ir.Tensor, attrs ...any) (ir.Tensor, bool) {
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(ir.A(attrs...))
	if err != nil {
		return ir.Tensor{}, false
	}
	out, ok := g.emit(r, in, a)
	if !ok {
		return ir.Tensor{}, false
	}
	return out[0], true
}

// pick returns a value that fits, a recent one more often than not.
func (g *gen) pick(fits func(ir.Tensor) bool) (ir.Tensor, bool) {
	from := 0
	if g.chance(0.6) {
		from = max(0, len(g.values)-8)
	}
	var list []ir.Tensor
	for _, v := range g.values[from:] {
		if fits(v) {
			list = append(list, v)
		}
	}
	if len(list) > 0 {
		return list[g.IntN(len(list))], true
	}
	if from > 0 {
		return g.pick(fits)
	}
	return ir.Tensor{}, false
}

// value returns a value of the type: one that is there, or a new one.
func (g *gen) value(t ir.Type) ir.Tensor {
	if g.chance(0.8) {
		if v, ok := g.pick(func(v ir.Tensor) bool { return v.Type.Equal(t) }); ok {
			return v
		}
	}
	return g.fresh(t)
}

// fresh makes a new value of the type: a cast, a constant, a range or an input.
func (g *gen) fresh(t ir.Type) ir.Tensor {
	if g.chance(0.4) {
		same := func(v ir.Tensor) bool { return v.Shape.Equal(t.Shape) && v.DType != t.DType }
		if v, ok := g.pick(same); ok {
			if y, ok := g.do("cast", []ir.Tensor{v}, "dtype", t.DType); ok {
				return y
			}
		}
	}
	if g.chance(0.2) {
		if y, ok := g.do("full", nil, "shape", t.Shape, "dtype", t.DType, "value", g.scalar(t.DType)); ok {
			return y
		}
	}
	if g.chance(0.1) {
		if y, ok := g.do("iota", nil, "shape", t.Shape, "dtype", t.DType); ok {
			return y
		}
	}
	if len(g.prog.Inputs) >= g.opts.MaxInputs && g.chance(0.7) {
		// Enough inputs: repeat a part of one that is there.
		scalar := func(v ir.Tensor) bool { return v.DType == t.DType && v.Shape.Size() == 1 }
		if v, ok := g.pick(scalar); ok {
			if one, ok := g.do("reshape", []ir.Tensor{v}, "shape", ir.Shape{}); ok {
				if y, ok := g.do("expand", []ir.Tensor{one}, "shape", t.Shape); ok {
					return y
				}
			}
		}
	}
	return g.input(t.DType, t.Shape)
}

// dtype returns a dtype of the class, of those that the options allow if one is.
func (g *gen) dtype(c ir.Class) ir.DType {
	for _, from := range [][]ir.DType{g.opts.DTypes, ir.DTypes()} {
		var list []ir.DType
		for _, d := range from {
			if c.Has(d) {
				list = append(list, d)
			}
		}
		if len(list) > 0 {
			return list[g.IntN(len(list))]
		}
	}
	return ir.F32
}

func (g *gen) scalar(d ir.DType) ir.Scalar {
	return ir.Scalar{DType: d, Bits: element(g.Rand, d, ir.AnyValue, 0.2)}
}

// shape returns a random shape: mostly small extents, sometimes 0 or 1, and
// sometimes one around the lengths where kernels change their ways.
func (g *gen) shape() ir.Shape {
	edges := []int{15, 16, 17, 31, 33, 64, 65, 127, 130, 257, 1023, 1024, 1030, 2049}
	s := make(ir.Shape, []int{0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5}[g.IntN(19)])
	for i := range s {
		switch p := g.Float64(); {
		case p < 0.02:
			s[i] = 0
		case p < 0.14:
			s[i] = 1
		case p < 0.28:
			s[i] = edges[g.IntN(len(edges))]
		default:
			s[i] = 2 + g.IntN(6)
		}
	}
	return g.shrunk(s)
}

// small reports whether a tensor of the shape is within the limits.
func (g *gen) small(s ir.Shape) bool {
	return s.Check() == nil && s.Size() <= g.opts.MaxElements
}

// shrunk halves extents of s until it is small.
func (g *gen) shrunk(s ir.Shape) ir.Shape {
	for !g.small(s) {
		i := g.IntN(len(s))
		s[i] = (s[i] + 1) / 2
	}
	return s
}

// outputs picks what is read: most values that nothing uses, and some others.
func (g *gen) outputs() {
	for _, v := range g.values {
		p := 0.1
		if g.used[v.ID] == 0 {
			p = 0.85
		}
		if g.chance(p) {
			g.prog.Outputs = append(g.prog.Outputs, v.ID)
		}
	}
	if len(g.prog.Outputs) == 0 {
		g.prog.Outputs = append(g.prog.Outputs, g.values[len(g.values)-1].ID)
	}
}
