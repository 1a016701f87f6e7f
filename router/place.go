package router

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// choose returns the lane that runs a node: the device itself, the member that
// Place names, or, if that one lacks what the node needs and fallback is allowed,
// the first in the order of fallback that has it. The router's lock is held, for
// the counts.
func (c *Client) choose(n *ir.Node) (*lane, error) {
	r := c.r
	if !r.routes {
		return c.home, nil
	}
	l := c.home
	if r.opt.Place != nil {
		if name := r.opt.Place(n, c.home.m.id.String()); name != "" {
			m, err := r.find(name)
			if err != nil {
				return nil, err
			}
			l = c.lanes[r.index(m)]
			if l != c.home {
				c.traffic.placed++
			}
		}
	}
	if !r.opt.Fallback {
		return l, nil
	}
	reason := l.m.lacks(n)
	if reason == "" {
		return l, nil
	}
	for _, m := range r.order {
		if m == l.m || m.down() != nil || m.lacks(n) != "" {
			continue
		}
		c.traffic.fallback(Fallback{Op: n.Row.Name, From: l.m.text, To: m.text, Reason: reason})
		return c.lanes[r.index(m)], nil
	}
	return nil, &ir.Error{Kind: ir.ErrUnsupported, Device: l.m.text, Msg: reason + ", and no member of the router does"}
}

// storing returns the lane to a member that stores a dtype: the device itself
// where it does.
func (c *Client) storing(d ir.DType) *lane {
	if c.home.m.usage[d]&backend.CanStore != 0 {
		return c.home
	}
	for _, m := range c.r.order {
		if m.usage[d]&backend.CanStore != 0 && m.down() == nil {
			c.r.mu.Lock()
			c.traffic.fallback(Fallback{Op: "upload", From: c.home.m.text, To: m.text, Reason: "it does not store " + d.String()})
			c.r.mu.Unlock()
			return c.lanes[c.r.index(m)]
		}
	}
	return c.home
}

// Meet says where an operation runs whose operands are on different devices of
// the router, by its rule.
func (c *Client) Meet(of []backend.Backend, types []ir.Type) (int, bool) {
	r := c.r
	for _, b := range of {
		if x, ok := backend.As[*Client](b); !ok || x.r != r {
			return 0, false
		}
	}
	at := 0
	switch r.opt.Mixed {
	case MixedIsError:
		return 0, false
	case MoveToLargest:
		for i, t := range types {
			if t.Bytes() > types[at].Bytes() {
				at = i
			}
		}
	case MoveToDefault:
		for i, b := range of {
			if x, _ := backend.As[*Client](b); x.home.m == r.members[0] {
				at = i
				break
			}
		}
	}
	r.mu.Lock()
	c.traffic.mixed++
	r.mu.Unlock()
	return at, true
}
