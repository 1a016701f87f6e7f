package router_test

import (
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/backendtest"
	"github.com/sinter-go/sinter/backend/faulty"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// limited opens a cpu device with the limits and routines of a setup.
func limited(t *testing.T, s backendtest.Setup, o cpu.Options) *cpu.Device {
	t.Helper()
	o.Memory, o.QueueOps = s.Memory, s.QueueOps
	o.Routines = map[string]cpu.Routine{}
	for name, f := range s.Opaque {
		o.Routines[name] = func(c *backend.Call) error { return f(bytesOf(c.In), bytesOf(c.Out)) }
	}
	d, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func bytesOf(hosts []cpu.Host) [][]byte {
	out := make([][]byte, len(hosts))
	for i, h := range hosts {
		out[i] = h.Data
	}
	return out
}

// stacks are the ways to put a client over a backend with limits. The last member
// is the one that the client is of.
var stacks = []struct {
	name string
	open func(t *testing.T, s backendtest.Setup) *router.Client
	rows bool
}{
	{"member", func(t *testing.T, s backendtest.Setup) *router.Client {
		r := owned(t, router.Options{}, named("cpu", limited(t, s, cpu.Options{})), named("interp", open(t, "interp")))
		return device(t, r, "cpu")
	}, true},
	{"faulty", func(t *testing.T, s backendtest.Setup) *router.Client {
		b := faulty.New(limited(t, s, cpu.Options{}), faulty.Script{})
		return device(t, owned(t, router.Options{}, named("interp", open(t, "interp")), named("faulty", b)), "faulty")
	}, false},
	{"router in router", func(t *testing.T, s backendtest.Setup) *router.Client {
		inner := owned(t, router.Options{}, named("interp", open(t, "interp")), named("cpu", limited(t, s, cpu.Options{Generator: cpu.Interpret})))
		members, err := inner.Members("in")
		if err != nil {
			t.Fatal(err)
		}
		return device(t, owned(t, router.Options{}, members...), "in/cpu")
	}, false},
}

// placed is a device most of whose nodes run on two other members, so that almost
// every operand is moved, and nodes run as their operands arrive.
func placed(t *testing.T) backend.Backend {
	o := router.Options{Place: func(n *ir.Node, home string) string {
		return []string{"interp", "cpu", "faulty"}[(len(n.Row.Name)+len(n.In))%3]
	}}
	return device(t, owned(t, o, named("cpu", open(t, "cpu")), named("interp", open(t, "interp")), named("faulty", scripted(t, "drop HostMemory Streams"))), "cpu")
}

func TestConformancePlaced(t *testing.T) {
	backendtest.Run(t, placed, backendtest.ContractOnly(), backendtest.OwnPace())
}

// TestConformance runs the suite of backends over clients.
func TestConformance(t *testing.T) {
	for _, s := range stacks {
		t.Run(s.name, func(t *testing.T) {
			setup := func(t *testing.T, x backendtest.Setup) backend.Backend { return s.open(t, x) }
			opts := []backendtest.Option{backendtest.WithSetup(setup)}
			if !s.rows || raceDetector || testing.Short() { // the rows are the same over all stacks
				opts = append(opts, backendtest.ContractOnly())
			}
			backendtest.Run(t, func(t *testing.T) backend.Backend { return setup(t, backendtest.Setup{}) }, opts...)
		})
	}
}

func TestConformanceFaulty(t *testing.T) {
	setup := func(t *testing.T, s backendtest.Setup) backend.Backend {
		return faulty.New(limited(t, s, cpu.Options{}), faulty.Script{})
	}
	backendtest.Run(t, func(t *testing.T) backend.Backend { return setup(t, backendtest.Setup{}) },
		backendtest.WithSetup(setup), backendtest.ContractOnly())
}
