package cputime

import (
	"runtime"
	"testing"
	"time"
)

// TestSleep: work counts, sleep does not.
func TestSleep(t *testing.T) {
	if _, ok := thread(); !ok {
		t.Skip("no such clock")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := Thread()
	time.Sleep(50 * time.Millisecond)
	slept := Thread() - before
	before = Thread()
	process := Process()
	for n := 0; Thread()-before < 20*time.Millisecond; n++ {
		if n > 1<<30 {
			t.Fatal("the clock stands")
		}
	}
	if slept > 20*time.Millisecond {
		t.Errorf("%v while asleep", slept)
	}
	if worked := Process() - process; worked < 15*time.Millisecond {
		t.Errorf("the process worked for %v, its thread for 20 ms", worked)
	}
}
