package sinter

import (
	"runtime"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// handle owns an id on a device. Tensors share it; the device's memory goes when
// it is released or collected, and nobody has it pinned.
type handle struct {
	id     ir.ID
	stream *Stream
	life   *life
}

// life is the state of a handle, apart from it so that the collector can find
// the handle unreachable: the number of pins, and whether it was released. What
// looks at a tensor on its way to the device pins it meanwhile, so that a
// concurrent release takes effect after it.
type life struct {
	id     ir.ID
	stream *Stream
	bytes  int64
	state  atomic.Int64
}

const releasedBit = 1 << 62

func newHandle(s *Stream, t ir.Type) *handle {
	s.dev.pressure.relieve(s)
	l := &life{id: s.dev.newID(), stream: s, bytes: t.Bytes()}
	s.dev.pressure.live.Add(l.bytes)
	h := &handle{id: l.id, stream: s, life: l}
	runtime.AddCleanup(h, (*life).release, l)
	return h
}

func (l *life) released() bool { return l.state.Load()&releasedBit != 0 }

// pin keeps the id valid until unpin; it fails if the handle was released.
func (l *life) pin() bool {
	for {
		v := l.state.Load()
		if v&releasedBit != 0 {
			return false
		}
		if l.state.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

func (l *life) unpin() {
	if l.state.Add(-1) == releasedBit {
		l.free()
	}
}

func (l *life) release() {
	for {
		v := l.state.Load()
		if v&releasedBit != 0 {
			return
		}
		if l.state.CompareAndSwap(v, v|releasedBit) {
			if v == 0 {
				l.free()
			}
			return
		}
	}
}

func (l *life) free() {
	l.stream.dev.pressure.live.Add(-l.bytes)
	l.stream.free(l.id)
}

// pin pins the tensors; it returns an error, and pins none, if one was released.
func pin(ts []*Tensor) *ir.Error {
	for i, t := range ts {
		if !t.h.life.pin() {
			unpin(ts[:i])
			return t.failure()
		}
	}
	return nil
}

func unpin(ts []*Tensor) {
	for _, t := range ts {
		t.h.life.unpin()
	}
}
