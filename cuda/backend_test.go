package cuda_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/backendtest"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/metamorphic"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

var (
	randomTime = flag.Duration("random", 10*time.Second, "for how long random programs run")
	onlyRows   = flag.String("rows", "", "the rows that the suite of backends calls: a regular expression")
	share      = flag.String("share", "", "of the cases of rows that are run: 0/8 is each eighth")
)

// open opens GPU 0, or skips the test.
func open(t *testing.T, o cuda.Options) *cuda.Device {
	t.Helper()
	if n, err := (cuda.Devices{}).Count(); n == 0 {
		t.Skipf("skipped: %d GPUs, %v", n, err)
	}
	d, err := cuda.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// keepOpen keeps the GPU's context while a test opens devices anew.
func keepOpen(t *testing.T) {
	d := open(t, cuda.Options{})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestBackend runs the suite of backends on the GPU.
func TestBackend(t *testing.T) {
	keepOpen(t)
	setup := func(t *testing.T, s backendtest.Setup) backend.Backend {
		o := cuda.Options{Memory: s.Memory, QueueOps: s.QueueOps, Routines: map[string]cpu.Routine{}}
		for name, f := range s.Opaque {
			o.Routines[name] = func(c *backend.Call) error { return f(bytesOf(c.In), bytesOf(c.Out)) }
		}
		return open(t, o)
	}
	opts := []backendtest.Option{backendtest.WithSetup(setup)}
	if *share != "" {
		var i, n int
		if _, err := fmt.Sscanf(*share, "%d/%d", &i, &n); err != nil || i < 0 || i >= n {
			t.Fatalf("share %q, expected 0/8 or the like", *share)
		}
		opts = append(opts, backendtest.Share(i, n))
	}
	if *onlyRows != "" {
		names, err := regexp.Compile(*onlyRows)
		if err != nil {
			t.Fatal(err)
		}
		opts = append(opts, backendtest.Only(names))
	}
	backendtest.Run(t, func(t *testing.T) backend.Backend { return setup(t, backendtest.Setup{}) }, opts...)
}

func bytesOf(hosts []backend.Host) [][]byte {
	out := make([][]byte, len(hosts))
	for i, h := range hosts {
		out[i] = h.Data
	}
	return out
}

// TestRandomPrograms: random programs give the bits of the interpreter, unfused, fused,
// and again and again as graphs.
func TestRandomPrograms(t *testing.T) {
	keepOpen(t)
	gpu := func() (backend.Backend, error) { return (cuda.Devices{}).Open(0) }
	fused := func() (backend.Backend, error) {
		d, err := cuda.New(cuda.Options{})
		if err != nil {
			return nil, err
		}
		return fusion.New(d, fusion.Options{}), nil
	}
	host := metamorphic.Way{Name: "interpreter", Open: func() (backend.Backend, error) {
		return cpu.New(cpu.Options{Generator: cpu.Interpret, Threads: 1})
	}}
	ways := []metamorphic.Way{
		{Name: "nodes", Open: gpu, Free: true},
		{Name: "kernels, frees, again", Open: gpu, Fuse: true, Free: true, Batch: -1, Repeat: 1},
		{Name: "fusion, aliases", Open: fused, Batch: 3, Alias: true},
		{Name: "fusion, reads, frees", Open: fused, Batch: -1, Free: true, Peek: true},
		{Name: "fusion, again and again", Open: fused, Free: true, Repeat: 5},
		{Name: "fusion, other sizes", Open: fused, Free: true, Resize: true, Repeat: 1, Streams: 2},
	}
	end := time.Now().Add(*randomTime)
	programs, runs, failed := 0, 0, 0
	for s := uint64(1); time.Now().Before(end) && failed < 5; s++ {
		o := irtest.Options{Nodes: 24, Faults: s%5 == 0, DTypes: []ir.DType{ir.F32, ir.F64, ir.I64, ir.I32, ir.I8, ir.U8, ir.Bool}}
		if s%4 == 0 {
			half := []ir.DType{ir.BF16, ir.F16}[s/4%2]
			o.DTypes = []ir.DType{half, half, ir.F32}
		}
		if s%3 == 0 {
			o.MaxElements, o.Nodes = 60000, 10
		}
		p := irtest.Random(rand.New(rand.NewPCG(s, 21)), o)
		inputs := irtest.InputData(rand.New(rand.NewPCG(s, 22)), p, []float64{0, 0.1}[s%2])
		ref := &host
		if s%4 == 0 { // products of bf16 and f16 have bits of their own here
			ref = &ways[0]
		}
		truth, err := ref.TruthOf(p, inputs)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", s, err, p)
		}
		programs++
		for _, w := range ways {
			w.Seed, w.Ref = s, ref
			runs++
			if got, err := w.RunKnowing(p, inputs, truth); err != nil {
				failed++
				t.Errorf("seed %d, %s: %v\n%s", s, w.Name, err, p)
			} else if what := truth.Compare(p, got); what != "" {
				failed++
				t.Errorf("seed %d, %s: %s\n%s", s, w.Name, what, p)
			}
		}
	}
	t.Logf("%d programs, %d runs", programs, runs)
}
