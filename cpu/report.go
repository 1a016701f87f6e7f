package cpu

import (
	"context"

	"github.com/sinter-go/sinter/backend"
)

var _ backend.Pools = (*Device)(nil)

// usage returns the bytes of the pool.
func (p *pool) usage() backend.MemoryUsage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return backend.MemoryUsage{InUse: p.inUse, Reserved: p.reserved, Peak: p.peak, Limit: p.limit}
}

// pools returns the pools that have slabs, smallest blocks first.
func (p *pool) pools() []backend.PoolUsage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []backend.PoolUsage
	for i := range p.sets {
		for j := range p.sets[i] {
			c := &p.sets[i][j]
			if len(c.slabs) == 0 {
				continue
			}
			u := backend.PoolUsage{Persistent: i == 1, Slabs: len(c.slabs), Reserved: c.bytes}
			for _, s := range c.slabs {
				u.Block = s.room - 2*int64(p.guard())
				u.Blocks += int(int64(len(s.mem)) / s.room)
				u.Live += s.live
				if s.live == 0 {
					u.Idle += int64(len(s.mem))
				}
			}
			out = append(out, u)
		}
	}
	return out
}

// PoolReport describes the pools behind everything queued.
func (d *Device) PoolReport(ctx context.Context) ([]backend.PoolUsage, error) {
	var out []backend.PoolUsage
	err := d.inOrder(ctx, func() { out = d.pool.pools() })
	return out, err
}

// Persistent opens or closes a window behind everything queued: tensors made inside
// get slabs of their own, which stay until Cleanup or Close.
func (d *Device) Persistent(ctx context.Context, on bool) error {
	return d.inOrder(ctx, func() { d.pool.persist(on) })
}
