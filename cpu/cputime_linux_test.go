package cpu

import (
	"syscall"
	"testing"
	"time"
)

// reportCPU reports the processor time of the process, of all its goroutines, that
// each round of a benchmark takes, which other programs on the machine disturb less
// than its length.
func reportCPU(b *testing.B, round func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	from := used()
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64((used()-from).Microseconds())/float64(b.N), "cpu-µs")
}
