package sinter

import (
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Fed makes a scalar of the number that get returns, for use with x: of its dtype, on
// its device and in its scope. It is what a Go number as an operand is, but that a
// captured [Step] asks get again in each replay: for what the host knows and each
// round has another of, such as a learning rate. The number takes no memory and no
// copy: it is a parameter of the kernels that use it.
//
// Outside of a step, or of the scope that the step's function was given, get is called
// once. A number that the dtype cannot hold is an error of the tensor, and of
// [Step.Run] in a replay, which then has run nothing on the device.
func Fed(x *Tensor, get func() float64) *Tensor {
	if err := x.failure(); err != nil {
		return errored(err)
	}
	if get == nil {
		return x.raise("fed", ir.Errorf(ir.ErrArgument, "the function that gives the number is nil"))
	}
	d := x.typ().DType
	n, err := scalarOf(get(), d)
	if err != nil {
		return x.raise("fed", err)
	}
	t := x.stream().constant(n)
	if t.err != nil {
		return t
	}
	t.scope = x.scope
	if r := x.scope.round(); r != nil {
		r.act(act{number: t.v, dtype: d, get: get, site: callsite.Find()})
	}
	return t
}

// OnReplay has f called in each replay of the round of a [Step] that is being recorded
// in the scope: for what the step's function does beside recording, such as counting. The
// function does that itself too, in rounds that are recorded:
//
//	n++
//	s.OnReplay(func() { n++ })
//
// Calls of f, and of functions given to [Fed], come in the order of the round, before
// anything runs on the device; if one of the latter fails, those before it have been
// made. Outside of a step nothing happens.
func (s *Scope) OnReplay(f func()) {
	if r := s.round(); r != nil && f != nil {
		r.act(act{do: f})
	}
}

// act is what a replay does on the host, in the order of the round: it asks for a
// number, or does something.
type act struct {
	number *fusion.Value // as it was recorded
	dtype  DType
	get    func() float64
	site   ir.Site
	do     func()
}

func (r *roundSeen) act(a act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, a)
}

// round returns the round that is being recorded in the scope, nil if there is none.
func (s *Scope) round() *roundSeen {
	if s == nil || s.stream == nil {
		return nil
	}
	if r := s.stream.dev.steps.seen.Load(); r != nil && r.stream == s.stream {
		return r
	}
	return nil
}

// numbersOf returns the numbers of a round, as they were recorded.
func numbersOf(acts []act) (out []*fusion.Value) {
	for _, a := range acts {
		if a.number != nil {
			out = append(out, a.number)
		}
	}
	return out
}

// act does what a round does on the host, and returns its numbers.
func (r *roundRecord) act() ([]ir.Scalar, error) {
	var out []ir.Scalar
	for i := range r.acts {
		a := &r.acts[i]
		if a.do != nil {
			a.do()
			continue
		}
		n, err := scalarOf(a.get(), a.dtype)
		if err != nil {
			e := *ir.AsError(err)
			e.Op, e.Site = "fed", a.site
			return nil, &e
		}
		out = append(out, n)
	}
	return out, nil
}
