package fusion_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/backendtest"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
)

// TestConformance runs the suite of backends through a client: every row, dtype
// and layout, and the contract.
func TestConformance(t *testing.T) {
	for _, run := range []struct {
		generator cpu.Generator
		threads   int
		options   fusion.Options
	}{
		{cpu.Interpret, 1, fusion.Options{}},
		{cpu.Auto, 2, fusion.Options{}},
		{cpu.Auto, 1, fusion.Options{Off: true}},
	} {
		t.Run(fmt.Sprintf("%s/%d/off=%v", run.generator, run.threads, run.options.Off), func(t *testing.T) {
			open := func(t *testing.T, s backendtest.Setup) backend.Backend {
				o := cpu.Options{Generator: run.generator, Threads: run.threads, Memory: s.Memory, QueueOps: s.QueueOps, Routines: map[string]cpu.Routine{}}
				for name, f := range s.Opaque {
					o.Routines[name] = func(c *backend.Call) error { return f(bytesOf(c.In), bytesOf(c.Out)) }
				}
				d, err := cpu.New(o)
				if err != nil {
					t.Fatal(err)
				}
				return fusion.New(d, run.options)
			}
			opts := []backendtest.Option{backendtest.WithSetup(open), backendtest.OwnPace(), backendtest.Records()}
			if testing.Short() || run.options.Off || run.generator == cpu.Interpret { // all rows take their time
				opts = append(opts, backendtest.ContractOnly())
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
