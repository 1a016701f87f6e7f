package keysort

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// threads is a worker that runs every task on a goroutine of its own.
type threads int

func (t threads) Threads() int { return int(t) }

func (t threads) Parallel(n int, do func(task int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() { defer wg.Done(); do(i) }()
	}
	wg.Wait()
}

// spreads are distributions of keys: all bits, few values, one value, few bits high
// up, ascending and descending.
var spreads = map[string]func(r *rand.Rand, i int) uint64{
	"all":        func(r *rand.Rand, i int) uint64 { return r.Uint64() },
	"few":        func(r *rand.Rand, i int) uint64 { return r.Uint64N(5) << 20 },
	"one":        func(r *rand.Rand, i int) uint64 { return 77 << 40 },
	"high":       func(r *rand.Rand, i int) uint64 { return r.Uint64N(900) << 50 },
	"middle":     func(r *rand.Rand, i int) uint64 { return 1<<63 | r.Uint64N(1<<20)<<25 | 3 },
	"halves":     func(r *rand.Rand, i int) uint64 { return r.Uint64N(3)<<62 | r.Uint64()>>34 },
	"runs":       func(r *rand.Rand, i int) uint64 { return r.Uint64N(1000)<<40 | r.Uint64N(50) },
	"ascending":  func(r *rand.Rand, i int) uint64 { return uint64(i) * 0x10001 },
	"descending": func(r *rand.Rand, i int) uint64 { return math.MaxUint64 - uint64(i)*0x1000001 },
}

var lengths = []int{0, 1, 2, 3, 16, 17, 47, 48, 49, 255, 1000, short, short + 1, 20000, parallel + 3}

func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, spread := range spreads {
		for _, n := range lengths {
			for _, w := range []Workers{Serial{}, threads(2), threads(16)} {
				items := make([]uint64, n)
				for i := range items {
					items[i] = spread(r, i)>>32<<32 | uint64(i)
				}
				want := slices.Clone(items)
				slices.Sort(want)
				if got := Sort(w, items, make([]uint64, n)); !slices.Equal(got, want) {
					t.Fatalf("%s, %d items, %d threads: not sorted", name, n, w.Threads())
				}
			}
		}
	}
}

func TestSort64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, spread := range spreads {
		for _, n := range lengths[1:] {
			for _, w := range []Workers{Serial{}, threads(2), threads(16)} {
				keys := make([]uint64, n)
				for i := range keys {
					keys[i] = spread(r, i)
				}
				got := places(Sort64(w, keys, make([]uint64, n), make([]uint64, n), make([]uint32, n)))
				if !slices.Equal(got, stable(keys)) {
					t.Fatalf("%s, %d keys, %d threads: not sorted", name, n, w.Threads())
				}
			}
		}
	}
}

func places(items []uint64) []int {
	at := make([]int, len(items))
	for i, v := range items {
		at[i] = int(uint32(v))
	}
	return at
}

// stable is the definition: places by key, and by themselves where those are equal.
func stable(keys []uint64) []int {
	at := make([]int, len(keys))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int {
		switch {
		case keys[a] < keys[b]:
			return -1
		case keys[a] > keys[b]:
			return 1
		}
		return 0
	})
	return at
}

func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, spread := range spreads {
		for _, n := range []int{1, 5, 600, 5000} {
			for _, k := range []int{1, 2, 7, n/8 + 1} {
				keys, items := make([]uint64, n), make([]uint64, n)
				for i := range keys {
					keys[i] = spread(r, i)
					items[i] = keys[i]>>32<<32 | uint64(i)
				}
				k := min(k, n)
				narrow, wide := NewSelector(k, n), NewSelector64(k, n)
				for range 2 { // they can be used again
					narrow.Reset()
					wide.Reset()
					for i := 0; i < n; i += 100 {
						narrow.Add(items[i:min(i+100, n)])
						wide.Add(keys[i:min(i+100, n)], i)
					}
					want := slices.Clone(items)
					slices.Sort(want)
					if !slices.Equal(narrow.Least(), want[:k]) {
						t.Fatalf("%s: not the least %d of %d", name, k, n)
					}
					at := stable(keys)
					for i, p := range wide.Least() {
						if int(p) != at[i] {
							t.Fatalf("%s: not the least %d of %d keys", name, k, n)
						}
					}
				}
			}
		}
	}
}

// Keys have the order of numbers, for every float of 16 bits, and give them back.
func TestOrderHalf(t *testing.T) {
	value := func(b uint16) float64 { // bfloat16
		return float64(math.Float32frombits(uint32(b) << 16))
	}
	for _, descending := range []bool{false, true} {
		o := OrderOf[uint16](Float, 0x7f80, descending)
		rank := func(b uint16) float64 { // the definition
			v := value(b)
			if v != v {
				return math.Inf(1)
			}
			return max(min(v, math.MaxFloat64), -math.MaxFloat64) + 0
		}
		for a := range 1 << 16 {
			a := uint16(a)
			if b, ok := o.Element(o.Key(a)); ok != (value(a) == value(a) && value(a) != 0) || ok && b != a {
				t.Fatalf("%#04x becomes %#04x, %v", a, b, ok)
			}
			for _, b := range []uint16{0, 0x8000, 1, 0x8001, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0xffc1, a ^ 1, a ^ 0x8000} {
				x, y := rank(a), rank(b)
				if descending {
					x, y = y, x
				}
				ka, kb := o.Key(a), o.Key(b)
				if (ka < kb) != (x < y) || (ka == kb) != (x == y) {
					t.Fatalf("descending %v: %v and %v have keys %#04x and %#04x", descending, value(a), value(b), ka, kb)
				}
			}
		}
	}
}

func TestOrderIntegers(t *testing.T) {
	signed, unsigned := OrderOf[uint8](Signed, 0, false), OrderOf[uint8](Unsigned, 0, true)
	for a := range 256 {
		for b := range 256 {
			if (signed.Key(uint8(a)) < signed.Key(uint8(b))) != (int8(a) < int8(b)) {
				t.Fatalf("%d and %d", int8(a), int8(b))
			}
			if (unsigned.Key(uint8(a)) < unsigned.Key(uint8(b))) != (b < a) {
				t.Fatalf("%d and %d, descending", a, b)
			}
		}
		if e, ok := signed.Element(signed.Key(uint8(a))); !ok || e != uint8(a) {
			t.Fatal(a)
		}
		if e, ok := unsigned.Element(unsigned.Key(uint8(a))); !ok || e != uint8(a) {
			t.Fatal(a)
		}
	}
}

func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	o := OrderOf[uint32](Unsigned, 0, false)
	for _, n := range []int{1, 2, 3, 7, 8, 1000} {
		keys, wanted := make([]uint32, n), make([]uint32, 37)
		for i := range keys {
			keys[i] = r.Uint32N(uint32(n)) + 1
		}
		for i := range wanted {
			wanted[i] = r.Uint32N(uint32(n) + 2)
		}
		slices.Sort(keys)
		left, right := make([]int64, len(wanted)), make([]int64, len(wanted))
		Search(left, keys, wanted, o, false)
		Search(right, keys, wanted, o, true)
		for i, v := range wanted {
			var l, r int64
			for _, k := range keys {
				if k < v {
					l++
				}
				if k <= v {
					r++
				}
			}
			if left[i] != l || right[i] != r {
				t.Fatalf("%d in %v: %d and %d, want %d and %d", v, keys, left[i], right[i], l, r)
			}
		}
	}
}

func FuzzSort64(f *testing.F) {
	f.Add([]byte("8 bytes each, and a multiplier.."), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, repeat uint8) {
		var keys []uint64
		for range int(repeat) + 1 {
			for i := 0; i+8 <= len(b); i += 8 {
				keys = append(keys, binary.LittleEndian.Uint64(b[i:])+uint64(len(keys))&1)
			}
		}
		n := len(keys)
		if n == 0 {
			return
		}
		want := stable(keys)
		if got := places(Sort64(threads(2), keys, make([]uint64, n), make([]uint64, n), make([]uint32, n))); !slices.Equal(got, want) {
			t.Fatalf("%v sorted to %v, want %v", keys, got, want)
		}
		k := n/3 + 1
		s := NewSelector64(k, n)
		s.Add(keys, 0)
		for i, p := range s.Least() {
			if int(p) != want[i] {
				t.Fatalf("%v: selected %d at %d, want %d", keys, p, i, want[i])
			}
		}
	})
}
