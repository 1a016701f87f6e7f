package sinter

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/fusion"
)

// deviceSteps is what the steps of a device share.
type deviceSteps struct {
	turn turn
	seen atomic.Pointer[roundSeen] // of the round that is being recorded
}

// roundSeen is what a recorded round touches beside its inputs.
type roundSeen struct {
	stream *Stream // of the step

	mu    sync.Mutex
	vars  map[*Var]int
	uses  []varUse
	draws []drawn
	acts  []act
}

// varUse is a variable that a round read or set.
type varUse struct {
	v      *Var
	start  *fusion.Value // its value when the round touched it first
	frozen bool
	set    bool
}

// drawn is draw number n of a generator, which had a key.
type drawn struct {
	g   *Generator
	n   uint64
	key int64
}

// seen returns the round that is being recorded on the device of a tensor.
func (t *Tensor) seen() *roundSeen {
	if t == nil || t.v == nil {
		return nil
	}
	return t.stream().dev.steps.seen.Load()
}

// touch notes a use of the variable, whose lock is held.
func (v *Var) touch(set bool) {
	r := v.value.seen()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.vars[v]
	if !ok {
		i = len(r.uses)
		r.vars[v] = i
		r.uses = append(r.uses, varUse{v: v, start: v.value.v, frozen: v.frozen})
	}
	r.uses[i].set = r.uses[i].set || set
}

// drew notes a draw on a stream.
func (s *Stream) drew(g *Generator, n uint64, key int64) {
	if r := s.dev.steps.seen.Load(); r != nil {
		r.mu.Lock()
		r.draws = append(r.draws, drawn{g, n, key})
		r.mu.Unlock()
	}
}

// roundRecord is a round that was recorded, as it can be replayed.
type roundRecord struct {
	launches *fusion.Launches
	inputs   int
	outputs  int
	vars     []varUse
	draws    []drawn // n counts from the first draw of the generator in the round
	counts   map[*Generator]uint64
	acts     []act
}

// used are the uses of variables so far. Whoever uses one holds its lock and waits for
// that of the round, which must not be held where variables are looked at.
func (r *roundSeen) used() []varUse {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.uses)
}

// want has the values stored that variables were given.
func (r *roundSeen) want() {
	for _, u := range r.used() {
		u.v.mu.Lock()
		if t := u.v.value; u.set && t.failure() == nil {
			t.v.Want()
		}
		u.v.mu.Unlock()
	}
}

// finish ends the capture of a round.
func (r *roundSeen) finish(capture *fusion.Capture, in []*fusion.Value, out []*Tensor) (*roundRecord, error) {
	rec := &roundRecord{inputs: len(in), outputs: len(out), vars: r.used(), counts: map[*Generator]uint64{}}
	r.mu.Lock()
	draws, acts := slices.Clone(r.draws), slices.Clone(r.acts)
	r.mu.Unlock()
	rec.acts = acts
	first := map[*Generator]uint64{}
	var keys []int64
	for _, d := range draws {
		if _, ok := first[d.g]; !ok {
			first[d.g] = d.n
		}
		keys = append(keys, d.key)
		d.n -= first[d.g]
		if d.n != rec.counts[d.g] {
			return nil, &fusion.CaptureRefused{Reason: CaptureDraws}
		}
		rec.counts[d.g]++
		d.key = 0
		rec.draws = append(rec.draws, d)
	}
	var outputs []*fusion.Value
	for i, t := range out {
		if err := t.failure(); err != nil {
			return nil, &fusion.CaptureRefused{Reason: CaptureFailed, Detail: fmt.Sprintf("output %d: %v", i, err)}
		}
		outputs = append(outputs, t.v)
	}
	for i := range rec.vars {
		u := &rec.vars[i]
		in = append(in, u.start)
		u.start = nil
		if !u.set {
			continue
		}
		u.v.mu.Lock()
		t := u.v.value
		u.v.mu.Unlock()
		if err := t.failure(); err != nil {
			return nil, &fusion.CaptureRefused{Reason: CaptureFailed, Detail: fmt.Sprintf("a variable: %v", err)}
		}
		outputs = append(outputs, t.v)
	}
	var err error
	if rec.launches, err = capture.Stop(in, outputs, keys, numbersOf(acts)); err != nil {
		return nil, err
	}
	for i := range rec.acts {
		rec.acts[i].number = nil // found; it holds its stream
	}
	return rec, nil
}

// unlike says what keeps another round from being the same; nil if it is.
func (r *roundRecord) unlike(o *roundRecord) error {
	no := func(format string, args ...any) error {
		return &fusion.CaptureRefused{Reason: fusion.CaptureUnlike, Detail: fmt.Sprintf(format, args...)}
	}
	if len(r.vars) != len(o.vars) || len(r.draws) != len(o.draws) || r.outputs != o.outputs {
		return no("%d variables, %d draws, %d outputs; before %d, %d, %d", len(o.vars), len(o.draws), o.outputs, len(r.vars), len(r.draws), r.outputs)
	}
	for i := range r.vars {
		if r.vars[i] != o.vars[i] {
			return no("other variables are read or set")
		}
	}
	for i := range r.draws {
		if r.draws[i] != o.draws[i] {
			return no("generators draw in another order")
		}
	}
	if !slices.EqualFunc(r.acts, o.acts, func(a, b act) bool { return (a.do == nil) == (b.do == nil) && a.dtype == b.dtype }) {
		return no("%d numbers and functions of the host, or others than before, when there were %d", len(o.acts), len(r.acts))
	}
	return r.launches.Unlike(o.launches)
}

// replay does the round again on other inputs.
func (r *roundRecord) replay(d *Device, in []*Tensor) ([]*Tensor, error) {
	values := make([]*fusion.Value, 0, len(in)+len(r.vars))
	for i, t := range in {
		if t.stream().dev != d {
			return nil, &fusion.CaptureRefused{Reason: fusion.CaptureInput, Detail: fmt.Sprintf("input %d is on %s", i, t.Device())}
		}
		values = append(values, t.v)
	}
	consume := make([]bool, len(in), cap(values))
	for i := range r.vars {
		u := &r.vars[i]
		u.v.mu.Lock()
		t, frozen, lent := u.v.value, u.v.frozen, u.v.lent
		u.v.mu.Unlock()
		switch {
		case frozen != u.frozen:
			return nil, &fusion.CaptureRefused{Reason: CaptureFrozen}
		case t.failure() != nil || t.stream().dev != d:
			return nil, &fusion.CaptureRefused{Reason: fusion.CaptureReleased, Detail: "a variable"}
		}
		values, consume = append(values, t.v), append(consume, u.set && !lent)
	}
	out, err := r.launches.Replay(values, consume, r.bindings)
	if err != nil {
		return nil, err
	}
	tensors := make([]*Tensor, len(out))
	for i, v := range out {
		tensors[i] = &Tensor{v: v}
	}
	n := r.outputs
	for i := range r.vars {
		if u := &r.vars[i]; u.set {
			if err := u.v.Set(tensors[n]); err != nil {
				return nil, err
			}
			n++
		}
	}
	return tensors[:r.outputs], nil
}

// bindings does what a round does on the host.
func (r *roundRecord) bindings() (fusion.Bindings, error) {
	numbers, err := r.act()
	if err != nil {
		return fusion.Bindings{}, err
	}
	return fusion.Bindings{Keys: r.keys(), Numbers: numbers}, nil
}

// keys advances the generators and returns the keys of the draws of a round.
func (r *roundRecord) keys() []int64 {
	first := make(map[*Generator]uint64, len(r.counts))
	for g, n := range r.counts {
		first[g] = g.draws.Add(n) - n
	}
	out := make([]int64, len(r.draws))
	for i, d := range r.draws {
		out[i] = d.g.keyOf(first[d.g] + d.n + 1)
	}
	return out
}
