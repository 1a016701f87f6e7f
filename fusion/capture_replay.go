package fusion

import "github.com/sinter-go/sinter/ir"

// Replay runs captured work on other inputs and returns its outputs, in the order
// of the queue and without waiting. Guards are checked before anything runs: where
// one fails, the error is a [*CaptureRefused] and nothing has happened. Inputs that
// are marked as consumed are released, so that results may take their place. The
// bindings are asked for once all guards hold; nil gives those of the capture.
func (l *Launches) Replay(inputs []*Value, consume []bool, bindings func() []int64) ([]*Value, error) {
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
	var keys []int64
	if bindings != nil {
		if keys = bindings(); len(keys) != l.bindings {
			r.giveUp()
			return nil, refuseCapture(CaptureInput, "%d draws, captured were %d", len(keys), l.bindings)
		}
	}
	for i, v := range inputs {
		if i < len(consume) && consume[i] && v.stream == s {
			v.release()
		}
	}
	for i := range l.segments {
		if err := r.run(i, keys); err != nil {
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
			r.leaves[i][j] = leaf{st, g.of[j]}
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

// run runs a segment and hands its results on.
func (r *replay) run(i int, bindings []int64) error {
	g := &r.l.segments[i]
	s := r.l.s
	in := &instance{stream: s, leaves: r.leaves[i], recs: g.recs, types: g.types, sealed: true}
	r.leaves[i] = nil
	if len(g.keys) > 0 && bindings != nil {
		in.recs = append([]rec(nil), g.recs...)
		for _, k := range g.keys {
			a := append(ir.Attrs(nil), in.recs[k.rec].attrs...)
			a[k.attr].Int = bindings[k.binding]
			in.recs[k.rec].attrs = a
		}
	}
	places, err := s.execute(in, g.b, g.keep)
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
