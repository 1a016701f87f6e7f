package fusion

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// run ends an open instance and runs it: its plan is found or searched, and its
// launches are put on the device's queue. The stream's lock is held.
//
// What is kept: results that nobody has released, unless they were consumed
// inside the instance, are large, and can be computed again: those become virtual.
func (s *Stream) run(in *instance, cut Cut) {
	if len(in.awaits) > 0 && !s.arrived(in, cut) {
		return
	}
	s.forget(in)
	if in.at > 0 {
		s.stray(in) // a part of a trace
	}
	in.sealed = true
	if len(in.recs) == 0 {
		in.drop()
		return
	}
	s.cuts[cut]++
	s.watch()
	if failed := in.failures(); failed != nil {
		if in = s.prune(in, failed); len(in.recs) == 0 {
			in.drop()
			return
		}
	}
	if err := s.ctx.Err(); err != nil {
		s.fail(in, &ir.Error{Kind: ir.ErrCancelled, Msg: "the stream's context ended before the work was submitted", Cause: err})
		return
	}
	if s.c.compiler == nil {
		s.runNodes(in, s.kept(in, nil, nil))
		return
	}
	t, e := s.entry(in)
	keep := s.kept(in, e, t)
	for i, v := range in.outs {
		if !keep[i] && !v.dead() {
			in.virtual++
		}
	}
	var dies []bool
	if in.virtual == 0 && !s.c.opt.Oracle {
		dies = in.dying(&s.key)
	}
	b, err := s.plan(in, e, dies, keep, cut)
	if err != nil {
		in.virtual = 0
		s.fail(in, ir.AsError(err))
		return
	}
	in.entry = e
	room := s.placesOf(in)
	defer clear(s.places) // it would keep what is forgotten
	places, err := s.execute(in, b, keep, room)
	if err != nil {
		in.virtual = 0
		s.fail(in, ir.AsError(err))
		return
	}
	if s.c.opt.Oracle {
		if err := s.check(in, b, places); err != nil {
			s.c.note(err)
		}
	}
	s.c.noteCapture(s, in, b, keep, places, cut)
	if t == nil {
		s.retrace(in, e, b)
	}
	s.publish(in, places)
	s.c.tell(b, cut, false)
}

// wanted tells which results are stored if somebody may look at them: those that nobody
// consumed, and small ones.
func (s *Stream) wanted(in *instance) []bool {
	consumed := make([]bool, len(in.types))
	for i := range in.recs {
		for _, ref := range in.recs[i].in {
			if ref >= 0 {
				consumed[ref] = true
			}
		}
	}
	wanted := consumed
	for i, c := range consumed {
		wanted[i] = !c || s.c.compiler == nil || in.types[i].Bytes() <= s.c.opt.Small
	}
	return wanted
}

// kept decides which results are stored: those that are wanted, those that a read waits
// for, and those that someone asked for after an earlier run of the same path. It knows
// the trace that the instance repeats, or none.
func (s *Stream) kept(in *instance, e *entry, t *trace) []bool {
	keep := make([]bool, len(in.types))
	wanted, recipes := []bool(nil), s.c.compiler == nil
	if t != nil {
		wanted, recipes = t.stored, t.recipes
	} else {
		wanted = s.wanted(in)
	}
	for i, v := range in.outs {
		keep[i] = wanted[i] && !v.dead()
	}
	for _, pos := range in.asked {
		keep[pos] = !in.outs[pos].dead()
	}
	if e != nil {
		s.c.cache.mu.Lock() // another stream may learn of the same path
		for i := 0; e.demands > 0 && i < len(keep); i++ {
			keep[i] = keep[i] || e.demand[i] && !in.outs[i].dead()
		}
		s.c.cache.mu.Unlock()
	}
	if !recipes {
		in.keepUnrecipable(keep)
	}
	return keep
}

// keepUnrecipable keeps results that a recipe could not compute: those that hang
// on a routine or a collective.
func (in *instance) keepUnrecipable(keep []bool) {
	var bad []bool
	for i := range in.recs {
		r := &in.recs[i]
		ok := r.op.recipe
		for _, ref := range r.in {
			ok = ok && (ref < 0 || bad == nil || !bad[ref] || keep[ref])
		}
		if ok {
			continue
		}
		if bad == nil {
			bad = make([]bool, len(in.types))
		}
		for j := 0; j < r.op.Row.NumResults(); j++ {
			pos := r.out + int32(j)
			bad[pos] = true
			keep[pos] = keep[pos] || !in.outs[pos].dead()
		}
	}
}

// dying tells the leaves whose base goes with the instance: nobody else holds it. The key
// knows which leaves share theirs.
func (in *instance) dying(k *keyBuffer) []bool {
	var dies []bool
	for i := range in.leaves {
		if in.leaves[i].st.base.refs.Load() == k.holds(i) {
			if dies == nil {
				dies = make([]bool, len(in.leaves))
			}
			dies[i] = true
		}
	}
	return dies
}

// placesOf returns room for the places of an instance's results: that of the stream, but
// for a capture, which notes them.
func (s *Stream) placesOf(in *instance) []*stored {
	n := len(in.types)
	if s.c.capture.Load() != nil {
		return make([]*stored, n)
	}
	s.places = slices.Grow(s.places[:0], n)[:n]
	return s.places
}

// publish gives results their places, and the leaves back unless recipes need them.
func (s *Stream) publish(in *instance, places []*stored) {
	for i, v := range in.outs {
		st := places[i]
		if st == nil {
			continue
		}
		if in.virtual > 0 {
			if in.known == nil {
				in.known = map[int32]*stored{}
			}
			in.known[int32(i)] = st
		}
		v.settle(st)
		if !v.dead() && st.base != nil {
			s.fresh.add(st.base)
		}
	}
	outs := in.outs
	in.outs = nil
	if in.virtual > 0 {
		s.recycle(in, outs)
		return
	}
	in.unhold()
	s.recycle(in, outs)
	in.leaves, in.recs, in.types, in.known = nil, nil, nil, nil
}

// watch hands what the last flush stored, and nobody has released since, to the
// collector.
func (s *Stream) watch() {
	s.fresh.watch()
	s.relieve()
}

// fail makes every result an error: the work never reached the device.
func (s *Stream) fail(in *instance, err *ir.Error) {
	for i := range in.recs {
		r := &in.recs[i]
		e := *err
		n := in.recs[i].node(in.tensor)
		e.Op, e.Operands, e.Site, e.Device = n.Row.Name, n.InTypes(), n.Site, s.c.info.ID
		for j := 0; j < r.op.Row.NumResults(); j++ {
			if v := in.outs[r.out+int32(j)]; v != nil {
				v.settle(&stored{err: &e})
			}
		}
	}
	in.outs = nil
	in.drop()
}

// runNodes submits an instance as it is, to a device that takes no kernels.
func (s *Stream) runNodes(in *instance, keep []bool) {
	bases := make([]*base, len(in.types))
	var frees []ir.ID
	for i := range bases {
		bases[i] = s.c.newBase(in.types[i])
		if !keep[i] {
			frees = append(frees, bases[i].id)
		}
	}
	nodes := make([]ir.Node, len(in.recs))
	for i := range nodes {
		nodes[i] = in.recs[i].node(func(ref int32) ir.Tensor {
			if ref < 0 {
				return ir.Tensor{ID: in.leaves[^ref].st.base.id, Type: *in.leaves[^ref].typ}
			}
			return ir.Tensor{ID: bases[ref].id, Type: in.types[ref]}
		})
	}
	if err := s.c.inner.Submit(s.ctx, nodes); err != nil {
		s.fail(in, ir.AsError(err))
		return
	}
	places := make([]*stored, len(in.types))
	for i, b := range bases {
		if keep[i] {
			places[i] = &stored{base: b}
		} else {
			b.gone()
		}
	}
	s.c.inner.Free(frees...)
	s.publish(in, places)
}

// prune settles the results that carry an error and returns the rest.
func (s *Stream) prune(in *instance, failed []*ir.Error) *instance {
	out := &instance{stream: s, leaves: in.leaves, sealed: true}
	at := make([]int32, len(in.types))
	for i := range in.recs {
		r := in.recs[i]
		n := int32(r.op.Row.NumResults())
		if failed[r.out] != nil {
			for j := r.out; j < r.out+n; j++ {
				if v := in.outs[j]; v != nil {
					v.settle(&stored{err: failed[j]})
				}
			}
			continue
		}
		refs := make([]int32, len(r.in))
		for k, ref := range r.in {
			if refs[k] = ref; ref >= 0 {
				refs[k] = at[ref]
			}
		}
		first := int32(len(out.types))
		for j := r.out; j < r.out+n; j++ {
			at[j] = int32(len(out.types))
			v := in.outs[j]
			if v != nil {
				v.inst, v.pos = out, at[j]
			}
			out.types = append(out.types, in.types[j])
			out.outs = append(out.outs, v)
		}
		r.in, r.out = refs, first
		out.recs = append(out.recs, r)
	}
	for _, pos := range in.asked {
		if failed[pos] == nil {
			out.asked = append(out.asked, at[pos])
		}
	}
	// A leaf that failed has no base; nothing left reads it, but the planner
	// looks at all leaves.
	out.dropFailedLeaves()
	in.leaves, in.recs, in.outs, in.room = nil, nil, nil, nil
	return out
}

// dropFailedLeaves renumbers the leaves that are left.
func (in *instance) dropFailedLeaves() {
	at := make([]int32, len(in.leaves))
	var leaves []leaf
	for i, l := range in.leaves {
		if l.st.err == nil {
			at[i] = int32(len(leaves))
			leaves = append(leaves, l)
		}
	}
	in.leaves = leaves
	for i := range in.recs {
		for k, ref := range in.recs[i].in {
			if ref < 0 {
				in.recs[i].in[k] = ^at[^ref]
			}
		}
	}
}

// failures returns the results that carry the error of an operand known to have
// failed, nil if there are none.
func (in *instance) failures() []*ir.Error {
	var out []*ir.Error
	for i := range in.leaves {
		if in.leaves[i].st.err != nil {
			out = make([]*ir.Error, len(in.types))
			break
		}
	}
	if out == nil {
		return nil
	}
	for i := range in.recs {
		r := &in.recs[i]
		for _, ref := range r.in {
			var err *ir.Error
			if ref < 0 {
				err = in.leaves[^ref].st.err
			} else {
				err = out[ref]
			}
			if err != nil {
				for j := 0; j < r.op.Row.NumResults(); j++ {
					out[r.out+int32(j)] = err
				}
				break
			}
		}
	}
	return out
}

// entry finds what is known of an instance, by the trace that it repeats, which it
// returns, or by its path. The key buffer has the dims then.
func (s *Stream) entry(in *instance) (*trace, *entry) {
	if t := s.along(in); t != nil {
		if e := s.repeat(t); e != nil {
			return t, e
		}
	}
	s.key.fill(in)
	return nil, s.lookup(in)
}

// lookup finds what is known of the path in the stream's key buffer.
func (s *Stream) lookup(in *instance) *entry {
	c := &s.c.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.lookup(in, s.key.path, in.guess)
	s.ran(e)
	return e
}

// ran notes what the stream runs, which is what comes after what it ran before. The
// cache's lock is held.
func (s *Stream) ran(e *entry) {
	if s.last != nil && s.last.next.Load() != e {
		s.last.next.Store(e)
	}
	s.last, s.begun = e, 0
}

// plan finds or searches the plan of an instance, whose key is in the stream's
// buffer.
func (s *Stream) plan(in *instance, e *entry, dies, keep []bool, cut Cut) (*bound, error) {
	c := &s.c.cache
	c.mu.Lock()
	v := e.variant(keep, dies)
	var miss Miss
	switch {
	case v == nil && len(e.variants) == 0:
		miss = MissPath
	case v == nil:
		miss = MissResults
	default:
		for _, b := range v.bound {
			if slices.Equal(b.dims, s.key.dims) {
				v.promote(b)
				c.stats.Hits++
				b.found, b.miss = FoundHit, ""
				c.mu.Unlock()
				return b, nil
			}
		}
	}
	var old *Plan
	if v != nil && len(v.bound) > 0 {
		old = v.bound[0].plan
	}
	c.mu.Unlock()

	seg := in.segment(dies, keep, cut)
	s.c.planning.Lock()
	p, rebound, err := s.c.search(seg, old)
	s.c.planning.Unlock()
	if err != nil {
		return nil, err
	}
	b := bind(p, s.key.dims)
	c.mu.Lock()
	defer c.mu.Unlock()
	if rebound {
		c.stats.Rebound++
		b.found = FoundRebound
	} else {
		c.stats.Searches++
		if miss == "" {
			miss = MissGuard
		}
		if c.stats.Misses == nil {
			c.stats.Misses = map[Miss]int64{}
		}
		c.stats.Misses[miss]++
		b.found, b.miss = FoundSearch, miss
	}
	if v = e.variant(keep, dies); v == nil {
		v = &variant{keep: append([]bool(nil), keep...), dies: append([]bool(nil), dies...)}
		if len(e.variants) >= maxVariants {
			e.variants = e.variants[1:]
		}
		e.variants = append(e.variants, v)
	}
	v.promote(b)
	return b, nil
}

// try makes a plan; a panic of the planner is an error.
func try(plan func() (*Plan, error)) (p *Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &ir.Error{Kind: ir.ErrInternal, Msg: fmt.Sprintf("the planner failed: %v", r), Detail: string(debug.Stack())}
		}
	}()
	return plan()
}

// search makes a plan: the old one for other sizes if it holds for them, a new
// one, or at worst one of single nodes.
func (c *Client) search(seg *Segment, old *Plan) (_ *Plan, rebound bool, err error) {
	if c.opt.Bisect != nil {
		if p, err := try(func() (*Plan, error) { return c.opt.Bisect.plan(c.planner, seg) }); err == nil {
			return p, false, nil
		}
	}
	if old != nil {
		if p, err := try(func() (*Plan, error) { return c.planner.Rebind(old, seg) }); err == nil {
			return p, true, nil
		}
	}
	p, err := try(func() (*Plan, error) { return c.planner.Plan(seg) })
	if err != nil {
		c.note(err)
		single := *c.planner
		single.Options.Unfused = true
		p, err = try(func() (*Plan, error) { return single.Plan(seg) })
	}
	return p, false, err
}

// heldBudgets is how many budgets of operations are held back for a tensor on its
// way before recording waits for it.
const heldBudgets = 8

// arrived reports whether the leaves of an instance are here. If they are not, a
// flush leaves it open, and so does a budget that it has not exceeded many times:
// the arrival runs it. Others wait.
func (s *Stream) arrived(in *instance, cut Cut) bool {
	waits := true
	switch cut {
	case CutFlush, CutScope:
		waits = false
	case CutOps, CutBytes:
		waits = s.off || len(in.recs) >= heldBudgets*s.ops
	}
	missing := in.awaits[:0]
	for _, a := range in.awaits {
		if !a.isDone() && waits {
			if err := a.wait(s.ctx); err != nil {
				a.end(&stored{err: err})
			}
		}
		if !a.isDone() {
			missing = append(missing, a)
		}
	}
	in.awaits = missing
	for i := range in.leaves {
		l := &in.leaves[i]
		if l.st.wait != nil && l.st.wait.isDone() {
			l.st = l.st.wait.place() // its reference was counted
		}
	}
	if len(missing) > 0 && !slices.Contains(s.open, in) {
		s.open = append(s.open, in)
	}
	return len(missing) == 0
}
