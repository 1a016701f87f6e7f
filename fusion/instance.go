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

	slab []int32 // room for operands

	guess   *entry // what is expected to be recorded
	strayed bool   // and was not
	apart   bool   // it began apart from what is guessed, with operations of that

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
	typ ir.Type
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
	if v.stream == s && v.leafOf == in {
		return v.leaf, true
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
	in.leaves = append(in.leaves, leaf{st, *v.typ})
	if st.wait != nil {
		in.awaits = append(in.awaits, st.wait)
	}
	if v.stream == s {
		v.leafOf, v.leaf = in, i
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
		return ir.Tensor{ID: ir.ID(^ref) + 1, Type: in.leaves[^ref].typ}
	}
	return ir.Tensor{ID: ir.ID(len(in.leaves)) + ir.ID(ref) + 1, Type: in.types[ref]}
}

// absorb appends another open instance of the stream, which becomes empty.
func (in *instance) absorb(o *instance) {
	leaves, results := make([]int32, len(o.leaves)), int32(len(in.types))
	for i, l := range o.leaves {
		leaves[i] = -1
		for j := range in.leaves {
			if in.leaves[j].st == l.st {
				leaves[i] = int32(j)
				l.st.unhold()
				break // there may be more, of values recorded before a merger
			}
		}
		if leaves[i] < 0 {
			leaves[i] = int32(len(in.leaves))
			in.leaves = append(in.leaves, l)
		}
	}
	for _, r := range o.recs {
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
	for _, v := range o.outs {
		if v != nil {
			v.inst, v.pos = in, v.pos+results
		}
	}
	in.types = append(in.types, o.types...)
	in.outs = append(in.outs, o.outs...)
	for _, pos := range o.asked {
		in.asked = append(in.asked, pos+results)
	}
	in.awaits = append(in.awaits, o.awaits...)
	in.bytes += o.bytes
	*o = instance{stream: o.stream, sealed: true}
}

// unpin says that one virtual result needs its recipe no longer.
func (in *instance) unpin() {
	if in.virtual--; in.virtual == 0 {
		in.drop()
	}
}

// drop gives the leaves and cached results back.
func (in *instance) drop() {
	for i := range in.leaves {
		in.leaves[i].st.unhold()
	}
	for _, st := range in.results {
		if st.base != nil {
			st.base.release()
		}
	}
	in.leaves, in.recs, in.results, in.known = nil, nil, nil, nil
}

// demand marks a result that is wanted as soon as the instance has run.
func (in *instance) demand(pos int32) { in.asked = append(in.asked, pos) }

// spare is the room of an instance that is gone.
type spare struct {
	recs  []rec
	types []ir.Type
	outs  []*Value
}

// newInstance opens an instance and guesses what will be recorded: what followed
// the last one.
func (s *Stream) newInstance() *instance {
	in := &instance{stream: s}
	if s.last != nil {
		in.guess = s.last.next.Load()
	}
	if cap(s.spare.recs) > 0 {
		in.recs, in.types, in.outs = s.spare.recs, s.spare.types, s.spare.outs
		s.spare = spare{}
	} else if in.guess != nil && len(s.open) == 0 { // of several, none is all that is guessed
		in.recs = make([]rec, 0, len(in.guess.ops))
		in.types = make([]ir.Type, 0, len(in.guess.demand))
		in.outs = make([]*Value, 0, len(in.guess.demand))
	}
	return in
}

// refs returns room for the operands of one operation.
func (in *instance) refs(n int) []int32 {
	if len(in.slab) < n {
		in.slab = make([]int32, max(n, 256))
	}
	r := in.slab[:n:n]
	in.slab = in.slab[n:]
	return r
}

// siteChecks is how often a line that was recorded before is looked up again.
const siteChecks = 512

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
