package metamorphic

import (
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

var (
	longRun = flag.Bool("long", false, "run for minutes")
	seed    = flag.Uint64("seed", 1, "of the first program")
	only    = flag.String("way", "", "run only the ways whose name has this in it")
	draws   = flag.Int("draws", 4, "ways of fusing clients drawn per program")
)

func open(g cpu.Generator, threads int) func() (backend.Backend, error) {
	return func() (backend.Backend, error) {
		d, err := cpu.New(cpu.Options{Generator: g, Threads: threads})
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// ways lists the ways to run, those of generators that the processor has.
func fused(g cpu.Generator, threads int, o fusion.Options) func() (backend.Backend, error) {
	open := open(g, threads)
	return func() (backend.Backend, error) {
		b, err := open()
		if err != nil {
			return nil, err
		}
		return fusion.New(b, o), nil
	}
}

func ways(seed uint64, p *ir.Program) []Way {
	list := []Way{
		{Name: "interp, 5 threads, wire", Open: open(cpu.Interpret, 5), Wire: true, Free: true},
		{Name: "interp, fused", Open: open(cpu.Interpret, 2), Fuse: true},
		{Name: "auto, batches, aliases", Open: open(cpu.Auto, 2), Batch: -1, Alias: true, Peek: true},
		{Name: "auto, fused, frees, twice", Open: open(cpu.Auto, 1), Fuse: true, Free: true, Repeat: 1},
		{Name: "auto, all at once, text", Open: open(cpu.Auto, 5), Text: true},
		{Name: "avx2, one by one, reads", Open: open(cpu.AVX2, 1), Batch: 1, Peek: true, Free: true},
		{Name: "avx2, fused, batches, aliases", Open: open(cpu.AVX2, 2), Batch: -1, Fuse: true, Alias: true, Free: true},
		{Name: "fusion over interp", Open: fused(cpu.Interpret, 1, fusion.Options{}), Batch: -1, Free: true, Peek: true},
		{Name: "fusion over auto, aliases", Open: fused(cpu.Auto, 2, fusion.Options{}), Batch: 3, Alias: true},
		{Name: "fusion over auto, all, frees", Open: fused(cpu.Auto, 2, fusion.Options{}), Free: true, Repeat: 1},
		{Name: "avx512, batches, twice", Open: open(cpu.AVX512, 2), Batch: 3, Repeat: 1},
		{Name: "avx512, fused", Open: open(cpu.AVX512, 5), Fuse: true, Free: true, Peek: true, Batch: 9},
		{Name: "router, cut over three devices", Open: routed(seed, ""), Batch: -1, Free: true, Peek: true},
		{Name: "router, fused", Open: routed(seed+3, "delay mul 20us"), Fuse: true, Batch: -1, Free: true},
		{Name: "router, bytes and delays, aliases", Open: routed(seed+7, "drop HostMemory Streams\ndelay reshape 20us"), Batch: 3, Alias: true},
	}
	rng := rand.New(rand.NewPCG(seed, 15))
	for range *draws {
		w := Fusing(rng, p)
		list = append(list, w)
	}
	var out []Way
	for _, w := range list {
		if !strings.Contains(w.Name, *only) {
			continue
		}
		if b, err := w.Open(); err == nil {
			_ = b.Close()
			if w.Seed == 0 {
				w.Seed = seed
			}
			out = append(out, w)
		}
	}
	return out
}

// options shape the program of a seed.
func options(seed uint64) irtest.Options {
	o := irtest.Options{Nodes: 24, Faults: seed%5 == 0}
	switch seed % 4 {
	case 1:
		o.DTypes = []ir.DType{ir.F32, ir.F16, ir.I64, ir.Bool}
	case 2:
		o.MaxElements = 60000
		o.Nodes = 10
	}
	return o
}

// TestEqualBits: every way to run a random program gives the same bits.
func TestEqualBits(t *testing.T) {
	limit := 10 * time.Second
	if *longRun {
		limit = 5 * time.Minute
	}
	if testing.Short() {
		limit = 2 * time.Second
	}
	end := time.Now().Add(limit)
	programs, nodes, runs := 0, 0, 0
	for s := *seed; time.Now().Before(end); s++ {
		p := irtest.Random(rand.New(rand.NewPCG(s, 11)), options(s))
		inputs := irtest.InputData(rand.New(rand.NewPCG(s, 12)), p, []float64{0, 0.1}[s%2])
		truth, err := Way{}.reference().TruthOf(p, inputs)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", s, err, p)
		}
		programs++
		nodes += len(p.Nodes)
		for _, w := range ways(s, p) {
			runs++
			if what := w.differs(p, inputs, truth); what != "" {
				report(t, s, w, p, inputs, what)
			}
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d programs of %d nodes, %d runs against the reference", programs, nodes, runs)
}

// differs runs a program and describes how its outcome is not the truth, nil if
// that is to be computed.
func (w Way) differs(p *ir.Program, inputs [][]byte, truth Truth) (what string) {
	if truth == nil || w.Script != "" {
		var err error
		if truth, err = w.reference().TruthOf(p, inputs); err != nil {
			return "the reference: " + err.Error()
		}
	}
	got, err := w.RunKnowing(p, inputs, truth)
	if err != nil {
		return err.Error()
	}
	return truth.Compare(p, got)
}

// fails reports whether one of a few tries goes wrong: more than one where the
// moment matters.
func (w Way) fails(p *ir.Program, inputs [][]byte) bool {
	tries := 1
	if w.Disturb || w.Streams > 0 {
		tries = 3
	}
	for range tries {
		if w.differs(p, inputs, nil) != "" {
			return true
		}
	}
	return false
}

func report(t *testing.T, seed uint64, w Way, p *ir.Program, inputs [][]byte, what string) {
	q, in := Shrink(p, inputs, w.fails)
	var data strings.Builder
	for i, b := range in {
		data.WriteString("\n" + fmt.Sprint(q.Inputs[i]) + ": " + hex.EncodeToString(b[:min(len(b), 256)]))
	}
	small := w.differs(q, in, nil)
	t.Errorf("seed %d, %s: %s\nshrunk: %s\n%s%s", seed, w.Name, what, small, q, data.String())
}

// TestShrink: of a program that fails because of one node, little more is left.
func TestShrink(t *testing.T) {
	for s := uint64(0); s < 200; s++ {
		p := irtest.Random(rand.New(rand.NewPCG(s, 13)), irtest.Options{Nodes: 30})
		inputs := irtest.InputData(rand.New(rand.NewPCG(s, 14)), p, 0)
		fails := func(q *ir.Program, _ [][]byte) bool {
			for _, n := range q.Nodes {
				if n.Row.Access == ir.Reduce {
					return true
				}
			}
			return false
		}
		if !fails(p, nil) {
			continue
		}
		q, in := Shrink(p, inputs, fails)
		if q.Verify() != nil || !fails(q, in) || len(in) != len(q.Inputs) {
			t.Fatalf("seed %d: what is left does not fail\n%s", s, q)
		}
		if len(q.Nodes) > 12 {
			t.Errorf("seed %d: %d nodes are left of %d\n%s", s, len(q.Nodes), len(p.Nodes), q)
		}
	}
}
