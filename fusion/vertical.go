package fusion

import (
	"cmp"
	"container/heap"
	"slices"
)

// near is how many nodes of the recorded order groups span before the rest of the segment
// is looked at: about a layer and its gradient. What lies near is alive together in any
// case; a merge with what lies far, such as an activation's gradient with the activation,
// may keep its results alive through all that is in between. Far merges are on top of the
// tree, so that where memory does not suffice it is they that are taken back, and what a
// short segment would have stays.
const near = 64

// pair is a producer and a consumer that might merge.
type pair struct {
	producer, consumer *group
	saves              int64 // bytes moved
	first              int   // node of the consumer
	serial             int   // of equal ones the older first
}

// pairs are a heap: the pair that saves most bytes first, and of equal ones that whose
// consumer was recorded first.
type pairs []pair

func (q pairs) Len() int      { return len(q) }
func (q pairs) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q pairs) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].saves, q[i].saves), cmp.Compare(q[i].first, q[j].first), cmp.Compare(q[i].serial, q[j].serial)) < 0
}
func (q *pairs) Push(x any) { *q = append(*q, x.(pair)) }
func (q *pairs) Pop() any {
	x := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return x
}

// vertical merges groups with the producers of what they read, the pair that saves most
// bytes first: an operation between a product and a reduction joins the one with which
// its result need not be stored.
func (s *search) vertical() {
	var q pairs
	n := 0
	push := func(p, c *group) {
		if !c.fixed && !s.tried[[2]int{p.serial, c.serial}] {
			n++
			heap.Push(&q, pair{p, c, s.saves(p, c), s.first(c), n})
		}
	}
	for _, gr := range s.groups {
		for _, p := range s.producers(gr) {
			push(p, gr)
		}
	}
	for len(q) > 0 {
		x := heap.Pop(&q).(pair)
		if s.gone(x.producer) || s.gone(x.consumer) {
			continue
		}
		m := s.merge(x.producer, x.consumer)
		if m == nil {
			continue
		}
		for _, p := range s.producers(m) {
			push(p, m)
		}
		for _, c := range s.consumers(m) {
			push(m, c)
		}
	}
}

// saves returns how many bytes less groups move as one.
func (s *search) saves(a, b *group) int64 {
	n := s.moved(a) + s.moved(b)
	m := &group{units: append(append(make([]int, 0, len(a.units)+len(b.units)), a.units...), b.units...)}
	s.adopt(m)
	n -= s.moved(m)
	s.adopt(a)
	s.adopt(b)
	return n
}

// moved returns the bytes that a group reads and stores.
func (s *search) moved(gr *group) int64 {
	n := s.reads(gr).total()
	for _, id := range s.stored(gr) {
		n += s.g.bytes(id)
	}
	return n
}

// producers returns the groups whose results a group reads.
func (s *search) producers(gr *group) []*group {
	return s.linked(gr, func(x *unit) []link { return x.preds })
}

// consumers returns the groups that read the results of a group.
func (s *search) consumers(gr *group) []*group {
	return s.linked(gr, func(x *unit) []link { return x.succs })
}

func (s *search) linked(gr *group, links func(*unit) []link) []*group {
	var out []*group
	for _, u := range gr.units {
		for _, l := range links(&s.units[u]) {
			if o := s.units[l.unit].group; l.root != 0 && o != gr && !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return out
}
