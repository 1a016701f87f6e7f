package sinter

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Scope owns the results of operations that take part in it and releases them
// when it ends: the main road to bounded memory in loops and services.
//
//	for batch := range batches {
//		s := sinter.NewScope("step")
//		x := s.In(batch)
//		...                      // every result belongs to s
//		loss := s.Keep(l)        // this one outlives it
//		s.End()
//	}
//
// A result belongs to the deepest scope among its operands. Operands of two
// scopes neither of which contains the other are an error that names both. A
// scope is safe for concurrent use.
type Scope struct {
	name   string
	parent *Scope
	depth  int
	settings

	first  atomic.Pointer[fusion.Group] // the first of groups, found without the lock
	mu     sync.Mutex
	groups []*fusion.Group // what it owns, by stream
	ended  bool
}

// settings are those of a scope that scopes inside it inherit.
type settings struct {
	noGrad  bool
	unfused bool
	stream  *Stream // nil: that of the operands
	site    ir.Site // zero: each operation's own
}

// ScopeOption configures a scope.
type ScopeOption func(*Scope)

// NoGrad makes results of the scope untracked: no gradient passes them.
func NoGrad() ScopeOption { return func(s *Scope) { s.noGrad = true } }

// OnStream makes operations of the scope go to a stream of its own.
func OnStream(st *Stream) ScopeOption { return func(s *Scope) { s.stream = st } }

// WithoutFusion makes operations of the scope run one by one. The bits are those
// of fused operations; what is slower, or faster, is due to fusion.
func WithoutFusion() ScopeOption { return func(s *Scope) { s.unfused = true } }

// Here makes operations of the scope carry the line that calls Here, not one that
// is found for each of them: for code that records what others wrote, such as a
// model, of which the caller has one line, and finding it costs time.
func Here() ScopeOption {
	site := callsite.Find()
	return func(s *Scope) { s.site = site }
}

// NewScope begins a top-level scope. The name is for messages.
func NewScope(name string, opts ...ScopeOption) *Scope {
	s := &Scope{name: name}
	for _, o := range opts {
		o(s)
	}
	return s
}

// Sub begins a scope inside s; it inherits the settings of s.
func (s *Scope) Sub(name string, opts ...ScopeOption) *Scope {
	c := &Scope{name: name, parent: s, depth: s.depth + 1, settings: s.settings}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Name returns the scope's name, preceded by those of the scopes around it.
func (s *Scope) Name() string {
	if s.parent == nil {
		return s.name
	}
	return s.parent.Name() + "/" + s.name
}

// In returns x as a member of the scope: what is computed from it belongs to the
// scope. x itself keeps its owner.
func (s *Scope) In(x *Tensor) *Tensor {
	if err := x.failure(); err != nil {
		return errored(err)
	}
	t := *x
	t.scope = s
	if s.noGrad {
		t.origin = nil
	}
	return &t
}

// Own returns x as a member of the scope that goes with it: for tensors made
// from slices and constants, which no scope owns by themselves.
func (s *Scope) Own(x *Tensor) *Tensor {
	t := s.In(x)
	if t.failure() != nil {
		return t
	}
	if err := s.ownOnce(t.v); err != nil {
		return errored(err)
	}
	return t
}

// Keep moves a result of the scope to the scope around it, or out of scopes
// altogether, so that it outlives the scope. It returns the tensor to use.
func (s *Scope) Keep(x *Tensor) *Tensor {
	if err := x.failure(); err != nil {
		return errored(err)
	}
	owned := s.disown(x.v)
	t := *x
	t.scope = s.parent
	if owned && s.parent != nil {
		if err := s.parent.ownOnce(t.v); err != nil {
			return errored(err)
		}
	}
	return &t
}

// group returns what the scope owns of a stream.
func (s *Scope) group(st *fusion.Stream) (*fusion.Group, error) {
	if g := s.first.Load(); g != nil && g.Stream() == st { // mostly, all are of one stream
		return g, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, s.closed()
	}
	for _, g := range s.groups {
		if g.Stream() == st {
			return g, nil
		}
	}
	g := st.NewGroup()
	s.groups = append(s.groups, g)
	s.first.CompareAndSwap(nil, g)
	return g, nil
}

// own makes a value, which it does not own yet, belong to the scope.
func (s *Scope) own(v *fusion.Value) error { return s.add(v, false) }

// ownOnce is own for a value that the scope may own already.
func (s *Scope) ownOnce(v *fusion.Value) error { return s.add(v, true) }

func (s *Scope) add(v *fusion.Value, once bool) error {
	g, err := s.group(v.Stream())
	if err != nil {
		return err
	}
	if !g.Add(v, once) {
		return s.closed()
	}
	return nil
}

// disown makes a value belong to the scope no longer. It reports whether it did.
func (s *Scope) disown(v *fusion.Value) bool {
	g, err := s.group(v.Stream())
	return err == nil && g.Remove(v)
}

func (s *Scope) closed() error { return ir.Errorf(ir.ErrClosed, "scope %q has ended", s.Name()) }

// line returns the line of an operation of the scope.
func (s *Scope) line() ir.Site {
	if s == nil || s.site == (ir.Site{}) {
		return callsite.Find()
	}
	return s.site
}

// Live returns the number of tensors that the scope owns and would release.
func (s *Scope) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.groups {
		n += g.Len()
	}
	return n
}

// End releases every tensor that the scope owns. The end of a top-level scope
// also submits what was recorded, without waiting. Ending twice is harmless.
func (s *Scope) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	groups := s.groups
	s.groups, s.ended = nil, true
	s.mu.Unlock()
	for _, g := range groups {
		g.End(s.parent == nil)
	}
}

// Inside reports whether s is o or inside it.
func (s *Scope) Inside(o *Scope) bool {
	for ; s != nil && s.depth >= o.depth; s = s.parent {
		if s == o {
			return true
		}
	}
	return false
}

// meet returns the deepest scope among tensors.
func meet(in []*Tensor) (*Scope, error) {
	var deepest *Scope
	for _, t := range in {
		switch {
		case t.scope == nil || t.scope == deepest:
		case deepest == nil || t.scope.Inside(deepest):
			deepest = t.scope
		case !deepest.Inside(t.scope):
			return nil, ir.Errorf(ir.ErrArgument, "operands belong to unrelated scopes %q and %q; Keep one of them, or enter it with In", deepest.Name(), t.scope.Name())
		}
	}
	return deepest, nil
}

// Scope returns the scope that the tensor belongs to, nil if it belongs to none.
// Layers use it to take their parameters into the scope of their input.
func (t *Tensor) Scope() *Scope {
	if t == nil {
		return nil
	}
	return t.scope
}

// String names the scope.
func (s *Scope) String() string { return fmt.Sprintf("scope(%s)", s.Name()) }
