package sinter

import (
	"sync"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Var is a stable address with a versioned value: parameters, optimizer state,
// caches. Its type is fixed by its first value. It is safe for concurrent use.
type Var struct {
	mu      sync.Mutex
	value   *Tensor
	version uint64
	frozen  bool
	lent    bool // the value was handed out by Value, so Set leaves it to the collector
}

// NewVar makes a variable. Its value is tracked, unless the dtype has no
// gradients.
func NewVar(initial *Tensor) *Var {
	v := &Var{}
	v.value = v.leaf(initial)
	return v
}

// leaf takes a value out of graphs and scopes and makes it a leaf of gradients.
func (v *Var) leaf(t *Tensor) *Tensor {
	if t == nil || t.failure() != nil {
		return errored(t.failure())
	}
	t = t.Detach()
	for t.scope != nil { // out of every scope, to the outermost and beyond
		t = t.scope.Keep(t)
	}
	if t.failure() != nil {
		return t
	}
	if v.frozen || !t.typ().DType.IsFloat() {
		return t
	}
	return t.Track()
}

// Value returns the present value, a leaf of gradients. It stays valid when the
// variable gets another; the collector returns its memory.
func (v *Var) Value() *Tensor {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.touch(false)
	v.lent = true
	return v.value
}

// Borrow returns the present value for use until the variable gets another:
// Set then returns the memory at once.
func (v *Var) Borrow() *Tensor {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.touch(false)
	return v.value
}

// In returns the present value as a member of a scope, for use until the
// variable gets another value: Set then returns the memory at once.
func (v *Var) In(s *Scope) *Tensor {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.touch(false)
	return s.In(v.value)
}

// Version counts the values that Set gave.
func (v *Var) Version() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.version
}

// Freeze makes the variable untracked, and Unfreeze tracked again.
func (v *Var) Freeze() { v.setFrozen(true) }

// Unfreeze makes the variable tracked again.
func (v *Var) Unfreeze() { v.setFrozen(false) }

func (v *Var) setFrozen(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.frozen = on
	v.value = v.leaf(v.value)
}

// Set gives the variable a new value of the same type. The old one is released,
// unless [Var.Value] handed it out. The new value leaves its scopes; a tensor
// that carries an error is refused.
func (v *Var) Set(t *Tensor) error {
	if err := t.failure(); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.value.failure() == nil && !v.value.typ().Equal(t.typ()) {
		return &ir.Error{Kind: ir.ErrShape, Op: "var.set", Site: callsite.Find(), Operands: []ir.Type{t.typ()},
			Msg: "the variable holds " + v.value.typ().String()}
	}
	v.touch(true)
	old, lent := v.value, v.lent
	v.value, v.lent = v.leaf(t), false
	v.version++
	if !lent && old.v != nil && old.v != v.value.v {
		old.Release()
	}
	return nil
}
