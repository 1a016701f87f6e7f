package fusion

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// maxBound is how many sets of dims a plan stays bound to, and maxVariants how
// many sets of stored results and dying leaves one path has plans for.
const (
	maxBound    = 4
	maxVariants = 4
)

// entry is what a client knows of one path. Its fields are guarded by the cache's
// lock, but for what never changes: path and sites.
type entry struct {
	path  []uint32
	ops   []*Op
	sites []ir.Site
	next  atomic.Pointer[entry] // what the stream ran after it, last time; streams guess by it without the lock

	demand   []bool // results that someone asked for after a flush had not stored them
	demands  int
	variants []*variant

	trace   atomic.Pointer[trace] // of a recording; read without the lock
	runs    *bound                // what ran last
	strayed int                   // runs of it that followed no trace, since one did
	used    int64
	loaded  bool // from a file, and not run yet: its lines are those of the first run
}

// variant is a path with the results that it stores and the leaves that die.
type variant struct {
	keep  []bool
	dies  []bool
	bound []*bound // the last used first
}

// cache finds plans by path, least recently used out.
type cache struct {
	mu      sync.Mutex
	limit   int
	entries map[uint64][]*entry
	count   int
	clock   int64
	stats   CacheStats
}

// CacheStats count what became of the segments that a client ran.
type CacheStats struct {
	Plans    int   // kept now
	Hits     int64 // the plan was there, bound to the same sizes
	Repeats  int64 // segments recorded as they were before, operation by operation: known without a key
	Rebound  int64 // the plan was there, and bound to new sizes
	Searches int64 // a plan had to be searched
	Loaded   int64 // came from a file ([Client.LoadPlans])
	Evicted  int64
	Misses   map[Miss]int64 // why plans were searched
}

// Miss is why a segment found no plan.
type Miss string

// The reasons for a search.
const (
	MissPath    Miss = "new operations"     // never seen, or evicted
	MissResults Miss = "other results kept" // known operations, but others of their results are kept
	MissGuard   Miss = "sizes differ"       // the plan does not hold for these sizes
)

func (c *cache) find(path []uint32, guess *entry) *entry {
	if guess != nil && slices.Equal(guess.path, path) {
		return guess
	}
	for _, e := range c.entries[hashPath(path)] {
		if slices.Equal(e.path, path) {
			return e
		}
	}
	return nil
}

// lookup returns the entry of a path, and makes one if there is none.
func (c *cache) lookup(in *instance, path []uint32, guess *entry) *entry {
	c.clock++
	e := c.find(path, guess)
	if e != nil && e.loaded { // no stream has seen it yet
		e.loaded = false
		e.remember(in)
	} else if e == nil || e.used == 0 { // a guess may have been evicted
		e = &entry{path: append([]uint32(nil), path...), demand: make([]bool, len(in.types))}
		e.remember(in)
		h := hashPath(path)
		c.entries[h] = append(c.entries[h], e)
		c.count++
		if c.count > c.limit {
			c.evict(e)
		}
	}
	e.used = c.clock
	return e
}

// remember notes the operations and their lines.
func (e *entry) remember(in *instance) {
	for i := range in.recs {
		e.ops = append(e.ops, in.recs[i].op)
		e.sites = append(e.sites, in.recs[i].site)
	}
}

// evict drops the quarter of the entries that was used longest ago.
func (c *cache) evict(keep *entry) {
	used := make([]int64, 0, c.count)
	for _, list := range c.entries {
		for _, e := range list {
			used = append(used, e.used)
		}
	}
	slices.Sort(used)
	oldest := used[len(used)/4]
	for h, list := range c.entries {
		list = slices.DeleteFunc(list, func(e *entry) bool {
			if e == keep || e.used > oldest {
				return false
			}
			e.used, e.variants, e.runs = 0, nil, nil
			e.next.Store(nil)
			e.trace.Store(nil)
			c.count--
			c.stats.Evicted++
			return true
		})
		if len(list) == 0 {
			delete(c.entries, h)
		} else {
			c.entries[h] = list
		}
	}
}

// variant returns the plans of a set of kept results and dying leaves.
func (e *entry) variant(keep, dies []bool) *variant {
	for _, v := range e.variants {
		if slices.Equal(v.keep, keep) && slices.Equal(v.dies, dies) {
			return v
		}
	}
	return nil
}

// promote puts a bound plan first.
func (v *variant) promote(b *bound) {
	for i, o := range v.bound {
		if o == b {
			copy(v.bound[1:i+1], v.bound[:i])
			v.bound[0] = b
			return
		}
	}
	if len(v.bound) < maxBound {
		v.bound = append(v.bound, nil)
	}
	copy(v.bound[1:], v.bound)
	v.bound[0] = b
}
