package irtest

import "github.com/sinter-go/sinter/ir"

func ranked(v ir.Tensor) bool { return len(v.Shape) > 0 }

func anyValue(ir.Tensor) bool { return true }

// reshape splits, merges and adds axes, often of a value that was permuted, so
// that both the strides that exist and the copy are met.
func (g *gen) reshape(*ir.Row) bool {
	v, ok := g.pick(anyValue)
	if ok && g.chance(0.3) {
		v, ok = g.permuted(v)
	}
	if !ok {
		return false
	}
	s := v.Shape.Clone()
	for i := g.IntN(4); i >= 0; i-- {
		s = g.regrouped(s)
	}
	if n := s.Size(); n > 0 && len(s) > 0 && g.chance(0.2) {
		s[g.IntN(len(s))] = -1
	}
	_, ok = g.do("reshape", []ir.Tensor{v}, "shape", s)
	return ok
}

func (g *gen) regrouped(s ir.Shape) ir.Shape {
	i := g.IntN(len(s) + 1)
	switch {
	case g.chance(0.3) && len(s) < ir.MaxRank: // a new axis of extent 1
		return append(s[:i:i], append(ir.Shape{1}, s[i:]...)...)
	case i+1 < len(s): // merge two axes
		return append(s[:i:i], append(ir.Shape{s[i] * s[i+1]}, s[i+2:]...)...)
	case i < len(s) && len(s) < ir.MaxRank: // split an axis
		for _, d := range []int{2, 3, 5, 7} {
			if s[i]%d == 0 {
				return append(s[:i:i], append(ir.Shape{d, s[i] / d}, s[i+1:]...)...)
			}
		}
	}
	return s
}

func (g *gen) permute(*ir.Row) bool {
	v, ok := g.pick(ranked)
	if ok {
		_, ok = g.permuted(v)
	}
	return ok
}

func (g *gen) permuted(v ir.Tensor) (ir.Tensor, bool) {
	p := g.Perm(len(v.Shape))
	for i := range p {
		p[i] = g.spelled(p[i], len(p))
	}
	return g.do("permute", []ir.Tensor{v}, "axes", p)
}

func (g *gen) expand(*ir.Row) bool {
	v, ok := g.pick(func(v ir.Tensor) bool { return v.Shape.Size() <= g.opts.MaxElements/4 })
	if !ok {
		return false
	}
	s := v.Shape.Clone()
	for i := range s {
		if s[i] == 1 && g.chance(0.7) {
			s[i] = g.IntN(9)
		} else if g.chance(0.1) {
			s[i] = -1
		}
	}
	for g.chance(0.4) && len(s) < 6 {
		s = append(ir.Shape{1 + g.IntN(4)}, s...)
	}
	_, ok = g.do("expand", []ir.Tensor{v}, "shape", s)
	return ok
}

func (g *gen) slice(*ir.Row) bool {
	v, ok := g.pick(ranked)
	if !ok {
		return false
	}
	_, ok = g.sliced(v, -1)
	return ok
}

// sliced takes a random part of every axis, or of one.
func (g *gen) sliced(v ir.Tensor, only int) (ir.Tensor, bool) {
	rank := len(v.Shape)
	starts, sizes, steps := make([]int, rank), make([]int, rank), make([]int, rank)
	for i, d := range v.Shape {
		starts[i], sizes[i], steps[i] = 0, d, 1
		if only >= 0 && i != only || d == 0 || only < 0 && g.chance(0.3) {
			continue
		}
		step := 1 + g.IntN(min(d, 3))
		most := (d-1)/step + 1
		n := 1 + g.IntN(most)
		switch p := g.Float64(); {
		case p < 0.03:
			n = 0
		case p < 0.4:
			n = most
		}
		span := max(n-1, 0) * step
		starts[i], sizes[i], steps[i] = g.IntN(d-span), n, step
		if g.chance(0.4) {
			starts[i], steps[i] = starts[i]+span, -step
		}
	}
	return g.do("slice", []ir.Tensor{v}, "starts", starts, "sizes", sizes, "steps", steps)
}

func (g *gen) concat(r *ir.Row) bool {
	x, ok := g.pick(ranked)
	if !ok {
		return false
	}
	axis := g.IntN(len(x.Shape))
	fits := func(v ir.Tensor) bool {
		if v.DType != x.DType || len(v.Shape) != len(x.Shape) {
			return false
		}
		for i, d := range v.Shape {
			if i != axis && d != x.Shape[i] {
				return false
			}
		}
		return true
	}
	in := []ir.Tensor{x}
	for len(in) < 5 && g.chance(0.7) {
		v, _ := g.pick(fits) // x at least
		if g.chance(0.3) {
			if part, ok := g.sliced(v, axis); ok {
				v = part
			}
		}
		in = append(in, v)
	}
	_, ok = g.do(r.Name, in, "axis", g.spelled(axis, len(x.Shape)))
	return ok
}

// index makes indices of an axis of extent n: an input, which InputData keeps
// in range, or a range modulo n, sometimes made negative.
func (g *gen) index(s ir.Shape, n int) (ir.Tensor, bool) {
	if n == 0 && s.Size() > 0 {
		return ir.Tensor{}, false
	}
	t := ir.Type{DType: ir.I64, Shape: s}
	if g.opts.Faults && g.chance(0.5) {
		return g.value(t), true
	}
	if n == 0 || g.chance(0.5) {
		return g.input(ir.I64, s), true
	}
	y, ok := g.do("iota", nil, "shape", s, "dtype", ir.I64)
	for _, row := range []string{"mod", "sub"} {
		if !ok || row == "sub" && g.chance(0.7) {
			break
		}
		var extent ir.Tensor
		extent, ok = g.do("full", nil, "shape", ir.Shape{}, "dtype", ir.I64, "value", ir.MakeScalar(ir.I64, float64(n)))
		if ok {
			y, ok = g.do(row, []ir.Tensor{y, extent})
		}
	}
	return y, ok
}

func (g *gen) gather(r *ir.Row) bool {
	x, ok := g.pick(ranked)
	if !ok {
		return false
	}
	axis := g.IntN(len(x.Shape))
	s := make(ir.Shape, g.IntN(3))
	for i := range s {
		s[i] = 1 + g.IntN(5)
	}
	if n := x.Shape[axis]; n == 0 {
		s = ir.Shape{0}
	}
	index, ok := g.index(s, x.Shape[axis])
	if ok {
		_, ok = g.do(r.Name, []ir.Tensor{x, index}, "axis", g.spelled(axis, len(x.Shape)))
	}
	return ok
}

func (g *gen) scatterAdd(r *ir.Row) bool {
	numbers := func(v ir.Tensor) bool { return ranked(v) && ir.Numbers.Has(v.DType) }
	x, ok := g.pick(numbers)
	if !ok {
		x = g.input(g.dtype(ir.Numbers), ir.Shape{3, 4})
	}
	axis := g.IntN(len(x.Shape))
	zt := ir.Type{DType: x.DType, Shape: x.Shape.Clone()}
	zt.Shape[axis] = g.IntN(9)
	if x.Shape[axis] == 0 {
		zt.Shape[axis] = 0
	}
	if !g.small(zt.Shape) {
		return false
	}
	index, ok := g.index(ir.Shape{zt.Shape[axis]}, x.Shape[axis])
	if ok {
		_, ok = g.do(r.Name, []ir.Tensor{x, index, g.value(zt)}, "axis", g.spelled(axis, len(x.Shape)))
	}
	return ok
}

func (g *gen) matmul(r *ir.Row) bool {
	numbers := func(v ir.Tensor) bool {
		return ranked(v) && ir.Numbers.Has(v.DType) && len(v.Shape) < ir.MaxRank
	}
	x, ok := g.pick(numbers)
	if !ok {
		x = g.input(g.dtype(ir.Numbers), ir.Shape{3, 4})
	}
	accepts := func(v ir.Tensor) bool {
		_, err := ir.Infer(r, []ir.Type{x.Type, v.Type}, nil)
		return err == nil
	}
	z, ok := g.pick(accepts)
	if !ok || g.chance(0.4) {
		s := ir.Shape{x.Shape[len(x.Shape)-1]}
		if g.chance(0.8) {
			s = append(s, 1+g.IntN(6))
		}
		if len(s) == 2 && len(x.Shape) > 2 && g.chance(0.5) { // a batch axis that is shared or added
			s = append(ir.Shape{x.Shape[len(x.Shape)-3]}, s...)
		}
		if !g.small(s) {
			return false
		}
		z = g.value(ir.Type{DType: x.DType, Shape: s})
	}
	_, ok = g.do(r.Name, []ir.Tensor{x, z})
	return ok
}
