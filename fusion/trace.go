package fusion

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// trace is a segment as a stream recorded it, with what was found out about it. While
// the same is recorded again, operation by operation, types, lines and the operations
// themselves are those of the trace, and at the end so is the key. It never changes:
// instances and values share its memory.
type trace struct {
	entry   *entry
	dims    []int64
	recs    []rec
	types   []ir.Type
	bytes   []int64 // of the results of each operation
	leaves  []traceLeaf
	shown   []int32 // per leaf: the first one that shows its base
	starts  []int   // where instances that were joined began, in the order in which they were opened
	stored  []bool  // results that are stored if somebody can look at them
	recipes bool    // a recipe can compute every result
	lined   *Plan   // a plan whose lines are those of the trace, nil if none is known
}

// traceLeaf is what of a leaf decides the plan.
type traceLeaf struct {
	typ    ir.Type
	layout ir.Layout
}

// like reports whether a leaf is here and looks like that of the trace.
func (t *traceLeaf) like(l *leaf) bool {
	return l.st.wait == nil && l.st.err == nil && sameType(t.typ, *l.typ) && sameLayout(t.layout, l.st.layout)
}

// trail is how far an open instance has gone along a trace. It shares the types of the
// trace and, while it is exact, its operations, whose numbers of results and leaves are
// then those of the trace. Nobody appends to either.
type trail struct {
	t     *trace  // nil: it goes along none
	at    int     // the operation of the trace at which it began
	first int32   // the result of the trace that is its first
	leaf  []int32 // the number in the trace of each leaf, each once
	exact bool    // attributes and lines are those of the trace too
}

// begin opens an instance for an operation. The guessed trace tells where it belongs: where
// the next one that was opened began.
func (s *Stream) begin(first *Op) *instance {
	in := s.newInstance()
	s.open = append(s.open, in)
	t, at := s.locate(in.guess, first)
	if at == 0 {
		s.spread(in)
	}
	if t != nil {
		r := &t.recs[at]
		in.trail = trail{t: t, at: at, first: r.out, leaf: in.leaf, exact: true}
		in.recs, in.types = t.recs[at:at], t.types[r.out:r.out]
		if at == 0 {
			in.leaves = slices.Grow(in.leaves, len(t.leaves))
			in.leaf = slices.Grow(in.leaf, len(t.leaves))
			in.outs = slices.Grow(in.outs, len(t.types))
		}
	}
	return in
}

// locate finds the place of an instance in the trace of what is guessed, nil if there is
// none.
func (s *Stream) locate(guess *entry, first *Op) (*trace, int) {
	if guess == nil || s.off {
		return nil, 0
	}
	t := guess.trace.Load()
	if t == nil {
		return nil, 0
	}
	for range 2 { // from the last one on, then from the first
		for s.begun < len(t.starts) {
			at := t.starts[s.begun]
			s.begun++
			if t.recs[at].op == first {
				return t, at
			}
		}
		s.begun = 0
	}
	return nil, 0
}

// firstOp returns the first operation that is appended for one on these operands: the
// constants come first.
func firstOp(op *Op, in []*Value) *Op {
	for _, v := range in {
		if st := v.st.Load(); st.isConstant() {
			return st.constant.op
		}
	}
	return op
}

// expects returns the operation of the trace, if that goes on with the constants among the
// operands and then with this one on refs, but for its values and line; nil if it does not.
func (in *instance) expects(op *Op, attrs ir.Attrs, operands []*Value, refs []int32) *rec {
	if in.t == nil {
		return nil
	}
	t, q := in.t, in.at+len(in.recs)
	for _, v := range operands {
		if st := v.st.Load(); st.isConstant() {
			if q >= len(t.recs) || !t.recs[q].sized(st.constant.op, st.constant.attrs) {
				return nil
			}
			q++
		}
	}
	if q >= len(t.recs) {
		return nil
	}
	r := &t.recs[q]
	if !r.sized(op, attrs) || len(r.in) != len(refs) {
		return nil
	}
	for i, ref := range refs {
		want := r.in[i]
		switch {
		case ref >= 0:
			if ref+in.first != want {
				return nil
			}
		case want >= 0 || !in.expectsLeaf(^ref, ^want):
			return nil
		}
	}
	return r
}

// expectsLeaf reports whether a leaf is that of the trace.
func (in *instance) expectsLeaf(i, want int32) bool {
	if int(i) < len(in.leaf) {
		return in.leaf[i] == want
	}
	if !in.free(want) || !in.t.leaves[want].like(&in.leaves[i]) {
		return false
	}
	in.leaf = append(in.leaf, want)
	return true
}

// free reports whether the next leaf can be that of the trace. What begins with the trace
// has its numbers.
func (in *instance) free(number int32) bool {
	if in.at == 0 {
		return int(number) == len(in.leaf)
	}
	return !slices.Contains(in.leaf, number)
}

// sized reports whether the operation is op, with the same sizes among its attributes.
func (r *rec) sized(op *Op, attrs ir.Attrs) bool {
	if r.op != op {
		return false
	}
	for _, i := range op.sizes {
		if &r.attrs[i] != &attrs[i] && !r.attrs[i].Equal(attrs[i]) {
			return false
		}
	}
	return true
}

// sameAttrs reports whether attributes are those of the operation. Those of a constant
// must be the very same: a capture knows it by them.
func (r *rec) sameAttrs(attrs ir.Attrs, constant bool) bool {
	if len(attrs) == 0 || &r.attrs[0] == &attrs[0] {
		return true
	}
	if constant {
		return false
	}
	for i := range attrs {
		if !attrs[i].Equal(r.attrs[i]) {
			return false
		}
	}
	return true
}

// follow is Record for what nearly every operation is that was recorded before: the next
// one of a trace, on results of its instance and on stored values of the stream. It
// reports whether it was that; if not, nothing has changed.
func (s *Stream) follow(op *Op, attrs ir.Attrs, in, out []*Value, g *Group, site func() ir.Site) bool {
	var inst *instance
	constants := 0
	for _, v := range in {
		if v.released.Load() {
			return false
		}
		switch st := v.st.Load(); {
		case st == nil:
			if v.stream != s || inst != nil && v.inst != inst {
				return false
			}
			inst = v.inst
		case st.constant != nil:
			constants++
		case v.stream != s:
			return false
		}
	}
	if inst == nil || inst.t == nil || inst.sealed || g != nil && g.ended {
		return false
	}
	t, next := inst.t, inst.at+len(inst.recs)
	if next+constants >= len(t.recs) || len(inst.recs)+constants+1 >= s.ops {
		return false
	}
	r := &t.recs[next+constants]
	if r.op != op || len(r.in) != len(in) || len(attrs) > 0 && &r.attrs[0] != &attrs[0] || inst.bytes+t.bytes[next+constants] >= s.c.opt.MaxBytes {
		return false
	}
	fresh := -1 // the operand that the instance does not read yet
	for i, v := range in {
		want := r.in[i]
		switch st := v.st.Load(); {
		case st == nil:
			if v.pos+inst.first != want {
				return false
			}
		case st.constant != nil:
			k := &t.recs[next]
			if k.out != want || !k.sized(st.constant.op, st.constant.attrs) {
				return false
			}
			next++
		case want >= 0:
			return false
		case v.inst == inst:
			if inst.leaf[v.pos] != ^want {
				return false
			}
		case fresh >= 0 || !inst.free(^want):
			return false
		default:
			fresh = i
		}
	}
	if fresh >= 0 {
		v, number := in[fresh], ^r.in[fresh]
		l := leaf{v.st.Load(), v.typ}
		if !t.leaves[number].like(&l) || !l.st.hold() {
			return false
		}
		v.inst, v.pos = inst, int32(len(inst.leaves))
		inst.leaves, inst.leaf = append(inst.leaves, l), append(inst.leaf, number)
	}
	for _, v := range in {
		if constants == 0 {
			break
		}
		if st := v.st.Load(); st.isConstant() {
			s.advance(inst, st.constant.attrs, true, site)
			inst.outs = append(inst.outs, nil) // nobody sees it but the operation
		}
	}
	first := len(inst.types)
	inst.define(out, s.advance(inst, attrs, false, site), first, g)
	return true
}

// advance appends the next operation of its trace to an instance, and returns the types of
// the results.
func (s *Stream) advance(in *instance, attrs ir.Attrs, constant bool, ask func() ir.Site) []ir.Type {
	t, n, first := in.t, len(in.recs), len(in.types)
	r := &t.recs[in.at+n]
	line := &r.site
	if s.sites++; s.sites%siteChecks == 0 || r.op.faults { // see [Stream.site]
		asked := ask()
		line = &asked
	}
	if in.exact && (line != &r.site && *line != r.site || !r.sameAttrs(attrs, constant)) {
		s.own(in)
	}
	in.bytes += t.bytes[in.at+n]
	in.types = in.types[:first+r.op.results]
	if in.exact {
		in.recs = in.recs[:n+1] // no word of a pointer is written
	} else {
		in.recs = append(in.recs, rec{op: r.op, attrs: attrs, in: s.numbers(in, r.in), out: int32(first), site: *line})
	}
	return in.types[first:]
}

// own gives an instance operations of its own, with its own numbers.
func (s *Stream) own(in *instance) {
	if !in.exact {
		return
	}
	recs := slices.Grow(in.room.recs, len(in.t.recs)-in.at)
	for _, r := range in.recs {
		r.in, r.out = s.numbers(in, r.in), r.out-in.first
		recs = append(recs, r)
	}
	in.recs, in.exact = recs, false
}

// numbers returns operands of the trace in the numbers of an instance that goes along it.
func (s *Stream) numbers(in *instance, refs []int32) []int32 {
	if in.at == 0 {
		return refs
	}
	refs = s.refs(refs)
	for i, ref := range refs {
		if ref >= 0 {
			refs[i] = ref - in.first
		} else {
			refs[i] = ^int32(slices.Index(in.leaf, ^ref))
		}
	}
	return refs
}

// stray takes an instance off its trace.
func (s *Stream) stray(in *instance) {
	if in.t == nil {
		return
	}
	s.own(in)
	in.types = append(slices.Grow(in.room.types, len(in.types)), in.types...)
	if in.at > 0 {
		in.apart, in.strayed = true, true
		s.joined = in.at + len(in.recs)
	}
	in.t = nil
}

// joins says that an instance takes another in, whose leaves have the numbers given, and
// reports whether both together are still on the trace.
func (in *instance) joins(o *instance, leaves []int32) bool {
	if in.t == nil || in.t != o.t || o.at != in.at+len(in.recs) || len(o.leaf) != len(leaves) {
		return false
	}
	for i, l := range leaves {
		want := o.leaf[i]
		if int(l) == len(in.leaf) && in.free(want) {
			in.leaf = append(in.leaf, want)
		} else if int(l) >= len(in.leaf) || in.leaf[l] != want {
			return false
		}
	}
	return true
}

// along returns the trace that an instance is a repetition of, nil if there is none. The
// key buffer tells from then on which leaves share their bases.
func (s *Stream) along(in *instance) *trace {
	t := in.t
	if t == nil || in.at != 0 || len(in.recs) != len(t.recs) || len(in.leaves) != len(t.leaves) {
		return nil
	}
	if s.key.share(in); !slices.Equal(s.key.shown, t.shown) {
		return nil
	}
	return t
}

// repeat is [Stream.entry] for a repetition. It returns nil if the cache has dropped
// the entry.
func (s *Stream) repeat(t *trace) *entry {
	c := &s.c.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	e := t.entry
	if e.used == 0 {
		return nil
	}
	c.clock++
	c.stats.Repeats++
	e.used, e.strayed = c.clock, 0
	s.key.dims = append(s.key.dims[:0], t.dims...)
	s.ran(e)
	return e
}

// retrace makes a trace of an instance that has just run the plan that its entry ran the
// last time too. Where traces are made in vain, they are made less and less often.
func (s *Stream) retrace(in *instance, e *entry, b *bound) {
	if s.off || s.c.opt.Oracle {
		return
	}
	c := &s.c.cache
	c.mu.Lock()
	again := e.runs == b
	if e.runs = b; again {
		e.strayed++
	}
	again = again && e.used > 0 && e.strayed&(e.strayed-1) == 0
	c.mu.Unlock()
	if !again {
		return
	}
	t := &trace{entry: e, dims: b.dims, recs: slices.Clone(in.recs), types: slices.Clone(in.types),
		bytes: make([]int64, len(in.recs)), leaves: make([]traceLeaf, len(in.leaves)), shown: slices.Clone(s.key.shown),
		stored: s.wanted(in), recipes: true}
	if in.lined(b.plan) {
		t.lined = b.plan
	}
	for i := range in.recs {
		r := &in.recs[i]
		t.recipes = t.recipes && r.op.recipe
		for j := range r.op.Row.NumResults() {
			t.bytes[i] += in.types[int(r.out)+j].Bytes()
		}
	}
	for i := range in.leaves {
		t.leaves[i] = traceLeaf{*in.leaves[i].typ, in.leaves[i].st.layout}
	}
	parts := append([]part{{in.opened, 0}}, in.parts...)
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.opened, b.opened) })
	for _, p := range parts {
		t.starts = append(t.starts, p.at)
	}
	e.trace.Store(t)
}

// lined reports whether all lines are those of a plan.
func (in *instance) lined(p *Plan) bool {
	if in.exact && in.t.lined == p {
		return true
	}
	for i := range in.recs {
		if in.recs[i].site != p.Segment.Nodes[i].Site {
			return false
		}
	}
	return true
}
