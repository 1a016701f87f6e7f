package attend

import (
	"syscall"
	"time"
	"unsafe"
)

// threadTime is the processor time that this thread has used, which other programs
// on the machine disturb less than the time of day.
func threadTime() time.Duration {
	const clock = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
