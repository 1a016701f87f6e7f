package fusion

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Options configure a client. The zero value is ready to use.
type Options struct {
	Off      bool  // every operation is a segment of its own
	MaxOps   int   // operations of a segment, 512 by default
	MaxBytes int64 // results of a segment; a quarter of the device's memory by default, at least 256 MB
	Small    int64 // bytes of results that are stored though operations of their segment read them, 64 KB by default; none if negative
	Plans    int   // plans kept, 1024 by default
	Kernels  int   // compiled kernels kept, 4096 by default
	Plan     PlanOptions
	Fusers   []Fuser // beside the built-in ones
	Oracle   bool    // each segment also runs one operation per kernel, and bits are compared
	Bisect   *Bisect // which fusions are done; nil: all
	Capsules string  // directory for the segments that the oracle finds wrong; "" writes none
}

func (o Options) withDefaults(info backend.Info) Options {
	if o.MaxOps <= 0 {
		o.MaxOps = 512
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = max(256<<20, info.Memory/4)
	}
	if o.Small == 0 {
		o.Small = 64 << 10
	}
	if o.Plans <= 0 {
		o.Plans = 1024
	}
	if o.Kernels <= 0 {
		o.Kernels = 4096
	}
	return o
}

// Client is a device that fuses: operations recorded on its streams become few
// launches on the inner backend. It is a backend itself, by ids over the same
// streams, so that it stacks: a router over clients, a client over a router.
//
// On a backend that takes no kernels ([backend.Compiler]) it batches nodes.
type Client struct {
	inner    backend.Backend
	compiler backend.Compiler // nil: batching
	info     backend.Info
	opt      Options
	main     *Stream
	streams  streams
	cache    cache
	kernels  kernels
	lastID   atomic.Uint64
	live     atomic.Int64 // bytes of bases
	pressure pressure

	planning sync.Mutex // the planner serves one stream at a time
	planner  *Planner

	freeMu sync.Mutex
	frees  []ir.ID // bases to free with the next work

	facade facade

	inspectors inspectors
	capture    atomic.Pointer[Capture] // the open one
	errs       []*ir.Error             // raised here, and not yet returned by Sync or Read
	closed     atomic.Bool
}

// New makes a client of a backend.
func New(inner backend.Backend, options ...Options) *Client {
	var opt Options
	if len(options) > 0 {
		opt = options[0]
	}
	c := &Client{inner: inner, info: inner.Info()}
	c.opt = opt.withDefaults(c.info)
	c.compiler, _ = backend.As[backend.Compiler](inner)
	c.cache = cache{limit: c.opt.Plans, entries: map[uint64][]*entry{}}
	c.kernels = kernels{limit: c.opt.Kernels, found: map[string]*cachedKernel{}}
	if c.opt.Oracle {
		c.opt.Plan.NoInPlace = true // the inputs are needed again
	}
	c.planner = &Planner{Target: (*target)(c), Fusers: c.opt.Fusers, Options: c.opt.Plan}
	c.main = c.NewStream(context.Background())
	c.facade.ids = map[ir.ID]*owned{}
	return c
}

// Inner returns the backend that the client runs on.
func (c *Client) Inner() backend.Backend { return c.inner }

// Stream returns the client's own stream, on which the methods of
// [backend.Backend] record.
func (c *Client) Stream() *Stream { return c.main }

// Stats count what became of recorded segments.
func (c *Client) Stats() CacheStats {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	s := c.cache.stats
	s.Plans = c.cache.count
	s.Misses = maps.Clone(c.cache.stats.Misses)
	return s
}

// newID names a tensor of the inner backend.
func (c *Client) newID() ir.ID { return ir.ID(c.lastID.Add(1)) }

// free frees a base behind the work that is queued.
func (c *Client) free(id ir.ID) {
	c.freeMu.Lock()
	c.frees = append(c.frees, id)
	var ids []ir.ID
	if len(c.frees) >= 32 {
		ids, c.frees = c.frees, nil
	}
	c.freeMu.Unlock()
	if ids != nil {
		c.inner.Free(ids...)
	}
}

// freeAll sends what waits to be freed.
func (c *Client) freeAll() {
	c.freeMu.Lock()
	ids := c.frees
	c.frees = nil
	c.freeMu.Unlock()
	if len(ids) > 0 {
		c.inner.Free(ids...)
	}
}

// streams are those of a client that are in use.
type streams struct {
	mu   sync.Mutex
	list []weakStream
}

// flush runs what all streams have recorded.
func (c *Client) flush(cut Cut) {
	for _, s := range c.streams.all() {
		s.mu.Lock()
		s.watch() // what outlived the last flush
		s.flush(cut)
		s.mu.Unlock()
	}
	c.freeAll()
}
