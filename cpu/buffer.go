package cpu

import (
	"math/bits"
)

// alignment of every buffer: a cache line, and the widest vector.
const alignment = 64

// buffer is memory owned by one or more entries of the store. Only the device
// goroutine touches refs, kept and products.
type buffer struct {
	data     []byte // aligned, of the size asked for; its capacity is that of the class
	class    int
	refs     int
	slab     *slab
	release  func()          // of adopted memory, which is not the pool's and has no slab
	whole    []byte          // data with the guards around it; nil unless memory is poisoned
	kept     map[any]*buffer // see pool.keep
	products int             // how often a product has read it, see prepacked
}

// classOf rounds sizes up to four classes per power of two, so that at most a
// quarter is wasted, and numbers them.
func classOf(n int64) (class int, size int64) {
	if n <= alignment {
		return 0, alignment
	}
	top := bits.Len64(uint64(n-1)) - 1 // 2^top < n <= 2^(top+1)
	step := int64(1) << max(top-2, 6)
	size = (n + step - 1) / step * step
	return 4*(top-6) + int((size-1<<top)>>(top-2)), size
}

// classes is the number of size classes.
const classes = 4 * (64 - 6)
