package ptx

import (
	"encoding/binary"

	"github.com/sinter-go/sinter/kernel"
)

// alignments is what plans ask of addresses: they depend on no more of them than on
// the place in a line of so many bytes.
const alignments = 256

// AppendKey appends what the plan of a launch depends on beside the addresses, as far
// as they are whole lines apart and it does not write what it reads, and the scalar parameters: launches of one key have
// one plan, which [Plan.Rebind] moves from one to the other.
func (m *Module) AppendKey(b []byte, l *kernel.Launch, base []uint64) []byte {
	put := func(v int64) { b = binary.LittleEndian.AppendUint64(b, uint64(v)) }
	for axis, n := range l.Extents {
		start, full := int64(0), n
		if l.Start != nil {
			start = l.Start[axis]
		}
		if l.Full != nil {
			full = l.Full[axis]
		}
		put(n)
		put(start)
		put(full)
	}
	for i := range l.Args {
		o := &l.Args[i]
		for _, s := range o.Strides {
			put(s)
		}
		put(o.GatherStride)
		put(o.GatherExtent)
		put(int64(m.first(l, base, i) % alignments))
	}
	if m.inItsPlace(l, base) {
		b = append(b, 1)
	}
	return b
}

// first is the address of the first element of an argument.
func (m *Module) first(l *kernel.Launch, base []uint64, arg int) uint64 {
	return base[arg] + uint64(l.Args[arg].Offset*int64(m.k.Args[arg].Type.Size()))
}

// Rebind moves a plan to the addresses and scalar parameters of a launch of the same
// key.
func (p *Plan) Rebind(l *kernel.Launch, base []uint64) {
	m := p.module
	for i := range p.first {
		to := m.first(l, base, i)
		p.moved[i], p.first[i] = to-p.first[i], to
	}
	p.move(l.Params)
}

// move adds what arguments have moved by, and sets scalar parameters.
func (p *Plan) move(params []uint64) {
	for i := range p.Steps {
		s := &p.Steps[i]
		for j, sl := range s.Entry.slots {
			switch sl.kind {
			case slotPointer:
				arg := sl.i
				if s.of != nil {
					arg = s.of[arg]
				}
				if arg >= 0 {
					s.Params[j] += p.moved[arg]
				}
			case slotScalar:
				if sl.i < len(params) { // the others are extents
					s.Params[j] = params[sl.i]
				}
			}
		}
		for j := range s.Maps {
			if m := &s.Maps[j]; m.Arg >= 0 {
				m.Base += p.moved[m.Arg]
			}
		}
		for j := range s.operands {
			if o := &s.operands[j]; o.arg >= 0 {
				o.base += p.moved[o.arg]
			}
		}
	}
}
