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

// TestPlace: a function routes nodes by operation, dtype and size; results stay
// where they were made until another member needs them.
func TestPlace(t *testing.T) {
	near, far := open(t, "cpu"), open(t, "interp")
	r := owned(t, router.Options{Place: func(n *ir.Node, home string) string {
		switch {
		case home != "near":
			return ""
		case n.Row.Name == "bad":
			return "nowhere"
		case n.Out[0].DType == ir.F64, n.Out[0].Shape.Size() > 100, n.Row.Name == "mul":
			return "far"
		}
		return ""
	}}, named("near", near), named("far", far))
	u := use(t, device(t, r, "near"))
	x, two := u.floats(1, 2, 3), u.floats(2)
	y := u.do("mul", []ir.Tensor{x, x})                         // far
	z := u.do("mul", []ir.Tensor{y, x})                         // far, nothing moves
	w := u.do("add", []ir.Tensor{z, x})                         // near: z comes back
	d := u.do("cast", []ir.Tensor{w}, "dtype", ir.F64)          // far: w goes
	b := u.do("expand", []ir.Tensor{two}, "shape", []int{1000}) // far
	u.expect(w, 2, 10, 30)
	u.expect(z, 1, 8, 27)
	if data, errs := u.read(d, b, x); errs[0] != nil || errs[1] != nil || elements[float64](data[0].Bytes)[2] != 30 || len(data[1].Bytes) != 4000 {
		t.Errorf("got %v, %v", data, errs)
	}
	s := u.Stats()
	if s.Placed != 4 || s.MovesIn != 4 { // x there, z back, w there, the scalar there
		t.Errorf("%d nodes placed elsewhere, %d moves; want 4 and 4", s.Placed, s.MovesIn)
	}
	if n := far.Counters().Nodes; n != 4 {
		t.Errorf("%d nodes ran on the other member, want 4", n)
	}
	u.Free(x.ID, two.ID, y.ID, z.ID, w.ID, d.ID, b.ID)
	if err := u.sync(); err != nil {
		t.Fatal(err)
	}
	if m, err := far.MemoryUsage(context.Background()); err != nil || m.Tensors != 0 || m.InUse != 0 {
		t.Errorf("%d tensors, %d bytes left on the other member, %v", m.Tensors, m.InUse, err)
	}
}

// TestFallback: operations and dtypes that a device lacks run elsewhere, which is
// counted and explained.
func TestFallback(t *testing.T) {
	limited := scripted(t, "lack op mul exp\nlack dtype f64")
	r := owned(t, router.Options{Fallback: true}, named("small", limited), named("tiny", scripted(t, "lack op mul")), named("big", open(t, "cpu")))
	u := use(t, device(t, r, "small"))
	x := u.floats(1, 2)
	y := u.do("mul", []ir.Tensor{x, x})
	z := u.do("add", []ir.Tensor{y, x})
	for range 3 {
		u.do("exp", []ir.Tensor{x})
	}
	u.expect(z, 2, 6)
	wide := u.name(ir.Type{DType: ir.F64, Shape: ir.Shape{1}})
	if err := u.Upload(wide, raw([]float64{4})); err != nil {
		t.Fatal(err)
	}
	u.expect(u.do("cast", []ir.Tensor{u.do("sqrt", []ir.Tensor{wide})}, "dtype", ir.F32), 2)
	if u.Usage(ir.F64) == 0 {
		t.Error("the dtype that falls back has no usage")
	}
	want := map[router.Fallback]bool{
		{Op: "mul", From: "small", To: "big", Reason: "it lacks the operation mul", Count: 1}:     true,
		{Op: "exp", From: "small", To: "tiny", Reason: "it lacks the operation exp", Count: 3}:    true,
		{Op: "upload", From: "small", To: "tiny", Reason: "it does not store f64", Count: 1}:      true,
		{Op: "sqrt", From: "small", To: "tiny", Reason: "it does not compute with f64", Count: 1}: true,
		{Op: "cast", From: "small", To: "tiny", Reason: "it does not compute with f64", Count: 1}: true,
	}
	for _, f := range u.Stats().Fallbacks {
		if !want[f] {
			t.Errorf("a fallback not expected: %+v", f)
		}
		delete(want, f)
	}
	for f := range want {
		t.Errorf("a fallback is missing: %+v", f)
	}
	if text := r.Stats().String(); !strings.Contains(text, "exp ran on tiny 3 times: it lacks the operation exp") {
		t.Errorf("the statistics say:\n%s", text)
	}
}

// TestNoFallback: without it, and where no member has it, the error says what is
// lacking; independent work goes on.
func TestNoFallback(t *testing.T) {
	for _, fallback := range []bool{false, true} {
		r := owned(t, router.Options{Fallback: fallback}, named("a", scripted(t, "lack op mul")), named("b", scripted(t, "lack op mul")))
		u := use(t, device(t, r, "a"))
		x := u.floats(1, 2)
		y := u.do("mul", []ir.Tensor{x, x})
		z := u.do("add", []ir.Tensor{y, x})
		_, errs := u.read(y, z)
		for _, err := range errs {
			if !errors.Is(err, ir.ErrUnsupported) || !strings.Contains(err.Error(), "it lacks the operation mul") || ir.AsError(err).Op != "mul" {
				t.Errorf("fallback %v: %v", fallback, err)
			}
		}
		u.expect(u.do("add", []ir.Tensor{x, x}), 2, 4)
		if s, ok := backend.As[backend.Supporter](u.Client); !ok || s.Supports(&ir.Node{Row: ir.Lookup("mul")}) == nil || s.Supports(&ir.Node{Row: ir.Lookup("add")}) != nil {
			t.Error("the client does not say what it supports")
		}
	}
}

// TestRoundTrips: a step over a router costs no more calls, and no more answers,
// than the step itself.
func TestRoundTrips(t *testing.T) {
	r := owned(t, router.Options{}, named("a", open(t, "cpu")), named("b", open(t, "interp")))
	u := use(t, device(t, r, "a"))
	x := u.floats(1, 2)
	before := u.Stats().Calls
	const steps = 10
	for range steps { // one Submit, one Free, one Read
		var nodes []ir.Node
		y := x
		for range 50 {
			n := u.node("add", []ir.Tensor{y, x})
			nodes = append(nodes, n)
			y = n.Out[0]
		}
		if err := u.Submit(context.Background(), nodes); err != nil {
			t.Fatal(err)
		}
		ids := make([]ir.ID, len(nodes)-1)
		for i := range ids {
			ids[i] = nodes[i].Out[0].ID
		}
		u.Free(ids...)
		u.expect(y, 51, 102)
		u.Free(y.ID)
	}
	after := u.Stats().Calls
	if s, f, rd := after.Submit-before.Submit, after.Free-before.Free, after.RoundTrips()-before.RoundTrips(); s != steps || f != 2*steps || rd != steps {
		t.Errorf("%d submissions, %d frees, %d round trips for %d steps", s, f, rd, steps)
	}
	if total := after.Total() - before.Total(); total != 4*steps {
		t.Errorf("%d calls, want %d", total, 4*steps)
	}
}

// TestCapabilities: a client offers what its member has, and nothing else.
func TestCapabilities(t *testing.T) {
	r := owned(t, router.Options{}, named("all", open(t, "cpu")),
		named("none", scripted(t, "drop Compiler Profiler Memory Counting Routines HostMemory Streams Supporter")))
	for id, want := range map[string]bool{"all": true, "none": false} {
		c := device(t, r, id)
		has := map[string]bool{}
		_, has["Compiler"] = backend.As[backend.Compiler](c)
		_, has["Profiler"] = backend.As[backend.Profiler](c)
		_, has["Memory"] = backend.As[backend.Memory](c)
		_, has["Counting"] = backend.As[backend.Counting](c)
		_, has["Routines"] = backend.As[backend.Routines](c)
		_, has["HostMemory"] = backend.As[backend.HostMemory](c)
		_, has["Streams"] = backend.As[backend.Streams](c)
		_, has["Supporter"] = backend.As[backend.Supporter](c)
		for name, ok := range has {
			if ok != want {
				t.Errorf("%s: %s is %v", id, name, ok)
			}
		}
		if _, ok := backend.As[backend.Mover](c); !ok {
			t.Errorf("%s does not move", id)
		}
		if _, ok := backend.As[backend.Capturer](c); ok {
			t.Errorf("%s captures, which no member does", id)
		}
	}
	p, _ := backend.As[backend.Profiler](device(t, r, "all"))
	w, err := p.ProfileStart()
	if err != nil {
		t.Fatal(err)
	}
	u := use(t, device(t, r, "all"))
	u.do("exp", []ir.Tensor{u.floats(make([]float32, 100000)...)})
	if took, err := w.End(context.Background()); err != nil || took <= 0 {
		t.Errorf("a window took %v, %v", took, err)
	}
}
