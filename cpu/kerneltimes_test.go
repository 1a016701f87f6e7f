package cpu

import (
	"fmt"
	"testing"
	"time"
)

// TestKernelTimes: kernels beyond the bound are counted together, and what was there before
// a window stays out of it.
func TestKernelTimes(t *testing.T) {
	var times kernelTimes
	for i := range maxTimes + 10 {
		times.add(fmt.Sprint(i), time.Millisecond)
	}
	before := times.totals()
	if k := before[otherKernels]; len(before) != maxTimes+1 || k.Runs != 10 || k.Time != 10*time.Millisecond {
		t.Fatalf("%d kernels, others %+v", len(before), k)
	}
	times.add("7", 3*time.Second)
	times.add("5", 2*time.Second)
	times.add("7", time.Second)
	times.add("new", time.Second)
	got := fmt.Sprint(times.since(before))
	if want := "[{7 2 4s} {5 1 2s} {other kernels 1 1s}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
