package cpu

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/kernel"
)

// tally is code that counts how often each element of its space is run, and on how
// many goroutines at once.
type tally struct {
	full  []int64
	count []int32
	calls atomic.Int32
}

func (x *tally) Run(l *kernel.Launch) {
	x.calls.Add(1)
	at := make([]int64, len(l.Extents))
	for {
		i := int64(0)
		for a, n := range at {
			if l.Start != nil {
				n += l.Start[a]
			}
			i = i*x.full[a] + n
		}
		atomic.AddInt32(&x.count[i], 1)
		a := len(at) - 1
		for ; a >= 0; a-- {
			if at[a]++; at[a] < l.Extents[a] {
				break
			}
			at[a] = 0
		}
		if a < 0 {
			return
		}
	}
}

// noCode compiles nothing: what cannot be divided by slices is run whole.
func noCode(*kernel.Kernel) (kernel.Executable, bool, error) { return nil, false, errClosed }

// TestWorkersShare: every element of every part is run exactly once, however the
// parts are divided, by any number of workers.
func TestWorkersShare(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, threads := range []int{1, 2, 5} {
		w := newWorkers(threads, new(pool), noCode)
		for round := range 60 {
			parts := make([]part, 1+rng.IntN(6))
			tallies := make([]*tally, len(parts))
			for i := range parts {
				k := &kernel.Kernel{Body: make([]kernel.Instr, 1+rng.IntN(40))}
				l := &kernel.Launch{}
				size := int64(1)
				for range 1 + rng.IntN(3) {
					kind := kernel.Parallel
					if rng.IntN(4) == 0 {
						kind = kernel.Reduced
					}
					n := 1 + rng.Int64N([]int64{3, 40, 700}[rng.IntN(3)])
					if size*n > 60000 {
						n = 1
					}
					size *= n
					k.Axes, l.Extents = append(k.Axes, kind), append(l.Extents, n)
				}
				tallies[i] = &tally{full: l.Extents, count: make([]int32, size)}
				r := newReady(k, tallies[i], false)
				parts[i] = part{ready: &r, l: l}
			}
			w.run(parts)
			for i, x := range tallies {
				for at, n := range x.count {
					if n != 1 {
						t.Fatalf("%d threads, round %d: element %d of part %d of %v was run %d times", threads, round, at, i, parts[i].l.Extents, n)
					}
				}
			}
		}
		w.close()
	}
}

// TestWorkersTogether: small parts are one share, so that nothing is handed over
// for them; large ones are sliced.
func TestWorkersTogether(t *testing.T) {
	w := newWorkers(4, new(pool), noCode)
	defer w.close()
	of := func(cost time.Duration) part {
		n := int64(cost)
		k := &kernel.Kernel{Axes: []kernel.AxisKind{kernel.Parallel}, Body: make([]kernel.Instr, 1)}
		r := newReady(k, &tally{full: []int64{n}, count: make([]int32, n)}, false) // an element takes a nanosecond
		return part{ready: &r, l: &kernel.Launch{Extents: []int64{n}}}
	}
	if claims, _ := w.plan([]part{of(100), of(200), of(300)}); claims != 1 || len(w.shares[0].parts) != 3 {
		t.Errorf("three small parts are %d shares of %d claims", len(w.shares), claims)
	}
	claims, _ := w.plan([]part{of(100), of(serialTime * 40), of(100), of(serialTime - 50), of(40)})
	var sizes []int
	for _, s := range w.shares {
		sizes = append(sizes, len(s.parts))
	}
	if len(sizes) != 4 || w.shares[0].axis != -1 || w.shares[1].axis != 0 || sizes[2] != 1 || sizes[3] != 2 {
		t.Errorf("shares of %v parts, claims %d", sizes, claims)
	}
	w.plan([]part{of(claimTime * 100)})
	if w.shares[0].slice > int64(claimTime) {
		t.Errorf("a claim of %d ns", w.shares[0].slice)
	}
	// A panic of a helper reaches the caller once all have let go of the job.
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer func() {
			if recover() == nil {
				t.Error("the panic of a part did not reach the caller")
			}
		}()
		bad := of(claimTime * 8)
		bad.exe = panicking{}
		w.run([]part{bad, of(claimTime * 8)})
	}()
	wg.Wait()
	w.run([]part{of(claimTime * 8)})
}
