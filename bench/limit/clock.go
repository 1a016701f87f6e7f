package limit

import (
	"runtime"
	"time"

	"github.com/sinter-go/sinter/internal/cputime"
	"github.com/sinter-go/sinter/ir"
)

// Clock tells a time from which differences are taken.
type Clock func() time.Duration

// Wall is the time that passes.
func Wall() Clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// CPU is the time that processors spend on this process: what one thread takes
// although others use its processor too. The error has kind [ir.ErrUnsupported] where
// there is no such clock.
func CPU() (Clock, error) {
	if !cputime.Known() {
		return nil, ir.Errorf(ir.ErrUnsupported, "the time that processors spend on a process is not measured on %s", runtime.GOOS)
	}
	return cputime.Process, nil
}
