package peers

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// TestGPUPeers: they compute on a GPU, or say that there is none.
func TestGPUPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts interpreters")
	}
	dir := t.TempDir()
	if err := Extract(dir); err != nil {
		t.Fatal(err)
	}
	o := Options{GPU: "cuda:0"}
	if want := []string{"torch", "torch.graph", "torch.compile", "jax"}; !slices.Equal(o.Names(), want) || !o.Known("torch.graph") || Known("torch.graph") {
		t.Errorf("peers are %v, expected %v", o.Names(), want)
	}
	for _, name := range o.Names() {
		t.Run(name, func(t *testing.T) {
			p, err := Start(t.Context(), o, dir, name, 0)
			if s := (*Skipped)(nil); errors.As(err, &s) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, ask := range []Request{
				{Workload: "relu_mul_add", Sizes: []int{1000}, DType: "bf16"}, {Workload: "linear_gelu", Sizes: []int{64, 32, 16}, DType: "bf16"},
				{Workload: "train_mlp2", Sizes: []int{8, 16, 32, 32, 10}, DType: "f32"}, {Workload: "train_transformer", Sizes: []int{2, 16, 32, 4, 2}, DType: "f32"},
				{Workload: "train_gpt2", Sizes: []int{2, 32, 2, 64, 2, 16}, DType: "bf16"}, {Workload: "decode_llama", Sizes: []int{2, 32, 4, 2, 48, 64, 16}, DType: "bf16"},
			} {
				ask.Warmup, ask.Rounds, ask.MS = 1, 2, 1
				for range 2 {
					ns, err := p.Ask(ask)
					if s := (*Skipped)(nil); errors.As(err, &s) && strings.Contains(s.Error(), "jax has no") {
						continue
					}
					if err != nil || len(ns) != 2 || ns[0] <= 0 || ns[1] <= 0 {
						t.Errorf("%s: got %v, %v", ask.Workload, ns, err)
					}
				}
			}
		})
	}
}

// TestPythonSyntax compiles the programs in Python, which few machines can run.
func TestPythonSyntax(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	if err := Extract(dir); err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(dir, "python", "*.py"))
	if err != nil || len(programs) < 4 {
		t.Fatalf("found %v, %v", programs, err)
	}
	if out, err := exec.Command(python, append([]string{"-m", "py_compile"}, programs...)...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
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
