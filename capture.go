package sinter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// StepFunc is the work of a [Step]: it makes outputs from inputs, in a scope to
// which they belong, and may set variables.
type StepFunc func(s *Scope, in []*Tensor) ([]*Tensor, error)

// Step is work that is done again and again: a training step, the decoding of a
// token. Its first rounds are recorded as any work is. After a few equal ones the
// launches are replayed without calling the function: what it records each time
// costs nothing any more, and the results have the same bits.
//
// Equal are rounds that run the same plans on the same things: inputs, variables,
// results of the round, and tensors from outside that do not change. A replay checks
// the types of inputs and variables and how they lie in memory; it reads the present
// values of variables, sets those that the function sets, advances generators as
// it would, and asks for the numbers that are fed ([Fed]). If a check fails the round
// is recorded; [Step.Stats] says why. A function is never captured that reads tensors
// (what follows may depend on data), that uses other Go numbers in each round, or that
// makes tensors from slices.
//
// What the function does beside recording does not happen in a replay, but for
// [Scope.OnReplay], and what it would record otherwise because of Go variables is not
// seen: it has to depend on its inputs, on [Var], [Generator] and [Fed] alone. As a
// safeguard every 64th round is recorded, and a capture that differs from it is given
// up.
//
// A step is safe for concurrent use; it does one round at a time. Steps of one device
// take turns, so a function that runs a step of the device, as one given to [Fed] or
// [Scope.OnReplay] may too, waits for itself.
type Step struct {
	dev    *Device
	f      StepFunc
	stream *Stream

	turn  turn        // guards kinds, and is held for a round
	kinds []*stepKind // by the types of the inputs, the last used first

	mu    sync.Mutex
	stats StepStats
}

// StepStats count what became of the rounds of a step.
type StepStats struct {
	Recorded int64 // rounds that called the function
	Replayed int64 // rounds that did not
	Captured bool  // whether the last round was replayed
	// Reason is why the last round was recorded though rounds came before, or ""; a
	// [*fusion.CaptureRefused], mostly, as text.
	Reason  string
	Reasons map[fusion.CaptureReason]int64 // of all rounds
}

// The reasons of a step, beside those of package fusion.
const (
	CaptureFrozen  fusion.CaptureReason = "a variable was frozen or unfrozen"
	CaptureDraws   fusion.CaptureReason = "a generator is used elsewhere at the same time"
	CaptureFailed  fusion.CaptureReason = "the function failed"
	CaptureWarming fusion.CaptureReason = "not yet enough equal rounds"
	CaptureCheck   fusion.CaptureReason = "recorded to be compared with the capture"
)

const (
	equalRounds = 2  // comparisons in a row that must agree
	checkEvery  = 64 // replays between rounds that are recorded all the same
	stepKinds   = 4  // sets of input types that a step is captured for
	maxMisses   = 4  // rounds of another kind before a capture is given up

	// wideSegments is how much longer segments of a step are: half of a training step
	// of a dozen layers. What is cut apart does not fuse.
	wideSegments = 4
)

// stepKind is a step for inputs of certain types.
type stepKind struct {
	types    []ir.Type
	last     *roundRecord // the last one recorded, if it can be captured
	equal    int          // how often in a row it was like the one before
	replays  int          // since the last recorded round
	misses   int          // recorded rounds in a row for which a guard failed
	captured bool         // last may be replayed
}

// Capture makes a step of a function. Nothing runs yet: without a device or a function it
// is [Step.Run] that has the error.
func Capture(d *Device, f StepFunc) *Step {
	st := &Step{dev: d, f: f, stats: StepStats{Reasons: map[fusion.CaptureReason]int64{}}}
	if d != nil {
		st.stream = d.NewStream(context.Background())
		st.stream.fs.Widen(wideSegments)
	}
	return st
}

// Stats returns what became of the rounds so far.
func (st *Step) Stats() StepStats {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := st.stats
	out.Reasons = maps.Clone(out.Reasons)
	return out
}

// Release gives back what captures hold. The step can be used afterwards.
func (st *Step) Release() {
	_ = st.turn.take(context.Background()) // which does not end
	defer st.turn.give()
	for _, k := range st.kinds {
		k.drop()
	}
	st.kinds = nil
}

// Run does one round and returns its outputs, which belong to no scope and are not
// tracked; it does not wait for the device. The error is that of the function, or of an
// input that is nil; an end of ctx before the round is one too. Errors of inputs are the
// function's, as those of operands are.
func (st *Step) Run(ctx context.Context, in ...*Tensor) ([]*Tensor, error) {
	if st == nil || st.dev == nil || st.f == nil {
		return nil, &ir.Error{Kind: ir.ErrArgument, Op: "step", Msg: "a step needs a device and a function"}
	}
	for i, t := range in {
		if t == nil {
			return nil, &ir.Error{Kind: ir.ErrArgument, Op: "step", Device: st.dev.info.ID, Msg: fmt.Sprintf("input %d is nil", i)}
		}
		if t.scope.round() != nil {
			return nil, &ir.Error{Kind: ir.ErrArgument, Op: "step", Device: st.dev.info.ID,
				Msg: fmt.Sprintf("input %d is made by the function of a step, which cannot run another step of the device", i)}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, cancelledStep(err)
	}
	if err := st.turn.take(ctx); err != nil {
		return nil, err
	}
	defer st.turn.give()
	if err := st.dev.steps.turn.take(ctx); err != nil {
		return nil, err
	}
	defer st.dev.steps.turn.give()
	k := st.kind(in)
	st.count(func(s *StepStats) { s.Captured, s.Reason = false, "" })
	switch {
	case k == nil: // an input carries an error
	case k.captured && k.replays >= checkEvery:
		st.note(&fusion.CaptureRefused{Reason: CaptureCheck})
	case k.captured:
		out, err := k.last.replay(st.dev, in)
		if err == nil {
			k.replays++
			k.misses = 0
			st.count(func(s *StepStats) { s.Replayed, s.Captured = s.Replayed+1, true })
			return out, nil
		}
		refused, ok := err.(*fusion.CaptureRefused)
		if !ok {
			return nil, err
		}
		st.note(refused)
	case k.last != nil:
		st.note(&fusion.CaptureRefused{Reason: CaptureWarming})
	}
	return st.record(k, in)
}

func (st *Step) count(f func(s *StepStats)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	f(&st.stats)
}

func (st *Step) note(r *fusion.CaptureRefused) {
	st.count(func(s *StepStats) {
		s.Reason = r.Error()
		s.Reasons[r.Reason]++
	})
}

// kind returns what is known of inputs of these types, nil if one carries an error.
func (st *Step) kind(in []*Tensor) *stepKind {
	types := make([]ir.Type, len(in))
	for i, t := range in {
		if t.failure() != nil {
			return nil
		}
		types[i] = t.typ()
	}
	for i, k := range st.kinds {
		if slices.EqualFunc(k.types, types, ir.Type.Equal) {
			copy(st.kinds[1:i+1], st.kinds[:i])
			st.kinds[0] = k
			return k
		}
	}
	k := &stepKind{types: types}
	st.kinds = append([]*stepKind{k}, st.kinds...)
	if len(st.kinds) > stepKinds {
		st.kinds[stepKinds].drop()
		st.kinds = st.kinds[:stepKinds]
	}
	return k
}

func (k *stepKind) drop() {
	if k.last != nil {
		k.last.launches.Release()
	}
	k.last, k.equal, k.replays, k.misses, k.captured = nil, 0, 0, 0, false
}

// record does a round by calling the function, and compares it with the last one.
func (st *Step) record(k *stepKind, in []*Tensor) ([]*Tensor, error) {
	st.count(func(s *StepStats) { s.Recorded++ })
	guarded := k != nil && k.captured && k.replays < checkEvery // a guard failed
	out, r, refused, err := st.round(in)
	if k == nil {
		if r != nil {
			r.launches.Release()
		}
		return out, err
	}
	k.replays = 0
	var unlike error
	if r != nil && k.last != nil {
		if unlike = k.last.unlike(r); unlike == nil {
			k.equal++
		} else if x, ok := unlike.(*fusion.CaptureRefused); ok && !guarded {
			refused = x
		}
	}
	if refused != nil {
		st.note(refused)
	}
	if guarded && (r == nil || unlike != nil) && k.misses < maxMisses {
		k.misses++ // an exception, perhaps
		if r != nil {
			r.launches.Release()
		}
		return out, err
	}
	if r == nil || unlike != nil {
		k.drop()
	}
	if r != nil {
		if k.last != nil {
			k.last.launches.Release()
		}
		k.last, k.captured = r, k.equal >= equalRounds
	}
	return out, err
}

// round calls the function and captures what it does. r is nil if that cannot be
// replayed, and refused says why.
func (st *Step) round(in []*Tensor) (out []*Tensor, r *roundRecord, refused *fusion.CaptureRefused, err error) {
	capture, cerr := st.stream.fs.StartCapture()
	seen := &roundSeen{stream: st.stream, vars: map[*Var]int{}}
	st.dev.steps.seen.Store(seen)
	scope := NewScope("step", OnStream(st.stream))
	defer func() { // also where the function panics
		st.dev.steps.seen.Store(nil)
		if capture != nil {
			capture.Abandon()
		}
		scope.End()
	}()
	inside := make([]*Tensor, len(in))
	for i, t := range in {
		inside[i] = scope.In(t)
	}
	starts := make([]*fusion.Value, len(in))
	for i, t := range in {
		if t != nil {
			starts[i] = t.v
		}
	}
	made, err := st.f(scope, inside)
	if err != nil {
		return nil, nil, &fusion.CaptureRefused{Reason: CaptureFailed, Detail: err.Error()}, err
	}
	for _, t := range made {
		t = scope.Keep(t).Detach()
		if t.failure() == nil {
			t.v.Want()
		}
		out = append(out, t)
	}
	seen.want()
	scope.End()
	st.dev.steps.seen.Store(nil)
	if cerr != nil {
		refused, _ = cerr.(*fusion.CaptureRefused)
		return out, nil, refused, nil
	}
	r, rerr := seen.finish(capture, starts, out)
	if rerr != nil {
		refused, _ = rerr.(*fusion.CaptureRefused)
		return out, nil, refused, nil
	}
	return out, r, nil, nil
}
