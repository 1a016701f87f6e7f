package fusion_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// A pattern is a fuser that takes nodes of the given rows, in order.
type pattern struct {
	name  string
	rows  []string
	score uint64
	// hungry builders are ready after each full repetition, and go on.
	hungry bool
	strict bool // closes on the first node that does not fit
}

func (p pattern) Name() string { return p.name }

func (p pattern) Restore(state []byte) (fusion.Optimization, error) {
	return done{name: p.name, n: len(state)}, nil
}

func (p pattern) Start(s *fusion.Segment, node int) fusion.Builder {
	b := &patternBuilder{pattern: p, s: s}
	if b.Add(node) != nil {
		return nil
	}
	return b
}

type patternBuilder struct {
	pattern
	s      *fusion.Segment
	nodes  []int
	closed bool
}

func (b *patternBuilder) Add(node int) *fusion.Refusal {
	if !b.hungry && len(b.nodes) == len(b.rows) || b.s.Nodes[node].Row.Name != b.rows[len(b.nodes)%len(b.rows)] {
		b.closed = b.strict
		return &fusion.Refusal{Rule: "pattern", Got: float64(len(b.nodes))}
	}
	b.nodes = append(b.nodes, node)
	return nil
}

func (b *patternBuilder) Undo() { b.nodes, b.closed = b.nodes[:len(b.nodes)-1], false }

func (b *patternBuilder) Status() fusion.Status {
	if b.closed || !b.hungry && len(b.nodes) == len(b.rows) {
		return fusion.Closed
	}
	return fusion.Open
}

func (b *patternBuilder) Properties() fusion.Properties {
	n := len(b.nodes) / len(b.rows)
	return fusion.Properties{Score: b.score * uint64(n), Ready: n > 0 && len(b.nodes)%len(b.rows) == 0}
}

func (b *patternBuilder) Finish() (fusion.Optimization, error) {
	if !b.Properties().Ready {
		return nil, fmt.Errorf("finished too early, with %d nodes", len(b.nodes))
	}
	return done{b.name, len(b.nodes)}, nil
}

type done struct {
	name string
	n    int
}

func (d done) Name() string { return d.name }
func (d done) Len() int     { return d.n }
func (done) MaxDim() int    { return -1 }

func (done) Execute(ctx context.Context, ops *fusion.Operations) error {
	return ops.Device.Submit(ctx, ops.Nodes)
}

func (d done) State() ([]byte, error) { return make([]byte, d.n), nil }

// rows makes a program of unary rows: "2:1" is row 2 of the result of line 1; lines
// count from 1, and 0 is the input.
func rows(lines ...string) string {
	names := map[string]string{"1": "neg", "2": "abs", "3": "exp"}
	text := "program p\n  in %1 f32[8]\n"
	used := map[string]bool{}
	for i, l := range lines {
		row, in, _ := strings.Cut(l, ":")
		text += fmt.Sprintf("  %%%d =", i+2)
		var args []string
		for _, x := range strings.Split(in, ",") {
			var n int
			fmt.Sscan(x, &n)
			args = append(args, fmt.Sprintf("%%%d", n+1))
			used[fmt.Sprint(n)] = true
		}
		if len(args) > 1 {
			text += " add " + strings.Join(args, " ") + "\n"
		} else {
			text += " " + names[row] + " " + args[0] + "\n"
		}
	}
	text += "  out"
	for i := range lines {
		if !used[fmt.Sprint(i+1)] {
			text += fmt.Sprintf(" %%%d", i+2)
		}
	}
	return text + "\n"
}

// customs returns the custom blocks of a plan: fuser and nodes, in the plan's order.
func customs(p *fusion.Plan) (out []string) {
	for _, b := range p.Blocks {
		if b.Kind == fusion.CustomBlock {
			out = append(out, fmt.Sprint(b.Fuser, b.Nodes))
		}
	}
	return out
}

// TestFusers: groups that fusers recognise, alone, interleaved, overlapping, not
// finished, and not separable.
func TestFusers(t *testing.T) {
	a := pattern{name: "a", rows: []string{"neg", "neg"}, score: 1}
	b := pattern{name: "b", rows: []string{"abs", "abs"}, score: 1}
	ab := pattern{name: "ab", rows: []string{"neg", "abs"}, score: 1}
	long := pattern{name: "long", rows: []string{"neg", "abs", "neg", "neg"}, score: 9}
	best := pattern{name: "best", rows: []string{"neg", "neg"}, score: 7}
	hungry := pattern{name: "hungry", rows: []string{"neg", "abs"}, score: 2, hungry: true}
	strict := pattern{name: "strict", rows: []string{"neg", "neg"}, score: 1, strict: true}
	for _, c := range []struct {
		name   string
		fusers []fusion.Fuser
		lines  []string
		want   string
	}{
		{"one block", []fusion.Fuser{a}, []string{"1:0", "1:1"}, "[a[0 1]]"},
		{"side by side", []fusion.Fuser{a, b}, []string{"1:0", "1:1", "2:0", "2:3"}, "[a[0 1] b[2 3]]"},
		{"interleaved", []fusion.Fuser{a, b}, []string{"1:0", "2:0", "1:1", "2:2"}, "[a[0 2] b[1 3]]"},
		{"one list of two", []fusion.Fuser{ab}, []string{"1:0", "2:0", "1:1", "2:2"}, "[ab[0 1] ab[2 3]]"},
		{"no fuser for the other", []fusion.Fuser{a}, []string{"1:0", "2:0", "1:1", "2:2"}, "[a[0 2]]"},
		{"not finished", []fusion.Fuser{long}, []string{"1:0", "2:1", "1:2"}, "[]"},
		{"longer wins", []fusion.Fuser{ab, long}, []string{"1:0", "2:1", "1:2", "1:3"}, "[long[0 1 2 3]]"},
		{"ready beats open", []fusion.Fuser{ab, long}, []string{"1:0", "2:1", "1:2"}, "[ab[0 1]]"},
		{"best score", []fusion.Fuser{a, best}, []string{"1:0", "1:1"}, "[best[0 1]]"},
		{"best score, other order", []fusion.Fuser{best, a}, []string{"1:0", "1:1"}, "[best[0 1]]"},
		{"closed", []fusion.Fuser{strict}, []string{"1:0", "2:1", "1:2"}, "[]"},
		{"hungry, undone", []fusion.Fuser{hungry}, []string{"1:0", "2:1", "1:2", "2:3", "1:4"}, "[hungry[0 1 2 3]]"},
		{"straddling", []fusion.Fuser{a, b}, []string{"1:0", "2:1"}, "[]"},
		{"reads two blocks", []fusion.Fuser{a, b}, []string{"1:0", "2:0", "1:1", "2:2", ":3,4"}, "[a[0 2] b[1 3]]"},
		{"something between", []fusion.Fuser{a}, []string{"1:0", "2:1", "1:2"}, "[]"},
		{"each in the way of the other", []fusion.Fuser{a, b}, []string{"1:0", "2:0", "1:2", "2:1"}, "[a[0 2]]"},
		{"a run of them", []fusion.Fuser{a}, []string{"1:0", "1:1", "1:2", "1:3", "1:4"}, "[a[0 1] a[2 3]]"},
	} {
		s := segmentOf(parse(t, rows(c.lines...)))
		s.Keep = nil // so that no group raises the peak
		plan, err := (&fusion.Planner{Target: paperTarget{}, Fusers: c.fusers}).Plan(s)
		if err == nil {
			err = verify(plan)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := customs(plan)
		slices.Sort(got)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, expected %s\n%s", c.name, got, c.want, plan.Explain())
		}
	}
}

// A group that would raise the peak is refused to a fuser too.
func TestFuserPeak(t *testing.T) {
	f := pattern{name: "ab", rows: []string{"neg", "abs"}, score: 1}
	s := segmentOf(parse(t, rows("1:0", "2:0", "1:1", "2:2")))
	plan, err := (&fusion.Planner{Target: paperTarget{}, Fusers: []fusion.Fuser{f}}).Plan(s)
	if err == nil {
		err = verify(plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Both pairs as one would have two operands and two results alive: 128 bytes.
	if got := fmt.Sprint(customs(plan)); got != "[ab[0 1]]" || plan.Peak > 96 {
		t.Errorf("%s, peak %d", got, plan.Peak)
	}
}

// TestFuserRefusals: what a fuser refused, and why, is in the plan.
func TestFuserRefusals(t *testing.T) {
	f := pattern{name: "a", rows: []string{"neg", "neg"}, score: 1}
	s := segmentOf(parse(t, "program p\n  in %1 f32[8]\n  %2 = neg %1\n  %3 %4 = sort %2\n  out %3\n"))
	plan, err := (&fusion.Planner{Target: paperTarget{}, Fusers: []fusion.Fuser{f}}).Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range plan.Refusals {
		found = found || r.Rule == "pattern" && r.Producer == 0 && r.Consumer == 1 && r.Got == 1
	}
	if !found {
		t.Errorf("refusals %v", plan.Refusals)
	}
}

func TestRegistry(t *testing.T) {
	var r fusion.Registry
	a, b := pattern{name: "a"}, pattern{name: "b"}
	if err := r.Register("", a); err != nil {
		t.Fatal(err)
	}
	if err := r.Register("cpu", b); err != nil {
		t.Fatal(err)
	}
	for _, device := range []string{"", "cpu"} {
		if err := r.Register(device, a); err == nil || ir.AsError(err).Kind != ir.ErrArgument {
			t.Errorf("a fuser was registered twice: %v", err)
		}
	}
	if err := r.Register("cuda:0", b); err != nil {
		t.Errorf("a fuser of another device is in the way: %v", err)
	}
	if err := r.Register("cpu", nil); err == nil {
		t.Error("no fuser was registered as one")
	}
	if got := r.Fusers("cpu"); len(got) != 2 || got[0].Name() != "a" || got[1].Name() != "b" {
		t.Errorf("fusers %v", got)
	}
	if got := r.Fusers("other"); len(got) != 1 {
		t.Errorf("fusers of another device: %v", got)
	}
	o, err := r.Restore("cpu", "b", []byte{1, 2})
	if err != nil || o.Len() != 2 || o.Name() != "b" {
		t.Errorf("restored %v, %v", o, err)
	}
	if _, err := r.Restore("cpu", "c", nil); err == nil {
		t.Error("an unknown fuser restored something")
	}
	if !r.Remove("", "a") || r.Remove("", "a") || len(r.Fusers("cpu")) != 1 {
		t.Error("removal")
	}
	var other fusion.Registry
	if len(other.Fusers("cpu")) != 0 {
		t.Error("registries are not independent")
	}
}
