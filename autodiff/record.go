package autodiff

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter"
)

// node is an origin that takes part in a walk: a tensor asked for is among its
// results, or reaches them.
type node struct {
	origin *sinter.Origin
	needed bool  // a tensor asked for is reached from here
	sums   []sum // per result
}

// record is the part of the tensors' history between outputs and tensors asked
// for, in the order of recording.
type record struct {
	asked map[*sinter.Origin]bool // those of tensors asked for
	nodes []*node
	of    map[*sinter.Origin]*node
}

// collect finds the origins that lie between outputs and wrt. Origins older than
// every tensor of wrt cannot depend on one, so the search stops at them.
func collect(outputs, wrt []*sinter.Tensor) *record {
	r := &record{of: map[*sinter.Origin]*node{}, asked: map[*sinter.Origin]bool{}}
	oldest := ^uint64(0)
	for _, t := range wrt {
		o, _ := t.Origin()
		oldest = min(oldest, o.Seq)
		r.asked[o] = true
	}
	var stack []*sinter.Origin
	visit := func(t *sinter.Tensor) {
		o, _ := t.Origin()
		if o == nil || o.Seq < oldest || r.of[o] != nil {
			return
		}
		n := &node{origin: o}
		r.of[o] = n
		r.nodes = append(r.nodes, n)
		stack = append(stack, o)
	}
	for _, t := range outputs {
		visit(t)
	}
	for len(stack) > 0 {
		o := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, t := range o.In {
			visit(t)
		}
	}
	slices.SortFunc(r.nodes, func(a, b *node) int { return cmp.Compare(a.origin.Seq, b.origin.Seq) })
	for _, t := range wrt {
		o, _ := t.Origin()
		if n := r.of[o]; n != nil {
			n.needed = true
		}
	}
	for _, n := range r.nodes { // operands come first
		for _, t := range n.origin.In {
			n.needed = n.needed || r.needs(t)
		}
		if n.needed {
			n.sums = make([]sum, max(1, len(n.origin.Out)))
		}
	}
	return r
}

// find returns the node that made t and which result t is; nil if t does not
// take part.
func (r *record) find(t *sinter.Tensor) (*node, int) {
	o, i := t.Origin()
	if o == nil {
		return nil, 0
	}
	n := r.of[o]
	if n == nil || !n.needed {
		return nil, 0
	}
	return n, i
}

// needs reports whether a gradient with respect to t is wanted.
func (r *record) needs(t *sinter.Tensor) bool {
	n, _ := r.find(t)
	return n != nil
}
