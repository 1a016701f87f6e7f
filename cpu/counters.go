package cpu

import (
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/backend"
)

// counters are totals since the device was opened. Compile counts on the
// goroutine of its caller, everything else on that of the device.
type counters struct {
	nodes, kernels, views, routines, compiled, interpreted atomic.Int64
	cacheHits, cacheMisses                                 atomic.Int64
	launches, inPlace, reruns, read, written, kernelTime   atomic.Int64
}

func (c *counters) totals() backend.Counters {
	return backend.Counters{
		Nodes: c.nodes.Load(), Kernels: c.kernels.Load(), Views: c.views.Load(), Routines: c.routines.Load(),
		Compiled: c.compiled.Load(), Interpreted: c.interpreted.Load(),
		CacheHits: c.cacheHits.Load(), CacheMisses: c.cacheMisses.Load(),
		Launches: c.launches.Load(), InPlace: c.inPlace.Load(), Reruns: c.reruns.Load(),
		BytesRead: c.read.Load(), BytesWritten: c.written.Load(), KernelTime: time.Duration(c.kernelTime.Load()),
	}
}
