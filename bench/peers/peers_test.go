package peers

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestPeers asks every peer that is installed for one workload, twice, and for one
// that nobody has.
func TestPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts compilers and interpreters")
	}
	dir := t.TempDir()
	if err := Extract(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			p, err := Start(ctx, Options{}, dir, name, 1)
			if s := (*Skipped)(nil); errors.As(err, &s) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if p.Version == "" {
				t.Error("it has no version")
			}
			ask := Request{Workload: "relu_mul_add", Sizes: []int{1000}, DType: "f32", Threads: 1, Warmup: 1, Rounds: 2, MS: 1}
			if name == "openblas" || name == "onednn" || name == "gonum" {
				ask.Workload, ask.Sizes = "matmul", []int{20, 30, 40}
			}
			for range 2 {
				ns, err := p.Ask(ask)
				if s := (*Skipped)(nil); errors.As(err, &s) && name == "onnxruntime" {
					break // it has no model
				}
				if err != nil || len(ns) != 2 || ns[0] <= 0 || ns[1] <= 0 {
					t.Fatalf("got %v, %v", ns, err)
				}
			}
			ask.Workload = "nothing"
			s := (*Skipped)(nil)
			if _, err := p.Ask(ask); !errors.As(err, &s) {
				t.Errorf("a workload that nobody has: got %v, expected a reason to skip it", err)
			}
		})
	}
}

func TestUnknownPeer(t *testing.T) {
	if _, err := Start(context.Background(), Options{}, t.TempDir(), "abacus", 1); err == nil {
		t.Error("no error")
	}
	missing := Options{Python: "no-such-python", Compiler: "no-such-compiler"}
	for _, name := range []string{"c", "torch"} {
		s := (*Skipped)(nil)
		if _, err := Start(context.Background(), missing, t.TempDir(), name, 1); !errors.As(err, &s) {
			t.Errorf("%s: got %v, expected a reason to skip it", name, err)
		}
	}
}
