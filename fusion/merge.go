package fusion

import (
	"cmp"
	"slices"
)

// maxApart is how many flushes in a row may meet no plan for their instances as
// one, before they run each by itself.
const maxApart = 4

// together makes few of the open instances of a flush, each within the budget of
// operations, so that independent work fuses too (the update of many parameters, above
// all). They are put in an order that does not depend on how goroutines interleaved. If
// their union changes from flush to flush, as it does where many goroutines share a
// stream, they run apart, each with its own plan.
func (s *Stream) together(open []*instance) []*instance {
	if len(open) < 2 || s.c.compiler == nil || s.apart >= maxApart {
		return open
	}
	for _, in := range open {
		if len(in.awaits) > 0 {
			return open
		}
	}
	if in := s.tiles(open); in != nil {
		if s.apart = 0; in.t == nil && !s.planned(in) {
			s.apart = 1
		}
		return []*instance{in}
	}
	for _, in := range open {
		s.stray(in)
	}
	paths := make(map[*instance][]uint32, len(open))
	for _, in := range open {
		s.key.fill(in)
		paths[in] = slices.Clone(s.key.path)
	}
	slices.SortStableFunc(open, func(a, b *instance) int { return slices.Compare(paths[a], paths[b]) })
	var out []*instance
	known := true
	for len(open) > 0 {
		n, total := 1, len(open[0].recs)
		for n < len(open) && total+len(open[n].recs) <= s.ops {
			total += len(open[n].recs)
			n++
		}
		all := open[0]
		if n > 1 {
			all = s.newInstance()
			for _, in := range open[:n] {
				s.absorb(all, in)
			}
			known = known && s.planned(all)
		}
		out, open = append(out, all), open[n:]
	}
	if known {
		s.apart = 0
	} else {
		s.apart++
	}
	return out
}

// planned reports whether the cache knows the path of an instance.
func (s *Stream) planned(in *instance) bool {
	s.key.fill(in)
	c := &s.c.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(s.key.path, nil) != nil
}

// tiles makes one of open instances if together they are all of one trace, nil if they are
// not: the order is then that of the trace, which came about as [Stream.together] says.
func (s *Stream) tiles(open []*instance) *instance {
	t, n := open[0].t, 0
	for _, in := range open {
		if t == nil || in.t != t {
			return nil
		}
		n += len(in.recs)
	}
	if n != len(t.recs) || n > s.ops {
		return nil
	}
	open = slices.SortedFunc(slices.Values(open), func(a, b *instance) int { return cmp.Compare(a.at, b.at) })
	n = 0
	for _, in := range open {
		if in.at != n {
			return nil
		}
		n += len(in.recs)
	}
	for _, in := range open[1:] {
		s.absorb(open[0], in)
	}
	return open[0]
}
