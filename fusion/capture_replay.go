package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Replay runs captured work on other inputs and returns its outputs, in the order
// of the queue and without waiting. Guards are checked before anything runs: where
// one fails, the error is a [*CaptureRefused] and nothing has happened. Inputs that
// are marked as consumed are released, so that results may take their place. The
// bindings are asked for once all guards hold, and nothing runs if there is an error;
// nil gives those of the capture.
func (l *Launches) Replay(inputs []*Value, consume []bool, bindings func() (Bindings, error)) ([]*Value, error) {
	s := l.s
	if len(inputs) != len(l.inputs) {
		return nil, refuseCapture(CaptureInput, "%d inputs, captured were %d", len(inputs), len(l.inputs))
	}
	for i, v := range inputs {
		if l.inputs[i].base.DType == ir.Invalid {
			continue
		}
		if err := s.reach(v); err != nil {
			return nil, refuseCapture(CaptureReleased, "input %d: %v", i, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(CutFlush)
	s.watch()
	r := &replay{l: l, leaves: make([][]leaf, len(l.segments)), outputs: make([]*stored, len(l.outputs))}
	if err := r.bind(inputs); err != nil {
		r.giveUp()
		return nil, err
	}
	var anew *Bindings
	if bindings != nil {
		asked := false
		defer func() {
			if !asked { // they panicked
				r.giveUp()
			}
		}()
		b, err := s.ask(bindings)
		asked = true
		if err == nil && (len(b.Keys) != l.keys || len(b.Numbers) != l.numbers) {
			err = refuseCapture(CaptureInput, "%d draws, %d numbers, captured were %d, %d", len(b.Keys), len(b.Numbers), l.keys, l.numbers)
		}
		if err != nil {
			r.giveUp()
			return nil, err
		}
		anew = &b
	}
	for i, v := range inputs {
		if i < len(consume) && consume[i] && v.stream == s {
			v.release()
		}
	}
	for i := range l.segments {
		if err := r.run(i, anew); err != nil {
			r.giveUp()
			return nil, err
		}
	}
	out := make([]*Value, len(l.outputs))
	for i, st := range r.outputs {
		out[i] = &Value{typ: &l.outputs[i].typ, stream: s}
		out[i].st.Store(st)
		s.fresh.add(st.base)
	}
	return out, nil
}

// replay is one run of captured work. It holds a reference for each leaf of a
// segment that has not run yet, and for each output.
type replay struct {
	l       *Launches
	leaves  [][]leaf
	outputs []*stored
}

// bind checks the inputs and takes references to them and to the constants.
func (r *replay) bind(inputs []*Value) error {
	at := make([]*stored, len(inputs))
	for i, v := range inputs {
		g := &r.l.inputs[i]
		if g.base.DType == ir.Invalid {
			continue // nothing reads it
		}
		if v.stream == r.l.s {
			if err := r.l.s.demand(v, CutFlush); err != nil {
				return refuseCapture(CaptureReleased, "input %d: %v", i, err)
			}
		}
		st := v.st.Load()
		switch {
		case st == nil || st.err != nil || v.released.Load():
			return refuseCapture(CaptureReleased, "input %d", i)
		case st.wait != nil && !st.wait.isDone():
			return refuseCapture(CaptureArrival, "input %d", i)
		case st.wait != nil:
			st = st.wait.place()
		}
		switch {
		case st.err != nil || st.base == nil:
			return refuseCapture(CaptureReleased, "input %d", i)
		case !v.typ.Equal(g.typ):
			return refuseCapture(CaptureInput, "input %d is %v, captured was %v", i, v.typ, g.typ)
		case !st.base.typ.Equal(g.base) || !sameLayout(st.layout, g.layout):
			return refuseCapture(CaptureInput, "input %d lies in memory otherwise", i)
		}
		at[i] = st
		if g.same > 0 && at[g.same-1] != st {
			return refuseCapture(CaptureInput, "inputs %d and %d were one value", g.same-1, i)
		}
	}
	take := func(src source) (*stored, error) {
		st := src.st
		switch src.kind {
		case fromResult:
			return nil, nil
		case fromInput:
			st = at[src.at]
		}
		if !st.base.acquire() {
			return nil, refuseCapture(CaptureReleased, "")
		}
		return st, nil
	}
	for i := range r.l.segments {
		g := &r.l.segments[i]
		r.leaves[i] = make([]leaf, len(g.leaves))
		for j, src := range g.leaves {
			st, err := take(src)
			if err != nil {
				return err
			}
			r.leaves[i][j] = leaf{st, &g.of[j]}
		}
	}
	for i, o := range r.l.outputs {
		st, err := take(o.source)
		if err != nil {
			return err
		}
		r.outputs[i] = st
	}
	return nil
}

// ask asks for bindings, without the lock: schedules may read tensors.
func (s *Stream) ask(bindings func() (Bindings, error)) (Bindings, error) {
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.flush(CutFlush) // of what others recorded meanwhile
	}()
	return bindings()
}

// run runs a segment and hands its results on.
func (r *replay) run(i int, anew *Bindings) error {
	g := &r.l.segments[i]
	s := r.l.s
	in := &instance{stream: s, leaves: r.leaves[i], recs: g.recs, types: g.types, sealed: true}
	r.leaves[i] = nil
	if anew != nil {
		in.recs = g.with(anew)
	}
	s.key.share(in)
	places, err := s.execute(in, g.b, g.keep, make([]*stored, len(in.types)))
	if err == nil {
		s.c.tell(g.b, g.cut, false)
		for pos, st := range places {
			if st == nil {
				continue
			}
			for range g.uses[pos] {
				st.base.acquire()
			}
			st.base.release()
		}
		r.hand(i, places)
	}
	in.drop()
	return err
}

// with returns the operations of a segment with other bindings.
func (g *segmentReplay) with(anew *Bindings) []rec {
	if len(g.given) == 0 {
		return g.recs
	}
	recs := slices.Clone(g.recs)
	n := 0
	for _, k := range g.given {
		n += len(recs[k.rec].attrs)
	}
	attrs := make(ir.Attrs, 0, n) // room for all of them
	for i, k := range g.given {
		r := &recs[k.rec]
		if i == 0 || g.given[i-1].rec != k.rec {
			at := len(attrs)
			attrs = append(attrs, r.attrs...)
			r.attrs = attrs[at:len(attrs):len(attrs)]
		}
		if k.number {
			r.attrs[k.attr].Bits = anew.Numbers[k.binding].Bits
		} else {
			r.attrs[k.attr].Int = anew.Keys[k.binding]
		}
	}
	return recs
}

// hand gives the results of a segment to those that read them.
func (r *replay) hand(from int, places []*stored) {
	for i := from + 1; i < len(r.l.segments); i++ {
		for j, src := range r.l.segments[i].leaves {
			if src.kind == fromResult && int(src.at) == from {
				r.leaves[i][j].st = places[src.pos]
			}
		}
	}
	for i, o := range r.l.outputs {
		if o.kind == fromResult && int(o.at) == from {
			r.outputs[i] = places[o.pos]
		}
	}
}

// giveUp gives all references back.
func (r *replay) giveUp() {
	for _, list := range r.leaves {
		for _, x := range list {
			if x.st != nil {
				x.st.base.release()
			}
		}
	}
	for _, st := range r.outputs {
		if st != nil {
			st.base.release()
		}
	}
}
