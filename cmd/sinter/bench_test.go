package main

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

func TestBenchUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"bench --workloads no-such":          `no workload fits "no-such"`,
		"bench --workloads [":                `workloads "["`,
		"bench --peers abacus":               `peer "abacus", expected some of`,
		"bench --peers c --no-peer":          `--peers and --no-peer`,
		"bench --threads 0":                  `threads is 0, expected 1 to 1024`,
		"bench --threads one":                `--threads`,
		"bench --clock sun":                  `--clock`,
		"bench --clock cpu --threads 2":      `threads are [2], expected 1`,
		"bench --rounds 0":                   `--rounds is 0, expected 1 to 10000`,
		"bench --json --markdown":            `--json and --markdown`,
		"bench --batch 4 --runs 3":           `--batch, --runs: only with a model`,
		"bench --threads 4096 --workloads a": `threads is 4096`,
		"bench --device cpu":                 `--device is "cpu", expected a GPU such as cuda:0`,
		"bench --device cuda:one":            `--device: `,
		"bench --device cuda --threads 1":    `threads are [1], expected none for cuda`,
		"bench --device cuda --clock cpu":    `not on cuda`,
		"bench --device cuda --peers numpy":  `peer "numpy", expected some of [torch torch.graph torch.compile jax]`,
		"bench --device cuda --workloads a":  `no workload fits "a"; there are the operations relu_mul_add,`,
	} {
		invoke(t, "", strings.Fields(args)...).want(t, args, exitUsage, "", want)
	}
}

// TestBenchGPU: without a GPU the command says why there is none; with one it measures.
func TestBenchGPU(t *testing.T) {
	args := []string{"bench", "--device", "cuda:0", "--no-peer", "--quick", "--rounds", "1", "--workloads", "relu_mul_add/1M"}
	n, why := 0, error(nil)
	if d := sinter.Default().Drivers.Driver("cuda"); d == nil {
		t.Skip("built without GPUs")
	} else if n, why = d.Count(); n > 0 {
		invoke(t, "", args...).want(t, "bench --device cuda:0", exitOK, "back to back", "")
		return
	}
	r := invoke(t, "", args...)
	r.want(t, "bench --device cuda:0", exitFailure, "", "device cuda:0")
	if why != nil && !strings.Contains(r.stderr, why.Error()) {
		t.Errorf("%s, expected %v in it", r.stderr, why)
	}
}

func TestBenchWorkloads(t *testing.T) {
	args := []string{"bench", "--quick", "--no-peer", "--threads", "1", "--rounds", "1", "--workloads", "sigmoid/4k,matmul/128*"}
	r := invoke(t, "", append(args, "--json")...)
	if r.code != exitOK {
		t.Fatal(r.stderr)
	}
	found := map[any]bool{}
	for _, o := range r.objects(t) {
		if o["error"] != nil {
			t.Error(o)
		}
		found[o["workload"]] = true
	}
	if !found["sigmoid/4k"] || !found["matmul/128x128x128"] {
		t.Errorf("%s", r.stdout)
	}
	invoke(t, "", append(args, "--markdown")...).want(t, "bench --markdown", exitOK, "| sigmoid/4k | 1 |", "")
	invoke(t, "", args...).want(t, "bench", exitOK, "matmul/128x128x128", "")
}
