package metamorphic

import (
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// golden are small programs that once told two ways apart, with the way.
var golden = []struct {
	name string
	way  func(w *Way)
	text string
}{
	// A launch consumed a tensor whose last name it gave up; the router freed the
	// tensor before the launch was on its way.
	{"consumed behind a scatter on another device", func(w *Way) {
		w.Batch, w.Free, w.Peek = -1, true, true
		w.Open = func() (backend.Backend, error) {
			d, err := routed(w.Seed, "")()
			if err != nil {
				return nil, err
			}
			return fusion.New(d, fusion.Options{MaxOps: 3}), nil
		}
	}, `program p
  in %9 u32[3,4,2]
  in %10 i64[5,2]
  %11 u32[5,2] = cast %10 {dtype=u32}
  %12 u32[3,4,2] = scatter_nd %9 %10 %11 {mode=3}
  %18 u32[5,2] = concat %11 {axis=-1}
  %24 u32[5,2] = expand %18 {shape=[5,2]}
  out %24 %12
`},
	// A node that the device lacks made errors of all results of its segment.
	{"a lacking operation beside another one", func(w *Way) {
		w.Script = "lack op pinv"
		w.Open = func() (backend.Backend, error) {
			d, err := openDevice(cpu.Options{}, w.Script)
			if err != nil {
				return nil, err
			}
			return fusion.New(d), nil
		}
	}, `program p
  in %1 f32[3,8]
  %2 f32[3,8] = neg %1
  %3 f32[8,3] = pinv %2
  %4 f32[3,8] = exp %2
  out %3 %4
`},
	// Unfused, a cheap node with two consumers left an empty group behind, over which
	// the planner of the oracle fell.
	{"a cheap node twice, in oracle mode, where nothing compiles", func(w *Way) {
		w.Open = func() (backend.Backend, error) {
			d, err := cpu.New(cpu.Options{})
			if err != nil {
				return nil, err
			}
			return fusion.New(d, fusion.Options{Oracle: true, Plan: fusion.PlanOptions{MaxAttempts: 1}}), nil
		}
	}, `program p
  in %1 u16[5,3]
  %2 u16[5,3] = not %1
  %3 u16[5] = max %2 {axes=[1]}
  %4 u16[3] = max %2 {axes=[0]}
  %5 f32[5,3] = cast %2 {dtype=f32}
  %6 f32[5,3] = cumsum %5
  out %3 %4 %6
`},
	// A segment waited for a tensor on its way that its own stream had released.
	{"released while it is on its way", func(w *Way) {
		w.Streams, w.Free, w.Repeat = 3, true, 2
		w.Open = func() (backend.Backend, error) {
			d, err := cpu.New(cpu.Options{})
			if err != nil {
				return nil, err
			}
			return fusion.New(d, fusion.Options{Small: 64}), nil
		}
	}, `program p
  in %1 bf16[6,130,4,1]
  in %2 bf16[130,4,1]
  %3 bf16[6,130,4,1] = add %1 %2
  %14 bool[] = any %3
  out %14
`},
}

// TestGolden: what went wrong once is right, for several seeds of each.
func TestGolden(t *testing.T) {
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			p, err := ir.ParseProgram(g.text, nil)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(8) {
				w := Way{Name: g.name, Seed: seed + 1}
				g.way(&w)
				inputs := irtest.InputData(rand.New(rand.NewPCG(seed, 16)), p, 0)
				if d := w.differs(p, inputs, nil); d != "" {
					t.Errorf("seed %d: %s", seed, d)
				}
			}
		})
	}
}
