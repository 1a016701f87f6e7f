package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// batch holds the steps of a segment back until all of them are known. A batch of the
// functions of earlier ones, which a training step or a model becomes after a few
// rounds, is launched as one graph; what changes from round to round, addresses and
// scalars, is changed in its nodes. That changes nothing but the time of the host and
// between kernels.
//
// The lock of the gpu guards it.
type batch struct {
	off       bool // no graphs
	dependent bool // in graphs a kernel is launched while the one before it runs, if it waits by itself
	clocked   int  // open clocks: kernels are launched one by one
	steps     []step
	text      []byte // of the steps: their parameters
	key       []byte // their functions: what tells graphs apart
	next      string // name of the next step
	params    driver.Params

	seen   map[string]*repeated
	clock  int64
	broken bool // the driver makes no graphs
}

// step is a kernel launch.
type step struct {
	name        string // of the kernel or routine, of its first step
	f           *function
	grid, block driver.Dim
	shared      uint32
	waits       bool // by itself, for the kernel before it
	maps        int
	from, to    int // of its parameters in text
}

// repeated is a batch that came before.
type repeated struct {
	rounds int
	used   int64
	graph  *driver.Chain
	grids  []driver.Dim // of the graph's nodes, as it is
	text   []byte       // likewise
	early  int64        // nodes with programmatic edges
}

const (
	maxSteps    = 512 // held back at most
	graphSteps  = 4   // a graph has at least
	graphRounds = 3   // a batch becomes a graph when it comes this often
	maxSeen     = 64  // batches that are remembered
)

// add holds a step back. After an error the caller cuts the batch.
func (b *batch) add(g *gpu, s *ptx.Step, f *function) error {
	x := step{name: b.named(), f: f, grid: driver.Dim{X: s.GridX, Y: s.GridY, Z: 1}, block: driver.Dim{X: uint32(s.Entry.Threads), Y: 1, Z: 1},
		shared: uint32(s.Entry.Shared), waits: s.Entry.Waits, maps: len(s.Maps), from: len(b.text)}
	for i := range s.Maps {
		m, err := g.tensorMap(&s.Maps[i])
		if err != nil {
			return fmt.Errorf("%s: %w", s.Entry.Name, err)
		}
		b.text = append(b.text, m[:]...)
	}
	for _, v := range s.Params {
		b.text = binary.LittleEndian.AppendUint64(b.text, v)
	}
	x.to = len(b.text)
	b.key = binary.LittleEndian.AppendUint64(b.key, f.ID())
	b.steps = append(b.steps, x)
	return nil
}

// full reports whether the steps have become many, and should go.
func (b *batch) full() bool { return len(b.steps) >= maxSteps }

// batchSize is how much a batch holds.
type batchSize struct{ steps, text, key int }

func (b *batch) size() batchSize { return batchSize{len(b.steps), len(b.text), len(b.key)} }

// cut takes back what was added since the batch had a size.
func (b *batch) cut(to batchSize) {
	clear(b.steps[to.steps:])
	b.steps, b.text, b.key = b.steps[:to.steps], b.text[:to.text], b.key[:to.key]
}

// issue lets the steps go.
func (b *batch) issue(g *gpu) error {
	if len(b.steps) == 0 {
		return nil
	}
	defer func() {
		clear(b.steps)
		b.steps, b.text, b.key = b.steps[:0], b.text[:0], b.key[:0]
	}()
	if g.ranges != nil {
		g.ranges.Push(b.segment())
		defer g.ranges.Pop()
	}
	g.stats.Kernels += int64(len(b.steps))
	if b.off || b.broken || b.clocked > 0 || len(b.steps) < graphSteps {
		return b.launch(g)
	}
	b.clock++
	r := b.seen[string(b.key)]
	if r == nil {
		if len(b.seen) >= maxSeen {
			b.evict()
		}
		if b.seen == nil {
			b.seen = map[string]*repeated{}
		}
		r = &repeated{}
		b.seen[string(b.key)] = r
	}
	r.used = b.clock
	if r.rounds++; r.rounds < graphRounds {
		return b.launch(g)
	}
	if r.graph == nil {
		if err := b.build(g, r); err != nil { // nothing has run: it runs without
			b.broken = true
			return b.launch(g)
		}
		g.stats.Captured++
	} else if err := b.change(g, r); err != nil {
		b.dependent = false // lest every graph fail so
		b.drop(string(b.key), r)
		return b.launch(g)
	}
	g.stats.Graphs++
	g.stats.Dependent += r.early
	return g.withRoom(func() error { return r.graph.Launch(g.stream) })
}

// fillIn makes the parameters of a step those of the next call of the driver.
func (b *batch) fillIn(s *step) error {
	text := b.text[s.from:s.to]
	if err := b.params.Reset(s.maps, (len(text)-s.maps*ptx.MapBytes)/8); err != nil {
		return err
	}
	b.params.PutBytes(0, text)
	return nil
}

// launch puts the steps on the stream one by one.
func (b *batch) launch(g *gpu) error {
	return b.each(g.ranges, func(s *step) error {
		if err := b.fillIn(s); err != nil {
			return err
		}
		return g.withRoom(func() error { return s.f.Launch(g.stream, s.grid, s.block, s.shared, &b.params) })
	})
}

// build makes a graph of the steps. A driver that does not take one with programmatic edges
// is given none any more.
func (b *batch) build(g *gpu, r *repeated) error {
	err := b.chain(g, r)
	if err != nil && b.dependent {
		b.dependent = false
		err = b.chain(g, r)
	}
	return err
}

// edge says when step i of a graph is launched. All that a graph has are kernels, each behind
// the one before, so that one that waits for the kernel before it has waited for all.
func (b *batch) edge(i int) driver.Edge {
	if b.dependent && i > 0 && b.steps[i].waits {
		return driver.Programmatic
	}
	return driver.Completion
}

// chain makes a graph of the steps, each behind the one before.
func (b *batch) chain(g *gpu, r *repeated) (err error) {
	x, err := g.ctx.NewChain()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Destroy())
		}
	}()
	r.grids, r.early = r.grids[:0], 0
	for i := range b.steps {
		s := &b.steps[i]
		e := b.edge(i)
		if err = b.fillIn(s); err == nil {
			err = x.Kernel(s.f.Function, s.grid, s.block, s.shared, &b.params, e)
		}
		if err != nil {
			return err
		}
		r.grids = append(r.grids, s.grid)
		if e == driver.Programmatic {
			r.early++
		}
	}
	if err = x.Ready(); err != nil {
		return err
	}
	r.graph, r.text = x, slices.Clone(b.text)
	return nil
}

// change gives the nodes of a graph what differs from the last round.
func (b *batch) change(g *gpu, r *repeated) error {
	for i := range b.steps {
		s := &b.steps[i]
		if s.grid == r.grids[i] && string(b.text[s.from:s.to]) == string(r.text[s.from:s.to]) {
			continue
		}
		if err := b.fillIn(s); err != nil {
			return err
		}
		if err := r.graph.SetKernel(i, s.f.Function, s.grid, s.block, s.shared, &b.params); err != nil {
			return err
		}
		r.grids[i] = s.grid
		copy(r.text[s.from:s.to], b.text[s.from:s.to])
		g.stats.Changed++
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
		_ = r.graph.Destroy() // the driver keeps what is under way
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
