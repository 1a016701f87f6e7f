package autodiff

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// Function is a function of several tensors with several results, made of
// operations on them. Tensors that it captures count as constants.
type Function func(in []*sinter.Tensor) []*sinter.Tensor

// Backward gives the gradients of the arguments of a function from its
// arguments, its results and the gradients that arrive at the results (zeros
// where none does). A nil gradient means none. Gradients have dtype and shape of
// the arguments, or a shape that broadcasting made of it. Operations on what it
// is given are tracked if the differentiation is ([Options].Track), so gradients
// of any order follow.
type Backward func(in, out, dout []*sinter.Tensor) []*sinter.Tensor

// Custom calls f and gives its results the gradient backward instead of that of
// the operations f is made of: for functions whose composed gradient is
// inaccurate, costly or not wanted. The name is for messages. Errors are carried
// by the results.
func Custom(name string, f Function, backward Backward, in ...*sinter.Tensor) []*sinter.Tensor {
	out := f(detached(in))
	return sinter.WithGradient(name, in, out, func(g *ir.GradContext) []ir.Value {
		return values(backward(tensors(g.In), tensors(g.Out), arrivals(g)))
	})
}

// Checkpoint calls f without recording how its results are made: what f computes
// on the way is released at once. Differentiation calls f again with the same
// arguments and differentiates that (Griewank and Walther, "Algorithm 799:
// revolve", 2000, for one checkpoint): the memory of f's intermediate results for
// the time of a second call, with the same bits. f must depend on its arguments
// alone; random draws are made outside and passed in. Gradients reach the
// arguments only: parameters are passed as such. Errors are carried by the
// results.
func Checkpoint(f Function, in ...*sinter.Tensor) []*sinter.Tensor {
	var outer *sinter.Scope
	for _, t := range in {
		if s := t.Scope(); s != nil && (outer == nil || s.Inside(outer)) {
			outer = s
		}
	}
	work := temporary(outer)
	defer work.End()
	args := make([]*sinter.Tensor, len(in))
	for i, t := range detached(in) {
		args[i] = work.In(t)
	}
	out := f(args)
	kept := make([]*sinter.Tensor, len(out))
	for i, t := range out {
		if t.Err() != nil {
			kept[i] = t
			continue
		}
		kept[i] = sinter.Graph{Scope: outer, Untracked: true}.Enter(work.Keep(t))
	}
	return sinter.WithGradient("checkpoint", in, kept, func(g *ir.GradContext) []ir.Value {
		return values(again(f, tensors(g.In), arrivals(g), g.Need))
	})
}

// again calls a checkpointed function and differentiates it at once.
func again(f Function, in, dout []*sinter.Tensor, need []bool) []*sinter.Tensor {
	args := append([]*sinter.Tensor(nil), in...)
	var wrt []*sinter.Tensor
	var at []int
	tracked := false
	for i, t := range in {
		tracked = tracked || t.Tracked()
		if !need[i] {
			continue
		}
		if !t.Tracked() {
			args[i] = t.Track()
		}
		wrt, at = append(wrt, args[i]), append(at, i)
	}
	for _, t := range dout {
		tracked = tracked || t.Tracked()
	}
	grads := make([]*sinter.Tensor, len(in))
	out := f(args)
	var reached, weights []*sinter.Tensor
	for i, y := range out {
		if i < len(dout) && y.Tracked() {
			reached, weights = append(reached, y), append(weights, dout[i])
		}
	}
	if len(reached) == 0 {
		return grads
	}
	got, err := Options{Track: tracked}.VJP(reached, weights, wrt)
	for j, i := range at {
		if err != nil {
			grads[i] = sinter.Failed(err)
		} else {
			grads[i] = got[j]
		}
	}
	return grads
}

func detached(in []*sinter.Tensor) []*sinter.Tensor {
	out := make([]*sinter.Tensor, len(in))
	for i, t := range in {
		out[i] = t.Detach()
	}
	return out
}

func tensors(vs []ir.Value) []*sinter.Tensor {
	out := make([]*sinter.Tensor, len(vs))
	for i, v := range vs {
		out[i] = tensor(v)
	}
	return out
}

func values(ts []*sinter.Tensor) []ir.Value {
	out := make([]ir.Value, len(ts))
	for i, t := range ts {
		if t != nil {
			out[i] = t
		}
	}
	return out
}

// arrivals returns the gradients at the results, zeros where none arrived.
func arrivals(g *ir.GradContext) []*sinter.Tensor {
	out := make([]*sinter.Tensor, len(g.Out))
	for i, v := range g.DOut {
		if v != nil {
			out[i] = tensor(v)
			continue
		}
		t := g.Type(g.Out[i])
		out[i] = tensor(g.Do("expand", []ir.Value{g.Scalar(0, t.DType)}, "shape", t.Shape))
	}
	return out
}
