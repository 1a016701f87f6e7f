package keysort

import "sync/atomic"

// exchanges are the pairs that Batcher's odd-even merge sort compares, by the number
// of items.
var exchanges [network + 1]atomic.Pointer[[][2]uint8]

// exchange sorts few items by a fixed sequence of exchanges, none of them a branch.
func exchange(items []uint64) {
	n := len(items)
	pairs := exchanges[n].Load()
	if pairs == nil {
		p := batcher(n)
		pairs = &p
		exchanges[n].Store(pairs)
	}
	for _, p := range *pairs {
		a, b := &items[p[0]], &items[p[1]]
		*a, *b = min(*a, *b), max(*a, *b)
	}
}

// batcher makes the exchanges of n items: algorithm M in Knuth, volume 3, 5.2.2.
func batcher(n int) [][2]uint8 {
	var pairs [][2]uint8
	top := 1
	for top*2 < n {
		top *= 2
	}
	for p := top; p > 0; p /= 2 {
		q, r, d := top, 0, p
		for {
			for i := 0; i+d < n; i++ {
				if i&p == r {
					pairs = append(pairs, [2]uint8{uint8(i), uint8(i + d)})
				}
			}
			if q == p {
				break
			}
			d, q, r = q-p, q/2, p
		}
	}
	return pairs
}
