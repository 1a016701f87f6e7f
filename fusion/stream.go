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

	mu     sync.Mutex
	ops    int         // the budget of a segment
	open   []*instance // one per connected component, in order of their first operation
	cuts   map[Cut]int64
	fresh  *fresh  // stored since the last flush, and not yet watched
	last   *entry  // of what ran last: tells what comes next
	rooms  []*room // of instances that are gone
	large  *room
	slab   []int32   // room for operands
	places []*stored // room for what runs
	apart  int       // flushes whose joined instances met no plan, since one did
	begun  int       // the start in the guessed trace that the next instance is looked for from
	count  uint64    // instances opened

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

// flush runs every open instance.
func (s *Stream) flush(cut Cut) {
	open := s.open
	s.open = nil
	for _, inst := range s.together(open) {
		s.run(inst, cut)
	}
}
