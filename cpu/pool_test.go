package cpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// TestClasses: sizes are rounded up by a quarter at most, and equal sizes have one
// class.
func TestClasses(t *testing.T) {
	last, lastSize := 0, int64(64)
	for n := int64(1); n < 1<<40; n += 1 + n/37 {
		class, size := classOf(n)
		if size < n || size > max(n+n/4+1, n+63) || size%alignment != 0 {
			t.Fatalf("%d bytes take %d", n, size)
		}
		if (class == last) != (size == lastSize) || class < last || class >= classes {
			t.Fatalf("%d bytes: class %d of size %d after class %d of %d", n, class, size, last, lastSize)
		}
		if c, s := classOf(size); c != class || s != size {
			t.Fatalf("%d bytes take class %d of %d, which takes class %d of %d", n, class, size, c, s)
		}
		last, lastSize = class, size
	}
}

// TestPoolRandom: buffers are aligned, do not overlap, keep their contents, and all
// memory comes back.
func TestPoolRandom(t *testing.T) {
	for _, poison := range []bool{false, true} {
		p := &pool{poison: poison}
		rng := rand.New(rand.NewPCG(3, 4))
		type held struct {
			b    *buffer
			mark byte
		}
		var live []held
		for round := range 4000 {
			if len(live) > 60 || len(live) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(live))
				h := live[i]
				if h.b.data[0] != h.mark || h.b.data[len(h.b.data)-1] != h.mark {
					t.Fatalf("round %d: a buffer of %d bytes was written to by others", round, len(h.b.data))
				}
				p.put(h.b)
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
				continue
			}
			n := 1 + rng.Int64N(int64(1)<<(1+rng.IntN(21)))
			b, err := p.get(n)
			if err != nil {
				t.Fatal(err)
			}
			if uintptr(unsafe.Pointer(unsafe.SliceData(b.data)))%alignment != 0 || int64(len(b.data)) != n {
				t.Fatalf("a buffer of %d bytes at %p, %d asked for", len(b.data), b.data, n)
			}
			h := held{b, byte(round)}
			b.data[0], b.data[n-1] = h.mark, h.mark
			live = append(live, h)
		}
		for _, h := range live {
			p.put(h.b)
		}
		if u := p.usage(); u.InUse != 0 || u.Reserved != p.idle || p.idle > maxIdle {
			t.Errorf("in use %d, reserved %d, idle %d", u.InUse, u.Reserved, p.idle)
		}
		p.cleanUp()
		if u := p.usage(); u.Reserved != 0 || p.idle != 0 {
			t.Errorf("after clean-up %d bytes are reserved, %d idle", u.Reserved, p.idle)
		}
		if err := p.takeDamage(); err != nil {
			t.Error(err)
		}
		p.close()
	}
}

// TestPoolIdle: idle slabs are bounded in bytes and in age, the longest idle go
// first, and blocks that were used lately come first.
func TestPoolIdle(t *testing.T) {
	p := &pool{}
	var all []*buffer
	for range 6 {
		b, err := p.get(64 << 20)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	for _, b := range all {
		p.put(b)
	}
	if p.idle != maxIdle || p.reserved != maxIdle || all[0].slab != nil || all[1].slab != nil || all[2].slab == nil {
		t.Errorf("%d bytes are idle, %d reserved", p.idle, p.reserved)
	}
	b, err := p.get(64 << 20)
	if err != nil || p.idle != maxIdle-64<<20 {
		t.Fatalf("%d bytes are idle, %v", p.idle, err)
	}
	p.mu.Lock()
	p.each(func(s *slab) { s.since = s.since.Add(-maxAge) })
	p.mu.Unlock()
	p.age()
	if p.idle != 0 || p.reserved != 64<<20 {
		t.Errorf("after %v %d bytes are idle, %d reserved", maxAge, p.idle, p.reserved)
	}
	p.put(b)
	if p.aging == nil {
		t.Error("nobody looks after what is idle")
	}
	p.close()
	if p.reserved != 0 || p.aging != nil {
		t.Errorf("%d bytes are reserved by a closed pool", p.reserved)
	}
}

// TestPoolPressure: what is idle in other classes makes room under a limit, and an
// error has the figures.
func TestPoolPressure(t *testing.T) {
	p := &pool{limit: 10 << 20}
	a, err := p.get(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	p.put(a)
	if a, err = p.get(6 << 20); err != nil || p.reserved > p.limit {
		t.Fatalf("%d bytes are reserved, %v", p.reserved, err)
	}
	_, err = p.get(5 << 20)
	if want := "5242880 bytes asked for, 6291456 in use, the limit is 10485760"; err == nil || !errors.Is(err, ir.ErrMemory) || ir.AsError(err).Msg != want {
		t.Errorf("error %v, expected %q", err, want)
	}
	p.put(a)
	p.close()
	if _, err := (&pool{}).get(1 << 56); !errors.Is(err, ir.ErrMemory) {
		t.Errorf("error %v for more than any machine has", err)
	}
}

// TestPoolWindows: what is made inside a persistent window has slabs of its own,
// which stay until a clean-up outside windows.
func TestPoolWindows(t *testing.T) {
	b := newBench(t, Options{})
	ctx := context.Background()
	report := func() (window, other []backend.PoolUsage) {
		all, err := b.d.PoolReport(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range all {
			if u.Live > u.Blocks || u.Reserved < int64(u.Blocks)*u.Block || u.Slabs == 0 {
				t.Errorf("%+v does not add up", u)
			}
			if u.Persistent {
				window = append(window, u)
			} else {
				other = append(other, u)
			}
		}
		return window, other
	}
	persist := func(on bool) {
		if err := b.d.Persistent(ctx, on); err != nil {
			t.Fatal(err)
		}
	}
	out := b.floats(make([]float32, 1000)...)
	persist(true)
	in := b.floats(make([]float32, 1000)...)
	persist(false)
	if w, o := report(); len(w) != 1 || w[0].Live != 1 || len(o) != 1 || o[0].Live != 1 {
		t.Fatalf("pools %+v and %+v", w, o)
	}
	b.d.Free(in.ID, out.ID)
	if w, o := report(); w[0].Live != 0 || o[0].Live != 0 || o[0].Idle != o[0].Reserved {
		t.Errorf("pools %+v and %+v after all was freed", w, o)
	}
	persist(true)
	b.d.Cleanup()
	if w, o := report(); len(w) != 1 || len(o) != 0 {
		t.Errorf("pools %+v and %+v after a clean-up inside a window", w, o)
	}
	persist(false)
	b.d.Cleanup()
	if w, o := report(); len(w)+len(o) != 0 {
		t.Errorf("pools %+v and %+v after a clean-up", w, o)
	}
}

// TestKeep: what is derived from a buffer counts as memory, and goes with the
// buffer, when its contents change, and when memory is short.
func TestKeep(t *testing.T) {
	b := newBench(t, Options{Memory: 1 << 20})
	p := &b.d.pool
	a, err := p.get(100 << 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if side := p.keep(a, "packed", 200<<10); side == nil || a.derived("packed") != side {
			t.Fatalf("round %d: not kept", i)
		}
	}
	used := p.usage().InUse
	if used < 300<<10 || used > 400<<10 {
		t.Errorf("%d bytes are in use", used)
	}
	p.forget(a)
	if a.derived("packed") != nil || p.usage().InUse > 130<<10 {
		t.Errorf("%d bytes are in use after the contents changed", p.usage().InUse)
	}
	p.keep(a, 1, 500<<10)
	if p.keep(a, 2, 900<<10) != nil {
		t.Error("more was kept than there is room for")
	}
	big, err := b.d.memory(800 << 10)
	if err != nil || a.derived(1) != nil {
		t.Fatalf("what is derived did not make room: %v", err)
	}
	p.put(big)
	p.keep(a, 3, 10)
	p.put(a)
	if u := p.usage(); u.InUse != 0 || len(p.keepers) != 0 {
		t.Errorf("%d bytes are in use at the end", u.InUse)
	}
}

// TestLoanOutlivesDevice: lent memory stays readable after its tensor and its device
// are gone, and is returned with the last loan.
func TestLoanOutlivesDevice(t *testing.T) {
	b := newBench(t, Options{})
	x := b.floats(1, 2, 3)
	m, err := b.d.Lend(context.Background(), x.ID)
	if err != nil || m.Err != nil {
		t.Fatal(err, m.Err)
	}
	b.d.Free(x.ID)
	if err := b.d.Close(); err != nil {
		t.Fatal(err)
	}
	if v := view[float32](m.Bytes); v[0] != 1 || v[2] != 3 {
		t.Errorf("a loan reads %v", v)
	}
	if u := b.d.pool.usage(); u.Reserved == 0 {
		t.Error("nothing is reserved for the loan")
	}
	m.Release()
	for range 100 {
		if b.d.pool.usage().Reserved == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d bytes are reserved after the last loan", b.d.pool.usage().Reserved)
}

// BenchmarkPool is a buffer taken and given back.
func BenchmarkPool(b *testing.B) {
	p := &pool{}
	defer p.close()
	for b.Loop() {
		x, err := p.get(4096)
		if err != nil {
			b.Fatal(err)
		}
		p.put(x)
	}
}
