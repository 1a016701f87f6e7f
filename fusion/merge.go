package fusion

import (
	"slices"
)

// maxApart is how many flushes in a row may meet no plan for their instances as
// one, before they run each by itself.
const maxApart = 4

// together makes one of the open instances of a flush, so that independent work
// fuses too (the update of many parameters, above all). They are put in an order
// that does not depend on how goroutines interleaved. If their union changes from
// flush to flush, as it does where many goroutines share a stream, they run
// apart, each with its own plan.
func (s *Stream) together(open []*instance) []*instance {
	if len(open) < 2 || s.c.compiler == nil || s.apart >= maxApart {
		return open
	}
	total := 0
	for _, in := range open {
		total += len(in.recs)
		if len(in.awaits) > 0 {
			return open
		}
	}
	if total > s.c.opt.MaxOps {
		return open
	}
	paths := make(map[*instance][]uint32, len(open))
	for _, in := range open {
		s.key.fill(in)
		paths[in] = slices.Clone(s.key.path)
	}
	slices.SortStableFunc(open, func(a, b *instance) int { return slices.Compare(paths[a], paths[b]) })
	all := s.newInstance()
	for _, in := range open {
		all.absorb(in)
	}
	s.key.fill(all)
	c := &s.c.cache
	c.mu.Lock()
	if c.find(s.key.path, nil) == nil {
		s.apart++
	} else {
		s.apart = 0
	}
	c.mu.Unlock()
	return []*instance{all}
}
