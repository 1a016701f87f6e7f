package cuda

import (
	"errors"
	"slices"
	"time"

	"github.com/sinter-go/sinter/cuda/driver"
)

// clocks are measurements between events. The lock of the gpu guards them.
type clocks struct {
	open []clock // in the order of the stream
	told int     // how many were before
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
	return c.settle(c.told + len(c.open))
}

// settle tells the times up to a number, counted from the first ever; all of these have
// happened.
func (c *clocks) settle(until int) error {
	n := max(0, min(until-c.told, len(c.open)))
	for _, x := range c.open[:n] {
		ms, err := x.to.Since(x.from)
		if err != nil {
			return err
		}
		x.tell(time.Duration(ms * float64(time.Millisecond)))
		c.idle = append(c.idle, x.from, x.to)
	}
	c.told += n
	c.open = slices.Delete(c.open, 0, n)
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
