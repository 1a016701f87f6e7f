package fusion

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestJoining: operations recorded apart, as constants are, take the lines of those that
// stood among the guessed ones, kind by kind in order, round after round; what was not
// there, or may fail, is asked for.
func TestJoining(t *testing.T) {
	a, c, d, f := &Op{id: 1}, &Op{id: 2}, &Op{id: 3}, &Op{id: 4, faults: true}
	line := func(n int) ir.Site { return ir.Site{PC: uintptr(n)} }
	g := &entry{ops: []*Op{a, c, a, c, f}, sites: []ir.Site{line(10), line(11), line(12), line(13), line(14)}}
	s := &Stream{}
	asked := 0
	ask := func() ir.Site { asked++; return line(99) }
	// apart records an operation as an instance of its own.
	apart := func(op *Op) uintptr { return s.site(&instance{guess: g}, 0, op, ask).PC }
	for round := range 3 {
		for i, want := range []uintptr{11, 13} {
			if got := apart(c); got != want {
				t.Errorf("round %d: constant %d has line %d, want %d", round, i, got, want)
			}
		}
	}
	if asked > 0 {
		t.Errorf("asked %d times for what was there", asked)
	}
	if got := apart(a); got != 10 { // what is guessed to come first
		t.Errorf("the first operation has line %d", got)
	}
	// A second operation of the instance goes on among the guessed ones.
	in := &instance{guess: g}
	s.joined = 0
	if first, second := s.site(in, 0, c, ask).PC, s.site(in, 1, a, ask).PC; first != 11 || second != 12 {
		t.Errorf("an instance apart has lines %d and %d", first, second)
	}
	asked = 0
	if got := apart(d); got != 99 || asked != 1 {
		t.Errorf("an operation that was not there has line %d, asked %d times", got, asked)
	}
	if got := apart(f); got != 99 || asked != 2 {
		t.Errorf("an operation that may fail has line %d, asked %d times", got, asked)
	}
	if s.site(&instance{}, 0, c, ask).PC != 99 {
		t.Error("without a guess nothing is known")
	}
	asked = 0
	for range 4 * siteChecks {
		apart(c)
	}
	if asked != 4 {
		t.Errorf("asked %d times in %d, to check", asked, 4*siteChecks)
	}
}
