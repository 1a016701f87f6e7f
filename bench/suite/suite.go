// Package suite measures workloads on the processor at hand, or on a GPU: what the
// kernels take and what a call takes from end to end, beside the limit of the machine
// and beside peers. All of them take turns, so that what else runs on the machine meets
// all of them; figures are medians over the rounds, and ratios are formed within a round.
package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/bench/peers"
	"github.com/sinter-go/sinter/bench/workload"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
)

// Options say what is measured. The zero value measures everything.
type Options struct {
	Workloads []string // patterns, see [workload.Select]; all by default
	GPU       string   // the id of a device, such as "cuda:0": its workloads are measured there, beside peers on it
	Threads   []int    // 1, and all processors, by default; none with a GPU
	Peers     []string // names of peers; nil is all that are installed, empty none
	Rounds    int      // 9 by default, at least 1; intervals need 6
	Turn      time.Duration
	Quick     bool // few workloads, short rounds
	CPU       bool // measure the time that processors spend, of one thread: for machines that do other work too
	Where     peers.Options
	Device    cpu.Options // of Sinter; ID and Threads are set. Without effect on a GPU
	// Note is told what is skipped, and why. It may be nil.
	Note func(text string)
}

func (o Options) withDefaults() (Options, error) {
	var err error
	if o.GPU != "" {
		o, err = o.onGPU()
	} else {
		o, err = o.onProcessor()
	}
	if err != nil {
		return o, err
	}
	if o.Rounds == 0 {
		o.Rounds = 9
		if o.Quick {
			o.Rounds = 3
		}
	}
	if o.Rounds < 1 || o.Rounds > 10000 {
		return o, ir.Errorf(ir.ErrArgument, "rounds is %d, expected 1 to 10000", o.Rounds)
	}
	if o.Turn == 0 {
		o.Turn = 5 * time.Millisecond
		if o.Quick {
			o.Turn = time.Millisecond
		}
	}
	if o.Peers == nil {
		o.Peers = o.Where.Names()
	}
	for _, name := range o.Peers {
		if !o.Where.Known(name) {
			return o, ir.Errorf(ir.ErrArgument, "peer %q, expected some of %v", name, o.Where.Names())
		}
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	return o, nil
}

// onProcessor completes what is of processors only.
func (o Options) onProcessor() (Options, error) {
	o.Where.GPU = ""
	if o.CPU {
		if o.Threads == nil {
			o.Threads = []int{1}
		}
		if len(o.Threads) != 1 || o.Threads[0] != 1 {
			return o, ir.Errorf(ir.ErrArgument, "threads are %v, expected 1: the time of processors is that of all threads together", o.Threads)
		}
	}
	if len(o.Threads) == 0 {
		o.Threads = []int{1}
		if n := runtime.GOMAXPROCS(0); n > 1 {
			o.Threads = append(o.Threads, n)
		}
	}
	for _, n := range o.Threads {
		if n < 1 || n > 1024 {
			return o, ir.Errorf(ir.ErrArgument, "threads is %d, expected 1 to 1024", n)
		}
	}
	return o, nil
}

// kind is the kind of device that is measured.
func (o Options) kind() workload.Kind {
	if o.GPU != "" {
		return workload.GPU
	}
	return workload.CPU
}

// Suite is workloads, devices and peers that are ready. It is for one goroutine.
type Suite struct {
	opt     Options
	chosen  []*workload.Workload
	machine *limit.Machine // nil where limits are not measured
	clock   limit.Clock
	devices map[int]*sinter.Device
	peers   map[int][]*peers.Peer // by threads
	dir     string                // of the peers' programs and models
	models  int                   // that were written
}

// Open starts what is installed. Errors of kind [ir.ErrArgument] are the options'.
func Open(ctx context.Context, o Options) (*Suite, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Suite{opt: o, clock: limit.Wall(), devices: map[int]*sinter.Device{}, peers: map[int][]*peers.Peer{}}
	if s.chosen, err = o.kind().Select(o.Workloads); err != nil {
		return nil, err
	}
	if o.Quick && len(o.Workloads) == 0 {
		var few []*workload.Workload
		for _, w := range s.chosen {
			if w.Quick {
				few = append(few, w)
			}
		}
		s.chosen = few
	}
	open := s.openProcessor
	if o.GPU != "" {
		open = s.openGPU
	}
	if err := open(); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.startPeers(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openProcessor opens a device for each number of threads, and the machine whose
// limits are measured.
func (s *Suite) openProcessor() (err error) {
	if s.opt.CPU {
		if s.clock, err = limit.CPU(); err != nil {
			return err
		}
	}
	if s.machine, err = limit.Open(); errors.Is(err, ir.ErrUnsupported) {
		s.opt.Note("without limits: " + err.Error())
	} else if err != nil {
		return err
	}
	if s.machine != nil {
		s.machine.SetClock(s.clock)
	}
	for _, n := range s.opt.Threads {
		opt := s.opt.Device
		opt.ID, opt.Threads = fmt.Sprintf("bench%d", n), n
		b, err := cpu.New(opt)
		if err != nil {
			return err
		}
		s.devices[n] = sinter.NewRuntime().Adopt(b)
	}
	return nil
}

// startPeers starts each peer for each number of threads.
func (s *Suite) startPeers(ctx context.Context) (err error) {
	if len(s.opt.Peers) == 0 {
		return nil
	}
	if s.dir, err = os.MkdirTemp("", "sinter-bench"); err != nil {
		return err
	}
	if err := peers.Extract(s.dir); err != nil {
		return err
	}
	for _, name := range s.opt.Peers {
		for _, n := range s.opt.Threads {
			p, err := peers.Start(ctx, s.opt.Where, s.dir, name, n)
			if skipped := (*peers.Skipped)(nil); errors.As(err, &skipped) {
				s.opt.Note("without " + err.Error())
				break
			} else if err != nil {
				return err
			}
			s.peers[n] = append(s.peers[n], p)
		}
	}
	return nil
}

// Close ends peers and devices.
func (s *Suite) Close() {
	for _, list := range s.peers {
		for _, p := range list {
			p.Close()
		}
	}
	for _, d := range s.devices {
		_ = d.Close() // nothing of it is needed any more
	}
	if s.machine != nil {
		s.machine.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // temporary files
	}
}

// Peers returns the names and versions of those that run.
func (s *Suite) Peers() []peers.Answer {
	var out []peers.Answer
	for _, p := range s.peers[s.opt.Threads[0]] {
		out = append(out, peers.Answer{Peer: p.Name, Version: p.Version})
	}
	return out
}

// Device describes the device of the first number of threads.
func (s *Suite) Device() string { return s.devices[s.opt.Threads[0]].Info().Detail }

// Run measures the workloads one by one and hands each result over, until ctx ends
// or give returns an error.
func (s *Suite) Run(ctx context.Context, give func(Result) error) error {
	for _, w := range s.chosen {
		model, inputs := s.model(ctx, w)
		for _, n := range s.opt.Threads {
			if err := ctx.Err(); err != nil {
				return err
			}
			r := s.measure(ctx, w, n, model, inputs)
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := give(r); err != nil {
				return err
			}
		}
		if model != "" {
			_ = os.Remove(model) // so that a long run does not fill the disk
		}
	}
	return nil
}

// model writes the workload as a file for peers that run such; "" if there is none.
func (s *Suite) model(ctx context.Context, w *workload.Workload) (string, []peers.Input) {
	if s.dir == "" || s.opt.GPU != "" { // no peer on a GPU asks for one
		return "", nil
	}
	b, inputs, err := w.Model(ctx)
	if err != nil {
		return "", nil
	}
	s.models++
	path := filepath.Join(s.dir, fmt.Sprintf("workload%d.onnx", s.models)) // peers know models by their path
	if err := os.WriteFile(path, b, 0o600); err != nil {
		s.opt.Note(fmt.Sprintf("%s has no model: %v", w.Name(), err))
		return "", nil
	}
	return path, inputs
}
