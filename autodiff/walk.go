package autodiff

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// walk is one run of reverse accumulation (Speelpenning, "Compiling fast partial
// derivatives of functions given by algorithms", 1980; Griewank and Walther,
// "Evaluating derivatives", 2008, chapter 3).
type walk struct {
	*record
	op    string
	graph sinter.Graph
	track bool
}

// run differentiates outputs, weighted by cotangents, with respect to wrt.
func (o Options) run(op string, outputs, cotangents, wrt []*sinter.Tensor) ([]*sinter.Tensor, error) {
	if err := check(op, outputs, cotangents, wrt); err != nil {
		return nil, err
	}
	if len(wrt) == 0 {
		return nil, nil
	}
	g, err := sinter.GraphOf(outputs[0])
	if err != nil {
		return nil, err
	}
	w := &walk{record: collect(outputs, wrt), op: op, graph: g, track: o.Track}
	if !o.Track {
		w.graph = sinter.Graph{Stream: g.Stream, Scope: temporary(g.Scope), Untracked: true}
		defer w.graph.Scope.End()
	}
	w.seed(outputs, cotangents)
	for i := len(w.nodes) - 1; i >= 0; i-- {
		if err := w.step(w.nodes[i]); err != nil {
			return nil, err
		}
	}
	return w.results(wrt, g.Scope, o.Strict)
}

// temporary begins a scope for what is needed only during the walk, inside the
// loss's. Without one, it lies in a scope that never ends, for the end of a
// top-level scope would submit what is recorded.
func temporary(outer *sinter.Scope) *sinter.Scope {
	if outer == nil {
		outer = sinter.NewScope("autodiff")
	}
	return outer.Sub("gradient")
}

// seed gives outputs their cotangents.
func (w *walk) seed(outputs, cotangents []*sinter.Tensor) {
	for i := len(outputs) - 1; i >= 0; i-- { // summed in ascending order
		n, result := w.find(outputs[i])
		if n == nil {
			continue
		}
		if cotangents != nil && cotangents[i] != nil {
			n.sums[result].add(&value{t: w.graph.Enter(cotangents[i]), lent: true}, nil)
			continue
		}
		n.sums[result].add(&value{t: filled(w.graph.At(outputs[i]), typeOf(outputs[i]), 1)}, nil)
	}
}

// step sends what arrived at the results of a node on to its operands.
func (w *walk) step(n *node) error {
	o := n.origin
	if !n.needed || o.Row == nil {
		return nil
	}
	need, wanted := make([]bool, len(o.In)), false
	for i, t := range o.In {
		need[i] = w.needs(t)
		wanted = wanted || need[i]
	}
	arrived := make([]*value, len(o.Out))
	any := false
	for i := range o.Out {
		arrived[i] = w.total(&n.sums[i])
		if v := arrived[i]; v != nil {
			if err := v.t.Err(); err != nil {
				return w.failed(o, err)
			}
			any = true
		}
	}
	if !any || !wanted {
		return nil
	}
	if err := w.backward(o, arrived, need); err != nil {
		return err
	}
	if !w.asked[o] {
		for _, v := range arrived {
			if v != nil {
				w.drop(v)
			}
		}
		n.sums = nil
	}
	return nil
}

// backward applies the gradient of a row. What it computes on the way is
// released at once, unless it is tracked.
func (w *walk) backward(o *sinter.Origin, arrived []*value, need []bool) error {
	g := w.graph.At(o.Out[0]) // constants belong to the operation's device
	if !w.track {
		g.Scope = w.graph.Scope.Sub(o.Row.Name)
		defer g.Scope.End()
	}
	c := ir.GradContext{Graph: g, Row: o.Row, Attrs: o.Attrs, Need: need, Track: w.track,
		In: make([]ir.Value, len(o.In)), Out: make([]ir.Value, len(o.Out)), DOut: make([]ir.Value, len(o.Out))}
	for i, t := range o.In {
		c.In[i] = g.Enter(t)
	}
	seen := map[*sinter.Tensor]*value{} // what a gradient may pass on
	for i, v := range arrived {
		c.Out[i] = g.Enter(o.Result(i))
		if v != nil {
			c.DOut[i], seen[v.t] = v.t, v
		}
	}
	grads := c.Backward()
	for i := min(len(o.In), len(grads)) - 1; i >= 0; i-- { // arrivals are in descending order
		if !need[i] || grads[i] == nil {
			continue
		}
		x := o.In[i]
		d, shape, at := arrival(grads[i], x.Shape())
		if err := d.Err(); err != nil {
			return w.failed(o, err)
		}
		if d.DType() != x.DType() {
			return w.failed(o, ir.Errorf(ir.ErrInternal, "it is %s for operand %d, which is %s", d.DType(), i, x.DType()))
		}
		f := fit(g, d, shape)
		if err := f.Err(); err != nil {
			return w.failed(o, err)
		}
		v := seen[f]
		if v == nil {
			v = &value{t: f}
			if has(c.In, f) || has(c.Out, f) {
				v.lent, v.t = true, w.graph.Enter(f)
			} else if !w.track {
				v.t = g.Scope.Keep(f)
			}
			seen[f] = v
		}
		m, result := w.find(x)
		m.sums[result].add(v, at)
	}
	return nil
}

func has(vs []ir.Value, t *sinter.Tensor) bool {
	for _, v := range vs {
		if v == ir.Value(t) {
			return true
		}
	}
	return false
}

// failed says of which operation the gradient could not be recorded.
func (w *walk) failed(o *sinter.Origin, err error) error {
	e := ir.Errorf(ir.AsError(err).Kind, "the gradient of %s", o.Row.Name)
	e.Op, e.Site, e.Cause = w.op, callsite.Find(), err
	for _, t := range o.In {
		e.Operands = append(e.Operands, typeOf(t))
	}
	return e
}

// results returns the sums of the tensors asked for, each with a memory handle
// of its own and as a member of a scope.
func (w *walk) results(wrt []*sinter.Tensor, scope *sinter.Scope, strict bool) ([]*sinter.Tensor, error) {
	out := make([]*sinter.Tensor, len(wrt))
	for i, t := range wrt {
		var v *value
		if n, result := w.find(t); n != nil {
			v = w.total(&n.sums[result])
		}
		switch {
		case v == nil && strict:
			return nil, fail(w.op, "no output depends on tensor %d (%v), other than through operations without a gradient", i, typeOf(t))
		case v == nil:
			out[i] = filled(w.graph.At(t), typeOf(t), 0)
		case v.lent || v.holds > 1:
			out[i] = apply(w.graph, "reshape", v.t, "shape", t.Shape())
		default:
			out[i] = v.t
			v.lent = true
		}
		if !w.track {
			out[i] = sinter.Graph{Scope: scope, Untracked: true}.Enter(w.graph.Scope.Keep(out[i]))
		}
		if err := out[i].Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
