package fusion

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// searchOf makes a search over nodes given by what they read: "0,2" reads the
// results of nodes 0 and 2; "" reads the input. Results that nothing reads are kept.
func searchOf(t *testing.T, nodes ...string) *search {
	t.Helper()
	text := "program p\n  in %1 f32[8]\n"
	used := map[int]bool{}
	for i, l := range nodes {
		var in []string
		for _, f := range strings.FieldsFunc(l, func(r rune) bool { return r == ',' }) {
			var n int
			if _, err := fmt.Sscan(f, &n); err != nil {
				t.Fatal(err)
			}
			used[n] = true
			in = append(in, fmt.Sprintf("%%%d", n+2))
		}
		switch len(in) {
		case 0:
			text += fmt.Sprintf("  %%%d = sin %%1\n", i+2)
		case 1:
			text += fmt.Sprintf("  %%%d = sin %s\n", i+2, in[0])
		default: // wide enough for any list
			text += fmt.Sprintf("  %%%d = concat %s\n", i+2, strings.Join(in, " "))
			text = strings.Replace(text, "concat "+strings.Join(in, " ")+"\n", "concat "+strings.Join(in, " ")+" {axis=0}\n", 1)
		}
	}
	text += "  out"
	keep := map[ir.ID]bool{}
	for i := range nodes {
		if !used[i] {
			text += fmt.Sprintf(" %%%d", i+2)
			keep[ir.ID(i+2)] = true
		}
	}
	p, err := ir.ParseProgram(text+"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGraph(&Segment{Inputs: p.Inputs, Nodes: p.Nodes, Keep: func(id ir.ID) bool { return keep[id] }})
	if err != nil {
		t.Fatal(err)
	}
	return newSearch(&Planner{}, g)
}

// join makes the units of nodes one group, without asking.
func (s *search) join(nodes ...int) *group {
	m := s.newGroup(nil)
	for _, i := range nodes {
		for _, u := range s.byNode[i] {
			m.units = append(m.units, u)
			s.groups = slices.DeleteFunc(s.groups, func(gr *group) bool { return gr == s.units[u].group })
		}
	}
	s.groups = append(s.groups, m)
	s.adopt(m)
	return m
}

func (s *search) of(node int) *group { return s.units[s.byNode[node][0]].group }

// names writes groups by the nodes in them.
func (s *search) names(list []*group) string {
	var out []string
	for _, gr := range list {
		var nodes []int
		for _, u := range gr.units {
			nodes = append(nodes, s.units[u].node)
		}
		out = append(out, fmt.Sprint(nodes))
	}
	return strings.Join(out, "")
}

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []string
		join  [][]int
		want  string
	}{
		{"independent, by position", []string{"", "", ""}, nil, "[0][1][2]"},
		{"a read beats the position", []string{"", "", "0"}, [][]int{{1, 2}}, "[0][1 2]"},
		{"a consumer after a later producer", []string{"", "", "1", "0"}, [][]int{{0, 2}}, "[1][0 2][3]"},
		{"diamond", []string{"", "0", "0", "1,2"}, nil, "[0][1][2][3]"},
		{"interleaved chains", []string{"", "", "0", "1"}, [][]int{{0, 2}, {1, 3}}, "[0 2][1 3]"},
		{"each needs the other", []string{"", "", "0", "1"}, [][]int{{0, 3}, {1, 2}}, ""},
	} {
		s := searchOf(t, c.nodes...)
		for _, j := range c.join {
			s.join(j...)
		}
		if got := s.names(s.schedule(s.first)); got != c.want {
			t.Errorf("%s: order %s, expected %s", c.name, got, c.want)
		}
	}
}

// TestCyclic: two groups merge unless something outside lies between them.
func TestCyclic(t *testing.T) {
	many := []string{""}
	for i := range 69 {
		many = append(many, fmt.Sprint(i))
	}
	many = append(many, "0,69")
	for _, c := range []struct {
		name  string
		nodes []string
		join  [][]int
		a, b  int
		want  bool
	}{
		{"direct edge", []string{"", "0"}, nil, 0, 1, false},
		{"one between", []string{"", "0", "1"}, nil, 0, 2, true},
		{"one between, and an edge", []string{"", "0", "0,1"}, nil, 0, 2, true},
		{"it is included", []string{"", "0", "0,1"}, [][]int{{0, 1}}, 0, 2, false},
		{"two between", []string{"", "0", "1", "2"}, nil, 0, 3, true},
		{"independent", []string{"", ""}, nil, 0, 1, false},
		{"through a group", []string{"", "", "0", "1"}, [][]int{{1, 2}}, 0, 3, true},
		{"seventy between", many, nil, 0, 70, true},
	} {
		s := searchOf(t, c.nodes...)
		for _, j := range c.join {
			s.join(j...)
		}
		if got := s.cyclic(s.of(c.a), s.of(c.b)); got != c.want {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
		if s.of(c.a) != s.of(c.b) && s.cyclic(s.of(c.b), s.of(c.a)) {
			t.Errorf("%s: the producer depends on its consumer", c.name)
		}
	}
}

func TestConvex(t *testing.T) {
	s := searchOf(t, "", "0", "1", "2", "")
	for _, c := range []struct {
		nodes []int
		want  bool
	}{
		{[]int{0, 1}, true}, {[]int{0, 2}, false}, {[]int{0, 1, 2}, true}, {[]int{0, 4}, true}, {[]int{1, 3}, false}, {[]int{4}, true},
	} {
		if got := s.convex(c.nodes); got != c.want {
			t.Errorf("%v: %v, expected %v", c.nodes, got, c.want)
		}
	}
}

// TestPeak: roots live from the step that stores them to the last that reads them;
// dying inputs from the start; what outlives the segment to the end.
func TestPeak(t *testing.T) {
	s := searchOf(t, "", "0", "1", "2")
	g := s.g // results 2 to 5 of 32 bytes each; the last outlives the segment
	steps := s.steps(s.schedule(s.first))
	for i := range steps {
		steps[i].over = nil
	}
	if peak, at := g.peak(steps); peak != 64 || at != 1 {
		t.Errorf("peak %d at step %d, expected 64 at 1", peak, at)
	}
	last := g.lastUses(steps)
	for id, want := range map[ir.ID]int{1: never, 2: 1, 3: 2, 4: 3, 5: never} {
		if last[id] != want {
			t.Errorf("%%%d is last used at %d, expected %d", id, last[id], want)
		}
	}
	g.dies[1] = true
	if peak, at := g.peak(steps); peak != 64 || at != 0 {
		t.Errorf("with a dying input: peak %d at step %d, expected 64 at 0", peak, at)
	}
	if dead := steps[0].dead(g, g.lastUses(steps), 0); !slices.Equal(dead, []ir.ID{1}) {
		t.Errorf("step 0 frees %v, expected the input", dead)
	}
	steps[0].over = []ir.ID{1} // the result takes the memory of the input
	if peak, at := g.peak(steps); peak != 64 || at != 1 {
		t.Errorf("in place: peak %d at step %d, expected 64 at 1", peak, at)
	}
}

// TestSplit: merges are taken back one by one, to what they were.
func TestSplit(t *testing.T) {
	s := searchOf(t, "", "0", "1", "2")
	before := len(s.groups)
	m := s.merge(s.of(0), s.of(1))
	if m == nil || s.of(0) != m {
		t.Fatal("two elementwise nodes did not merge")
	}
	n := s.merge(m, s.of(2))
	if n == nil || len(s.groups) != before-2 {
		t.Fatal("a third did not")
	}
	s.split(n, Refusal{Rule: RulePeak})
	if s.of(0) != m || s.of(1) != m || s.of(2) == m || len(s.groups) != before-1 {
		t.Errorf("after one split: %s", s.names(s.groups))
	}
	s.split(m, Refusal{Rule: RulePeak})
	if got := s.names(s.schedule(s.first)); got != "[0][1][2][3]" {
		t.Errorf("after both: %s", got)
	}
	if len(s.refusals) != 2 || s.refusals[0].Producer != 1 || s.refusals[0].Consumer != 2 || s.refusals[1].Producer != 0 {
		t.Errorf("refusals %v", s.refusals)
	}
}

// TestFootprint: of each base no more is read than it has, and of a view what it
// shows.
func TestFootprint(t *testing.T) {
	p, err := ir.ParseProgram(`program p
  in %1 f32[8,8]
  %2 = slice %1 {starts=[0,0],sizes=[2,8],steps=[1,1]}
  %3 = slice %1 {starts=[0,0],sizes=[1,8],steps=[1,1]}
  %4 = expand %3 {shape=[8,8]}
  %5 = reshape %1 {shape=[64]}
  out %2 %4 %5
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGraph(&Segment{Inputs: p.Inputs, Nodes: p.Nodes})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[ir.ID]int64{1: 256, 2: 64, 3: 32, 4: 32, 5: 256} {
		if got := g.footprint(id); got != want {
			t.Errorf("%%%d shows %d bytes, expected %d", id, got, want)
		}
		if g.root[id] != 1 {
			t.Errorf("%%%d is a view of %%%d, expected the input", id, g.root[id])
		}
	}
	var r reads
	r.add(g, 2)
	r.add(g, 4)
	if r.total() != 96 {
		t.Errorf("two views: %d bytes, expected 96", r.total())
	}
	r.add(g, 5)
	if r.total() != 256 || len(r.roots) != 1 {
		t.Errorf("with all of it: %d bytes, expected 256", r.total())
	}
}
