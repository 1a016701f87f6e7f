package router

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// member is a backend behind the router, as long as it lives. Every call to it
// goes through call, which notices its death: a closed queue, a lost device, a
// panic. Death is final and takes the member's tensors with it, and nothing else.
type member struct {
	id      ID
	text    string // the id as devices show it
	b       backend.Backend
	dead    atomic.Pointer[ir.Error]
	usage   [256]backend.Usage // by dtype; asked for once
	support backend.Supporter  // nil if it takes all
}

func newMember(id ID, text string, b backend.Backend) *member {
	m := &member{id: id, text: text, b: b}
	for d := range m.usage {
		m.usage[d] = b.Usage(ir.DType(d))
	}
	m.support, _ = backend.As[backend.Supporter](b)
	return m
}

// call calls the backend. An error that says that the queue has ended is
// replaced by the member's own, which names device and reason.
func (m *member) call(f func() error) (err error) {
	if e := m.dead.Load(); e != nil {
		return e
	}
	defer func() {
		if p := recover(); p != nil {
			err = m.die(&ir.Error{Kind: ir.ErrDevice, Msg: fmt.Sprintf("the backend panicked: %v", p), Detail: string(debug.Stack())})
		}
	}()
	if err = f(); err != nil && lost(err) {
		err = m.die(err)
	}
	return err
}

// ask calls the backend where errors of tensors come back too, which may be of
// any kind: only a flush tells whether the queue itself has ended.
func (m *member) ask(f func() error) error {
	var err error
	if gone := m.call(func() error { err = f(); return nil }); gone != nil {
		return gone
	}
	if err != nil && lost(err) {
		if gone := m.probe(); gone != nil {
			return gone
		}
	}
	return err
}

// probe returns the error of a dead member, nil for one that lives.
func (m *member) probe() error { return m.call(m.b.Flush) }

func lost(err error) bool { return errors.Is(err, ir.ErrClosed) || errors.Is(err, ir.ErrDevice) }

// die records why the member is lost, and returns the error for all who ask.
func (m *member) die(err error) *ir.Error {
	cause := ir.AsError(err)
	e := &ir.Error{Kind: cause.Kind, Msg: "the device is lost", Device: m.text, Cause: err, Detail: cause.Detail}
	if cause.Kind != ir.ErrClosed {
		e.Kind = ir.ErrDevice
	}
	if !m.dead.CompareAndSwap(nil, e) {
		return m.dead.Load()
	}
	return e
}

// down returns the error of a dead member, nil for one that lives as far as is
// known.
func (m *member) down() *ir.Error { return m.dead.Load() }

// lacks says why the member does not run a node, "" if it does.
func (m *member) lacks(n *ir.Node) string {
	use := backend.CanCompute
	if n.Row.Access == ir.View {
		use = backend.CanStore
	}
	for _, list := range [2][]ir.Tensor{n.In, n.Out} {
		for _, t := range list {
			if m.usage[t.DType]&use == 0 {
				if use == backend.CanStore {
					return "it does not store " + t.DType.String()
				}
				return "it does not compute with " + t.DType.String()
			}
		}
	}
	if m.support == nil {
		return ""
	}
	if err := m.support.Supports(n); err != nil {
		if e := ir.AsError(err); e.Msg != "" {
			return e.Msg
		}
		return err.Error()
	}
	return ""
}

// close closes the backend; a member that is lost has nothing to say.
func (m *member) close() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = m.die(&ir.Error{Kind: ir.ErrDevice, Msg: fmt.Sprintf("the backend panicked: %v", p), Detail: string(debug.Stack())})
		}
	}()
	return m.b.Close()
}
