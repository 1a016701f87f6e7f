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

// workers runs the pieces of one launch on the device goroutine and on helpers,
// which claim pieces by a counter: a slow helper delays only the piece it holds.
type workers struct {
	jobs chan *job
	n    int
	wg   sync.WaitGroup
}

type job struct {
	exe    kernel.Executable
	launch *kernel.Launch
	axis   int
	piece  int64
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
	extent := j.launch.Extents[j.axis]
	for {
		from := j.next.Add(j.piece) - j.piece
		if from >= extent {
			return
		}
		j.exe.Run(j.launch.Slice(j.axis, from, min(from+j.piece, extent)))
	}
}

// run executes a launch, in pieces where it is long enough.
func (w *workers) run(exe kernel.Executable, l *kernel.Launch, k *kernel.Kernel) {
	axis, work := splitAxis(l, k)
	if axis < 0 || work < serialWork {
		exe.Run(l)
		return
	}
	extent := l.Extents[axis]
	pieces := max((work+pieceWork-1)/pieceWork, int64(4*(w.n+1)))
	if w.n == 0 {
		pieces = (work + pieceWork - 1) / pieceWork
	}
	piece := max((extent+pieces-1)/pieces, 1)
	if axis == len(l.Extents)-1 { // keep pieces of the innermost axis whole vectors
		piece = (piece + 63) / 64 * 64
	}
	if piece >= extent {
		exe.Run(l)
		return
	}
	j := &job{exe: exe, launch: l, axis: axis, piece: piece}
	for i := 0; i < w.n; i++ {
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
