package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/kernel"
)

// Work is measured in instructions times elements. Below serialWork the hand-off
// costs more than it gains; pieceWork keeps one native call short, since the
// collector cannot stop a goroutine inside it.
const (
	serialWork = 1 << 16
	pieceWork  = 1 << 20
)

// workers runs the parts of one function on the device goroutine and on helpers,
// which claim shares by a counter: a slow helper delays only the share it holds.
type workers struct {
	jobs chan *job
	n    int
	wg   sync.WaitGroup
}

// share is work that is claimed at once: parts as they are, or slices of one.
type share struct {
	parts []part // several run one after the other
	axis  int    // along which a single part is sliced; -1 if it is not
	slice int64  // elements along it
	first int64  // number of its first claim in the job
}

type job struct {
	shares []share
	do     func(claim int64) // in place of shares
	claims int64
	next   atomic.Int64
	done   sync.WaitGroup
	failed atomic.Pointer[any] // first panic of a helper
}

func newWorkers(threads int) *workers {
	w := &workers{jobs: make(chan *job), n: threads - 1}
	for i := 0; i < w.n; i++ {
		w.wg.Add(1)
		go func() {
			defer w.wg.Done()
			for j := range w.jobs {
				j.help()
			}
		}()
	}
	return w
}

func (w *workers) close() {
	close(w.jobs)
	w.wg.Wait()
}

func (j *job) help() {
	defer j.done.Done()
	defer func() {
		if p := recover(); p != nil {
			j.failed.CompareAndSwap(nil, &p)
		}
	}()
	j.claim()
}

func (j *job) claim() {
	at := 0
	for {
		n := j.next.Add(1) - 1
		if n >= j.claims {
			return
		}
		if j.do != nil {
			j.do(n)
			continue
		}
		for at+1 < len(j.shares) && n >= j.shares[at+1].first {
			at++
		}
		s := &j.shares[at]
		if s.axis < 0 {
			runAll(s.parts)
			continue
		}
		p := &s.parts[0]
		from := (n - s.first) * s.slice
		p.exe.Run(p.l.Slice(s.axis, from, min(from+s.slice, p.l.Extents[s.axis])))
	}
}

func runAll(parts []part) {
	for i := range parts {
		parts[i].exe.Run(parts[i].l)
	}
}

// run executes parts that do not depend on each other: what is long enough in
// slices, small neighbours together.
func (w *workers) run(parts []part) {
	parts = w.runDivided(parts)
	if len(parts) == 0 {
		return
	}
	if len(parts) == 1 {
		if axis, work := splitAxis(parts[0].l, parts[0].k); axis < 0 || work < serialWork {
			runAll(parts)
			return
		}
	}
	j := w.plan(parts)
	if j.claims == 1 {
		runAll(parts)
		return
	}
	w.share(j)
}

// runDivided runs the parts that divide their own work, one after the other, and
// returns the rest.
func (w *workers) runDivided(parts []part) (rest []part) {
	for i := range parts {
		d, ok := parts[i].exe.(kernel.Divided)
		var work *kernel.Work
		if ok {
			work = d.Divide(parts[i].l, w.n+1)
		}
		if work != nil {
			w.runWork(work)
		} else if rest = append(rest, parts[i]); len(parts) == 1 {
			return parts
		}
	}
	return rest
}

// runWork runs the phases of a work.
func (w *workers) runWork(work *kernel.Work) {
	if work.Release != nil {
		defer work.Release()
	}
	for i := range work.Phases {
		p := &work.Phases[i]
		if w.n == 0 || p.Tasks == 1 || p.Cost < serialWork {
			for n := range p.Tasks {
				p.Do(n)
			}
			continue
		}
		w.share(&job{do: p.Do, claims: p.Tasks})
	}
}

// share runs a job on the caller and on the helpers that are free.
func (w *workers) share(j *job) {
	for i := 0; i < w.n && int64(i) < j.claims-1; i++ {
		j.done.Add(1)
		select {
		case w.jobs <- j:
		default: // nobody is waiting: the caller does the rest
			j.done.Done()
		}
	}
	func() {
		defer j.done.Wait() // helpers hold the launch until they are through
		j.claim()
	}()
	if p := j.failed.Load(); p != nil {
		panic(*p)
	}
}

// plan divides parts into shares. Small neighbours are one share as long as they
// are serial work together, so that handing over never costs more than it gains.
func (w *workers) plan(parts []part) *job {
	j := &job{shares: make([]share, 0, len(parts))}
	small := int64(0) // work of the last share, if it takes more
	for i := range parts {
		p := &parts[i]
		axis, work := splitAxis(p.l, p.k)
		slice := w.sliceOf(p.l, axis, work)
		if slice > 0 {
			small = 0
			j.shares = append(j.shares, share{parts: parts[i : i+1], axis: axis, slice: slice, first: j.claims})
			j.claims += (p.l.Extents[axis] + slice - 1) / slice
			continue
		}
		if small > 0 && small+work < serialWork {
			last := &j.shares[len(j.shares)-1]
			last.parts = parts[i-len(last.parts) : i+1]
			small += work
			continue
		}
		small = work
		j.shares = append(j.shares, share{parts: parts[i : i+1], axis: -1, first: j.claims})
		j.claims++
	}
	return j
}

// sliceOf returns how many elements along the axis are claimed at once, 0 if the
// part is not worth slicing.
func (w *workers) sliceOf(l *kernel.Launch, axis int, work int64) int64 {
	if axis < 0 || work < serialWork {
		return 0
	}
	extent := l.Extents[axis]
	pieces := max((work+pieceWork-1)/pieceWork, int64(4*(w.n+1)))
	if w.n == 0 {
		pieces = (work + pieceWork - 1) / pieceWork
	}
	slice := max((extent+pieces-1)/pieces, 1)
	if axis == len(l.Extents)-1 { // keep slices of the innermost axis whole vectors
		slice = (slice + 63) / 64 * 64
	}
	if slice >= extent {
		return 0
	}
	return slice
}

// splitAxis returns the outermost parallel axis that is worth splitting, or -1,
// and the work of the launch.
func splitAxis(l *kernel.Launch, k *kernel.Kernel) (axis int, work int64) {
	work = int64(len(k.Body))
	axis = -1
	for i, n := range l.Extents {
		if work > 1<<40/max(n, 1) {
			work = 1 << 40
		} else {
			work *= n
		}
		if k.Axes[i] != kernel.Parallel || n < 2 {
			continue
		}
		if axis < 0 || l.Extents[axis] < 16 && n > l.Extents[axis] {
			axis = i
		}
	}
	return axis, work
}
