package fusion

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Stream is an ordered record of operations. Work is run on a read, a sync, a
// flush, the end of a top-level scope, or when a budget is reached, never by a
// timer. Work that does not depend on each other is kept apart, so that what
// goroutines interleave on one stream does not change what is fused. It is safe
// for concurrent use.
//
// Locks are taken in the order stream, client, cache; no stream waits for
// another while its own lock is held.
type Stream struct {
	// Owner is whatever the maker of the stream likes to find by it. Set it before
	// the first use.
	Owner any

	c   *Client
	ctx context.Context
	off bool

	mu    sync.Mutex
	ops   int         // the budget of a segment
	open  []*instance // one per connected component, in order of their first operation
	cuts  map[Cut]int64
	fresh *fresh // stored since the last flush, and not yet watched
	last  *entry // of what ran last: tells what comes next
	spare spare
	apart int // flushes whose joined instances met no plan, since one did

	inferMu sync.Mutex
	infer   [inferences]inference
	key     keyBuffer
	sites   uint // lines taken from the last time
	joined  int  // place behind the operation last found by joining
}

// NewStream makes a stream. The end of ctx ends waits for room in the device's
// queue; work not submitted by then becomes errors of kind [ir.ErrCancelled].
func (c *Client) NewStream(ctx context.Context) *Stream {
	s := &Stream{c: c, ctx: ctx, off: c.opt.Off, ops: c.opt.MaxOps, cuts: map[Cut]int64{}, fresh: new(fresh)}
	runtime.AddCleanup(s, (*fresh).watch, s.fresh) // others may still read them
	c.streams.add(s)
	return s
}

// SetFusion turns fusion of what is recorded from now on off or on again. Off,
// each operation is a segment of its own.
func (s *Stream) SetFusion(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(CutFlush)
	s.off = !on
}

// Widen makes the budget of operations of the stream's segments so many times what
// the options say: for work that comes again as it is, so that plans are found once and
// waiting for the end of a segment costs nothing.
func (s *Stream) Widen(times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = times * s.c.opt.MaxOps
}

// Cuts counts why segments ended.
func (s *Stream) Cuts() map[Cut]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.cuts)
}

// Record appends an operation. The caller made out, one zero Value per result,
// with the types that [Stream.Infer] gave, which the values share; site is asked for the user's line where it
// is not known from the last time. On an error nothing was recorded. Operands may
// be released, or recorded elsewhere, at any time.
func (s *Stream) Record(op *Op, attrs ir.Attrs, in []*Value, types []ir.Type, out []*Value, site func() ir.Site) error {
	for _, v := range in {
		if err := s.reach(v); err != nil {
			return err
		}
		if st := v.st.Load(); s.off && st != nil && st.constant != nil {
			return s.recordApart(op, attrs, in, types, out, site)
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
	inst := s.join(in)
	refs := inst.refs(len(in))
	for i, v := range in {
		st := v.st.Load()
		if st == nil {
			refs[i] = v.pos
			continue
		}
		if st.constant != nil {
			refs[i] = s.use(inst, st.constant, site)
			continue
		}
		l, ok := s.leafOf(inst, v, st)
		if !ok {
			return released()
		}
		refs[i] = ^l
	}
	at := len(inst.recs)
	inst.recs = append(inst.recs, rec{op: op, attrs: attrs, in: refs, out: int32(len(inst.types)), site: s.site(inst, at, op, site)})
	for i, v := range out {
		v.typ, v.stream, v.inst, v.pos = &types[i], s, inst, int32(len(inst.types))
		inst.types = append(inst.types, types[i])
		inst.outs = append(inst.outs, v)
		inst.bytes += types[i].Bytes()
	}
	switch {
	case s.off || len(inst.recs) >= s.ops:
		s.run(inst, CutOps)
	case inst.bytes >= s.c.opt.MaxBytes:
		s.run(inst, CutBytes)
	}
	return nil
}

func released() *ir.Error {
	return ir.Errorf(ir.ErrClosed, "the tensor was released, or its scope has ended")
}

// reach makes an operand of another stream stored. Values of the stream itself
// are seen to under its lock.
func (s *Stream) reach(v *Value) error {
	if v.stream == s || v.st.Load() != nil {
		return nil
	}
	o := v.stream
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.demand(v, CutHop)
}

// demand makes a value of the stream stored, with the lock held.
func (s *Stream) demand(v *Value, cut Cut) error {
	switch {
	case v.released.Load():
		return released()
	case v.st.Load() != nil:
		return nil
	case v.inst.sealed:
		return s.materialize(v)
	}
	v.inst.demand(v.pos)
	s.run(v.inst, cut)
	if v.st.Load() == nil {
		return s.materialize(v)
	}
	return nil
}

// join returns the open instance that an operation on these operands belongs to:
// that of its pending operands, made one, or a new one.
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
		a.absorb(b)
		s.forget(b)
		inst = a
	}
	if inst != nil {
		return inst
	}
	inst = s.newInstance()
	s.open = append(s.open, inst)
	return inst
}

func (s *Stream) forget(inst *instance) {
	if i := slices.Index(s.open, inst); i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// Flush runs what was recorded, and does not wait for it.
func (s *Stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(CutFlush)
}

// EndScope is the end of a top-level scope: values are released, and the work
// recorded so far is run without waiting.
func (s *Stream) EndScope(values []*Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		v.release()
	}
	s.flush(CutScope)
}

// ReleaseAll releases values of the stream.
func (s *Stream) ReleaseAll(values []*Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		v.release()
	}
}

// flush runs every open instance.
func (s *Stream) flush(cut Cut) {
	open := s.open
	s.open = nil
	for _, inst := range s.together(open) {
		s.run(inst, cut)
	}
}
