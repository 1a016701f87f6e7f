package main

import (
	"strings"
	"testing"
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
	} {
		invoke(t, "", strings.Fields(args)...).want(t, args, exitUsage, "", want)
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
