package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// instance is one recorded segment: what was applied to which stored tensors.
// While it is open, operations are appended; sealed by a flush, it stays as the
// recipe of its virtual results. All fields are guarded by the stream's lock.
type instance struct {
	stream *Stream
	leaves []leaf
	recs   []rec
	types  []ir.Type // of the results
	outs   []*Value  // of the results, until the flush
	bytes  int64     // of the results
	awaits []*arrival
	asked  []int32 // results that a read waits for
	sealed bool

	opened uint64 // its number among those of the stream
	parts  []part // that were joined to it
	room   *room  // what it began with

	guess   *entry // what is expected to be recorded
	strayed bool   // and was not
	apart   bool   // it began apart from what is guessed, with operations of that
	trail          // which says so as long as all is as it was in a trace

	// Of a sealed instance with virtual results:
	virtual int               // results that may still ask for their recipe
	reads   int               // recipes that ran
	results map[int32]*stored // what recipes stored, one reference each
	known   map[int32]*stored // results stored by the flush: no references
	entry   *entry            // of the plan that ran it, to learn from later reads
}

// leaf is a stored tensor that an instance reads.
type leaf struct {
	st  *stored // a reference to st.base is held, or to what arrives
	typ *ir.Type
}

// rec is one recorded operation. Operands are results (0 and up) or leaves (^i).
type rec struct {
	op    *Op
	attrs ir.Attrs
	site  ir.Site
	in    []int32
	out   int32 // its first result
}

// leafOf returns the number of a stored operand among the leaves.
func (s *Stream) leafOf(in *instance, v *Value, st *stored) (int32, bool) {
	if v.stream == s && v.inst == in {
		return v.pos, true
	}
	if v.stream != s {
		for i := range in.leaves {
			if in.leaves[i].st == st {
				return int32(i), true
			}
		}
	}
	if !st.hold() {
		return 0, false
	}
	if v.released.Load() { // meanwhile, elsewhere: nobody counts on the base any more
		st.unhold()
		return 0, false
	}
	i := int32(len(in.leaves))
	in.leaves = append(in.leaves, leaf{st, v.typ})
	if st.wait != nil {
		in.awaits = append(in.awaits, st.wait)
	}
	if v.stream == s {
		v.inst, v.pos = in, i
	}
	return i, true
}

// node makes a node of the operation, given the tensors of leaves and results.
func (r *rec) node(tensor func(ref int32) ir.Tensor) ir.Node {
	n := ir.Node{Row: r.op.Row, Attrs: r.attrs, Site: r.site, In: make([]ir.Tensor, len(r.in)), Out: make([]ir.Tensor, r.op.Row.NumResults())}
	for j, ref := range r.in {
		n.In[j] = tensor(ref)
	}
	for j := range n.Out {
		n.Out[j] = tensor(r.out + int32(j))
	}
	return n
}

// tensor names a leaf or result as the planner does: leaves first.
func (in *instance) tensor(ref int32) ir.Tensor {
	if ref < 0 {
		return ir.Tensor{ID: ir.ID(^ref) + 1, Type: *in.leaves[^ref].typ}
	}
	return ir.Tensor{ID: ir.ID(len(in.leaves)) + ir.ID(ref) + 1, Type: in.types[ref]}
}

// part is where in an instance one began that was joined to it.
type part struct {
	opened uint64
	at     int
}

// leafAt returns which leaf is leaf k of another instance, -1 if none is. There may be
// more, of values recorded before a merger.
func (in *instance) leafAt(o *instance, k int) int {
	st := o.leaves[k].st
	if in.t != nil && in.t == o.t && in.at == 0 { // the trace tells
		if i := int(o.leaf[k]); i >= len(in.leaves) {
			return -1
		} else if in.leaves[i].st == st {
			return i
		}
	}
	return slices.IndexFunc(in.leaves, func(x leaf) bool { return x.st == st })
}

// absorb appends another open instance of the stream, which becomes empty.
func (s *Stream) absorb(in, o *instance) {
	at, results := len(in.recs), int32(len(in.types))
	var few [16]int32
	leaves := few[:0]
	for k, l := range o.leaves {
		i := in.leafAt(o, k)
		if i >= 0 {
			l.st.unhold()
		} else {
			i = len(in.leaves)
			in.leaves = append(in.leaves, l)
		}
		leaves = append(leaves, int32(i))
	}
	goes := in.joins(o, leaves)
	if goes && in.exact && o.exact {
		in.recs = in.recs[:at+len(o.recs)]
	} else {
		if s.own(o); goes {
			s.own(in)
		} else {
			s.stray(in)
		}
		for _, r := range o.recs {
			r.in = s.refs(r.in)
			for j, ref := range r.in {
				if ref < 0 {
					r.in[j] = ^leaves[^ref]
				} else {
					r.in[j] = ref + results
				}
			}
			r.out += results
			in.recs = append(in.recs, r)
		}
	}
	if goes {
		in.types = in.types[:len(in.types)+len(o.types)]
	} else {
		in.types = append(in.types, o.types...)
	}
	for _, v := range o.outs {
		if v != nil {
			v.inst, v.pos = in, v.pos+results
		}
	}
	in.outs = append(in.outs, o.outs...)
	for _, pos := range o.asked {
		in.asked = append(in.asked, pos+results)
	}
	in.awaits = append(in.awaits, o.awaits...)
	in.bytes += o.bytes
	if at == 0 {
		in.opened = o.opened
		in.parts = append(in.parts, o.parts...)
	} else {
		in.parts = append(in.parts, part{o.opened, at})
		for _, p := range o.parts {
			in.parts = append(in.parts, part{p.opened, at + p.at})
		}
	}
	s.recycle(o, o.outs)
	*o = instance{stream: o.stream, sealed: true}
}

// unpin says that one virtual result needs its recipe no longer.
func (in *instance) unpin() {
	if in.virtual--; in.virtual == 0 {
		in.drop()
	}
}

// drop gives the leaves and cached results back, and forgets what was recorded.
func (in *instance) drop() {
	in.unhold()
	in.leaves, in.recs, in.results, in.known = nil, nil, nil, nil
	in.room = nil // what failed did not clear it, and an error may be kept
}

// unhold gives the leaves and cached results back.
func (in *instance) unhold() {
	for i := range in.leaves {
		in.leaves[i].st.unhold()
	}
	for _, st := range in.results {
		if st.base != nil {
			st.base.release()
		}
	}
}

// demand marks a result that is wanted as soon as the instance has run.
func (in *instance) demand(pos int32) { in.asked = append(in.asked, pos) }

// room is the memory of an instance that is gone, for another one. Nothing refers to it.
type room struct {
	recs    []rec
	types   []ir.Type
	outs    []*Value
	leaves  []leaf
	numbers []int32
	parts   []part
}

// A stream keeps maxRooms small rooms, for instances that are joined to others, and a
// large one, for what they are joined to.
const (
	maxRooms  = 64
	smallRoom = 32 // results
)

// newInstance opens an instance and guesses what will be recorded: what followed
// the last one.
func (s *Stream) newInstance() *instance {
	s.count++
	in := &instance{stream: s, opened: s.count}
	if s.last != nil {
		in.guess = s.last.next.Load()
	}
	if n := len(s.rooms); n > 0 {
		in.occupy(s.rooms[n-1])
		s.rooms[n-1] = nil
		s.rooms = s.rooms[:n-1]
	} else {
		in.room = new(room)
	}
	return in
}

// occupy gives an empty instance room.
func (in *instance) occupy(r *room) {
	in.room = r
	in.recs, in.types, in.outs, in.leaves, in.leaf, in.parts = r.recs, r.types, r.outs, r.leaves, r.numbers, r.parts
}

// spread gives an empty instance the large room.
func (s *Stream) spread(in *instance) {
	if s.large == nil || cap(s.large.outs) <= cap(in.outs) {
		return
	}
	small := in.room
	in.occupy(s.large)
	s.large = nil
	s.keepRoom(small)
}

func (s *Stream) keepRoom(r *room) {
	if large := s.large; cap(r.outs) > smallRoom && (large == nil || cap(r.outs) > cap(large.outs)) {
		r, s.large = large, r
	}
	if r != nil && cap(r.outs) > 0 && cap(r.outs) <= smallRoom && len(s.rooms) < maxRooms {
		s.rooms = append(s.rooms, r)
	}
}

// recycle keeps the memory of an instance that is gone: that of its results, and what else
// nothing refers to any more.
func (s *Stream) recycle(in *instance, outs []*Value) {
	r := in.room
	if r == nil {
		return
	}
	in.room = nil
	noted := s.c.capture.Load() != nil || s.c.opt.Oracle
	kept := noted || in.virtual > 0
	switch {
	case in.exact: // they are the trace's
	case kept:
		r.recs = nil
	default:
		r.recs = in.recs
	}
	switch {
	case in.t != nil:
	case kept:
		r.types = nil
	default:
		r.types = in.types
	}
	if r.leaves = in.leaves; kept {
		r.leaves = nil
	}
	clear(r.recs)
	clear(r.types)
	clear(r.leaves)
	clear(outs)
	*r = room{r.recs[:0], r.types[:0], outs[:0], r.leaves[:0], in.leaf[:0], in.parts[:0]}
	s.keepRoom(r)
}

// siteChecks is how often a line that was recorded before is looked up again: a prime, so
// that in steps of any length each operation has its turn.
const siteChecks = 2053

// site returns the user's line of an operation: the one of the last time, if all
// that was recorded so far is what was recorded then. The same operations may have
// been recorded from another line, so those that may fail depending on data are
// always asked for theirs.
func (s *Stream) site(in *instance, at int, op *Op, ask func() ir.Site) ir.Site {
	if g := in.guess; g != nil && !in.strayed && at < len(g.ops) && g.ops[at] == op {
		if s.sites++; s.sites%siteChecks != 0 && !op.faults {
			return g.sites[at]
		}
	} else {
		if (at == 0 || in.apart) && !op.faults { // of a constant, say, that joins what is guessed where it is used
			i := s.joining(g, op)
			if in.apart = i >= 0; i >= 0 {
				if s.sites++; s.sites%siteChecks != 0 {
					return g.sites[i]
				}
			}
		}
		in.strayed = true
	}
	return ask()
}

// joining returns where an operation that begins an instance of its own stood among
// those guessed, -1 if nowhere: operations of one kind join in the order in which they
// are recorded.
func (s *Stream) joining(g *entry, op *Op) int {
	if g == nil {
		return -1
	}
	for range 2 { // from the last one on, then from the first
		if s.joined > len(g.ops) {
			s.joined = 0
		}
		if i := slices.Index(g.ops[s.joined:], op); i >= 0 {
			s.joined += i + 1
			return s.joined - 1
		}
		s.joined = 0
	}
	return -1
}
