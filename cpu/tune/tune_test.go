package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
)

var sizes = &Choice[int]{Name: "size", Candidates: []Candidate[int]{{"small", 1}, {"middle", 2}, {"large", 3}}}

// below fits candidates up to a bound.
func below(bound int) func(int) *Refusal {
	return func(n int) *Refusal {
		if n > bound {
			return &Refusal{Reason: Unfit, Detail: "too large"}
		}
		return nil
	}
}

// TestPick: the fastest that fits this launch, though another launch of the bucket
// has another; without a ranking the order of the choice; if none fits, an error
// that has every reason.
func TestPick(t *testing.T) {
	table := New()
	table.Set("size", "b", []Measured{{Candidate: "large", NS: 1}, {Candidate: "gone", NS: 2}, {Candidate: "small", NS: 3}, {Candidate: "middle", Skipped: NoMemory}})
	for _, c := range []struct {
		t      *Table
		bucket string
		bound  int
		want   int
	}{{table, "b", 3, 3}, {table, "b", 2, 1}, {table, "other", 3, 1}, {nil, "b", 3, 1}} {
		if got, err := Pick(c.t, sizes, c.bucket, below(c.bound)); err != nil || got != c.want {
			t.Errorf("bucket %s, at most %d: %d, %v, expected %d", c.bucket, c.bound, got, err, c.want)
		}
	}
	_, err := Pick(table, sizes, "b", below(0))
	failed := (*NoCandidate)(nil)
	if !errors.As(err, &failed) || len(failed.Refused) != 3 || !errors.Is(err, ir.ErrUnsupported) || !strings.Contains(err.Error(), "large: does not fit: too large") {
		t.Errorf("no candidate fits: %v", err)
	}
}

// TestMeasure: what needs too much memory, or says so when it runs, is skipped with
// the reason; any other failure is not swallowed.
func TestMeasure(t *testing.T) {
	ctx, table := context.Background(), New()
	trial := Trial[int]{
		Needs: func(n int) int64 { return int64(n) << 20 }, Memory: func() int64 { return 2 << 20 },
		Run: func(_ context.Context, n int) error {
			if n == 3 {
				t.Error("it ran without memory")
			}
			time.Sleep(time.Duration(3-n) * 2 * time.Millisecond)
			return nil
		},
	}
	got, err := Measure(ctx, table, sizes, "b", trial)
	if err != nil || len(got) != 3 || got[0].Candidate != "middle" || got[1].Candidate != "small" || got[2].Skipped != NoMemory || got[2].Detail == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if !slices.Equal(table.Get("size", "b"), got) {
		t.Error("the table does not have it")
	}
	trial.Run = func(_ context.Context, n int) error {
		if n == 1 {
			return ir.Errorf(ir.ErrMemory, "the pool is full")
		}
		return nil
	}
	if got, err = Measure(ctx, table, sizes, "b", trial); err != nil || got[0].Candidate != "middle" || got[1].Skipped != NoMemory || got[2].Skipped != NoMemory {
		t.Errorf("%+v, %v", got, err)
	}
	before := table.Get("size", "b")
	broken := errors.New("broken")
	trial.Run = func(context.Context, int) error { return broken }
	if _, err := Measure(ctx, table, sizes, "b", trial); !errors.Is(err, broken) {
		t.Errorf("a failure: %v", err)
	}
	trial.Memory = func() int64 { return 0 }
	if _, err := Measure(ctx, table, sizes, "b", trial); !errors.Is(err, ir.ErrMemory) {
		t.Errorf("no memory at all: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	trial.Memory = nil
	if _, err := Measure(cancelled, table, sizes, "b", trial); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if !slices.Equal(table.Get("size", "b"), before) {
		t.Error("a measurement that failed changed the ranking")
	}
}

// TestRank: what is level keeps the order of the choice, so that noise does not
// change what is taken.
func TestRank(t *testing.T) {
	names := func(least ...time.Duration) string {
		var out []string
		for _, m := range rank(sizes, least, make([]*Refusal, 3)) {
			out = append(out, m.Candidate)
		}
		return strings.Join(out, " ")
	}
	for want, least := range map[string][]time.Duration{
		"small middle large": {102, 101, 100},
		"middle large small": {110, 101, 100},
		"large middle small": {130, 120, 100},
	} {
		if got := names(least...); got != want {
			t.Errorf("%v: %s, expected %s", least, got, want)
		}
	}
}

// TestFile: a table is found again by its key; files that are damaged, of another
// machine or version are ignored with a reason, and written anew.
func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	table, err := Open(dir, "this machine")
	if err != nil {
		t.Fatal(err)
	}
	table.Set("size", "b", []Measured{{Candidate: "large", NS: 1.5}, {Candidate: "small", Skipped: Missing, Detail: "none"}})
	if err := table.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, "this machine")
	if err != nil || !slices.Equal(again.Get("size", "b"), table.Get("size", "b")) {
		t.Errorf("%+v, %v", again.Get("size", "b"), err)
	}
	other, err := Open(dir, "another machine")
	if err != nil || other.Get("size", "b") != nil || other.Path() == table.Path() {
		t.Errorf("another machine has %+v, %v", other.Get("size", "b"), err)
	}
	good, err := os.ReadFile(table.Path())
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty": "", "cut": string(good[:len(good)/2]), "other JSON": "[1, 2]", "version": strings.Replace(string(good), `"version": 1`, `"version": 9`, 1),
		"foreign": strings.Replace(string(good), "this machine", "that machine", 1), "types": `{"version":1,"key":"this machine","choices":{"size":3}}`,
	} {
		if err := os.WriteFile(table.Path(), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := Open(dir, "this machine")
		if !errors.Is(err, ir.ErrFormat) || read == nil || read.Get("size", "b") != nil {
			t.Errorf("%s: %v", name, err)
		}
		read.Set("size", "c", []Measured{{Candidate: "small", NS: 1}})
		if err := read.Save(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, err := Open(dir, "this machine"); err != nil || len(again.Get("size", "c")) != 1 {
			t.Errorf("%s: written anew, %v", name, err)
		}
	}
}

// TestSaves: tables of one file that are saved at once leave a whole one.
func TestSaves(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			table, err := Open(dir, "k")
			if err != nil {
				t.Error(err)
			}
			for range 10 {
				table.Set("size", Bucket(1<<i), []Measured{{Candidate: "small", NS: 1}})
				if err := table.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := Open(dir, "k"); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%d files, %v", len(list), err)
	}
}

func TestBucket(t *testing.T) {
	if a, b := Bucket(512, 7, 0), Bucket(500, 8, 1); a != b || a != "512x8x1" {
		t.Errorf("%s and %s", a, b)
	}
}
