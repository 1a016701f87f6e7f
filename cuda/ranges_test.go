package cuda

import (
	"errors"
	"strings"
	"testing"
)

// heard is a profiler that notes what it is told.
type heard []string

func (h *heard) Push(name string) { *h = append(*h, "["+name) }
func (h *heard) Pop()             { *h = append(*h, "]") }

// TestRanges: the steps of one kernel are in one range, though they are several or another
// launch of it follows; ranges end when a launch fails.
func TestRanges(t *testing.T) {
	g, _ := fakeGPU()
	parts := programs(t, g)
	b := &g.batch
	name := parts[0].Kernel.Name
	b.begin(name)
	for range 2 {
		if err := g.hold(parts[:1], 0); err != nil {
			t.Fatal(err)
		}
		b.begin("sort")
		if err := g.hold(parts[1:3], 0); err != nil {
			t.Fatal(err)
		}
		b.begin(name)
	}
	want := "[" + name + " . ] [sort . . ] [" + name + " . ] [sort . . ]"
	var h heard
	run := func(fail int) error {
		n := 0
		return b.each(&h, func(*step) error {
			if h = append(h, "."); n == fail {
				return errors.New("failed")
			}
			n++
			return nil
		})
	}
	if err := run(-1); err != nil || strings.Join(h, " ") != want {
		t.Errorf("heard %q, %v; want %q", strings.Join(h, " "), err, want)
	}
	h = nil
	if err := run(2); err == nil || strings.Join(h, " ") != want[:len("["+name+" . ] [sort . .")]+" ]" {
		t.Errorf("heard %q, %v", strings.Join(h, " "), err)
	}
	if got, want := b.segment(), "segment: "+name+" and 3 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	steps := 0
	if err := b.each(nil, func(*step) error { steps++; return nil }); err != nil || steps != len(b.steps) {
		t.Errorf("without a profiler %d steps of %d, %v", steps, len(b.steps), err)
	}
	b.cut(batchSize{steps: 1})
	if got, want := b.segment(), "segment: "+name; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
