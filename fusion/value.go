package fusion

import (
	"runtime"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// base is a tensor of the inner backend. Streams hold counted references: values
// that show it, open segments that read it, recipes that may read it again. The
// last one frees it; what a program forgets, the collector finds.
type base struct {
	typ  ir.Type
	refs atomic.Int32
	*baseState
}

// baseState is apart from the base, so that the collector can find the base
// unreachable and still free the tensor.
type baseState struct {
	c     *Client
	id    ir.ID
	bytes int64
	freed atomic.Bool
}

// newBase makes a reference to a new tensor of the inner backend.
func (c *Client) newBase(t ir.Type) *base {
	b := &base{typ: t, baseState: &baseState{c: c, id: c.newID(), bytes: t.Bytes()}}
	b.refs.Store(1)
	c.live.Add(b.bytes)
	return b
}

// acquire adds a reference, unless the base is gone.
func (b *base) acquire() bool {
	for {
		n := b.refs.Load()
		if n <= 0 || b.freed.Load() {
			return false
		}
		if b.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (b *base) release() {
	if b.refs.Add(-1) == 0 {
		b.free()
	}
}

func (s *baseState) free() {
	if s.gone() {
		s.c.free(s.id)
	}
}

// gone says that the tensor is no longer there, or never came to be, without
// freeing it. It reports whether it was there until now.
func (s *baseState) gone() bool {
	if !s.freed.CompareAndSwap(false, true) {
		return false
	}
	s.c.live.Add(-s.bytes)
	return true
}

// watch lets the collector free the base when nothing refers to it any more. It
// costs half a microsecond, so it waits until a base has outlived a flush.
func (b *base) watch() { runtime.AddCleanup(b, (*baseState).free, b.baseState) }

// fresh are bases that nobody watches yet. It is apart from its stream, which a
// program may forget before they are watched.
type fresh struct{ list []*base }

func (f *fresh) add(b *base) { f.list = append(f.list, b) }

// watch hands the bases that nobody has released to the collector.
func (f *fresh) watch() {
	for i, b := range f.list {
		if b.refs.Load() > 0 {
			b.watch()
		}
		f.list[i] = nil
	}
	f.list = f.list[:0]
}

// stored is where a value lies, or the error that it carries.
type stored struct {
	base   *base
	layout ir.Layout // in the base; no strides: row-major from its start
	err    *ir.Error
	wait   *arrival // it is still on its way

	constant *constant // it lies nowhere
}

// isConstant reports whether it is a constant; nil is none.
func (s *stored) isConstant() bool { return s != nil && s.constant != nil }

// hold takes a reference to what is stored, or will be.
func (s *stored) hold() bool {
	if s.wait != nil {
		return s.wait.hold()
	}
	return s.base == nil || s.base.acquire()
}

// unhold gives a reference back.
func (s *stored) unhold() {
	switch {
	case s.wait != nil:
		s.wait.unhold()
	case s.base != nil:
		s.base.release()
	}
}

// whole reports whether the elements of the base, in order, are those of a value
// of the shape.
func (s *stored) whole(shape ir.Shape) bool {
	if len(s.layout.Strides) == 0 && s.layout.Offset == 0 && len(shape) > 0 {
		return true
	}
	if s.layout.Offset != 0 || shape.Size() != s.base.typ.Shape.Size() {
		return false
	}
	st := shape.Strides()
	for i, d := range shape {
		if d > 1 && s.layout.Strides[i] != st[i] {
			return false
		}
	}
	return true
}

// Value is a tensor of a client: of an open segment, stored, virtual (a recipe),
// or an error. It owns what it needs until it is released or collected.
type Value struct {
	typ    *ir.Type // shared, mostly with the stream's memory of types
	stream *Stream
	st     atomic.Pointer[stored] // nil while pending or virtual

	// Guarded by the stream's lock: the instance that makes the value and its number among
	// the results of that; once it is stored, the last instance of the stream that reads
	// it and its number among the leaves of that.
	inst *instance
	pos  int32

	released atomic.Bool // set under the lock, read without
}

// Type returns the type.
func (v *Value) Type() ir.Type { return *v.typ }

// Stream returns the stream that the value was recorded on.
func (v *Value) Stream() *Stream { return v.stream }

// Failure returns the error that the value is known to carry without asking the
// device; nil for one that was released.
func (v *Value) Failure() *ir.Error {
	if st := v.st.Load(); st != nil && st.err != nil {
		return st.err
	}
	return nil
}

// Release says that the program will not use the value again. Segments that read
// it are not affected. Releasing twice is harmless.
func (v *Value) Release() {
	s := v.stream
	s.mu.Lock()
	v.release()
	s.mu.Unlock()
}

// release is Release with the lock held.
func (v *Value) release() {
	st := v.st.Load()
	if v.released.Load() || st != nil && st.constant != nil {
		return
	}
	v.released.Store(true)
	if st != nil {
		if st.base != nil {
			st.base.release()
		}
	} else if v.inst != nil && v.inst.sealed {
		v.inst.unpin()
	}
}

// ErrorValue makes a value of a type that carries an error.
func (s *Stream) ErrorValue(t ir.Type, err *ir.Error) *Value {
	v := &Value{typ: &t, stream: s}
	v.st.Store(&stored{err: err})
	return v
}

// settle gives a value its place; a value released meanwhile gives it back.
func (v *Value) settle(st *stored) {
	v.st.Store(st)
	if v.released.Load() && st.base != nil {
		st.base.release()
	}
}

// dead reports whether nobody can look at a result any more.
func (v *Value) dead() bool { return v == nil || v.released.Load() }

// Released reports whether the value was released.
func (v *Value) Released() bool { return v.released.Load() }
