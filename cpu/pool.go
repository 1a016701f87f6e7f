package cpu

import (
	"sync"
	"time"

	"github.com/sinter-go/sinter/internal/pages"
	"github.com/sinter-go/sinter/ir"
)

// Slabs without a live block are kept for reuse, maxIdle bytes of them and for
// maxAge.
const (
	maxIdle = 256 << 20
	maxAge  = 10 * time.Second
)

// pool makes buffers of slabs outside the heap of Go. It never clears memory: every
// kernel writes its whole output. A slab goes back to the system when none of its
// blocks is in use and there is no room for it, or it was idle for long; those of
// persistent windows stay until somebody cleans up.
//
// All methods may be called from any goroutine. The owners of a buffer are counted
// by the device goroutine alone.
type pool struct {
	mu       sync.Mutex
	sets     [2][classes]class // by whether they belong to persistent windows
	windows  int               // that are open
	idle     int64             // bytes of slabs without a live block, windows' apart
	inUse    int64             // bytes of live blocks
	reserved int64             // bytes of all slabs
	peak     int64             // largest inUse
	limit    int64             // of inUse, 0 for none
	closed   bool
	aging    *time.Timer // nil while nothing is idle
	keepers  map[*buffer]struct{}

	// Of another processor's memory; nil for the host's.
	mapped    func(bytes int64) ([]byte, error)
	unmapped  func(mem []byte)
	idleLimit int64 // maxIdle if 0

	poison  bool
	damaged *ir.Error // the first memory that was found overwritten, not yet told
}

// class holds the slabs of one block size.
type class struct {
	slabs []*slab
	open  []*slab // those that have a free block
	bytes int64   // of all slabs
}

// get returns a buffer of n bytes with one owner, or an error of kind ErrMemory.
func (p *pool) get(n int64) (*buffer, error) {
	number, size := classOf(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit > 0 && p.inUse+size > p.limit {
		return nil, ir.Errorf(ir.ErrMemory, "%d bytes asked for, %d in use, the limit is %d", n, p.inUse, p.limit)
	}
	window := p.windows > 0
	c := &p.sets[index(window)][number]
	if len(c.open) == 0 {
		if err := p.grow(c, number, size, window); err != nil {
			if e, ok := err.(*ir.Error); ok && e.Kind != ir.ErrMemory { // the memory's owner is lost
				return nil, e
			}
			return nil, ir.Errorf(ir.ErrMemory, "%d bytes asked for, %d in use, %d reserved: %v", n, p.inUse, p.reserved, err)
		}
	}
	s := c.open[len(c.open)-1]
	if s.live == 0 && !window && (len(s.free) > 0 || s.fresh > 0) {
		p.idle -= int64(len(s.mem))
	}
	used := len(s.free) > 0
	b := s.take(size, p.guard())
	if s.full() {
		c.open[len(c.open)-1] = nil
		c.open = c.open[:len(c.open)-1]
	}
	p.inUse += size
	p.peak = max(p.peak, p.inUse)
	if used && b.whole != nil {
		p.inspectIdle(b)
	}
	b.data, b.refs = b.data[:n], 1
	return b, nil
}

func index(window bool) int {
	if window {
		return 1
	}
	return 0
}

func (p *pool) guard() int {
	if p.poison {
		return guardBytes
	}
	return 0
}

// grow gives a class another slab. What is idle elsewhere goes first if the
// system, or the limit, has no room for both.
func (p *pool) grow(c *class, number int, size int64, window bool) error {
	room := size + 2*int64(p.guard())
	bytes := slabBytes(room, c.bytes)
	if p.limit > 0 && p.reserved+bytes > p.limit {
		p.trim(func(*slab) bool { return true })
		bytes = slabBytes(room, 0)
	}
	take := pages.Map
	if p.mapped != nil {
		take = p.mapped
	}
	mem, err := take(bytes)
	if err != nil {
		p.trim(func(*slab) bool { return true })
		if mem, err = take(bytes); err != nil {
			return err
		}
	}
	s := &slab{mem: mem, class: number, room: room, window: window}
	c.slabs, c.open, c.bytes = append(c.slabs, s), append(c.open, s), c.bytes+bytes
	p.reserved += bytes
	return nil
}

// put drops one owner, and takes the buffer back when it was the last.
func (p *pool) put(b *buffer) {
	if b.refs--; b.refs > 0 {
		return
	}
	p.forget(b)
	if b.release != nil {
		b.release()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := b.slab
	p.inUse -= int64(cap(b.data))
	if b.whole != nil {
		p.inspect(b)
		fillPoison(b.whole, b.class)
	}
	if s.full() {
		c := p.classOf(s)
		c.open = append(c.open, s)
	}
	s.free = append(s.free, b)
	if s.live--; s.live > 0 || s.window && !p.closed {
		return
	}
	if s.window {
		p.unmap(s)
		return
	}
	s.since = time.Now()
	p.idle += int64(len(s.mem))
	switch {
	case p.closed:
		p.unmap(s)
	case p.idle > p.mayIdle():
		p.shed()
	}
	if p.idle > 0 && p.aging == nil && !p.closed {
		p.aging = time.AfterFunc(maxAge, p.age)
	}
}

func (p *pool) classOf(s *slab) *class { return &p.sets[index(s.window)][s.class] }

// mayIdle is how many bytes may be idle.
func (p *pool) mayIdle() int64 {
	if p.idleLimit > 0 {
		return p.idleLimit
	}
	return maxIdle
}

// shed returns the longest idle slabs until no more is idle than may be.
func (p *pool) shed() {
	for p.idle > p.mayIdle() {
		var oldest *slab
		p.each(func(s *slab) {
			if s.live == 0 && !s.window && (oldest == nil || s.since.Before(oldest.since)) {
				oldest = s
			}
		})
		p.unmap(oldest)
	}
}

// age returns the slabs that were idle for long, and comes again while others are.
func (p *pool) age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.trim(func(s *slab) bool { return now.Sub(s.since) >= maxAge })
	p.aging = nil
	if p.idle > 0 && !p.closed {
		p.aging = time.AfterFunc(maxAge/2, p.age)
	}
}

// trim returns the slabs without a live block that which allows, those of windows
// apart.
func (p *pool) trim(which func(*slab) bool) {
	var out []*slab
	p.each(func(s *slab) {
		if s.live == 0 && !s.window && which(s) {
			out = append(out, s)
		}
	})
	for _, s := range out {
		p.unmap(s)
	}
}

func (p *pool) each(f func(*slab)) {
	for i := range p.sets {
		for j := range p.sets[i] {
			for _, s := range p.sets[i][j].slabs {
				f(s)
			}
		}
	}
}

// unmap returns a slab without a live block to the system.
func (p *pool) unmap(s *slab) {
	for _, b := range s.free {
		if b.whole != nil {
			p.inspectIdle(b)
		}
		b.data, b.whole, b.slab = nil, nil, nil
	}
	c := p.classOf(s)
	c.slabs, c.open = without(c.slabs, s), without(c.open, s)
	n := int64(len(s.mem))
	c.bytes -= n
	p.reserved -= n
	if !s.window {
		p.idle -= n
	}
	mem := s.mem
	s.mem, s.free = nil, nil
	if p.unmapped != nil {
		p.unmapped(mem)
		return
	}
	pages.Unmap(mem)
}

func without(list []*slab, s *slab) []*slab {
	for i, x := range list {
		if x == s {
			last := len(list) - 1
			list[i], list[last] = list[last], nil
			return list[:last]
		}
	}
	return list
}

// cleanUp returns every slab without a live block, those of windows too once no
// window is open.
func (p *pool) cleanUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trim(func(*slab) bool { return true })
	if p.windows > 0 {
		return
	}
	var out []*slab
	p.each(func(s *slab) {
		if s.window && s.live == 0 {
			out = append(out, s)
		}
	})
	for _, s := range out {
		p.unmap(s)
	}
}

// close returns what is idle, and from now on each slab with its last buffer:
// those on loan may outlive the device.
func (p *pool) close() {
	p.mu.Lock()
	p.closed, p.windows = true, 0
	if p.aging != nil {
		p.aging.Stop()
		p.aging = nil
	}
	p.mu.Unlock()
	p.cleanUp()
}

// takeDamage returns what was found overwritten since the last time.
func (p *pool) takeDamage() *ir.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.damaged
	p.damaged = nil
	return err
}

// persist opens or closes a persistent window.
func (p *pool) persist(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.windows++
	} else {
		p.windows = max(0, p.windows-1)
	}
}
