package cpu

import (
	"time"

	"github.com/sinter-go/sinter/kernel"
)

// What a unit of work, an instruction for one element, takes before anything is
// known of a kernel: as generated code, and interpreted.
const (
	generatedPace   = 0.02 // nanoseconds
	interpretedPace = 1.0
)

// pace is how long a unit of a kernel's work takes, learnt from its runs. What is
// divided, and how, follows from it; no result does. Only the device goroutine
// uses it.
type pace struct {
	unit float64 // nanoseconds
	runs uint32
}

// timed reports whether the next run shall be timed: the first few, and some of
// the later ones, since reading the clock is not free for the smallest kernels.
func (p *pace) timed() bool {
	p.runs++
	return p.runs <= 8 || p.runs%16 == 0
}

// note takes a run into account: a fast one at once, since only what disturbs a
// run makes it slow, a slow one by a part.
func (p *pace) note(units int64, took time.Duration) {
	unit := float64(took) / float64(max(units, 1))
	if unit > p.unit {
		unit = p.unit + (unit-p.unit)/8
	}
	p.unit = max(unit, 1e-6)
}

// cost returns what so many units will take.
func (p *pace) cost(units int64) time.Duration {
	return time.Duration(min(float64(units)*p.unit, 1e15))
}

// units returns the work of a launch, in instructions times elements.
func units(l *kernel.Launch, k *kernel.Kernel) int64 {
	n := int64(max(len(k.Body), 1))
	for _, e := range l.Extents {
		if n > 1<<40/max(e, 1) {
			return 1 << 40
		}
		n *= e
	}
	return n
}
