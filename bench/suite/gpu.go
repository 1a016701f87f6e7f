package suite

import (
	"context"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/workload"
	"github.com/sinter-go/sinter/ir"
)

// onGPU completes what is of a GPU only. It has one column, of no threads.
func (o Options) onGPU() (Options, error) {
	switch {
	case o.CPU:
		return o, ir.Errorf(ir.ErrArgument, "the time of processors is measured on them, not on %s", o.GPU)
	case len(o.Threads) > 0:
		return o, ir.Errorf(ir.ErrArgument, "threads are %v, expected none for %s", o.Threads, o.GPU)
	}
	o.Threads, o.Where.GPU = []int{0}, o.GPU
	if o.Turn == 0 { // long enough for its clock to rise
		o.Turn = 20 * time.Millisecond
		if o.Quick {
			o.Turn = 5 * time.Millisecond
		}
	}
	return o, nil
}

func (s *Suite) openGPU() error {
	d, err := sinter.NewRuntime().Device(s.opt.GPU)
	if err != nil {
		return err
	}
	s.devices[0] = d
	return nil
}

// copyLimit is a kernel that moves as many bytes, for a workload that does little else:
// it takes its turn as the others do, and its time is that of kernels too.
func (s *Suite) copyLimit(ctx context.Context, c workload.Cost) (*bound, func(), error) {
	if c.Work > 0 {
		return nil, func() {}, nil
	}
	copying := s.contender(workload.Copy(c.Bytes), 0)
	if err := copying.warm(ctx); err != nil {
		copying.run.Release()
		return nil, nil, err
	}
	return &bound{"copy", func(turn time.Duration) float64 {
		ns, err := copying.kernels(ctx, turn)
		if err != nil {
			return 0
		}
		return ns
	}}, copying.run.Release, nil
}

// backToBack measures a call among others that are queued behind one another, captured
// where it can be, without a window: a GPU is then free to launch what it knows as it
// likes. There are at least three calls; numbers that take too little time are what
// warms up the next one.
func (c *contender) backToBack(ctx context.Context, turn time.Duration) (float64, error) {
	for n := 3; ; {
		start := c.now()
		for range n {
			if err := c.run.Again(); err != nil {
				return 0, err
			}
		}
		if err := c.dev.Sync(ctx); err != nil {
			return 0, err
		}
		took := c.now() - start
		if took >= turn {
			return float64(took) / float64(n), nil
		}
		n = max(2*n, int(1.2*float64(n)*float64(turn)/float64(max(took, time.Microsecond))))
	}
}
