package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// batch holds the steps of a segment back until all of them are known. A batch that is
// equal to earlier ones, parameters and addresses included, which a training step or a
// model becomes after a few rounds, since pools give the same memory again, is launched
// as one graph. That changes nothing but the time of the host and between kernels.
//
// The lock of the gpu guards it.
type batch struct {
	off     bool // no graphs
	clocked int  // open clocks: kernels are launched one by one
	steps   []step
	text    []byte // all that tells batches apart: the graph's key
	params  driver.Params

	seen   map[string]*repeated
	clock  int64
	broken bool // the driver failed to capture
}

// step is a kernel launch, or setting 4-byte words.
type step struct {
	f             *function
	grid          driver.Dim
	block         uint32
	shared        uint32
	maps          int
	from, to      int // of its parameters in text
	fill          driver.Ptr
	value, fill32 uint32
}

// repeated is a batch that came before.
type repeated struct {
	rounds int
	graph  *driver.Graph
	used   int64
}

const (
	maxSteps    = 512 // held back at most
	graphSteps  = 4   // a graph has at least
	graphRounds = 3   // a batch is captured when it comes this often
	maxSeen     = 64  // batches that are remembered
)

// add holds a step back.
func (b *batch) add(g *gpu, s *ptx.Step, f *function) error {
	x := step{f: f, grid: driver.Dim{X: s.GridX, Y: s.GridY, Z: 1}, block: uint32(s.Entry.Threads), shared: uint32(s.Entry.Shared), maps: len(s.Maps)}
	if n := len(s.Maps)*ptx.MapBytes + 8*len(s.Params); n > 4096 {
		return fmt.Errorf("%s: %d bytes of parameters, at most 4096", s.Entry.Name, n)
	}
	b.mark(uint64(f.ID()), uint64(s.GridX), uint64(s.GridY))
	x.from = len(b.text)
	for i := range s.Maps {
		m, err := g.tensorMap(&s.Maps[i])
		if err != nil {
			return fmt.Errorf("%s: %w", s.Entry.Name, err)
		}
		b.text = append(b.text, m[:]...)
	}
	b.mark(s.Params...)
	x.to = len(b.text)
	b.steps = append(b.steps, x)
	return nil
}

// fill32 holds back setting words of memory.
func (b *batch) fill32(at driver.Ptr, value, words uint32) {
	b.mark(uint64(at), uint64(value), uint64(words))
	b.steps = append(b.steps, step{fill: at, value: value, fill32: words})
}

func (b *batch) mark(values ...uint64) {
	for _, v := range values {
		b.text = binary.LittleEndian.AppendUint64(b.text, v)
	}
}

// overflow lets the steps go when they have become many.
func (b *batch) overflow(g *gpu) error {
	if len(b.steps) < maxSteps {
		return nil
	}
	return b.issue(g)
}

// issue lets the steps go.
func (b *batch) issue(g *gpu) error {
	if len(b.steps) == 0 {
		return nil
	}
	defer func() {
		clear(b.steps)
		b.steps, b.text = b.steps[:0], b.text[:0]
	}()
	g.stats.Kernels += int64(len(b.steps))
	if b.off || b.broken || b.clocked > 0 || len(b.steps) < graphSteps {
		return b.launch(g)
	}
	b.clock++
	r := b.seen[string(b.text)]
	if r == nil {
		if len(b.seen) >= maxSeen {
			b.evict()
		}
		if b.seen == nil {
			b.seen = map[string]*repeated{}
		}
		r = &repeated{}
		b.seen[string(b.text)] = r
	}
	r.used = b.clock
	if r.rounds++; r.rounds < graphRounds {
		return b.launch(g)
	}
	if r.graph == nil {
		graph, err := g.stream.Capture(func() error { return b.launch(g) })
		if err != nil { // nothing has run: it runs without
			b.broken = true
			return b.launch(g)
		}
		r.graph = graph
		g.stats.Captured++
	}
	g.stats.Graphs++
	return r.graph.Launch(g.stream)
}

// launch puts the steps on the stream one by one.
func (b *batch) launch(g *gpu) error {
	for i := range b.steps {
		s := &b.steps[i]
		if s.fill32 > 0 {
			if err := g.stream.Fill32(s.fill, s.value, uint64(s.fill32)); err != nil {
				return err
			}
			continue
		}
		text := b.text[s.from:s.to]
		if err := b.params.Reset(s.maps, (len(text)-s.maps*ptx.MapBytes)/8); err != nil {
			return err
		}
		b.params.PutBytes(0, text)
		if err := s.f.Launch(g.stream, s.grid, driver.Dim{X: s.block, Y: 1, Z: 1}, s.shared, &b.params); err != nil {
			return err
		}
	}
	return nil
}

// evict forgets the batches that came longest ago, but for half of those remembered.
func (b *batch) evict() {
	for key, r := range b.seen {
		if r.used <= b.clock-maxSeen/2 {
			b.drop(key, r)
		}
	}
}

func (b *batch) drop(key string, r *repeated) {
	delete(b.seen, key)
	if r.graph != nil {
		_ = r.graph.Destroy() // the driver keeps what is in flight
	}
}

// forget drops every graph: an address in them is about to become another's.
func (b *batch) forget() {
	for key, r := range b.seen {
		b.drop(key, r)
	}
}

func (b *batch) close() error {
	var errs []error
	for _, r := range b.seen {
		if r.graph != nil {
			errs = append(errs, r.graph.Destroy())
		}
	}
	b.seen = nil
	return errors.Join(errs...)
}
