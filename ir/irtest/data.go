package irtest

import (
	"math"
	"math/rand/v2"

	"github.com/sinter-go/sinter/ir"
)

// InputData returns random contents for each input of the program, contiguous
// and little-endian. An input that an operation uses as an index directly stays
// in the range of that axis, and one that divides integers is nowhere 0. The
// other elements are special values (infinities, NaN, zeros of both signs,
// subnormals, extremes) with the given probability.
func InputData(rng *rand.Rand, p *ir.Program, special float64) [][]byte {
	type use struct {
		domain ir.Domain
		extent int // of the indexed axis
	}
	uses := map[ir.ID]use{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for k, t := range n.In {
			u, seen := uses[t.ID]
			switch domain := n.Row.OperandAt(k).Domain; {
			case domain == ir.Index:
				extent := indexed(n)
				if seen && u.domain == ir.Index {
					extent = min(extent, u.extent)
				}
				uses[t.ID] = use{ir.Index, extent}
			case domain == ir.NonZero && n.Row.Effects&ir.EffectFault != 0 && u.domain != ir.Index:
				uses[t.ID] = use{ir.NonZero, 0}
			}
		}
	}
	out := make([][]byte, len(p.Inputs))
	for i, t := range p.Inputs {
		switch u := uses[t.ID]; u.domain {
		case ir.Index:
			out[i] = indices(rng, t.Type, u.extent)
		default:
			out[i] = Data(rng, t.Type, u.domain, special)
		}
	}
	return out
}

// indexed returns the extent of the axis of the first operand that a node indexes.
func indexed(n *ir.Node) int {
	for i, s := range n.Row.Attrs {
		if s.Name != "axis" {
			continue
		}
		if a, err := ir.Axis(int(n.Attrs[i].Int), len(n.In[0].Shape)); err == nil {
			return n.In[0].Shape[a]
		}
	}
	return 1
}

// indices returns positions in an axis of extent n, some counted from its end.
func indices(rng *rand.Rand, t ir.Type, n int) []byte {
	var b []byte
	for i := t.Shape.Size(); i > 0; i-- {
		v := int64(0)
		if n > 0 {
			if v = rng.Int64N(int64(n)); rng.IntN(4) == 0 {
				v -= int64(n)
			}
		}
		b = appendElement(b, t.DType, uint64(v))
	}
	return b
}

// Data returns random contents of a tensor of the type with values of the
// domain, special ones with the given probability. [ir.Index] gives 0s.
func Data(rng *rand.Rand, t ir.Type, domain ir.Domain, special float64) []byte {
	b := make([]byte, 0, t.Bytes())
	for i := t.Shape.Size(); i > 0; i-- {
		b = appendElement(b, t.DType, element(rng, t.DType, domain, special))
	}
	return b
}

func appendElement(b []byte, d ir.DType, bits uint64) []byte {
	for i := 0; i < d.Size(); i++ {
		b = append(b, byte(bits>>(8*i)))
	}
	return b
}

// element returns the bits of a random element.
func element(rng *rand.Rand, d ir.DType, domain ir.Domain, special float64) uint64 {
	for {
		bits := draw(rng, d, domain, special)
		v := ir.Scalar{DType: d, Bits: bits}.Float()
		switch {
		case domain == ir.Index:
			return 0
		case domain == ir.Positive && !(v > 0), domain == ir.NonZero && v == 0,
			domain == ir.Moderate && !(math.Abs(v) <= 4), domain == ir.Unit && !(math.Abs(v) <= 1),
			domain == ir.Fraction && !(0 <= v && v <= 1), domain == ir.AboveOne && !(v >= 1):
			special = 0 // try an ordinary one
			continue
		}
		return bits
	}
}

func draw(rng *rand.Rand, d ir.DType, domain ir.Domain, special float64) uint64 {
	all := uint64(math.MaxUint64) >> (64 - d.Bits())
	switch {
	case d == ir.Bool:
		return rng.Uint64() & 1
	case rng.Float64() < special && d.IsFloat():
		inf := ir.MakeScalar(d, math.Inf(1)).Bits
		sign := (all + 1) >> 1
		if d == ir.F64 {
			sign = 1 << 63
		}
		least := inf &^ (inf << 1) // the least normal: the lowest bit of the exponent
		list := []uint64{0, inf, ir.MakeScalar(d, math.NaN()).Bits, inf - 1, 1, least - 1, least,
			ir.MakeScalar(d, 1).Bits, ir.MakeScalar(d, 0.5).Bits}
		v := list[rng.IntN(len(list))]
		if rng.IntN(2) == 0 && v <= inf {
			v |= sign
		}
		return v
	case rng.Float64() < special:
		least := (all + 1) >> 1
		if d.Bits() == 64 {
			least = 1 << 63
		}
		list := []uint64{0, 1, all, least, least - 1, all - 1}
		return list[rng.IntN(len(list))]
	case d.IsFloat():
		v := rng.Float64()*8 - 4
		if domain == ir.Positive {
			v = math.Abs(v)
		}
		if rng.IntN(4) == 0 { // integers and halves, so that ties and equal values occur
			v = math.Round(v*2) / 2
		}
		return ir.MakeScalar(d, v).Bits
	case d.Kind() == ir.KindUint || domain == ir.Positive:
		return rng.Uint64N(9)
	}
	return uint64(rng.Int64N(9)-4) & all
}
