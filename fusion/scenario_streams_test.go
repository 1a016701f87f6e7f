package fusion_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// Scenarios of the engine: which plan a segment finds. The source defers operations
// until a plan or a trigger matches; here a segment ends with what cuts it, so each
// case becomes: these segments, found so. A segment is a chain of rows applied to a
// value of its own; "|" in it is a sync within the chain.
func TestScenariosEngine(t *testing.T) {
	for _, c := range []struct {
		name     string
		segments []string
		found    string // of each run: s searched, h hit
		plans    int    // kept at the end
	}{
		{"complex stream", []string{"neg", "neg", "neg exp", "exp exp", "neg exp", "exp exp", "neg"}, "shsshhh", 3},
		{"reuse basic operations, of a routine", []string{"pinv", "pinv", "neg pinv", "pinv"}, "shsh", 2},
		{"overlapping, short then long", []string{"neg exp", "neg exp", "neg exp neg neg", "neg exp", "neg exp neg neg"}, "shshh", 2},
		{"overlapping, cut by a sync", []string{"neg exp|neg", "neg exp|neg", "neg exp neg"}, "sshhs", 3},
		{"reuse sync plan", []string{"neg exp sqrt|", "neg exp sqrt|", "neg exp sqrt|"}, "shh", 1},
		{"policy: an empty store explores", []string{"neg"}, "s", 1},
		{"policy: two plans, a sync after two operations", []string{"neg exp", "neg exp sqrt", "neg exp|"}, "ssh", 2},
		{"policy: a plan longer than the segment is not run", []string{"neg exp sqrt", "neg exp"}, "ss", 2},
		{"policy: a common prefix, another third operation", []string{"neg exp sqrt", "neg exp abs", "neg exp sqrt", "neg exp abs"}, "sshh", 2},
		{"policy: divergence after two operations", []string{"neg exp sqrt abs", "neg exp abs abs", "neg exp abs sqrt"}, "sss", 3},
		{"index: found by the first operation", []string{"neg exp", "neg exp"}, "sh", 1},
		{"index: two plans of the same first operation", []string{"neg exp", "neg abs", "neg exp", "neg abs"}, "sshh", 2},
		{"index: another first operation", []string{"neg exp", "exp exp", "exp exp"}, "ssh", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecorder(t, fusion.Options{})
			var found, ops []string
			defer r.c.Inspect(func(x fusion.Run) {
				found = append(found, map[fusion.Found]string{fusion.FoundSearch: "s", fusion.FoundHit: "h", fusion.FoundRebound: "r"}[x.Found])
				for _, b := range x.Explain().Blocks {
					for _, o := range b.Ops {
						ops = append(ops, o.Op)
					}
				}
			})()
			for _, seg := range c.segments {
				ops = nil
				v := r.upload(2, 3)
				for i, part := range strings.Split(seg, "|") {
					if i > 0 {
						if err := r.c.Sync(context.Background()); err != nil {
							t.Fatal(err)
						}
					}
					for _, row := range strings.Fields(part) {
						w := r.do(row, []*fusion.Value{v})
						v.Release()
						v = w
					}
				}
				r.read(v)
				v.Release()
				if want := strings.Fields(strings.ReplaceAll(seg, "|", " ")); !slices.Equal(ops, want) {
					t.Errorf("%q ran as %v", seg, ops)
				}
			}
			if got := strings.Join(found, ""); got != c.found {
				t.Errorf("plans were found %q, want %q", got, c.found)
			}
			if n := r.c.Stats().Plans; n != c.plans {
				t.Errorf("%d plans are kept, want %d", n, c.plans)
			}
		})
	}
}

// Scenarios across streams: what another stream drops or reads at any point does not
// change what is fused on this one.
func TestScenariosCrossStream(t *testing.T) {
	for _, c := range []struct {
		name string
		// do happens after the operation of the number at, with the operand x of the
		// chain, which it has read already, and a value nobody reads.
		do func(e *shop, x, apart *fusion.Value)
	}{
		{"nothing", func(*shop, *fusion.Value, *fusion.Value) {}},
		{"foreign drop of what is referenced", func(_ *shop, x, _ *fusion.Value) { x.Release() }},
		{"foreign drop of what is not referenced", func(_ *shop, _, apart *fusion.Value) { apart.Release() }},
		{"foreign read of what is referenced", func(e *shop, x, _ *fusion.Value) { e.want(x, 1, 2) }},
		{"foreign read that consumes", func(e *shop, x, _ *fusion.Value) { e.want(x, 1, 2); x.Release() }},
		{"foreign use of what is referenced", func(e *shop, x, _ *fusion.Value) {
			y := e.op(e.peer, "neg", x)
			e.want(y, -1, -2)
			y.Release()
		}},
	} {
		for at := 1; at < 4; at++ {
			t.Run(c.name, func(t *testing.T) {
				e := newShop(t)
				var blocks []string
				x, apart := e.up(e.owner, 1, 2), e.up(e.owner, 5)
				stop := e.c.Inspect(func(r fusion.Run) {
					for _, b := range r.Explain().Blocks {
						var ops []string
						for _, o := range b.Ops {
							ops = append(ops, o.Op)
						}
						if s := strings.Join(ops, " "); s != "neg" { // the peer's
							blocks = append(blocks, s)
						}
					}
				})
				v := x
				for i := range 4 {
					operands := []*fusion.Value{v}
					if i == 0 {
						operands = append(operands, v)
					}
					w := e.op(e.owner, []string{"add", "exp", "log", "sqrt"}[i], operands...)
					if v != x {
						v.Release()
					}
					v = w
					if i+1 == at {
						done := make(chan struct{})
						go func() { defer close(done); c.do(e, x, apart) }()
						<-done
					}
				}
				if n := e.owner.Cuts(); len(n) != 0 {
					t.Errorf("after operation %d: the queue was cut by %v", at, n)
				}
				e.want(v, 1.4142135, 2)
				stop()
				if got := strings.Join(blocks, "; "); got != "add exp log sqrt" {
					t.Errorf("after operation %d: ran %q", at, got)
				}
				drop(v, x, apart)
				if n := e.tensors(); n != 0 {
					t.Errorf("after operation %d: %d tensors are left", at, n)
				}
			})
		}
	}
}

// Scenarios of foreign reads and drops, one by one.
func TestScenariosForeign(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(e *shop)
	}{
		{"read of what is not there yet drains its stream", func(e *shop) {
			x := e.up(e.owner, 1, 2)
			y := e.op(e.owner, "add", x, x)
			z := e.op(e.peer, "neg", y)
			if n := e.owner.Cuts()[fusion.CutHop]; n != 1 {
				e.t.Errorf("cut %d times by a hop", n)
			}
			e.want(z, -2, -4)
			drop(x, y, z)
		}},
		{"read of what is there is direct", func(e *shop) {
			x := e.up(e.owner, 1, 2)
			runs := 0
			defer e.c.Inspect(func(fusion.Run) { runs++ })()
			e.want(x, 1, 2)
			if runs != 0 || len(e.owner.Cuts()) != 0 {
				e.t.Errorf("%d segments ran", runs)
			}
			drop(x)
		}},
		{"drop of what is not there yet: it is never stored", func(e *shop) {
			x := e.up(e.owner, 1, 2)
			y := e.op(e.owner, "add", x, x)
			z := e.op(e.owner, "neg", y)
			done := make(chan struct{})
			go func() { defer close(done); y.Release() }()
			<-done
			var written int64
			stop := e.c.Inspect(func(r fusion.Run) { written = r.Explain().Written })
			e.want(z, -2, -4)
			stop()
			if written != 8 {
				e.t.Errorf("%d bytes were written, want those of one result", written)
			}
			drop(x, z)
		}},
		{"drop of what is referenced: freed at the next boundary", func(e *shop) {
			x := e.up(e.owner, 1, 2)
			y := e.op(e.owner, "add", x, x)
			drop(x)
			e.want(y, 2, 4)
			if n := e.tensors(); n != 1 {
				e.t.Errorf("%d tensors after the boundary", n)
			}
			drop(y)
		}},
		{"drop of what is not referenced: freed now", func(e *shop) {
			x, y := e.up(e.owner, 1), e.up(e.owner, 2)
			before := e.tensors()
			drop(x)
			if n := e.tensors(); n != before-1 {
				e.t.Errorf("%d tensors, %d before", n, before)
			}
			drop(y)
		}},
		{"use of what was dropped is an error, on any stream", func(e *shop) {
			x := e.up(e.owner, 1)
			y := e.op(e.owner, "neg", x) // holds the contents until it runs
			drop(x)
			neg := ir.Lookup("neg")
			for _, s := range []*fusion.Stream{e.owner, e.peer} {
				err := s.Record(fusion.OpOf(neg, nil), nil, []*fusion.Value{x}, []ir.Type{x.Type()}, []*fusion.Value{new(fusion.Value)}, nil,
					func() ir.Site { return ir.Site{} })
				if !errors.Is(err, ir.ErrClosed) {
					e.t.Errorf("got %v", err)
				}
			}
			e.want(y, -1)
			drop(y)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newShop(t)
			c.run(e)
			if n := e.tensors(); n != 0 {
				t.Errorf("%d tensors are left", n)
			}
		})
	}
}

// What of the source's list has no table here, and why.
//
//   - Stream ids per thread: streams are values here, not properties of threads.
//   - Context and container forks: nothing is forked; a plan is bound to an instance,
//     and the first binding stays as it is (TestRebind).
//   - Relative shapes and scalars: shapes and scalars are no part of a plan's path
//     (TestInspect binds one plan to three sizes; metamorphic runs bind to others).
//   - The text log table: Explain and its golden files (explain_test.go).
//   - Bit sets, convexity, dependency order, cycles, lifetimes, merging, order repair:
//     units of another planner. Their counterparts are in order_test.go, and every plan
//     of the random tests is checked by verify (search_random_test.go).
//   - Fusers that compete, close, or stay open; refusals; the registry: fuser_test.go.
//   - Vector axis and layout permission: packages lower and kernel choose walks by
//     strides; their tests are there. ReduceBroadcasted as a fuser is not told apart.
//   - Capture: capture_test.go. State round trips: persist_test.go.
//   - Router, remote: internal/metamorphic stacks clients over routers and routers
//     over clients.
