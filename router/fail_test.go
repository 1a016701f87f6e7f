package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// TestLostMember: a backend that dies takes its own tensors with it, which say so,
// and nothing else.
func TestLostMember(t *testing.T) {
	for _, x := range []struct {
		name, script string
		kill         func(b backend.Backend)
		kind         error
		says         string
	}{
		{"disconnected", "disconnect after 3", nil, ir.ErrDevice, "the connection was lost after 3 nodes"},
		{"panics", "panic after 2", nil, ir.ErrDevice, "panicked"},
		{"closed", "", func(b backend.Backend) { b.Close() }, ir.ErrClosed, "closed"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := scripted(t, x.script)
			r := owned(t, router.Options{}, named("doomed", f), named("sound", open(t, "cpu")))
			d, s := use(t, device(t, r, "doomed")), use(t, device(t, r, "sound"))
			a := d.floats(1, 2)
			b := d.do("add", []ir.Tensor{a, a})
			saved := s.from(d.Client, b)
			s.expect(saved, 2, 4)
			if x.kill != nil {
				x.kill(f)
			}
			for i := range 3 { // the device dies on the way
				n := d.node("neg", []ir.Tensor{b})
				if err := d.Submit(context.Background(), []ir.Node{n}); err != nil && !errors.Is(err, x.kind) {
					t.Errorf("Submit %d: %v", i, err)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			check := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, x.kind) || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), "doomed") {
					t.Errorf("%s: %v; want a %v that names device and reason", what, err, x.kind)
				}
			}
			_, _, err := d.Read(ctx, b.ID)
			check("Read", err)
			check("Sync", d.Sync(ctx))
			check("Upload", d.Upload(d.name(a.Type), make([]byte, 8)))
			check("Alias", d.Alias(b.ID, d.name(b.Type).ID))
			check("Flush", d.Flush())
			lost := s.name(b.Type)
			if err := s.Receive(ctx, d.Client, b, lost.ID); err != nil {
				t.Fatal(err)
			}
			_, errs := s.read(lost, s.do("neg", []ir.Tensor{lost}))
			check("a tensor that should have moved", errs[0])
			check("what depends on it", errs[1])
			if err := d.Receive(ctx, s.Client, saved, d.name(saved.Type).ID); !errors.Is(err, x.kind) {
				t.Errorf("a move to the lost device: %v", err)
			}
			s.expect(s.do("add", []ir.Tensor{saved, saved}), 4, 8)
			_ = s.sync() // the failed move
			if err := s.sync(); err != nil {
				t.Errorf("Sync of the device that lives: %v", err)
			}
			if st := r.Stats(); st.Devices[0].Down == "" || st.Devices[1].Down != "" {
				t.Errorf("the statistics do not say which device is lost: %+v", st)
			}
			d.Free(a.ID, b.ID)
		})
	}
}

// TestLostDuringMove: moves that are on their way when a side dies end, on both.
func TestLostDuringMove(t *testing.T) {
	f := scripted(t, "hold neg 1")
	r := owned(t, router.Options{}, named("doomed", f), named("sound", open(t, "cpu")))
	d, s := use(t, device(t, r, "doomed")), use(t, device(t, r, "sound"))
	y := d.do("neg", []ir.Tensor{d.floats(1)})
	<-f.Held()
	x := s.from(d.Client, y)
	z := s.do("neg", []ir.Tensor{x})
	f.Disconnect()
	if _, errs := s.read(z); !errors.Is(errs[0], ir.ErrDevice) || !strings.Contains(errs[0].Error(), "doomed") {
		t.Errorf("what waits for a lost device: %v", errs[0])
	}
	s.expect(s.do("neg", []ir.Tensor{s.floats(3)}), -3)
}

// TestLostHelper: where nodes are placed on a member that dies, their results are
// lost, and what is at home is not.
func TestLostHelper(t *testing.T) {
	f := scripted(t, "disconnect after 1")
	r := owned(t, router.Options{Place: func(n *ir.Node, _ string) string {
		if n.Row.Name == "mul" {
			return "helper"
		}
		return ""
	}}, named("home", open(t, "cpu")), named("helper", f))
	u := use(t, device(t, r, "home"))
	x := u.floats(1, 2)
	y := u.do("mul", []ir.Tensor{x, x})
	u.sync()
	z := u.do("add", []ir.Tensor{x, x})
	w := u.do("add", []ir.Tensor{y, x})
	_, errs := u.read(y, w, z)
	for i, err := range errs[:2] {
		if !errors.Is(err, ir.ErrDevice) || !strings.Contains(err.Error(), "helper") {
			t.Errorf("tensor %d, which was on the lost member: %v", i, err)
		}
	}
	if errs[2] != nil {
		t.Errorf("a tensor at home: %v", errs[2])
	}
	u.expect(z, 2, 4)
}

// TestFailingNodes: scripted failures mark tensors, not the device.
func TestFailingNodes(t *testing.T) {
	f := scripted(t, "fail neg 2 memory no room today")
	r := owned(t, router.Options{}, named("a", f), named("b", open(t, "interp")))
	a, b := use(t, device(t, r, "a")), use(t, device(t, r, "b"))
	x := a.floats(1, 2)
	first, second := a.do("neg", []ir.Tensor{x}), a.do("neg", []ir.Tensor{x})
	moved := b.from(a.Client, second)
	_, errs := b.read(b.do("exp", []ir.Tensor{moved}))
	if !errors.Is(errs[0], ir.ErrMemory) || !strings.Contains(errs[0].Error(), "no room today") || ir.AsError(errs[0]).Site.String() != "user.go:7" {
		t.Errorf("got %v", errs[0])
	}
	a.expect(first, -1, -2)
	if err := a.sync(); !errors.Is(err, ir.ErrMemory) {
		t.Errorf("Sync: %v", err)
	}
}

// TestClose: a router closes its clients, members if it owns them; a client frees
// its tensors on a member that it does not own.
func TestClose(t *testing.T) {
	kept := open(t, "cpu")
	defer kept.Close()
	r, err := router.New(named("a", kept))
	if err != nil {
		t.Fatal(err)
	}
	u := use(t, device(t, r, "a"))
	x := u.floats(1, 2)
	u.do("neg", []ir.Tensor{x})
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := u.Read(context.Background(), x.ID); !errors.Is(err, ir.ErrClosed) {
		t.Errorf("Read of a closed client: %v", err)
	}
	if m, err := kept.MemoryUsage(context.Background()); err != nil || m.Tensors != 0 || m.InUse != 0 {
		t.Errorf("%d tensors, %d bytes left on the member, %v", m.Tensors, m.InUse, err)
	}
	if _, err := r.Device("a"); err != nil && !errors.Is(err, ir.ErrClosed) {
		t.Errorf("Device of a closed router: %v", err)
	}
	gone := open(t, "cpu")
	q := owned(t, router.Options{}, named("a", gone))
	q.Close()
	if err := gone.Flush(); !errors.Is(err, ir.ErrClosed) {
		t.Errorf("a member that the router owns lives: %v", err)
	}
}
