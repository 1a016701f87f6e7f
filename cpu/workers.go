package cpu

import (
	"sort"
	"time"

	"github.com/sinter-go/sinter/kernel"
)

// Work below serialTime is not divided: handing it over would take as long. What is
// claimed at once takes about claimTime at most, since the collector cannot stop a
// goroutine inside generated code, and at least minClaimTime.
const (
	serialTime   = 2 * time.Microsecond
	claimTime    = 50 * time.Microsecond
	minClaimTime = time.Microsecond
)

// workers runs the parts of one function on the device goroutine and its helpers.
// Only the device goroutine uses it.
type workers struct {
	team    *team
	shares  []share
	slices  []kernel.Launch // of the members of the team
	timed   bool            // the caller's next claim is timed
	do      func(claim int64, member int)
	compile func(*kernel.Kernel) (exe kernel.Executable, generated bool, err error)
	scratch scratch
	serial  time.Duration // work below it is not divided; see serialTime
}

// share is work that is claimed at once: parts as they are, or slices of one.
type share struct {
	parts []part // several run one after the other
	axis  int    // along which a single part is sliced; -1 if it is not
	slice int64  // elements along it
	first int64  // number of its first claim in the job
}

func newWorkers(threads int, p *pool, compile func(*kernel.Kernel) (kernel.Executable, bool, error)) *workers {
	w := &workers{team: newTeam(threads - 1), slices: make([]kernel.Launch, threads), compile: compile, scratch: scratch{pool: p}, serial: serialTime}
	w.do = w.runClaim
	return w
}

func (w *workers) close() { w.team.close() }

// threads returns how many goroutines may run at once.
func (w *workers) threads() int { return w.team.helpers + 1 }

// run executes parts that do not depend on each other: those that divide their own
// work, and those that are divided along what they reduce, one after the other.
func (w *workers) run(parts []part) {
	rest := parts[:0:0]
	for i := range parts {
		p := &parts[i]
		if d, ok := p.exe.(kernel.Divided); ok {
			if work := d.Divide(p.l, w.threads()); work != nil {
				w.runWork(work)
				continue
			}
		}
		if w.isLong(p) && w.runLong(p) {
			continue
		}
		if len(parts) == 1 {
			rest = parts
		} else {
			rest = append(rest, *p)
		}
	}
	w.runParts(rest)
}

// runParts runs parts by slices of their kept axes: what is long enough in slices,
// small neighbours together.
func (w *workers) runParts(parts []part) {
	if len(parts) == 0 {
		return
	}
	claims, cost := w.plan(parts)
	if claims == 1 {
		w.runAll(parts)
	} else {
		w.timed = true
		w.team.run(claims, cost, w.do)
	}
	clear(w.shares)
	for i := range w.slices { // keep nothing of the launch alive
		w.slices[i].Fault, w.slices[i].Params, w.slices[i].Full = nil, nil, nil
		clear(w.slices[i].Args)
	}
}

// runAll runs parts as they are, on the caller.
func (w *workers) runAll(parts []part) {
	for i := range parts {
		p := &parts[i]
		if !p.pace.timed() {
			p.exe.Run(p.l)
			continue
		}
		start := time.Now()
		p.exe.Run(p.l)
		p.pace.note(units(p.l, p.k), time.Since(start))
	}
}

// runClaim runs a claim of the shares.
func (w *workers) runClaim(claim int64, member int) {
	s := &w.shares[sort.Search(len(w.shares), func(i int) bool { return w.shares[i].first > claim })-1]
	if s.axis < 0 {
		for i := range s.parts {
			s.parts[i].exe.Run(s.parts[i].l)
		}
		return
	}
	p, l := &s.parts[0], &w.slices[member]
	from := (claim - s.first) * s.slice
	p.l.SliceInto(l, s.axis, from, min(from+s.slice, p.l.Extents[s.axis]))
	if member > 0 || !w.timed {
		p.exe.Run(l)
		return
	}
	w.timed = false
	start := time.Now()
	p.exe.Run(l)
	p.pace.note(units(l, p.k), time.Since(start))
}

// runWork runs the phases of a work.
func (w *workers) runWork(work *kernel.Work) {
	if work.Release != nil {
		defer work.Release()
	}
	for i := range work.Phases {
		p := &work.Phases[i]
		w.runTasks(p.Tasks, p.Cost, p.Do)
	}
}

// runTasks runs tasks of some cost together, in instructions of generated code
// times elements.
func (w *workers) runTasks(tasks, units int64, do func(task int64)) {
	cost := time.Duration(float64(units) * generatedPace)
	if tasks <= 1 || cost < w.serial {
		for n := range tasks {
			do(n)
		}
		return
	}
	w.team.run(tasks, cost, func(n int64, _ int) { do(n) })
}

// plan divides parts into shares, and returns the number of claims and their cost.
// Small neighbours are one share as long as they are serial work together, so that
// handing over never costs more than it gains.
func (w *workers) plan(parts []part) (claims int64, cost time.Duration) {
	w.shares = w.shares[:0]
	small := time.Duration(0) // of the last share, if it takes more
	for i := range parts {
		p := &parts[i]
		c := p.pace.cost(units(p.l, p.k))
		cost += c
		if axis, slice := w.sliceOf(p, c); slice > 0 {
			small = 0
			w.shares = append(w.shares, share{parts: parts[i : i+1], axis: axis, slice: slice, first: claims})
			claims += (p.l.Extents[axis] + slice - 1) / slice
			continue
		}
		if small > 0 && small+c < w.serial {
			last := &w.shares[len(w.shares)-1]
			last.parts = parts[i-len(last.parts) : i+1]
			small += c
			continue
		}
		small = c
		w.shares = append(w.shares, share{parts: parts[i : i+1], axis: -1, first: claims})
		claims++
	}
	return claims, cost
}

// sliceOf returns the axis of a part to slice and how many elements along it are
// claimed at once, 0 if the part is not worth slicing.
func (w *workers) sliceOf(p *part, cost time.Duration) (axis int, slice int64) {
	axis = splitAxis(p.l, p.k)
	if axis < 0 || cost < w.serial || w.threads() == 1 && cost <= claimTime {
		return axis, 0
	}
	extent, pieces := p.l.Extents[axis], int64(cost/claimTime)+1
	if w.threads() > 1 {
		pieces = max(pieces, min(4*int64(w.threads()), int64(cost/minClaimTime)))
	}
	slice = max((extent+pieces-1)/pieces, 1)
	if axis == len(p.l.Extents)-1 { // keep slices of the innermost axis whole vectors
		slice = (slice + 63) / 64 * 64
	}
	if slice >= extent {
		return axis, 0
	}
	return axis, slice
}

// splitAxis returns the outermost parallel axis that is worth splitting, or -1.
func splitAxis(l *kernel.Launch, k *kernel.Kernel) int {
	axis := -1
	for i, n := range l.Extents {
		if k.Axes[i] != kernel.Parallel || n < 2 {
			continue
		}
		if axis < 0 || l.Extents[axis] < 16 && n > l.Extents[axis] {
			axis = i
		}
	}
	return axis
}
