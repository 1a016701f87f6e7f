//go:build unix

package sinter_test

import "syscall"

// processTime is the processor time that the process has used, in nanoseconds.
func processTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
