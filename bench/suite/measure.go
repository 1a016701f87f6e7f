package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/bench/peers"
	"github.com/sinter-go/sinter/bench/workload"
)

// Result is what was measured of a workload with a number of threads, or on a GPU. Times
// are nanoseconds of a call.
type Result struct {
	Workload string       `json:"workload"`
	Group    string       `json:"group"`
	Threads  int          `json:"threads,omitempty"` // 0 on a GPU
	Rounds   int          `json:"rounds"`
	Kernel   Stat         `json:"kernel_ns"`                // in kernels and routines
	Stream   Stat         `json:"back_to_back_ns,omitzero"` // on a GPU: among calls that are queued one behind the other
	Call     Stat         `json:"end_to_end_ns"`            // from recording to the end of the work
	Bound    string       `json:"bound,omitempty"`
	Share    *Stat        `json:"share,omitempty"` // of the limit that binds, by the kernels
	Peers    []PeerResult `json:"peers,omitempty"`
	Error    string       `json:"error,omitempty"`
}

// PeerResult is a peer beside it: Ratio is the time of the kernels over the peer's,
// StreamRatio that of calls one behind the other, as the peer makes them, CallRatio that
// of a call; below 1 Sinter is faster.
type PeerResult struct {
	Peer        string `json:"peer"`
	NS          Stat   `json:"ns"`
	Ratio       Stat   `json:"ratio"`
	StreamRatio Stat   `json:"back_to_back_ratio,omitzero"` // on a GPU
	CallRatio   Stat   `json:"end_to_end_ratio"`
}

// measure lets Sinter, the limit and the peers take turns.
func (s *Suite) measure(ctx context.Context, w *workload.Workload, threads int, model string, inputs []peers.Input) Result {
	r := Result{Workload: w.Name(), Group: w.Group, Threads: threads, Rounds: s.opt.Rounds}
	own := s.contender(w, threads)
	defer own.run.Release()
	if err := own.warm(ctx); err != nil {
		r.Error = err.Error()
		return r
	}
	bound, release, err := s.bindingLimit(ctx, w.Cost, threads)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer release()
	ask := w.Request(threads)
	ask.Model, ask.Inputs = model, inputs
	rivals := s.rivals(w, threads, ask)
	ask.Rounds, ask.Warmup, ask.MS = 1, 1, max(1, int(s.opt.Turn/time.Millisecond))
	if s.opt.CPU {
		ask.Clock = "cpu"
	}

	var kernel, stream, call, share []float64
	theirs := make([][]float64, len(rivals))
	for range s.opt.Rounds {
		t, err := own.turn(ctx, s.opt.Turn)
		if err != nil {
			r.Error = err.Error()
			return r
		}
		kernel, stream, call = append(kernel, t.kernels), append(stream, t.backToBack), append(call, t.call)
		if bound != nil {
			share = append(share, bound.time(s.opt.Turn)/t.kernels)
		}
		for i, p := range rivals {
			ns, err := p.Ask(ask)
			if err != nil {
				s.opt.Note(fmt.Sprintf("%s: %v", w.Name(), err))
				r.Error = err.Error()
				return r
			}
			theirs[i] = append(theirs[i], ns[0])
		}
	}
	r.Kernel, r.Call = statOf(kernel), statOf(call)
	if own.gpu {
		r.Stream = statOf(stream)
	}
	if bound != nil {
		st := statOf(share)
		r.Bound, r.Share = bound.name, &st
	}
	for i, p := range rivals {
		beside := PeerResult{Peer: p.Name, NS: statOf(theirs[i]), Ratio: statOf(ratios(kernel, theirs[i])), CallRatio: statOf(ratios(call, theirs[i]))}
		if own.gpu {
			beside.StreamRatio = statOf(ratios(stream, theirs[i]))
		}
		r.Peers = append(r.Peers, beside)
	}
	return r
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

// rivals are the peers that have the workload, made ready for it.
func (s *Suite) rivals(w *workload.Workload, threads int, ask peers.Request) []*peers.Peer {
	var out []*peers.Peer
	ask.Rounds, ask.Warmup, ask.MS = 1, 1, 0
	for _, p := range s.peers[threads] {
		_, err := p.Ask(ask)
		if err == nil {
			out = append(out, p)
			continue
		}
		if skipped := (*peers.Skipped)(nil); !errors.As(err, &skipped) || s.opt.GPU != "" { // few peers have every workload of a processor
			s.opt.Note(fmt.Sprintf("%s: %v", w.Name(), err))
		}
	}
	return out
}

// contender is Sinter with a workload.
type contender struct {
	dev   *sinter.Device
	run   *workload.Run
	now   limit.Clock
	gpu   bool          // which times kernels itself
	whole bool          // the time of kernels is that of the process
	clock time.Duration // what reading the clock adds to the time of a kernel
	once  time.Duration // of a call
}

func (s *Suite) contender(w *workload.Workload, threads int) *contender {
	d := s.devices[threads]
	return &contender{dev: d, run: w.Prepare(d), now: s.clock, gpu: s.opt.GPU != "", whole: s.opt.CPU}
}

// warm runs until plans, code and memory are there: what is asked for later is
// planned anew.
func (c *contender) warm(ctx context.Context) error {
	if !c.gpu {
		c.clock = clockCost()
	}
	for range 5 {
		start := time.Now()
		if err := c.step(ctx, 1); err != nil {
			return err
		}
		c.once = time.Since(start)
	}
	if c.gpu { // calls that are queued take more memory, and become graphs when they come again
		return c.step(ctx, 8)
	}
	return nil
}

// step makes n calls and waits for them.
func (c *contender) step(ctx context.Context, n int) error {
	for range n {
		if err := c.run.Step(); err != nil {
			return err
		}
	}
	return c.dev.Sync(ctx)
}

// turnTimes are nanoseconds of a call, measured in one turn.
type turnTimes struct{ kernels, backToBack, call float64 }

func (c *contender) turn(ctx context.Context, turn time.Duration) (t turnTimes, err error) {
	if t.kernels, err = c.kernels(ctx, turn); err != nil {
		return t, err
	}
	if c.gpu {
		if t.backToBack, err = c.backToBack(ctx, turn); err != nil {
			return t, err
		}
	}
	t.call, err = c.calls(ctx, turn)
	return t, err
}

// kernels measures the time in kernels of a call. Calls are queued one behind the
// other, so that the device never waits for the host.
func (c *contender) kernels(ctx context.Context, turn time.Duration) (float64, error) {
	profiler, ok := backend.As[backend.Profiler](c.dev.Backend())
	counting, ok2 := backend.As[backend.Counting](c.dev.Backend())
	if !ok || !ok2 {
		return 0, fmt.Errorf("device %s does not tell the time of kernels", c.dev)
	}
	if err := c.step(ctx, 1); err != nil { // helpers are awake, caches filled
		return 0, err
	}
	window, err := profiler.ProfileStart()
	if err != nil {
		return 0, err
	}
	before, n := counting.Counters(), 0
	batch := int(min(max(time.Millisecond/max(c.once, time.Microsecond), 1), 64))
	start := c.now()
	for ; n == 0 || c.now()-start < turn; n += batch {
		if err := c.step(ctx, batch); err != nil {
			window.Abandon()
			return 0, err
		}
	}
	process := c.now() - start
	after := counting.Counters()
	if _, err := window.End(ctx); err != nil {
		return 0, err
	}
	if c.whole {
		return max(float64(process)/float64(n), 1), nil
	}
	timed := after.Kernels - before.Kernels + after.Routines - before.Routines
	took := after.KernelTime - before.KernelTime - time.Duration(timed)*c.clock
	return max(float64(took)/float64(n), 1), nil
}

// calls measures the time from recording a call to the end of its work.
func (c *contender) calls(ctx context.Context, turn time.Duration) (float64, error) {
	n, start := 0, c.now()
	for ; n == 0 || c.now()-start < turn; n++ {
		if err := c.step(ctx, 1); err != nil {
			return 0, err
		}
	}
	return max(float64(c.now()-start)/float64(n), 1), nil
}

// clockCost is the time between two readings of the clock, at the least.
func clockCost() time.Duration {
	least := time.Hour
	for range 1000 {
		start := time.Now()
		least = min(least, time.Since(start))
	}
	return least
}

// bound is a limit that a workload cannot be faster than.
type bound struct {
	name string
	time func(turn time.Duration) float64 // of a call, in nanoseconds
}

// bindingLimit finds what binds; nil if that is not measured. What it made is given up
// by release.
func (s *Suite) bindingLimit(ctx context.Context, c workload.Cost, threads int) (b *bound, release func(), err error) {
	if s.opt.GPU != "" {
		return s.copyLimit(ctx, c)
	}
	return s.machineLimit(c, threads), func() {}, nil
}

// machineLimit is the bytes, at the faster of the ways to move them, or the arithmetic.
// nil if the machine's limits are not measured.
func (s *Suite) machineLimit(c workload.Cost, threads int) *bound {
	if s.machine == nil {
		return nil
	}
	var best *bound
	try := func(b *bound, better func(a, b float64) bool) {
		if best == nil || better(b.time(s.opt.Turn), best.time(s.opt.Turn)) {
			best = b
		}
	}
	ways := []limit.Kind{c.Moves}
	if c.Moves == limit.Copy {
		ways = append(ways, limit.CopyStream)
	}
	for _, k := range ways {
		try(&bound{string(k), func(turn time.Duration) float64 {
			rate, err := s.machine.Bandwidth(k, c.Bytes, threads, turn)
			if err != nil {
				return 0
			}
			return float64(c.Bytes) / rate * 1e9
		}}, func(a, b float64) bool { return a < b })
	}
	if c.Work > 0 {
		k := c.Unit
		if !s.machine.Has(k) { // computed in f32 here
			k = limit.F32
		}
		try(&bound{string(k), func(turn time.Duration) float64 {
			rate, err := s.machine.Rate(k, threads, turn)
			if err != nil {
				return 0
			}
			return c.Work / rate * 1e9
		}}, func(a, b float64) bool { return a > b })
	}
	return best
}
