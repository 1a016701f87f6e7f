package cuda

import (
	"errors"
	"sync"

	"github.com/sinter-go/sinter/cuda/driver"
)

// ring is page-locked memory that copies pass through, in pieces, since the driver
// copies from and to other memory neither fast nor beside kernels. One copy at a time
// uses it.
type ring struct {
	mu     sync.Mutex
	pieces []piece
	next   int
}

type piece struct {
	mem  []byte
	done driver.Event // of its last copy
	used bool
}

// pieceBytes is what passes at once. At 2 MiB the bus runs at its full rate.
const pieceBytes = 2 << 20

func (r *ring) open(c *driver.Context, pieces int) error {
	for range pieces {
		mem, err := c.AllocHost(pieceBytes)
		if err != nil {
			return err
		}
		e, err := c.NewEvent()
		if err != nil {
			return errors.Join(err, c.FreeHost(mem))
		}
		r.pieces = append(r.pieces, piece{mem: mem, done: e})
	}
	return nil
}

func (r *ring) close(c *driver.Context) error {
	var errs []error
	for _, p := range r.pieces {
		errs = append(errs, c.FreeHost(p.mem), p.done.Destroy())
	}
	r.pieces = nil
	return errors.Join(errs...)
}

// take returns the piece whose last copy is longest ago, once that is through.
func (r *ring) take(g *gpu) (*piece, error) {
	p := &r.pieces[r.next]
	r.next = (r.next + 1) % len(r.pieces)
	if !p.used {
		return p, nil
	}
	return p, g.wait(p.done)
}

// wait waits for an event, without the lock.
func (g *gpu) wait(e driver.Event) error {
	err := g.ctx.Do(e.Synchronize)
	if err == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lose(err)
}

// CopyIn copies from the host: to page-locked memory, and from there in stream order.
func (g *gpu) CopyIn(dst, src []byte) error {
	r := &g.up
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := g.do(func() error { return nil }); err != nil {
		return err
	}
	for at := 0; at < len(src); at += pieceBytes {
		n := min(pieceBytes, len(src)-at)
		p, err := r.take(g)
		if err != nil {
			return err
		}
		parallelCopy(p.mem[:n], src[at:at+n])
		err = g.do(func() error {
			if err := g.issue(); err != nil {
				return err
			}
			if err := g.stream.CopyToDevice(pointer(dst[at:]), p.mem[:n]); err != nil {
				return err
			}
			p.used = true
			g.stats.UpBytes += int64(n)
			return g.stream.Record(p.done)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CopyOut copies to the host: in stream order to page-locked memory, as far ahead as
// there is some.
func (g *gpu) CopyOut(dst, src []byte) error {
	r := &g.down
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := g.do(func() error { return nil }); err != nil {
		return err
	}
	type read struct {
		p  *piece
		to []byte
	}
	var ahead []read
	finish := func() error {
		x := ahead[0]
		ahead = ahead[1:]
		if err := g.wait(x.p.done); err != nil {
			return err
		}
		parallelCopy(x.to, x.p.mem[:len(x.to)])
		return nil
	}
	for at := 0; at < len(src); at += pieceBytes {
		n := min(pieceBytes, len(src)-at)
		if len(ahead) == len(r.pieces) {
			if err := finish(); err != nil {
				return err
			}
		}
		p := &r.pieces[r.next] // what it held was copied on
		r.next = (r.next + 1) % len(r.pieces)
		err := g.do(func() error {
			if err := g.issue(); err != nil {
				return err
			}
			if err := g.stream.CopyToHost(p.mem[:n], pointer(src[at:])); err != nil {
				return err
			}
			g.stats.DownBytes += int64(n)
			return g.stream.Record(p.done)
		})
		if err != nil {
			return err
		}
		ahead = append(ahead, read{p, dst[at : at+n]})
	}
	for len(ahead) > 0 {
		if err := finish(); err != nil {
			return err
		}
	}
	return nil
}

// parallelCopy copies a piece on several goroutines: one alone is slower than the bus.
func parallelCopy(dst, src []byte) {
	const share = pieceBytes / 4
	if len(src) <= share {
		copy(dst, src)
		return
	}
	var wg sync.WaitGroup
	for at := 0; at < len(src); at += share {
		wg.Go(func() { copy(dst[at:min(at+share, len(src))], src[at:min(at+share, len(src))]) })
	}
	wg.Wait()
}
