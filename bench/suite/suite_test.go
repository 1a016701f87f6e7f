package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
)

// TestIntervals: the ends of the interval are those of the sign test (tables of the
// binomial distribution), and it covers the median about as often as it says.
func TestIntervals(t *testing.T) {
	for n, want := range map[int]int{1: -1, 5: -1, 6: 0, 8: 0, 9: 1, 11: 1, 12: 2, 20: 5, 101: 40} {
		if got := cut(n); got != want {
			t.Errorf("%d rounds: %d values lie outside at each end, expected %d", n, got, want)
		}
	}
	g := rand.New(rand.NewPCG(1, 2))
	inside, trials := 0, 4000
	for range trials {
		values := make([]float64, 15)
		for i := range values {
			values[i] = g.ExpFloat64()
		}
		const median = 0.6931471805599453
		if s := statOf(values); s.Low <= median && median <= s.High {
			inside++
		}
	}
	if share := float64(inside) / float64(trials); share < 0.95 || share > 0.99 {
		t.Errorf("the interval has the median in %.3f of the trials", share)
	}
	for _, c := range []struct {
		values  []float64
		verdict string
	}{{[]float64{0.5, 0.5, 0.6, 0.5, 0.7, 0.5}, "ahead"}, {[]float64{2, 2, 2, 2, 2, 2}, "behind"}, {[]float64{0.9, 1, 1, 1.1, 1, 1}, "level"}, {[]float64{1, 2}, ""}} {
		if got := statOf(c.values).Verdict(); got != c.verdict {
			t.Errorf("%v: %q, expected %q", c.values, got, c.verdict)
		}
	}
}

func TestSuite(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Workloads: []string{"sigmoid/4k", "matmul/128x*"}, Threads: []int{1, 2}, Peers: []string{}, Rounds: 6, Turn: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var text, markdown strings.Builder
	tables := []*Table{NewTable(&text, false, nil), NewTable(&markdown, true, nil)}
	count := 0
	if err := s.Run(ctx, func(r Result) error {
		count++
		if r.Error != "" || r.Kernel.Least <= 0 || r.Call.Least <= 0 || !r.Kernel.HasInterval() || s.machine != nil && (r.Share == nil || r.Share.Least <= 0) {
			t.Errorf("%+v", r)
		}
		return errors.Join(tables[0].Result(r), tables[1].Result(r))
	}); err != nil || count != 4 {
		t.Errorf("%d results, %v", count, err)
	}
	for _, want := range []string{"sigmoid/4k", "matmul/128x128x128"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(markdown.String(), "| "+want) {
			t.Errorf("%s is missing in\n%s\n%s", want, text.String(), markdown.String())
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Run(cancelled, func(Result) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// TestGPU measures workloads of a GPU as one of its kind, on a device that is none.
func TestGPU(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{GPU: "cpu", Workloads: []string{"relu_mul_add/1M", "train_mlp2"}, Peers: []string{}, Rounds: 1, Turn: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Limits(ctx, func(l Limit) error { return fmt.Errorf("got %+v", l) }); err != nil {
		t.Errorf("limits of the processor: %v", err)
	}
	var text, markdown strings.Builder
	tables := []*Table{NewGPUTable(&text, false, []string{"torch"}), NewGPUTable(&markdown, true, []string{"torch"})}
	count := 0
	if err := s.Run(ctx, func(r Result) error {
		count++
		if r.Error != "" || r.Threads != 0 || r.Kernel.Least <= 0 || r.Stream.Least <= 0 || r.Call.Least <= 0 {
			t.Errorf("%+v", r)
		}
		if copied := r.Share != nil && r.Bound == "copy" && r.Share.Least > 0; copied != (r.Group == "elementwise") {
			t.Errorf("%s: the share is %+v of %q", r.Workload, r.Share, r.Bound)
		}
		r.Peers = []PeerResult{{Peer: "torch", StreamRatio: Stat{Median: 0.625}}}
		return errors.Join(tables[0].Result(r), tables[1].Result(r), tables[0].Result(Result{Workload: "other", Error: "why"}))
	}); err != nil || count != 2 {
		t.Errorf("%d results, %v", count, err)
	}
	for _, want := range []string{"relu_mul_add/1M", "back to back", "0.62", "of copy", "why"} {
		if !strings.Contains(text.String(), want) || want != "why" && !strings.Contains(markdown.String(), want) {
			t.Errorf("%s is missing in\n%s\n%s", want, text.String(), markdown.String())
		}
	}
	if s, err := Open(ctx, Options{GPU: "no-such:0"}); !errors.Is(err, ir.ErrDevice) {
		t.Errorf("a GPU that is not there: %v, expected an error of a device", err)
		if s != nil {
			s.Close()
		}
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"threads": {Threads: []int{0}}, "rounds": {Rounds: -1}, "peers": {Peers: []string{"abacus"}}, "workloads": {Workloads: []string{"no-such"}},
		"threads of a GPU": {GPU: "cuda", Threads: []int{1}}, "the processors' time on a GPU": {GPU: "cuda", CPU: true},
		"peers on a GPU": {GPU: "cuda", Peers: []string{"numpy"}}, "workloads of a GPU": {GPU: "cuda", Workloads: []string{"conv2d"}},
		"peers of a GPU": {Peers: []string{"torch.graph"}},
	} {
		if s, err := Open(context.Background(), o); !errors.Is(err, ir.ErrArgument) {
			t.Errorf("%s: %v, expected an error of an argument", name, err)
			if s != nil {
				s.Close()
			}
		}
	}
}
