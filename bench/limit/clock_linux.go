package limit

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the time that processors spend on this process: what one thread takes
// although others use its processor too. The error has kind [ir.ErrUnsupported] where
// there is no such clock.
func CPU() (Clock, error) {
	return func() time.Duration {
		var t unix.Timespec
		if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil { // it is there since Linux 2.6
			return 0
		}
		return time.Duration(t.Nano())
	}, nil
}
