package contract

import "fmt"

// Blocking is how a contraction is cut into blocks. Results do not depend on it:
// every product is summed in the order of the kernel's tree, wherever it is done.
type Blocking struct {
	PackFrom  int64 // rows from which columns are packed that could be read in place
	Tiles     int64 // of rows, in a block, which fits the second cache
	Strips    int64 // of columns, in a task
	PackBytes int64 // of packed columns, or rows, at a time, which fit the third cache
}

// DefaultBlocking is what is used where nobody chooses.
var DefaultBlocking = Blocking{PackFrom: 256, Tiles: 12, Strips: 8, PackBytes: 8 << 20}

// Check returns an error unless work can be divided so.
func (b Blocking) Check() error {
	if b.PackFrom < 0 || b.Tiles < 1 || b.Tiles > 1<<16 || b.Strips < 1 || b.Strips > 1<<16 || b.PackBytes < 1<<12 || b.PackBytes > 1<<40 {
		return fmt.Errorf("blocking %+v: expected PackFrom of at least 0, Tiles and Strips of 1 to 65536, PackBytes of 4096 to 2^40", b)
	}
	return nil
}

// Problem is the size of a launch: rows and columns of one product, what is summed,
// and how many such products there are.
type Problem struct {
	Rows, Cols, K, Trips int64
	Size                 int // bytes of an element
	TileRows, TileCols   int // of a micro-kernel
}

// SetBlocking lets choose decide for each launch. It is called from any goroutine;
// nil means [DefaultBlocking]. Set it before the first launch.
func (c *Code) SetBlocking(choose func(Problem) Blocking) { c.choose = choose }

// choice is the blocking of a problem. One that nothing can be divided by is the
// default instead.
func (p *problem) choice() Blocking {
	if p.choose == nil {
		return DefaultBlocking
	}
	b := p.choose(Problem{p.extents[0], p.extents[1], p.k, p.trips, int(p.size), p.tiles.Rows, p.tiles.Cols})
	if b.Check() != nil {
		return DefaultBlocking
	}
	return b
}
