// Package cputime reads how long processors have worked: what other programs on a
// machine disturb less than the time of day. Only differences mean something. Where
// there is no such clock, the time of day stands in.
package cputime

import "time"

var start = time.Now()

// Known reports whether there are such clocks.
func Known() bool {
	_, ok := process()
	return ok
}

// Thread is the time that a processor has spent on the calling thread, to which a
// goroutine must be locked meanwhile.
func Thread() time.Duration {
	if t, ok := thread(); ok {
		return t
	}
	return time.Since(start)
}

// Rounds is a benchmark: the part of *testing.B that [Report] needs, so that programs
// that import the package do not get the flags of tests.
type Rounds interface {
	Loop() bool
	ReportMetric(n float64, unit string)
}

// Report runs a benchmark and reports what its rounds took by a clock, in "cpu-µs". For
// that of a thread, the goroutine must be locked to its own.
func Report(b Rounds, clock func() time.Duration, round func()) {
	n := 0
	from := clock()
	for b.Loop() {
		round()
		n++
	}
	b.ReportMetric(float64((clock()-from).Microseconds())/float64(max(n, 1)), "cpu-µs")
}

// Process is the time that processors have spent on the process.
func Process() time.Duration {
	if t, ok := process(); ok {
		return t
	}
	return time.Since(start)
}
