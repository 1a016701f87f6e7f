package lower

import "github.com/sinter-go/sinter/ir"

// Work returns, per node, how many times its body is evaluated in one run of the
// block: once per row of the iteration space, or per element of the reduced group
// where the value varies along it or the node reduces, for each map that the node is
// needed at. Views and joins have none.
func (b *Block) Work() []float64 { return b.work }

// Read returns the bytes that a run reads of tensors from outside, of each tensor
// no more than it has.
func (b *Block) Read() int64 { return b.read }

// Written returns the bytes of the stored results.
func (b *Block) Written() int64 { return b.written }

// count sums up the work and the traffic of the pieces.
func (b *Block) count(l *lowering, pieces []*eval) {
	b.work = make([]float64, len(l.nodes))
	for _, e := range pieces {
		rows, elements := float64(e.rows()), float64(e.elements())
		for i := range e.steps {
			s := &e.steps[i]
			if !e.needed[i] {
				continue
			}
			if r := e.reductions[s.node]; s.varies || r != nil && !s.empty {
				b.work[s.node] += elements
			} else {
				b.work[s.node] += rows
			}
		}
	}
	for _, t := range l.wanted {
		b.written += t.Bytes()
	}
	touched := map[ir.ID]int64{}
	for _, p := range b.Pieces {
		for i := range p.walks[:p.inputs] {
			n := int64(p.types[i].Size())
			for a, st := range p.walks[i].strides {
				if st != 0 || p.walks[i].gather {
					n *= p.Extents[a]
				}
			}
			touched[p.Args[i].Tensor] += n
		}
	}
	seen := map[ir.ID]bool{}
	for i := range l.nodes {
		for _, t := range l.nodes[i].In {
			if !seen[t.ID] {
				seen[t.ID] = true
				b.read += min(touched[t.ID], t.Bytes())
			}
		}
	}
}
