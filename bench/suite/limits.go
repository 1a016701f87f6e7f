package suite

import (
	"context"

	"github.com/sinter-go/sinter/bench/limit"
)

// Limit is what the machine does at most with a number of threads, per second:
// bytes where Bytes, the memory in which they are moved, is not 0, else operations.
type Limit struct {
	Kind    string  `json:"limit"`
	Bytes   int64   `json:"bytes,omitempty"`
	Threads int     `json:"threads"`
	Rate    Stat    `json:"per_second"`
	Best    float64 `json:"best_per_second"`
}

// footprints are the sizes of memory, for each thread, in which bytes are moved:
// they lie in the second cache of most processors, in the third, and in neither.
var footprints = []int64{512 << 10, 8 << 20, 256 << 20}

// Limits measures the machine: nothing where there is no generator.
func (s *Suite) Limits(ctx context.Context, give func(Limit) error) error {
	if s.machine == nil {
		return nil
	}
	measure := func(l Limit, rate func() (float64, error)) error {
		var values []float64
		for range s.opt.Rounds {
			if err := ctx.Err(); err != nil {
				return err
			}
			v, err := rate()
			if err != nil {
				return err
			}
			values, l.Best = append(values, v), max(l.Best, v)
		}
		l.Rate = statOf(values)
		return give(l)
	}
	for _, n := range s.opt.Threads {
		for _, k := range limit.Bandwidths {
			for _, each := range footprints {
				bytes := each
				if bytes < 64<<20 { // caches are a thread's own, or large enough for its share
					bytes *= int64(n)
				}
				if err := measure(Limit{Kind: string(k), Bytes: bytes, Threads: n}, func() (float64, error) {
					return s.machine.Bandwidth(k, bytes, n, s.opt.Turn)
				}); err != nil {
					return err
				}
			}
		}
		for _, k := range limit.Arithmetic {
			if !s.machine.Has(k) {
				continue
			}
			if err := measure(Limit{Kind: string(k), Threads: n}, func() (float64, error) { return s.machine.Rate(k, n, s.opt.Turn) }); err != nil {
				return err
			}
		}
	}
	return nil
}
