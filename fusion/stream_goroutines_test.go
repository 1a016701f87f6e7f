package fusion_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// slot is a value that goroutines hand each other, with what it holds.
type slot struct {
	mu    sync.Mutex
	v     *fusion.Value
	holds float32
}

// TestGoroutines: 32 goroutines record on one stream, or on eight, over tensors that they
// share and hand each other; every result is right and nothing is left.
func TestGoroutines(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for _, streams := range []int{1, 8} {
		t.Run(fmt.Sprintf("%d streams", streams), func(t *testing.T) {
			e := newShop(t)
			var on []*fusion.Stream
			for range streams {
				on = append(on, e.c.NewStream(context.Background()))
			}
			shared := e.up(e.owner, 1)
			slots := make([]slot, 32)
			var wg sync.WaitGroup
			for g := range slots {
				wg.Go(func() {
					for i := range rounds {
						s := on[(g+i)%streams]
						c := e.up(s, float32(g))
						x := e.op(s, "add", shared, c)
						y := e.op(s, "mul", x, x)
						holds := float32((g + 1) * (g + 1))
						if i%3 == 0 {
							e.want(y, holds)
						}
						drop(c, x)
						next := &slots[(g+1)%len(slots)]
						next.mu.Lock()
						old, was := next.v, next.holds
						next.v, next.holds = y, holds
						next.mu.Unlock()
						if old == nil {
							continue
						}
						z := e.op(s, "add", old, shared) // another's value
						drop(old)
						if i%2 == 0 {
							e.want(z, was+1)
						}
						drop(z)
					}
				})
			}
			wg.Wait()
			for i := range slots {
				if v := slots[i].v; v != nil {
					e.want(v, slots[i].holds)
					drop(v)
				}
			}
			drop(shared)
			if n := e.tensors(); n != 0 {
				t.Errorf("%d tensors are left", n)
			}
		})
	}
}

// TestInterleaving: what goroutines record at once on one stream is kept apart, so
// that each finds its plan.
func TestInterleaving(t *testing.T) {
	e := newShop(t)
	rounds := 50
	step := func(g int) {
		x := e.up(e.owner, float32(g+1), 4)
		v := x
		for i := range 5 + g%4 { // four programs
			w := e.op(e.owner, []string{"abs", "sqrt", "neg", "abs"}[(g+i)%4], v)
			v.Release()
			v = w
		}
		if _, errs, err := e.c.ReadValues(context.Background(), []*fusion.Value{v}); err != nil || errs[0] != nil {
			t.Error(err, errs)
		}
		v.Release()
	}
	for g := range 4 {
		step(g)
	}
	before := e.c.Stats()
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for range rounds {
				step(g)
			}
		})
	}
	wg.Wait()
	after := e.c.Stats()
	if hits := after.Hits - before.Hits; hits != int64(32*rounds) || after.Searches != before.Searches {
		t.Errorf("%d of %d segments found their plan, %d were searched", hits, 32*rounds, after.Searches-before.Searches)
	}
}

// TestMemoryFlat: ten thousand steps with scopes, and as many whose values nobody
// releases, take no more memory than a few; the latter in a device that holds a small
// part of what they make.
func TestMemoryFlat(t *testing.T) {
	steps := 10000
	if testing.Short() {
		steps = 600
	}
	const size = 16384 // elements, 64 KB
	for _, scopes := range []bool{true, false} {
		t.Run(fmt.Sprintf("scopes %v", scopes), func(t *testing.T) {
			d, err := cpu.New(cpu.Options{Memory: 16 << 20})
			if err != nil {
				t.Fatal(err)
			}
			c := fusion.New(d)
			defer c.Close()
			r := &recorder{t, c, c.Stream()}
			b := make([]byte, 4*size)
			for i := range size {
				binary.NativeEndian.PutUint32(b[4*i:], math.Float32bits(float32(i%7)))
			}
			x, err := r.s.Upload(ir.Type{DType: ir.F32, Shape: ir.Shape{size}}, b)
			if err != nil {
				t.Fatal(err)
			}
			memory, _ := backend.As[backend.Memory](c)
			most := int64(0)
			for i := range steps {
				y := r.do("mul", []*fusion.Value{x, x})
				z := r.do("add", []*fusion.Value{y, x})
				s := r.do("sum", []*fusion.Value{z}, "axes", []int{0})
				if i%10 == 0 {
					r.read(s)
				}
				if scopes {
					g := r.s.NewGroup()
					for _, v := range []*fusion.Value{y, z, s} {
						g.Add(v, false)
					}
					g.End(true)
				} else {
					r.s.Flush()
				}
				if i%50 == 0 {
					u, err := memory.MemoryUsage(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					most = max(most, u.InUse)
				}
			}
			if err := c.Sync(context.Background()); err != nil {
				t.Fatal(err)
			}
			if limit := int64(4 * 4 * size); scopes && most > limit {
				t.Errorf("%d bytes in use, want no more than %d", most, limit)
			}
			t.Logf("at most %d KB of %d MB made", most>>10, int64(steps)*8*size>>20)
		})
	}
}
