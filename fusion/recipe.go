package fusion

import (
	"github.com/sinter-go/sinter/ir"
)

// replayBytes is how much a replay may store for reads that follow; beyond it,
// only every checkpointEvery-th result is stored.
const (
	replayBytes     = 256 << 20
	checkpointEvery = 8
)

// materialize computes a virtual value by its recipe: the operations of its
// instance that lead to it, from the nearest stored tensors. The second recipe of
// an instance to run stores all it passes, so that reading every result of a
// segment takes two runs of it and not one per result. The lock is held.
//
// The plan learns: next time the result is stored at once.
func (s *Stream) materialize(v *Value) error {
	in := v.inst
	if v.released.Load() || in == nil || in.recs == nil {
		return released()
	}
	in.reads++
	s.learn(in, v.pos)
	if st := in.results[v.pos]; st != nil && (st.base == nil || st.base.acquire()) {
		v.settle(st)
		in.unpin()
		return nil
	}
	part, place := s.cone(in, v.pos)
	keep := make([]bool, len(part.types))
	keep[place[v.pos]] = true
	if in.reads > 1 {
		part.keepAll(keep)
	}
	s.key.fill(part)
	last, begun := s.last, s.begun // a recipe says nothing about what will be recorded
	e := s.lookup(part)
	s.last, s.begun = last, begun
	b, err := s.plan(part, e, nil, keep, CutRead)
	var places []*stored
	if err == nil {
		places, err = s.execute(part, b, keep, make([]*stored, len(part.types)))
		s.c.tell(b, CutRead, true)
	}
	part.drop()
	if err != nil {
		e := ir.AsError(err)
		v.settle(&stored{err: e})
		in.unpin()
		return nil // the error is the value's
	}
	for pos, at := range place {
		st := places[at]
		if st == nil || pos == v.pos {
			continue
		}
		if in.results == nil {
			in.results = map[int32]*stored{}
		}
		in.results[pos] = st
		s.fresh.add(st.base) // the instance may be forgotten with all its values
	}
	st := places[place[v.pos]]
	s.fresh.add(st.base)
	v.settle(st)
	in.unpin()
	return nil
}

// Want has a value stored by the segment that computes it, though it is consumed there:
// somebody will look at it. If that has run without storing it, the next one does.
func (v *Value) Want() {
	s := v.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case v.released.Load() || v.st.Load() != nil || v.inst == nil:
	case v.inst.sealed:
		s.learn(v.inst, v.pos)
	default:
		v.inst.demand(v.pos)
	}
}

// learn marks a result of the plan that ran the instance, to be stored from now on.
func (s *Stream) learn(in *instance, pos int32) {
	e := in.entry
	if e == nil {
		return
	}
	s.c.cache.mu.Lock()
	defer s.c.cache.mu.Unlock()
	if int(pos) < len(e.demand) && !e.demand[pos] {
		e.demand[pos] = true
		e.demands++
	}
}

// cone copies the operations that lead to a result, up to what is stored. It
// returns where each result that it computes is in the copy.
func (s *Stream) cone(in *instance, pos int32) (*instance, map[int32]int32) {
	needed := make([]bool, len(in.recs))
	maker := make([]int32, len(in.types))
	for i := range in.recs {
		for j := 0; j < in.recs[i].op.Row.NumResults(); j++ {
			maker[in.recs[i].out+int32(j)] = int32(i)
		}
	}
	found := map[int32]*stored{} // results to start from, a reference each
	var visit func(pos int32)
	visit = func(pos int32) {
		if found[pos] != nil {
			return
		}
		st := in.results[pos]
		if st == nil {
			st = in.known[pos]
		}
		if st != nil && st.base != nil && st.base.acquire() {
			found[pos] = st
			return
		}
		i := maker[pos]
		if needed[i] {
			return
		}
		needed[i] = true
		for _, ref := range in.recs[i].in {
			if ref >= 0 {
				visit(ref)
			}
		}
	}
	visit(pos)
	part := &instance{stream: s, sealed: true}
	place := map[int32]int32{}
	leafAt := map[int32]int32{}
	for i := range in.recs {
		if !needed[i] {
			continue
		}
		r := in.recs[i]
		refs := make([]int32, len(r.in))
		for k, ref := range r.in {
			if at, ok := place[ref]; ok && ref >= 0 {
				refs[k] = at
				continue
			}
			at, ok := leafAt[ref]
			if !ok {
				at = int32(len(part.leaves))
				leafAt[ref] = at
				if ref >= 0 {
					part.leaves = append(part.leaves, leaf{found[ref], &in.types[ref]})
				} else {
					l := in.leaves[^ref]
					l.st.base.acquire()
					part.leaves = append(part.leaves, l)
				}
			}
			refs[k] = ^at
		}
		first := int32(len(part.types))
		for j := 0; j < r.op.Row.NumResults(); j++ {
			place[r.out+int32(j)] = int32(len(part.types))
			part.types = append(part.types, in.types[r.out+int32(j)])
		}
		r.in, r.out = refs, first
		part.recs = append(part.recs, r)
	}
	part.outs = make([]*Value, len(part.types))
	return part, place
}

// keepAll keeps every result if they fit the budget, else every eighth.
func (in *instance) keepAll(keep []bool) {
	total := int64(0)
	for _, t := range in.types {
		total += t.Bytes()
	}
	for i := range keep {
		keep[i] = keep[i] || total <= replayBytes || i%checkpointEvery == 0
	}
}
