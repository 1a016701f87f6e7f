package fusion_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/metamorphic"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// A scenario is a program that a client runs, and what must have become of it. The
// names in the tables of the scenario tests are those of the cases that another
// fusing system is tested by, so that a reader can tick them off.
type scenario struct {
	name string
	text string
	sync []int // nodes after which everything is run
	// want is the operations of each kernel and routine that ran, one block per
	// entry. In the cases where only values matter it is nil.
	want  []string
	place int // results in the memory of operands, at least
}

// runScenario runs a scenario several times on one client, searched first and then from
// the cache; results have the bits of the interpreter running one node at a time.
func runScenario(t *testing.T, sc scenario) {
	p := parse(t, program(sc.text))
	inputs := irtest.InputData(rand.New(rand.NewPCG(7, 8)), p, 0)
	reference := metamorphic.Way{Batch: 1, Open: func() (backend.Backend, error) {
		return cpu.New(cpu.Options{Generator: cpu.Interpret, Threads: 1})
	}}
	truth, err := reference.TruthOf(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t, fusion.Options{})
	count, _ := backend.As[backend.Counting](r.c)
	for round := range 4 {
		var blocks []string
		stop := r.c.Inspect(func(x fusion.Run) {
			if round > 0 && x.Found != fusion.FoundHit && !x.Recipe {
				t.Errorf("round %d: the plan was %s", round, x.Found)
			}
			for _, b := range x.Explain().Blocks {
				if b.Kind != fusion.KernelBlock && b.Kind != fusion.RoutineBlock {
					continue
				}
				var ops []string
				for _, o := range b.Ops {
					ops = append(ops, o.Op)
				}
				blocks = append(blocks, strings.Join(ops, " "))
			}
		})
		before := count.Counters().InPlace
		out := r.program(p, inputs, sc.sync)
		stop()
		if d := truth.Compare(p, out); d != "" {
			t.Errorf("round %d: %s", round, d)
		}
		if sc.want != nil && strings.Join(blocks, "; ") != strings.Join(sc.want, "; ") {
			t.Errorf("round %d ran: %s\nwant: %s", round, strings.Join(blocks, "; "), strings.Join(sc.want, "; "))
		}
		if got := int(count.Counters().InPlace - before); got < sc.place {
			t.Errorf("round %d: %d results in place, want %d", round, got, sc.place)
		}
	}
}

// program records a program and reads its outputs.
func (r *recorder) program(p *ir.Program, inputs [][]byte, sync []int) metamorphic.Outcome {
	r.t.Helper()
	values := r.record(p, inputs, sync)
	read := make([]*fusion.Value, len(p.Outputs))
	for i, id := range p.Outputs {
		read[i] = values[id]
	}
	data, errs, err := r.c.ReadValues(context.Background(), read)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, v := range values {
		v.Release()
	}
	return metamorphic.Outcome{Data: data, Errs: errs}
}

// record records a program. Values that no later node needs and that are no outputs
// are released at once.
func (r *recorder) record(p *ir.Program, inputs [][]byte, sync []int) map[ir.ID]*fusion.Value {
	r.t.Helper()
	values := map[ir.ID]*fusion.Value{}
	uses := map[ir.ID]int{}
	for i := range p.Nodes {
		for _, t := range p.Nodes[i].In {
			uses[t.ID]++
		}
	}
	for _, id := range p.Outputs {
		uses[id]++
	}
	for i, t := range p.Inputs {
		v, err := r.s.Upload(t.Type, inputs[i])
		if err != nil {
			r.t.Fatal(err)
		}
		values[t.ID] = v
	}
	for i := range p.Nodes {
		r.node(&p.Nodes[i], values)
		for _, t := range p.Nodes[i].In {
			if uses[t.ID]--; uses[t.ID] == 0 {
				values[t.ID].Release()
			}
		}
		for _, at := range sync {
			if at == i {
				if err := r.c.Sync(context.Background()); err != nil {
					r.t.Fatal(err)
				}
			}
		}
	}
	return values
}

// node records one node on the recorder's stream.
func (r *recorder) node(n *ir.Node, values map[ir.ID]*fusion.Value) {
	r.t.Helper()
	in := make([]*fusion.Value, len(n.In))
	for j, t := range n.In {
		in[j] = values[t.ID]
	}
	op := fusion.OpOf(n.Row, n.Attrs)
	types, err := r.s.Infer(op, n.Attrs, n.InTypes())
	if err != nil {
		r.t.Fatal(err)
	}
	out := make([]*fusion.Value, len(n.Out))
	for j := range out {
		out[j] = new(fusion.Value)
		values[n.Out[j].ID] = out[j]
	}
	if err := r.s.Record(op, n.Attrs, in, types, out, nil, func() ir.Site { return n.Site }); err != nil {
		r.t.Fatal(err)
	}
}

func runScenarios(t *testing.T, list []scenario) {
	for _, sc := range list {
		t.Run(sc.name, func(t *testing.T) { runScenario(t, sc) })
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func replace(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }

// collectGarbage lets cleanups run.
func collectGarbage() {
	runtime.GC()
	time.Sleep(time.Millisecond)
}
