package cuda

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// alike are launches of one kernel, each with memory of its own and fewer elements than the
// one before.
func alike(t *testing.T, g *gpu, s ptxtest.Spec, n int) (parts []cpu.Bound) {
	t.Helper()
	mem := make([]byte, (n+8)*4096)
	first := bound(t, g, s, mem)
	for i := range n {
		p := first
		p.Launch = rebound(first.Launch, mem[4096*i:])
		if s.Extents[0] > int64(4*n) {
			p.Launch = p.Launch.Slice(0, 0, s.Extents[0]-4*int64(i))
		}
		parts = append(parts, p)
	}
	clear(g.loaded)
	return parts
}

// TestManyHeld: launches that take the same steps are held back as one, up to the capacity of
// their entry, with the parameters and the scratch memory that each has; others stay alone.
func TestManyHeld(t *testing.T) {
	chain := ptxtest.Elementwise(600)[0]
	sum := ptxtest.FirstAxis(5000, 40, kernel.ColumnsTree)[0]
	for _, s := range []ptxtest.Spec{chain, sum} {
		g, c := fakeGPU()
		g.scratch = 1 << 40
		parts := alike(t, g, s, 5)
		other := alike(t, g, ptxtest.Elementwise(600)[1], 1)
		g.Prepare([][]cpu.Bound{append(slices.Clone(parts), other...)})
		compiled := len(c.compiled)
		if err := g.hold(append(slices.Clone(parts), other...), 77); err != nil {
			t.Fatal(err)
		}
		if len(c.compiled) != compiled {
			t.Errorf("%s: %d texts compiled beforehand, %d in all", s.Name, compiled, len(c.compiled))
		}
		held := g.batch
		alone, _ := fakeGPU()
		alone.noMany = true
		alone.scratch = g.scratch
		if err := alone.hold(parts, 77); err != nil {
			t.Fatal(err)
		}
		each := len(alone.batch.steps) / len(parts)
		if len(held.steps) != each+1 || g.stats.Shared != int64(len(alone.batch.steps)) || alone.stats.Shared != 0 {
			t.Fatalf("%s: %d steps for %d, %d shared", s.Name, len(held.steps), len(alone.batch.steps), g.stats.Shared)
		}
		words := func(b *batch, i int) (out []uint64) {
			for at := b.steps[i].from; at < b.steps[i].to; at += 8 {
				out = append(out, binary.LittleEndian.Uint64(b.text[at:]))
			}
			return out
		}
		for j := range each {
			scratch := map[uint64]bool{} // of the launches before
			all := words(&held, j)
			own := len(words(&alone.batch, j))
			if len(all) != 8*(2+own) {
				t.Fatalf("%s: %d parameters for %d of each", s.Name, len(all), own)
			}
			begin := uint64(0)
			for k := range parts {
				st := &alone.batch.steps[k*each+j]
				at := 8 + k*(1+own)
				if all[at] != uint64(st.grid.X) {
					t.Errorf("%s: launch %d has %d blocks, want %d", s.Name, k, all[at], st.grid.X)
				}
				for n, v := range words(&alone.batch, k*each+j) {
					got := all[at+1+n]
					if got != v {
						if v != uint64(g.scratch) || got < v {
							t.Errorf("%s: parameter %d of launch %d is %#x, want %#x", s.Name, n, k, got, v)
						}
					}
					if v == uint64(g.scratch) {
						if scratch[got] {
							t.Errorf("%s: launch %d has the scratch memory of another", s.Name, k)
						}
						scratch[got] = true
					}
				}
				if all[k] != begin {
					t.Errorf("%s: launch %d begins at %d, want %d", s.Name, k, all[k], begin)
				}
				begin += uint64(st.grid.X) * uint64(st.grid.Y)
			}
			if len(scratch) != 0 && len(scratch) != len(parts) || len(scratch) == 0 && each > 1 {
				t.Errorf("%s: %d places of scratch memory", s.Name, len(scratch))
			}
			if all[len(parts)] != 1<<32-1 || uint64(held.steps[j].grid.X) != begin {
				t.Errorf("%s: behind the last is %d, %d blocks of %d", s.Name, all[len(parts)], held.steps[j].grid.X, begin)
			}
		}
	}
}

// TestManyParts: there are as many launches as capacities ask for; where the driver does not
// take their text, each part runs alone.
func TestManyParts(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		g, _ := fakeGPU()
		asked := 0
		g.coder = coderFunc(func(e *ptx.Entry, _ []byte) (*function, error) {
			if strings.Contains(e.Name, "_many") {
				if asked++; refuses {
					return nil, errors.New("refused")
				}
			}
			return &function{}, nil
		})
		parts := alike(t, g, ptxtest.Elementwise(600)[0], 70)
		for range 2 {
			g.batch.cut(batchSize{})
			if err := g.hold(parts, 0); err != nil {
				t.Fatal(err)
			}
			want := 3
			if refuses {
				want = 70
			}
			if n := len(g.batch.steps); n != want {
				t.Errorf("%d launches of %d parts, want %d", n, len(parts), want)
			}
		}
		if asked != 2 { // of 32 launches and of 8
			t.Errorf("%d texts asked for", asked)
		}
	}
}
