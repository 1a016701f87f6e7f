package backendtest

import (
	"github.com/sinter-go/sinter/ir"
)

// layouts are the ways in which operands are laid out; each turns a tensor into
// one to upload and the view that makes the tensor of it.
var layouts = []string{"contiguous", "permuted", "reversed", "offset", "broadcast", "mixed"}

// arrange returns the tensor to upload, the view rows that make the operand of
// it, and the operand, which differs from h only in the layout "broadcast".
func arrange(layout string, operand int, h host) (upload host, views []viewCall, logical host) {
	if layout == "mixed" {
		layout = layouts[(operand+1)%5]
	}
	s := h.typ.Shape
	if len(s) == 0 {
		return h, nil, h
	}
	switch layout {
	case "permuted":
		p, back := make([]int, len(s)), make([]int, len(s))
		for i := range p { // the axes rotated: 1, 2, ..., 0
			p[i] = (i + 1) % len(s)
			back[p[i]] = i
		}
		return h.permuted(p), []viewCall{{"permute", []any{"axes", back}}}, h
	case "reversed", "offset":
		return strided(layout == "reversed", h)
	case "broadcast":
		one := host{ir.Type{DType: h.typ.DType, Shape: s.Clone()}, nil}
		for i := range one.typ.Shape {
			if i%2 == 0 {
				one.typ.Shape[i] = min(1, s[i])
			}
		}
		one.bits = make([]uint64, one.typ.Shape.Size())
		walk(one.typ.Shape, func(i int, at []int) { one.bits[i] = h.bits[linear(s, at)] })
		return one, []viewCall{{"expand", []any{"shape", s}}}, one.spread(s)
	}
	return h, nil, h
}

// strided places the elements in a larger tensor of poison: with steps of -2, or
// one element further in.
func strided(reversed bool, h host) (host, []viewCall, host) {
	s := h.typ.Shape
	big := make(ir.Shape, len(s))
	starts, steps := make([]int, len(s)), make([]int, len(s))
	for i, d := range s {
		big[i], starts[i], steps[i] = d+2, 1, 1
		if reversed && d > 0 {
			big[i], starts[i], steps[i] = 2*d+1, 2*d-1, -2
		}
	}
	out := newHost(ir.Type{DType: h.typ.DType, Shape: big})
	for i := range out.bits {
		out.bits[i] = cut(h.typ.DType, 0xa5a5a5a5a5a5a5a5)
		if h.typ.DType == ir.Bool {
			out.bits[i] = 1
		}
	}
	to := make([]int, len(s))
	walk(s, func(i int, at []int) {
		for j, x := range at {
			to[j] = starts[j] + x*steps[j]
		}
		out.bits[linear(big, to)] = h.bits[i]
	})
	return out, []viewCall{{"slice", []any{"starts", starts, "sizes", s, "steps", steps}}}, h
}

type viewCall struct {
	row   string
	attrs []any
}
