package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

func thread() (time.Duration, bool) { return read(unix.CLOCK_THREAD_CPUTIME_ID) }

func process() (time.Duration, bool) { return read(unix.CLOCK_PROCESS_CPUTIME_ID) }

func read(clock int32) (time.Duration, bool) {
	var t unix.Timespec
	if unix.ClockGettime(clock, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
