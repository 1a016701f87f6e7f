package sinter

import (
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// Origin tells how a tracked tensor was made: which row of which tensors. It is
// what gradients walk. A tensor refers to its origin, an origin to its operands,
// and nothing refers forward: a graph that nobody differentiates goes with its
// last tensor.
type Origin struct {
	Row   *ir.Row
	Attrs ir.Attrs
	In    []*Tensor
	Out   []*Tensor // without origins, so that no cycle arises
	Seq   uint64    // grows in the order of recording
}

var originSeq atomic.Uint64

// Track returns x as a leaf of gradients: operations on the result are tracked.
// It shares the memory of x.
func (t *Tensor) Track() *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	c := *t
	c.origin = &Origin{Seq: originSeq.Add(1)}
	c.result = 0
	return &c
}

// Detach returns x without its origin: gradients stop here. It shares the memory
// of x.
func (t *Tensor) Detach() *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	c := *t
	c.origin = nil
	return &c
}

// Tracked reports whether operations on the tensor are tracked.
func (t *Tensor) Tracked() bool { return t != nil && t.origin != nil }

// Origin returns how a tracked tensor was made and which result it is. The
// origin of a leaf has no row; that of an untracked tensor is nil.
func (t *Tensor) Origin() (*Origin, int) {
	if t == nil {
		return nil, 0
	}
	return t.origin, t.result
}

// trackIf is [track] if a gradient can reach an operand through the results.
func trackIf(r *ir.Row, attrs ir.Attrs, in, out []*Tensor, scope *Scope) {
	if scope != nil && scope.noGrad || !r.Differentiable() {
		return
	}
	for _, t := range in {
		if t.origin != nil {
			track(r, attrs, in, out)
			return
		}
	}
}

// track gives results an origin: out has tensors of them that are tracked, what it had
// becomes what the origin refers to.
func track(r *ir.Row, attrs ir.Attrs, in, out []*Tensor) {
	m := &origin{Origin: Origin{Row: r, Attrs: attrs, Seq: originSeq.Add(1)}}
	o := &m.Origin
	o.In = append(m.in[:0], in...)
	o.Out = append(m.out[:0], out...)
	for i, t := range o.Out {
		if !t.typ().DType.IsFloat() {
			continue
		}
		tracked := &m.first
		if i > 0 {
			tracked = new(Tensor)
		}
		*tracked = *t
		tracked.origin = o
		out[i] = tracked
	}
}

// origin is an origin of few operands and of one result with the tensor that has it: one
// does not go without the other, or takes no more than a few words with it.
type origin struct {
	Origin
	in    [2]*Tensor
	out   [1]*Tensor
	first Tensor
}

// Result returns result i as it was when recorded, with its origin if its dtype
// has gradients.
func (o *Origin) Result(i int) *Tensor {
	t := *o.Out[i]
	if t.typ().DType.IsFloat() {
		t.origin, t.result = o, i
	}
	return &t
}

// Graph records rows on tensors for gradients and decompositions.
type Graph struct {
	// Stream and Scope of constants; that of the operands for all others.
	Stream *Stream
	Scope  *Scope
	// Untracked makes Enter drop origins, so that nothing computed from what
	// entered is tracked.
	Untracked bool

	made *[]*Tensor // where decompose collects what is applied
}

var _ ir.Graph = Graph{}

// GraphOf returns a graph on the stream and in the scope of t, and the error
// that t carries.
func GraphOf(t *Tensor) (Graph, error) {
	if err := t.failure(); err != nil {
		return Graph{}, err
	}
	return Graph{Stream: t.home(), Scope: t.scope}, nil
}

// At returns the graph for operations of which t is an operand or a result: with
// constants on its device.
func (g Graph) At(t *Tensor) Graph {
	if t != nil && t.v != nil && g.Stream != nil && t.stream().dev != g.Stream.dev {
		g.Stream = t.stream()
	}
	return g
}

// Enter returns t as a member of the graph's scope, or of none if that is nil.
// Unlike [Scope.In] it accepts a released tensor, of which the type may still be
// asked: operations on it carry the error.
func (g Graph) Enter(t *Tensor) *Tensor {
	if t == nil {
		return errored(t.failure())
	}
	c := *t
	c.scope = g.Scope
	if g.Untracked {
		c.origin, c.result = nil, 0
	}
	return &c
}

// Apply records a row with one result.
func (g Graph) Apply(row string, in []ir.Value, attrs ...ir.Named) ir.Value {
	return g.ApplyN(row, in, attrs...)[0]
}

// ApplyN records a row.
func (g Graph) ApplyN(row string, in []ir.Value, attrs ...ir.Named) []ir.Value {
	r := g.Stream.dev.runtime.Table.Lookup(row)
	if r == nil {
		return []ir.Value{errored(ir.Errorf(ir.ErrInternal, "a gradient or decomposition uses %q, which is no row", row))}
	}
	ts := make([]*Tensor, len(in))
	for i, v := range in {
		ts[i], _ = v.(*Tensor)
	}
	out := apply(r, g.Stream, ts, attrs)
	if out[0].err != nil {
		g.giveTypes(r, ts, attrs, out)
	}
	if g.made != nil {
		*g.made = append(*g.made, out...)
	}
	vs := make([]ir.Value, len(out))
	for i, t := range out {
		if len(in) == 0 && g.Scope != nil && t.err == nil {
			t.scope = g.Scope
			if err := g.Scope.own(t.v); err != nil {
				t = errored(err)
			}
		}
		vs[i] = t
	}
	return vs
}

// giveTypes gives results that carry an error the types that they would have, as far as
// operands have theirs, which released ones do: gradients ask for them.
func (g Graph) giveTypes(r *ir.Row, in []*Tensor, named []ir.Named, out []*Tensor) {
	types := typesOf(in)
	for _, t := range types {
		if !t.DType.Valid() {
			return
		}
	}
	attrs, err := r.MakeAttrs(named)
	if err != nil {
		return
	}
	made, err := ir.Infer(r, types, attrs)
	if err != nil {
		return
	}
	for i, t := range out {
		out[i] = &Tensor{err: t.err, v: g.Stream.fs.ErrorValue(made[i], t.err)}
	}
}

// Scalar is a constant. One that has the dtype of a value that carries an error, which has
// none, is of f32: what is made of both has the error.
func (g Graph) Scalar(v float64, t DType) ir.Value {
	if !t.Valid() {
		t = F32
	}
	s, err := scalarOf(v, t)
	if t.IsInt() {
		s, err = scalarOf(int64(v), t)
	}
	if err != nil {
		return errored(err)
	}
	c := g.Stream.constant(s)
	if c.err == nil {
		c.scope = g.Scope
	}
	return c
}

// Type returns the type of a value.
func (g Graph) Type(v ir.Value) ir.Type {
	if t, ok := v.(*Tensor); ok && t != nil {
		return t.typ()
	}
	return ir.Type{}
}
