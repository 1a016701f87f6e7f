package fusion

import (
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Group is values of a stream that are released together. [Stream.Record] puts results
// into it.
type Group struct {
	s *Stream

	// Guarded by the stream's lock.
	values []*Value
	ended  bool
}

// NewGroup makes an empty group of values of the stream.
func (s *Stream) NewGroup() *Group {
	return &Group{s: s, values: (*lists.Get().(*[]*Value))[:0]}
}

// lists are those of groups that have ended.
var lists = sync.Pool{New: func() any { return new([]*Value) }}

// Stream returns the stream that the values are of.
func (g *Group) Stream() *Stream { return g.s }

func (g *Group) closed() *ir.Error {
	return ir.Errorf(ir.ErrClosed, "the group of the values has ended")
}

// Add puts a value into the group, once if it may be there already. It reports false if
// the group has ended.
func (g *Group) Add(v *Value, once bool) bool {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if g.ended {
		return false
	}
	if !once || !slices.Contains(g.values, v) {
		g.values = append(g.values, v)
	}
	return true
}

// Remove takes a value out of the group. It reports whether it was there. What is taken out
// was mostly made last.
func (g *Group) Remove(v *Value) bool {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	for i := len(g.values) - 1; i >= 0; i-- {
		if g.values[i] == v {
			g.values = slices.Delete(g.values, i, i+1)
			return true
		}
	}
	return false
}

// Len returns the number of values.
func (g *Group) Len() int {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	return len(g.values)
}

// End releases the values, and the group takes no more. If it is the end of a top-level
// scope, the work that was recorded so far is run without waiting.
func (g *Group) End(scope bool) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if g.ended {
		return
	}
	for _, v := range g.values {
		v.release()
	}
	values := g.values
	g.values, g.ended = nil, true
	if scope {
		g.s.flush(CutScope)
	}
	clear(values)
	lists.Put(&values)
}
