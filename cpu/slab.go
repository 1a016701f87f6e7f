package cpu

import (
	"time"

	"github.com/sinter-go/sinter/internal/pages"
)

// Slabs are as large as all blocks of their class so far, within these bounds;
// blocks of more than maxSlab have one each. Those of hugeBlock and more lie in
// whole huge pages.
const (
	minSlab   = 64 << 10
	maxSlab   = 8 << 20
	hugeBlock = 256 << 10
)

// slab is memory of the system, cut into blocks of one size.
type slab struct {
	mem    []byte
	class  int
	room   int64 // bytes of a block with its guards
	free   []*buffer
	fresh  int64     // where the blocks begin that were never used
	live   int       // blocks in use
	since  time.Time // when the last block became free
	window bool      // it was made inside a persistent window, and stays
}

// slabBytes returns the size of a class's next slab.
func slabBytes(room, all int64) int64 {
	n := max(room, min(max(minSlab, all), maxSlab/room*room))
	unit := int64(minSlab)
	if room >= hugeBlock && n <= maxSlab {
		unit = pages.HugeSize
	}
	return (n + unit - 1) / unit * unit
}

// full reports whether every block is in use.
func (s *slab) full() bool {
	return len(s.free) == 0 && s.fresh+s.room > int64(len(s.mem))
}

// take returns a free block, one that was used lately if there is one.
func (s *slab) take(size int64, guard int) *buffer {
	s.live++
	if n := len(s.free) - 1; n >= 0 {
		b := s.free[n]
		s.free[n], s.free = nil, s.free[:n]
		return b
	}
	whole := s.mem[s.fresh : s.fresh+s.room : s.fresh+s.room]
	s.fresh += s.room
	b := &buffer{class: s.class, slab: s, data: whole[guard : guard+int(size) : guard+int(size)]}
	if guard > 0 {
		b.whole = whole
		fillPoison(whole, s.class)
	}
	return b
}
