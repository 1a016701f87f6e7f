package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Record appends an operation. The caller made out, one zero Value per result. Their
// types are those given, which the values share, or if there are none those that
// [Stream.Infer] gives; they belong to g, a group of the stream, if that is not nil. site
// is asked for the user's line where it is not known from the last time. On an error
// nothing was recorded. Operands may be released, or recorded elsewhere, at any time.
func (s *Stream) Record(op *Op, attrs ir.Attrs, in []*Value, types []ir.Type, out []*Value, g *Group, site func() ir.Site) error {
	s.mu.Lock()
	if s.follow(op, attrs, in, out, g, site) {
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	for _, v := range in {
		if err := s.reach(v); err != nil {
			return err
		}
		if s.off && v.st.Load().isConstant() {
			return s.recordApart(op, attrs, in, types, out, g, site)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// An operand may have been flushed, and become virtual, since it was reached.
	for _, v := range in {
		if v.stream == s {
			if v.released.Load() {
				return released()
			}
			if v.st.Load() == nil && v.inst.sealed {
				if err := s.materialize(v); err != nil {
					return err
				}
			}
		}
	}
	return s.append(op, attrs, in, types, out, g, site)
}

// append is Record on operands that are pending or stored, with the lock held.
func (s *Stream) append(op *Op, attrs ir.Attrs, in []*Value, types []ir.Type, out []*Value, g *Group, site func() ir.Site) (err error) {
	if g != nil && g.ended {
		return g.closed()
	}
	inst, several := pending(in)
	if types == nil && (several || inst == nil || inst.t == nil) {
		if types, err = s.inferred(op, attrs, in); err != nil {
			return err
		}
	}
	if several {
		inst = s.join(in)
	} else if inst == nil {
		inst = s.begin(firstOp(op, in))
	}
	var some [4]int32
	known := len(inst.leaves)
	refs, ok := s.operands(inst, in, some[:0])
	if !ok {
		s.unread(inst, in, known)
		return released()
	}
	r := inst.expects(op, attrs, in, refs)
	if types == nil && (r == nil || !r.sameAttrs(attrs, false)) {
		if types, err = s.inferred(op, attrs, in); err != nil {
			s.unread(inst, in, known)
			return err
		}
	}
	if r == nil || types != nil && !slices.EqualFunc(types, inst.t.types[r.out:int(r.out)+len(out)], sameType) {
		if inst.t != nil && len(inst.recs) == 0 {
			s.begun-- // something else begins there
		}
		s.stray(inst)
	}
	for _, v := range in {
		if st := v.st.Load(); st.isConstant() {
			s.put(inst, st.constant.op, st.constant.attrs, nil, st.constant.types, true, site)
			inst.outs = append(inst.outs, nil) // nobody sees it but the operation
		}
	}
	first := len(inst.types)
	types = s.put(inst, op, attrs, refs, types, false, site)
	inst.define(out, types, first, g)
	switch {
	case s.off || len(inst.recs) >= s.ops:
		s.run(inst, CutOps)
	case inst.bytes >= s.c.opt.MaxBytes:
		s.run(inst, CutBytes)
	}
	return nil
}

// define makes values the results of an instance from the first on, and those of a group
// if that is not nil.
func (in *instance) define(out []*Value, types []ir.Type, first int, g *Group) {
	for i, v := range out {
		v.typ, v.stream, v.inst, v.pos = &types[i], in.stream, in, int32(first+i)
		in.outs = append(in.outs, v)
		if g != nil {
			g.values = append(g.values, v)
		}
	}
}

// inferred is Infer for values.
func (s *Stream) inferred(op *Op, attrs ir.Attrs, in []*Value) ([]ir.Type, error) {
	var some [4]ir.Type
	types := some[:0]
	for _, v := range in {
		types = append(types, *v.typ)
	}
	return s.Infer(op, attrs, types)
}

// pending returns the open instance of the operands that are pending, nil if none is, and
// whether there are others.
func pending(in []*Value) (inst *instance, several bool) {
	for _, v := range in {
		switch {
		case v.st.Load() != nil:
		case inst == nil:
			inst = v.inst
		case v.inst != inst:
			return inst, true
		}
	}
	return inst, false
}

// join makes the instances of pending operands one.
func (s *Stream) join(in []*Value) *instance {
	var inst *instance
	for _, v := range in {
		if v.st.Load() != nil || v.inst == inst {
			continue
		}
		if inst == nil {
			inst = v.inst
			continue
		}
		a, b := inst, v.inst
		if len(b.recs) > len(a.recs) {
			a, b = b, a
		}
		s.absorb(a, b)
		s.forget(b)
		inst = a
	}
	return inst
}

// operands names operands for an instance, which reads those that are stored from now on.
// It reports false if one was released meanwhile.
func (s *Stream) operands(inst *instance, in []*Value, refs []int32) ([]int32, bool) {
	constants := int32(0)
	for _, v := range in {
		st := v.st.Load()
		switch {
		case st == nil:
			refs = append(refs, v.pos)
		case st.constant != nil: // it is about to be appended
			refs = append(refs, int32(len(inst.types))+constants)
			constants++
		default:
			l, ok := s.leafOf(inst, v, st)
			if !ok {
				return nil, false
			}
			refs = append(refs, ^l)
		}
	}
	return refs, true
}

// unread takes back the leaves of an operation that is not recorded.
func (s *Stream) unread(inst *instance, in []*Value, known int) {
	for _, v := range in {
		if v.stream == s && v.inst == inst && v.st.Load() != nil && int(v.pos) >= known {
			v.inst = nil
		}
	}
	for i := known; i < len(inst.leaves); i++ {
		st := inst.leaves[i].st
		st.unhold()
		if st.wait != nil {
			inst.awaits = inst.awaits[:len(inst.awaits)-1]
		}
		inst.leaves[i] = leaf{}
	}
	inst.leaves = inst.leaves[:known]
	inst.leaf = inst.leaf[:min(known, len(inst.leaf))]
}

// put appends an operation to an instance, along its trace if it has one, and returns the
// types that its results share. A constant among the operands is one without refs.
func (s *Stream) put(inst *instance, op *Op, attrs ir.Attrs, refs []int32, types []ir.Type, constant bool, site func() ir.Site) []ir.Type {
	if inst.t != nil {
		return s.advance(inst, attrs, constant, site)
	}
	at := len(inst.recs)
	inst.recs = append(inst.recs, rec{op: op, attrs: attrs, in: s.refs(refs), out: int32(len(inst.types)), site: s.site(inst, at, op, site)})
	inst.types = append(inst.types, types...)
	for i := range types {
		inst.bytes += types[i].Bytes()
	}
	return types
}

// refs returns operands in memory of their own.
func (s *Stream) refs(refs []int32) []int32 {
	n := len(refs)
	if n == 0 {
		return nil
	}
	if len(s.slab) < n {
		s.slab = make([]int32, max(n, 256))
	}
	r := s.slab[:n:n]
	s.slab = s.slab[n:]
	copy(r, refs)
	return r
}
