package cpu

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// The times of a team. A helper without work looks for some for spinTime, because
// waking a parked one takes the system some tens of microseconds, and then parks,
// so that an idle device takes no time from anybody. While it looks, it lets other
// goroutines run every yieldTime. Parked helpers are woken once wakeTime of work
// has passed them by: waking costs the caller some microseconds.
const (
	spinTime  = 60 * time.Microsecond
	yieldTime = 4 * time.Microsecond
	wakeTime  = 20 * time.Microsecond
)

// A caller that waited late, and for several claims' time, works without helpers
// for a while: somebody else uses the processors, and would be waited for again.
const (
	lateTime = 300 * time.Microsecond
	minShy   = 8 // jobs
	maxShy   = 512
)

// team is a caller and the helpers that run the claims of its jobs, one job at a
// time. Claims are taken by a counter: a slow helper delays only the claim it
// holds, and where no helper comes the caller does them all.
//
// The word state opens and closes jobs. A helper reads the fields of a job only
// while it is counted in, and the caller writes them only while nobody is.
type team struct {
	helpers int
	spin    atomic.Int64 // nanoseconds; see spinTime
	state   atomic.Uint64

	// The open job.
	do     func(claim int64, member int) // member 0 is the caller
	claims int64
	next   atomic.Int64
	failed atomic.Pointer[any] // first panic of a helper
	label  context.Context     // of helpers in profiles, nil for none

	parked  atomic.Int32
	wake    chan struct{} // to a parked helper
	through chan struct{} // to the caller: the last helper is out
	ended   atomic.Bool
	wg      sync.WaitGroup

	// Owned by the caller.
	busy   bool          // a job is open: one inside it runs on its own goroutine
	missed time.Duration // of work, while helpers were parked
	shy    int           // jobs that the caller will run alone
	scare  int           // how many the next time
}

// The parts of state: the helpers inside, whether the job is open, whether the
// caller sleeps until they are out, and the number of the job.
const (
	insideMask  = 1<<16 - 1
	openBit     = 1 << 16
	sleepingBit = 1 << 17
	jobUnit     = 1 << 32
)

func newTeam(helpers int) *team {
	t := &team{helpers: helpers, scare: minShy, wake: make(chan struct{}, helpers), through: make(chan struct{}, 1)}
	if runtime.GOMAXPROCS(0) > 1 {
		t.spin.Store(int64(spinTime))
	}
	for i := range helpers {
		t.wg.Add(1)
		go t.help(i + 1)
	}
	return t
}

// close ends the helpers. No job may be open.
func (t *team) close() {
	t.ended.Store(true)
	t.state.Add(jobUnit) // for those that look
	close(t.wake)
	t.wg.Wait()
}

// run runs the claims of a job, of cost together, on the caller and on helpers. A
// panic of a claim comes back on the caller, once nobody is inside.
func (t *team) run(claims int64, cost time.Duration, do func(claim int64, member int)) {
	if t.helpers == 0 || claims <= 1 || t.busy || t.alone() {
		for n := range claims {
			do(n, 0)
		}
		return
	}
	t.busy, t.do, t.claims = true, do, claims
	t.next.Store(0)
	t.state.Store((t.state.Load()>>32+1)*jobUnit + openBit)
	t.rouse(claims, cost)
	start := time.Now()
	defer func() {
		t.finish(start)
		t.busy, t.do = false, nil
		if p := t.failed.Swap(nil); p != nil {
			panic(*p)
		}
	}()
	t.work(0)
}

// work does claims until there are no more.
func (t *team) work(member int) {
	do, claims := t.do, t.claims
	for {
		n := t.next.Add(1) - 1
		if n >= claims {
			return
		}
		do(n, member)
	}
}

func (t *team) alone() bool {
	if t.shy == 0 {
		return false
	}
	t.shy--
	return true
}

// rouse wakes parked helpers if enough work has passed them by.
func (t *team) rouse(claims int64, cost time.Duration) {
	parked := int64(t.parked.Load())
	if t.missed += cost; parked == 0 || t.missed >= wakeTime {
		t.missed = 0
		for range min(parked, claims-1) {
			select {
			case t.wake <- struct{}{}:
			default: // as many are on their way as there are helpers
			}
		}
	}
}

// finish closes the job and waits for the helpers inside: looking, then asleep.
func (t *team) finish(start time.Time) {
	if t.state.And(^uint64(openBit))&insideMask == 0 {
		t.waited(0, 0)
		return
	}
	ended := time.Now()
	if !look(time.Duration(t.spin.Load()), func() bool { return t.state.Load()&insideMask == 0 }) {
		for {
			s := t.state.Load()
			if s&insideMask == 0 {
				break
			}
			if t.state.CompareAndSwap(s, s|sleepingBit) {
				<-t.through
				t.state.And(^uint64(sleepingBit))
				break
			}
		}
	}
	t.waited(time.Since(ended), ended.Sub(start)*time.Duration(t.helpers+1)/time.Duration(t.claims))
}

// waited decides how the next jobs are run, after a wait for helpers at the end of
// one whose claims took so long.
func (t *team) waited(late, claim time.Duration) {
	if late > lateTime && late > 3*claim {
		t.shy = t.scare
		t.scare = min(2*t.scare, maxShy)
	} else {
		t.scare = max(minShy, t.scare/2)
	}
}

// help is the body of a helper.
func (t *team) help(member int) {
	defer t.wg.Done()
	seen := uint64(0) // the last job
	fresh := func() bool { return t.state.Load()>>32 != seen }
	for {
		if !look(time.Duration(t.spin.Load()), fresh) {
			t.parked.Add(1)
			if !fresh() {
				<-t.wake
			}
			t.parked.Add(-1)
		}
		if t.ended.Load() {
			return
		}
		for {
			s := t.state.Load()
			seen = s >> 32
			if s&openBit == 0 {
				break
			}
			if t.state.CompareAndSwap(s, s+1) {
				t.inside(member)
				break
			}
		}
	}
}

// inside does a helper's part of the open job, in which it is counted.
func (t *team) inside(member int) {
	defer func() {
		if p := recover(); p != nil {
			t.failed.CompareAndSwap(nil, &p)
		}
		if s := t.state.Add(^uint64(0)); s&sleepingBit != 0 && s&insideMask == 0 {
			t.through <- struct{}{}
		}
	}()
	if t.label != nil {
		pprof.SetGoroutineLabels(t.label)
		defer pprof.SetGoroutineLabels(context.Background())
	}
	t.work(member)
}

// look waits until ready, without parking, for at most d. It reports whether ready
// came.
func look(d time.Duration, ready func() bool) bool {
	if ready() {
		return true
	}
	start, yielded := time.Now(), time.Duration(0)
	for i := 1; ; i++ {
		if ready() {
			return true
		}
		if i%32 != 0 {
			continue
		}
		took := time.Since(start)
		if took >= d {
			return false
		}
		if took-yielded >= yieldTime {
			runtime.Gosched()
			yielded = time.Since(start)
		}
	}
}
