package lower

import "github.com/sinter-go/sinter/ir"

// Work returns, per node, how many times its body is evaluated in one run of the
// block: once per row of the iteration space, or per element of the reduced group
// where the value varies along it or the node reduces, for each map that the node is
// needed at. Views and joins have none. That a stage evaluates again what an earlier
// one has seen is not counted. Where products run on packed tiles, what feeds them is
// evaluated once per element of a panel.
func (b *Block) Work(tiled bool) []float64 {
	out := make([]float64, len(b.Nodes))
	for _, p := range b.Pieces {
		panels := tiled && p.Product()
		for i := range p.emits {
			m := &p.emits[i]
			if panels {
				out[m.node] += m.packed
			} else {
				out[m.node] += m.count
			}
		}
	}
	return out
}

// Read returns the bytes that a run reads of tensors from outside, of each tensor
// no more than it has.
func (b *Block) Read() int64 {
	touched := map[ir.ID]int64{}
	for _, p := range b.Pieces {
		for i, w := range p.walks[:p.inputs] {
			n := int64(p.types[i].Size())
			for a, st := range w.strides {
				if st != 0 || w.gather {
					n *= p.Extents[a]
				}
			}
			touched[p.Args[i].Tensor] += n
		}
	}
	read := int64(0)
	for i := range b.Nodes {
		for _, t := range b.Nodes[i].In {
			read += min(touched[t.ID], t.Bytes())
			delete(touched, t.ID)
		}
	}
	return read
}

// Written returns the bytes of the stored results.
func (b *Block) Written() int64 {
	written := map[ir.ID]bool{}
	for _, p := range b.Pieces {
		for _, a := range p.Args[p.inputs:] {
			written[a.Tensor] = true
		}
	}
	n := int64(0)
	for i := range b.Nodes {
		for _, t := range b.Nodes[i].Out {
			if written[t.ID] {
				n += t.Bytes()
			}
		}
	}
	return n
}
