package keysort

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// MaxItems is how many items can be sorted at once: places have 32 bits.
const MaxItems = 1 << 32

// Workers run tasks at the same time.
type Workers interface {
	// Threads is how many tasks may run at once.
	Threads() int
	// Parallel runs tasks 0 to n-1 and waits for them.
	Parallel(n int, do func(task int))
}

// Serial is a worker alone.
type Serial struct{}

// Threads is 1.
func (Serial) Threads() int { return 1 }

// Parallel runs the tasks one after the other.
func (Serial) Parallel(n int, do func(task int)) {
	for i := range n {
		do(i)
	}
}

const (
	network  = 48      // items that a network of exchanges sorts
	short    = 1 << 13 // items that are sorted by digits of 8 bits, all counted at once
	parallel = 1 << 16 // items that are worth more than one thread
	digit    = 11      // bits of a digit of many items
)

// Sort sorts items, of which those with equal keys come with ascending places, using
// tmp, which is as long, as workspace. The result is one of both.
func Sort(w Workers, items, tmp []uint64) []uint64 {
	switch n := len(items); {
	case n < 2:
		return items
	case n <= network:
		exchange(items)
		return items
	case n <= short:
		return sortShort(items, tmp)
	}
	return sortLong(w, items, tmp)
}

// sortShort is a radix sort from the last digit on, of 8 bits; digits in which all
// keys agree take no pass.
func sortShort(items, tmp []uint64) []uint64 {
	var counts [4][256]uint32
	for _, v := range items {
		counts[0][uint8(v>>32)]++
		counts[1][uint8(v>>40)]++
		counts[2][uint8(v>>48)]++
		counts[3][uint8(v>>56)]++
	}
	tmp = tmp[:len(items)]
	for d := range counts {
		c := &counts[d]
		shift := uint(32 + 8*d)
		if c[uint8(items[0]>>shift)] == uint32(len(items)) {
			continue
		}
		sum := uint32(0)
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for _, v := range items {
			b := uint8(v >> shift)
			tmp[c[b]] = v
			c[b]++
		}
		items, tmp = tmp, items
	}
	return items
}

// sortLong is a radix sort from the last digit on whose passes threads share: each
// counts the digits of its block, and moves its block to where the digits of all
// blocks before it end, so that the order does not depend on the blocks.
func sortLong(w Workers, items, tmp []uint64) []uint64 {
	n := len(items)
	blocks := 1
	if n >= parallel {
		blocks = w.Threads()
	}
	block := func(b int, s []uint64) []uint64 { return s[n*b/blocks : n*(b+1)/blocks] }
	var varies atomic.Uint64
	w.Parallel(blocks, func(b int) {
		v := uint64(0)
		for _, x := range block(b, items) {
			v |= x ^ items[0]
		}
		varies.Or(v)
	})
	rest := varies.Load() >> 32 << 32
	counts := make([][1 << digit]uint32, blocks)
	tmp = tmp[:n]
	for rest != 0 {
		shift := uint(bits.TrailingZeros64(rest))
		rest &= ^uint64(0) << (shift + digit)
		from, to := items, tmp
		w.Parallel(blocks, func(b int) {
			c := &counts[b]
			clear(c[:])
			for _, v := range block(b, from) {
				c[v>>shift%(1<<digit)]++
			}
		})
		sum := uint32(0)
		for i := range counts[0] {
			for b := range counts {
				c := &counts[b][i]
				*c, sum = sum, sum+*c
			}
		}
		w.Parallel(blocks, func(b int) {
			c := &counts[b]
			for _, v := range block(b, from) {
				d := v >> shift % (1 << digit)
				to[c[d]] = v
				c[d]++
			}
		})
		items, tmp = tmp, items
	}
	return items
}

// Sort64 sorts keys of 64 bits: the places in the lower halves of the items that it
// returns have the order of the keys, and of themselves where those are equal.
// items, tmp and places are workspace as long as keys.
//
// Items have the highest 32 of the bits that vary. Where those are equal, the rest
// decides: in runs that are short, unless few of the upper bits vary.
func Sort64(w Workers, keys, items, tmp []uint64, places []uint32) []uint64 {
	n := len(keys)
	s := &sort64{keys: keys, places: places[:n]}
	blocks := 1
	if n >= parallel {
		blocks = w.Threads()
	}
	each := func(do func(from, to int)) {
		if blocks == 1 {
			do(0, n)
			return
		}
		w.Parallel(blocks, func(b int) { do(n*b/blocks, n*(b+1)/blocks) })
	}
	var varies atomic.Uint64
	each(func(from, to int) {
		v := uint64(0)
		for _, k := range keys[from:to] {
			v |= k ^ keys[0]
		}
		varies.Or(v)
	})
	shift := uint(max(0, bits.Len64(varies.Load())-32))
	items, tmp = items[:n], tmp[:n]
	each(func(from, to int) {
		for i := from; i < to; i++ {
			items[i] = keys[i]>>shift<<32 | uint64(i)
		}
	})
	s.items, s.tmp = Sort(w, items, tmp), tmp
	if shift == 0 {
		return s.items
	}
	if &s.items[0] == &tmp[0] {
		s.tmp = items
	}
	s.rest = shift
	// Runs are divided before any is sorted, which uses its items as workspace.
	begins := make([]int, blocks+1)
	for b := range begins {
		at := n * b / blocks
		for at > 0 && at < n && s.items[at]>>32 == s.items[at-1]>>32 {
			at++
		}
		begins[b] = at
	}
	if blocks == 1 {
		s.runs(0, n)
	} else {
		w.Parallel(blocks, func(b int) { s.runs(begins[b], begins[b+1]) })
	}
	for _, r := range s.long {
		s.run(w, r[0], r[1])
	}
	return s.items
}

// sort64 is a sort of keys whose upper bits are sorted.
type sort64 struct {
	keys, items, tmp []uint64
	places           []uint32
	rest             uint // bits of a key that are not in its item
	mu               sync.Mutex
	long             [][2]int // runs that are worth more than one thread
}

// runs sorts the runs between two places, at which runs begin.
func (s *sort64) runs(from, to int) {
	for from < to {
		end := from + 1
		for end < to && s.items[end]>>32 == s.items[from]>>32 {
			end++
		}
		switch {
		case end-from >= parallel:
			s.mu.Lock()
			s.long = append(s.long, [2]int{from, end})
			s.mu.Unlock()
		case end-from > 1:
			s.run(Serial{}, from, end)
		}
		from = end
	}
}

// run sorts a run of items by what they lack of their keys.
func (s *sort64) run(w Workers, from, to int) {
	run := s.items[from:to]
	if len(run) <= 16 {
		for i := 1; i < len(run); i++ {
			v := run[i]
			k, j := s.keys[uint32(v)], i
			for ; j > 0 && s.keys[uint32(run[j-1])] > k; j-- {
				run[j] = run[j-1]
			}
			run[j] = v
		}
		return
	}
	places, tmp, upper := s.places[from:to], s.tmp[from:to], run[0]>>32<<32
	for i, v := range run {
		places[i] = uint32(v)
		tmp[i] = s.keys[uint32(v)]&(1<<s.rest-1)<<32 | uint64(i)
	}
	for i, v := range Sort(w, tmp, run) {
		run[i] = upper | uint64(places[uint32(v)])
	}
}
