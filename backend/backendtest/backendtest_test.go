package backendtest_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/backendtest"
	"github.com/sinter-go/sinter/cpu"
)

// TestCPU runs the suite on the processor with every generator it has.
func TestCPU(t *testing.T) {
	contract, large := []backendtest.Option{backendtest.ContractOnly()}, []backendtest.Option{backendtest.LargeOnly()}
	for _, run := range []struct {
		generator cpu.Generator
		threads   int
		options   []backendtest.Option // all rows take seconds
		poison    bool
	}{
		{cpu.Interpret, 1, nil, false}, {cpu.Interpret, 4, large, false}, {cpu.Auto, 1, contract, false}, {cpu.Auto, 4, large, false},
		{cpu.AVX2, 1, nil, false}, {cpu.AVX2, 4, contract, false}, {cpu.AVX512, 1, nil, false}, {cpu.AVX512, 4, contract, false},
		{cpu.Auto, 2, nil, true},
	} {
		name := fmt.Sprintf("%s/%d", run.generator, run.threads)
		if run.poison {
			name += "/poison"
		}
		t.Run(name, func(t *testing.T) {
			opt := cpu.Options{Generator: run.generator, Threads: run.threads, Poison: run.poison}
			if d, err := cpu.New(opt); err != nil {
				t.Skip(err)
			} else if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			open := func(t *testing.T, s backendtest.Setup) backend.Backend {
				o := opt
				o.Memory, o.QueueOps = s.Memory, s.QueueOps
				o.Routines = map[string]cpu.Routine{}
				for name, f := range s.Opaque {
					o.Routines[name] = func(c *backend.Call) error {
						return f(bytesOf(c.In), bytesOf(c.Out))
					}
				}
				d, err := cpu.New(o)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			opts := append([]backendtest.Option{backendtest.WithSetup(open)}, run.options...)
			if testing.Short() { // as under the race detector: what is concurrent is in the contract
				opts = append(opts, contract...)
			}
			backendtest.Run(t, func(t *testing.T) backend.Backend { return open(t, backendtest.Setup{}) }, opts...)
		})
	}
}

func bytesOf(hosts []cpu.Host) [][]byte {
	out := make([][]byte, len(hosts))
	for i, h := range hosts {
		out[i] = h.Data
	}
	return out
}
