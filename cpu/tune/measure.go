package tune

import (
	"context"
	"errors"
	"sort"
	"time"

	"github.com/sinter-go/sinter/ir"
)

// Trial is how candidates of a bucket are measured.
type Trial[C any] struct {
	// Needs returns the bytes of memory that a candidate takes beside what there is
	// already, and Memory how many there are; nil means that neither counts. A
	// candidate that needs more is skipped, before it can make the allocator fail.
	Needs  func(C) int64
	Memory func() int64
	// Run does the work once. Errors of the kinds [ir.ErrMemory] and
	// [ir.ErrUnsupported] skip the candidate; any other ends the measurement.
	Run func(context.Context, C) error
	// Before, if there is one, is called before each turn, and not timed.
	Before func(context.Context) error
	Rounds int           // 5 by default
	Turn   time.Duration // at least so long in each round; one run by default
}

// tolerance is how much faster than an earlier candidate one must be to be ranked
// before it: what is level stays in the order of the choice.
const tolerance = 0.03

// Measure lets the candidates take turns and ranks them by their least times; the
// ranking is kept in t and returned. It fails if ctx ends, if a candidate fails for
// another reason than those of [Reason], or if all are skipped.
func Measure[C any](ctx context.Context, t *Table, c *Choice[C], bucket string, trial Trial[C]) ([]Measured, error) {
	rounds := trial.Rounds
	if rounds <= 0 {
		rounds = 5
	}
	least := make([]time.Duration, len(c.Candidates))
	refused := make([]*Refusal, len(c.Candidates))
	for round := -1; round < rounds; round++ { // the first one is not counted
		for i := range c.Candidates {
			x := &c.Candidates[i]
			if refused[i] != nil {
				continue
			}
			took, err := trial.once(ctx, x)
			var r *Refusal
			switch {
			case errors.As(err, &r):
				refused[i] = r
			case err != nil:
				return nil, err
			case round == 0 || round > 0 && took < least[i]:
				least[i] = took
			}
		}
	}
	ranking := rank(c, least, refused)
	if ranking[0].Skipped != "" {
		failed := &NoCandidate{Choice: c.Name, Bucket: bucket, Refused: refused}
		return nil, failed
	}
	t.Set(c.Name, bucket, ranking)
	return ranking, nil
}

// once runs a candidate for a turn and returns the time of a run.
func (trial *Trial[C]) once(ctx context.Context, x *Candidate[C]) (time.Duration, error) {
	if trial.Needs != nil && trial.Memory != nil {
		if needs, has := trial.Needs(x.Is), trial.Memory(); needs > has {
			return 0, &Refusal{x.Name, NoMemory, ir.Errorf(ir.ErrMemory, "it needs %d bytes, there are %d", needs, has).Msg}
		}
	}
	if trial.Before != nil {
		if err := trial.Before(ctx); err != nil {
			return 0, err
		}
	}
	n, start := 0, time.Now()
	for n == 0 || time.Since(start) < trial.Turn {
		if err := ctx.Err(); err != nil {
			return 0, &ir.Error{Kind: ir.ErrCancelled, Msg: "measuring candidates", Cause: err}
		}
		switch err := trial.Run(ctx, x.Is); {
		case errors.Is(err, ir.ErrMemory):
			return 0, &Refusal{x.Name, NoMemory, err.Error()}
		case errors.Is(err, ir.ErrUnsupported):
			return 0, &Refusal{x.Name, Missing, err.Error()}
		case err != nil:
			return 0, err
		}
		n++
	}
	return time.Since(start) / time.Duration(n), nil
}

// rank orders candidates: one that is level with an earlier one stays behind it.
func rank[C any](c *Choice[C], least []time.Duration, refused []*Refusal) []Measured {
	var order, out []int
	for i := range c.Candidates {
		if refused[i] == nil {
			order = append(order, i)
		} else {
			out = append(out, i)
		}
	}
	if len(order) > 0 {
		best := least[order[0]]
		for _, i := range order {
			best = min(best, least[i])
		}
		level := func(i int) bool { return float64(least[i]) <= float64(best)*(1+tolerance) }
		sort.SliceStable(order, func(a, b int) bool {
			x, y := order[a], order[b]
			if level(x) || level(y) {
				return level(x) && !level(y)
			}
			return least[x] < least[y]
		})
	}
	var ranking []Measured
	for _, i := range order {
		ranking = append(ranking, Measured{Candidate: c.Candidates[i].Name, NS: float64(least[i])})
	}
	for _, i := range out {
		ranking = append(ranking, Measured{Candidate: c.Candidates[i].Name, Skipped: refused[i].Reason, Detail: refused[i].Detail})
	}
	return ranking
}
