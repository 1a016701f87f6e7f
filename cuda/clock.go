package cuda

import (
	"errors"
	"time"

	"github.com/sinter-go/sinter/cuda/driver"
)

// clocks are measurements between events. The lock of the gpu guards them.
type clocks struct {
	open []clock // in the order of the stream
	idle []driver.Event
}

type clock struct {
	from, to driver.Event
	tell     func(time.Duration)
}

// maxClocks bounds the measurements that wait to be read.
const maxClocks = 1024

// mark records an event.
func (c *clocks) mark(g *gpu) (e driver.Event, err error) {
	if n := len(c.idle) - 1; n >= 0 {
		e, c.idle = c.idle[n], c.idle[:n]
	} else if e, err = g.ctx.NewEvent(); err != nil {
		return e, err
	}
	return e, g.stream.Record(e)
}

// add notes a measurement.
func (c *clocks) add(from, to driver.Event, tell func(time.Duration)) error {
	c.open = append(c.open, clock{from, to, tell})
	if len(c.open) < maxClocks {
		return nil
	}
	if err := to.Synchronize(); err != nil {
		return err
	}
	return c.settle()
}

// settle tells the times, all of which have happened.
func (c *clocks) settle() error {
	for _, x := range c.open {
		ms, err := x.to.Since(x.from)
		if err != nil {
			return err
		}
		x.tell(time.Duration(ms * float64(time.Millisecond)))
		c.idle = append(c.idle, x.from, x.to)
	}
	clear(c.open)
	c.open = c.open[:0]
	return nil
}

func (c *clocks) close() error {
	var errs []error
	for _, e := range c.idle {
		errs = append(errs, e.Destroy())
	}
	c.idle = nil
	return errors.Join(errs...)
}
