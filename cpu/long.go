package cpu

import (
	"unsafe"

	"github.com/sinter-go/sinter/kernel/divide"
)

// A launch is divided along what it reduces where its kept axes give less than two
// claims for each goroutine, or claims of more than maxClaims times their time,
// for it then takes long, and cannot be interrupted.
const maxClaims = 4

// longForms are the divided forms of a kernel, by shape; nil where it has none.
type longForms map[divide.Shape]*longForm

// longForm is a divided kernel whose kernels are ready.
type longForm struct {
	*divide.Form
	ready []ready
}

// isLong reports whether a part of some cost is better divided along what it
// reduces.
func (w *workers) isLong(p *part) bool {
	if from, to := p.k.ReducedAxes(); from == to {
		return false
	}
	cost, claims := p.pace.cost(units(p.l, p.k)), int64(1)
	if axis, slice := w.sliceOf(p, cost); slice > 0 {
		claims = (p.l.Extents[axis] + slice - 1) / slice
	}
	if int64(cost)/claims > maxClaims*int64(claimTime) {
		return true
	}
	return w.threads() > 1 && claims < 2*int64(w.threads()) && cost >= 4*w.serial
}

// form returns the divided form of a part's kernel for its launch, nil if it has
// none.
func (w *workers) form(p *part) *longForm {
	shape, ok := divide.Find(p.k, p.l)
	if !ok {
		return nil
	}
	if f, known := p.long[shape]; known {
		return f
	}
	if p.long == nil {
		p.long = longForms{}
	}
	p.long[shape] = nil
	form := divide.New(p.k, shape)
	if form == nil {
		return nil
	}
	f := &longForm{Form: form}
	for _, k := range form.Kernels {
		exe, generated, err := w.compile(k)
		if err != nil || generated != p.generated { // then the whole is better
			return nil
		}
		f.ready = append(f.ready, newReady(k, exe, generated))
	}
	p.long[shape] = f
	return f
}

// runLong runs a part in its divided form, and reports whether it has one and
// there is memory for it.
func (w *workers) runLong(p *part) bool {
	f := w.form(p)
	if f == nil {
		return false
	}
	defer w.scratch.release()
	steps := f.Plan(p.l, w.scratch.take)
	if w.scratch.failed {
		return false
	}
	for i := range steps {
		s := &steps[i]
		if s.Launches == nil {
			w.runTasks(s.Tasks, s.Cost, s.Do)
			continue
		}
		parts := make([]part, len(s.Launches))
		for j, l := range s.Launches {
			parts[j] = part{ready: &f.ready[s.Kernel], l: l}
		}
		w.runParts(parts)
	}
	return true
}

// scratch is memory of a launch that runs in steps: a small arena that stays, and
// buffers of the pool.
type scratch struct {
	pool    *pool
	arena   []byte // aligned
	used    int64
	buffers []*buffer
	failed  bool // there was no memory
}

// arenaBytes is the size of the arena: the results of the chunks of some millions
// of elements.
const arenaBytes = 256 << 10

func (s *scratch) take(n int64) unsafe.Pointer {
	n = (n + alignment - 1) &^ (alignment - 1)
	if s.arena == nil {
		b := make([]byte, arenaBytes+alignment)
		s.arena = b[-uintptr(unsafe.Pointer(unsafe.SliceData(b)))&(alignment-1):][:arenaBytes]
	}
	if s.used+n <= arenaBytes {
		p := unsafe.Pointer(&s.arena[s.used])
		s.used += n
		return p
	}
	b, err := s.pool.get(n)
	if err != nil {
		s.failed = true
		return nil
	}
	s.buffers = append(s.buffers, b)
	return unsafe.Pointer(unsafe.SliceData(b.data))
}

func (s *scratch) release() {
	for _, b := range s.buffers {
		s.pool.put(b)
	}
	clear(s.buffers)
	s.buffers, s.used, s.failed = s.buffers[:0], 0, false
}
