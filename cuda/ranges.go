package cuda

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/cuda/nvtx"
	"github.com/sinter-go/sinter/internal/debug"
)

// ranger is a profiler that is told what goes on the stream. Ranges nest, on the thread
// that calls; an issue does not leave its thread.
type ranger interface {
	Push(name string)
	Pop()
}

// attachedRanger is the profiler that is attached to the process, nil if there is none.
var attachedRanger = sync.OnceValues(func() (ranger, error) {
	library := debug.Profiler()
	if library == "" {
		return nil, nil
	}
	t, err := nvtx.Attach(library)
	if err != nil { // not a typed nil in the interface
		return nil, err
	}
	return t, nil
})

// begin names the steps that are added from here on, up to the next call: what a profile
// calls the kernel or routine that they are of.
func (b *batch) begin(name string) { b.next = name }

// named takes the name that the next step begins with, "" if it goes on with what the one
// before it is of.
func (b *batch) named() (name string) {
	name, b.next = b.next, ""
	return name
}

// segment is the name of the range around all steps.
func (b *batch) segment() string {
	names, first := 0, ""
	for i := range b.steps {
		if s := &b.steps[i]; s.name != "" {
			if names++; names == 1 {
				first = s.name
			}
		}
	}
	if names < 2 {
		return "segment: " + first
	}
	return fmt.Sprintf("segment: %s and %d more", first, names-1)
}

// each calls f with the steps in order; steps of one name in a range.
func (b *batch) each(r ranger, f func(s *step) error) error {
	inside := false
	if r != nil {
		defer func() {
			if inside {
				r.Pop()
			}
		}()
	}
	for i := range b.steps {
		s := &b.steps[i]
		if r != nil && s.name != "" {
			if inside {
				r.Pop()
			}
			r.Push(s.name)
			inside = true
		}
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}
