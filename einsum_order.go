package sinter

import "math/bits"

// exactOrder is up to how many operands all orders of pairs are weighed: 3^n steps.
const exactOrder = 8

// contraction is a tree of pairs of operands: a leaf is an operand, any other node
// multiplies what its two parts give.
type contraction struct {
	operand     int
	left, right *contraction // nil in a leaf
}

// ordering weighs orders of pairs. Labels and operands are bits.
type ordering struct {
	extents []float64 // of each label
	labels  []uint64  // of each operand
	result  uint64
}

// labelsOf returns the labels that the product of a set of operands has: those that
// the result or an operand outside of the set has too.
func (o *ordering) labelsOf(set uint64) uint64 {
	inside, needed := uint64(0), o.result
	for i, l := range o.labels {
		if set>>i&1 == 1 {
			inside |= l
		} else {
			needed |= l
		}
	}
	return inside & needed
}

// multiplications is what a pair takes whose operands have these labels together.
func (o *ordering) multiplications(labels uint64) float64 {
	n := 1.0
	for ; labels != 0; labels &= labels - 1 {
		n *= o.extents[bits.TrailingZeros64(labels)]
	}
	return n
}

// order returns the tree of pairs that takes the fewest multiplications. Of equal
// ones it is the one that joins earlier operands first, so that the order follows
// from the spec and the extents alone.
func (e *einsum) order() *contraction {
	o := &ordering{}
	number := map[label]int{}
	mask := func(labels []label) (m uint64) {
		for _, l := range labels {
			i, ok := number[l]
			if !ok {
				i = len(number)
				number[l] = i
				o.extents = append(o.extents, float64(e.extents[l]))
			}
			m |= 1 << i
		}
		return m
	}
	for _, x := range e.operands {
		o.labels = append(o.labels, mask(x.labels))
	}
	o.result = mask(e.result)
	if len(e.operands) <= exactOrder {
		return o.exact()
	}
	return o.greedy()
}

// exact weighs all trees, by the sets of operands that their nodes multiply.
func (o *ordering) exact() *contraction {
	n := len(o.labels)
	cost, cut, labels := make([]float64, 1<<n), make([]uint64, 1<<n), make([]uint64, 1<<n)
	for set := uint64(1); set < 1<<n; set++ {
		labels[set] = o.labelsOf(set)
		first := set & -set
		for rest := set ^ first; ; rest = (rest - 1) & (set ^ first) { // what joins the first operand
			if left := first | rest; left != set {
				c := cost[left] + cost[set^left] + o.multiplications(labels[left]|labels[set^left])
				if cut[set] == 0 || c < cost[set] {
					cost[set], cut[set] = c, left
				}
			}
			if rest == 0 {
				break
			}
		}
	}
	var tree func(set uint64) *contraction
	tree = func(set uint64) *contraction {
		if cut[set] == 0 {
			return &contraction{operand: bits.TrailingZeros64(set)}
		}
		return &contraction{left: tree(cut[set]), right: tree(set ^ cut[set])}
	}
	return tree(1<<n - 1)
}

// greedy joins the pair of the fewest multiplications, again and again.
func (o *ordering) greedy() *contraction {
	type part struct {
		*contraction
		labels uint64
	}
	parts := make([]part, len(o.labels))
	for i, l := range o.labels {
		parts[i] = part{&contraction{operand: i}, l}
	}
	for len(parts) > 1 {
		a, b, best := 0, 0, 0.0
		for i := range parts {
			for j := i + 1; j < len(parts); j++ {
				if c := o.multiplications(parts[i].labels | parts[j].labels); b == 0 || c < best {
					a, b, best = i, j, c
				}
			}
		}
		needed := o.result
		for i, p := range parts {
			if i != a && i != b {
				needed |= p.labels
			}
		}
		parts[a] = part{&contraction{left: parts[a].contraction, right: parts[b].contraction}, (parts[a].labels | parts[b].labels) & needed}
		parts = append(parts[:b], parts[b+1:]...)
	}
	return parts[0].contraction
}
