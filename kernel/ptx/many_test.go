package ptx

import (
	"slices"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// manyOf makes one step of each of those of plans that have the same entries, as who runs
// them does.
func manyOf(plans []*Plan) []Step {
	var out []Step
	for j := range plans[0].Steps {
		e := plans[0].Steps[j].Entry
		var blocks []uint32
		for _, p := range plans {
			blocks = append(blocks, uint32(p.Steps[j].Blocks()))
		}
		s := Step{Entry: e.Many(len(plans)), GridY: 1}
		s.Params = e.AppendMany(nil, blocks)
		for i, p := range plans {
			s.GridX += blocks[i]
			s.Params = p.Steps[j].AppendTo(s.Params)
		}
		for len(s.Params) < len(s.Entry.slots) {
			s.Params = append(s.Params, 0)
		}
		out = append(out, s)
	}
	return out
}

// TestMany: launches of one entry, of different sizes where they have it, give as one launch
// what they give one by one.
func TestMany(t *testing.T) {
	var mu sync.Mutex
	ran := map[string]bool{}
	all := specs()
	all = append(all, ptxtest.Matrices(40, 64, 48)[:4]...)
	t.Run("of", func(t *testing.T) {
		for i, s := range all {
			if i%3 > 0 { // it takes long
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				target := simTargets[i%2]
				n := 2 + i/3%4
				if s.Class == "chain" || s.Class == "arithmetic" { // which are short
					n = []int{9, 13, 18, 32}[i/3%4]
				}
				sim := &simulator{}
				var cases []*ptxtest.Case
				var plans []*Plan
				for k := range n {
					c := s.Make()
					m, err := Generate(c.Kernel, target)
					if err != nil {
						t.Fatal(err)
					}
					if k == 1 { // less of it
						for axis, extent := range c.Launch.Extents {
							if s.Axes[axis] == 'p' && extent > 2 {
								c.Launch = c.Launch.Slice(axis, 0, extent-extent/3)
								break
							}
						}
					}
					c.Poison()
					var base []uint64
					for j, b := range c.Buffers {
						base = append(base, uint64(0x100_0000_0000*(k+1)+0x1_0000_0000*(j+1)))
						sim.buffers = append(sim.buffers, simBuffer{base[j], b.Bytes()})
						if !b.Out && len(b.Bytes()) > k { // other data for each
							d := b.Bytes()
							w := b.Type.Size()
							for at := 0; at+w <= len(d); at += w {
								other := (at/w*7 + k*13) % (len(d) / w) * w
								for x := range w {
									d[at+x], d[other+x] = d[other+x], d[at+x]
								}
							}
						}
					}
					plan, err := m.Plan(c.Launch, base)
					if err != nil {
						t.Fatal(err)
					}
					cases, plans = append(cases, c), append(plans, plan)
				}
				same := func(a, b *Plan) bool {
					return slices.EqualFunc(a.Steps, b.Steps, func(x, y Step) bool { return x.Entry.Text == y.Entry.Text })
				}
				if !same(plans[0], plans[1]) {
					cases, plans = slices.Delete(cases, 1, 2), slices.Delete(plans, 1, 2)
				}
				for _, p := range plans {
					for _, st := range p.Steps {
						if st.Entry.Capacity() < len(plans) || len(plans) < 2 {
							t.Skip("runs alone")
						}
					}
				}
				var want [][]byte
				for _, p := range plans {
					sim.runPlan(t, p)
				}
				for _, c := range cases {
					for _, b := range c.Buffers {
						want = append(want, slices.Clone(b.Bytes()))
					}
					c.Poison()
				}
				scratch := int64(0x700_0000_0000)
				for _, p := range plans {
					sim.buffers = append(sim.buffers, simBuffer{uint64(scratch), make([]byte, p.Scratch)})
					p.Bind(uint64(scratch), 0x6_0000_0000_00)
					scratch += (p.Scratch + 255) &^ 255
				}
				for _, st := range manyOf(plans) {
					if err := Check(st.Entry.Text); err != nil {
						t.Fatalf("%s: %v\n%s", st.Entry.Name, err, st.Entry.Text)
					}
					assemble(t, st.Entry)
					if st.Entry.ParamBytes() != 8*len(st.Params) || st.Entry.ParamBytes() > maxParamBytes {
						t.Fatalf("%s: %d parameters, %d bytes", st.Entry.Name, len(st.Params), st.Entry.ParamBytes())
					}
					pr, err := load(st.Entry.Text)
					if err != nil {
						t.Fatal(err)
					}
					pr.dynamic = st.Entry.Shared
					if err := sim.launch(pr, st.GridX, 1, st.Params); err != nil {
						t.Fatalf("%s: %v", st.Entry.Name, err)
					}
				}
				for k, c := range cases {
					for j, b := range c.Buffers {
						if n, at := ptxtest.Mismatches(b.Type, b.Bytes(), want[0]); b.Out && n > 0 {
							t.Errorf("launch %d, argument %d: %d mismatches, %s", k, j, n, at)
						}
						want = want[1:]
					}
				}
				mu.Lock()
				defer mu.Unlock()
				ran[s.Class] = true
			})
		}
	})
	for _, class := range []string{"arithmetic", "chain", "first axis", "last axis", "row program", "column program", "product", "matrix"} {
		if !ran[class] {
			t.Errorf("nothing of %q ran as many: %v", class, ran)
		}
	}
}
