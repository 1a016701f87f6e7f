package backendtest

import "github.com/sinter-go/sinter/ir"

// long is past the size from which devices split a kernel among threads.
const long = 20011

// callsOf lists the ways in which a row is called: by its access kind, and as
// its samples say.
func callsOf(r *ir.Row) []call {
	var out []call
	switch {
	case len(r.Operands) == 0:
		for i, s := range []ir.Shape{{3, 4, 5}, {67}, {}, {1}, {2, 0, 3}, {2, 1, 2, 1, 3, 1, 2, 2}, {long}} {
			out = append(out, call{attrs: ir.A("shape", s), edge: i > 0})
		}
	case r.Access == ir.Elementwise:
		out = elementwiseCalls(r)
	case r.Access == ir.Reduce || r.Access == ir.Scan:
		out = reduceCalls(r)
	default:
		out = extraCalls[r.Name]
	}
	for _, s := range r.Samples {
		if len(s.Shapes) >= len(r.Operands) && len(r.Operands) > 0 {
			out = append(out, call{shapes: s.Shapes, attrs: s.Attrs})
		}
	}
	return out
}

func elementwiseCalls(r *ir.Row) []call {
	all := func(s ir.Shape) []ir.Shape {
		out := make([]ir.Shape, len(r.Operands))
		for i := range out {
			out[i] = s
		}
		return out
	}
	out := []call{{shapes: all(ir.Shape{3, 4, 5})}, {shapes: all(ir.Shape{7, 131}), edge: true}}
	for _, s := range []ir.Shape{{}, {1}, {1, 1, 1}, {2, 0, 3}, {2, 1, 2, 1, 3, 1, 2, 2}, {long}} {
		out = append(out, call{shapes: all(s), edge: true})
	}
	if len(r.Operands) > 1 {
		for turn := range r.Operands {
			mixed := make([]ir.Shape, len(r.Operands))
			for i := range mixed {
				mixed[i] = []ir.Shape{{3, 1, 5}, {4, 1}, {5}}[(i+turn)%3]
			}
			out = append(out, call{shapes: mixed})
		}
		scalar := all(ir.Shape{4, 33})
		scalar[len(scalar)-1] = ir.Shape{}
		out = append(out, call{shapes: scalar, edge: true})
	}
	return out
}

func reduceCalls(r *ir.Row) []call {
	one := func(s ir.Shape) []ir.Shape { return []ir.Shape{s} }
	if len(r.Operands) != 1 {
		return nil
	}
	var out []call
	if r.HasAttr("axes") {
		for _, c := range []struct {
			shape ir.Shape
			axes  []int
			edge  bool
		}{
			{ir.Shape{3, 5, 7}, []int{}, false}, {ir.Shape{3, 5, 7}, []int{1}, false}, {ir.Shape{3, 5, 7}, []int{0, -1}, false},
			{ir.Shape{130, 20}, []int{0}, false}, {ir.Shape{5, 131}, []int{-1}, false},
			{ir.Shape{}, []int{}, true}, {ir.Shape{1}, []int{0}, true}, {ir.Shape{2, 0, 3}, []int{1}, true}, {ir.Shape{2, 0, 3}, []int{0, 2}, true},
			{ir.Shape{0}, []int{}, true}, {ir.Shape{2, 1, 2, 1, 3, 1, 2, 2}, []int{7, 2, 4}, true},
			{ir.Shape{3, 1030}, []int{1}, true}, {ir.Shape{1030, 3}, []int{0}, true}, {ir.Shape{long}, []int{}, true},
			{ir.Shape{40, 3, 500}, []int{0}, true}, {ir.Shape{2, 1025, 18}, []int{1}, true},
		} {
			out = append(out, call{one(c.shape), ir.A("axes", c.axes), c.edge})
			if r.HasAttr("keepdims") && !c.edge {
				out = append(out, call{one(c.shape), ir.A("axes", c.axes, "keepdims", true), true})
			}
			if r.HasAttr("correction") && !c.edge {
				out = append(out, call{one(c.shape), ir.A("axes", c.axes, "correction", 1), true})
			}
		}
	}
	if r.HasAttr("axis") {
		for _, c := range []struct {
			shape ir.Shape
			axis  int
			edge  bool
		}{
			{ir.Shape{3, 5, 7}, 1, false}, {ir.Shape{5, 131}, -1, false}, {ir.Shape{130, 20}, 0, false},
			{ir.Shape{1}, 0, true}, {ir.Shape{2, 0, 3}, 1, true}, {ir.Shape{2, 0, 3}, 0, true},
			{ir.Shape{2, 1, 2, 1, 3, 1, 2, 2}, -2, true}, {ir.Shape{3, 1030}, 1, true}, {ir.Shape{1030, 3}, 0, true},
			{ir.Shape{2, 2049}, 1, true}, {ir.Shape{600, 40}, 1, true},
		} {
			out = append(out, call{one(c.shape), ir.A("axis", c.axis), c.edge})
			if r.HasAttr("keepdims") && !c.edge {
				out = append(out, call{one(c.shape), ir.A("axis", c.axis, "keepdims", true), true})
			}
		}
	}
	return out
}

// extraCalls are calls of rows whose shapes hang together in a way of their own,
// beyond their samples.
var extraCalls = map[string][]call{
	"reshape": {
		{shapes: []ir.Shape{{3, 4, 5}}, attrs: ir.A("shape", []int{5, 12})},
		{shapes: []ir.Shape{{3, 4, 5}}, attrs: ir.A("shape", []int{-1})},
		{shapes: []ir.Shape{{2, 0, 3}}, attrs: ir.A("shape", []int{0, 7}), edge: true},
		{shapes: []ir.Shape{{1, 1}}, attrs: ir.A("shape", []int{}), edge: true},
		{shapes: []ir.Shape{{}}, attrs: ir.A("shape", []int{1, 1, 1, 1, 1, 1, 1, 1}), edge: true},
	},
	"permute": {
		{shapes: []ir.Shape{{2, 3, 4}}, attrs: ir.A("axes", []int{-1, 0, 1})},
		{shapes: []ir.Shape{{2, 1, 2, 1, 3, 1, 2, 2}}, attrs: ir.A("axes", []int{7, 0, 6, 1, 5, 2, 4, 3}), edge: true},
		{shapes: []ir.Shape{{}}, attrs: ir.A("axes", []int{}), edge: true},
		{shapes: []ir.Shape{{2, 0, 3}}, attrs: ir.A("axes", []int{2, 1, 0}), edge: true},
	},
	"expand": {
		{shapes: []ir.Shape{{3, 1, 2}}, attrs: ir.A("shape", []int{-1, 4, 2})},
		{shapes: []ir.Shape{{}}, attrs: ir.A("shape", []int{2, 3}), edge: true},
		{shapes: []ir.Shape{{1, 2}}, attrs: ir.A("shape", []int{0, 2}), edge: true},
	},
	"slice": {
		{shapes: []ir.Shape{{9, 7}}, attrs: ir.A("starts", []int{8, 6}, "sizes", []int{3, 7}, "steps", []int{-4, -1})},
		{shapes: []ir.Shape{{9, 7}}, attrs: ir.A("starts", []int{0, 3}, "sizes", []int{0, 2}, "steps", []int{1, 3}), edge: true},
	},
	"strided": {
		{shapes: []ir.Shape{{10}}, attrs: ir.A("shape", []int{4, 3}, "offset", 1, "strides", []int{2, 1})},
		{shapes: []ir.Shape{{3, 4}}, attrs: ir.A("shape", []int{2, 4, 5}, "offset", 11, "strides", []int{-8, -1, 0})},
		{shapes: []ir.Shape{{2, 3}}, attrs: ir.A("shape", []int{}, "offset", 5, "strides", []int{}), edge: true},
		{shapes: []ir.Shape{{}}, attrs: ir.A("shape", []int{2, 2}, "offset", 0, "strides", []int{0, 0}), edge: true},
		{shapes: []ir.Shape{{2, 0}}, attrs: ir.A("shape", []int{3, 0}, "offset", 9, "strides", []int{1, 1}), edge: true},
	},
	"concat": {
		{shapes: []ir.Shape{{3, 4}}, attrs: ir.A("axis", 0)},
		{shapes: []ir.Shape{{2, 3, 2}, {2, 1, 2}, {2, 4, 2}}, attrs: ir.A("axis", -2)},
		{shapes: []ir.Shape{{0, 3}, {0, 3}}, attrs: ir.A("axis", 0), edge: true},
		{shapes: []ir.Shape{{1, 1}, {1, 1}}, attrs: ir.A("axis", 1), edge: true},
	},
	"gather": {
		{shapes: []ir.Shape{{6, 3, 2}, {5}}, attrs: ir.A("axis", -2)},
		{shapes: []ir.Shape{{70}, {130}}, attrs: ir.A("axis", 0)},
		{shapes: []ir.Shape{{3, 4}, {0}}, attrs: ir.A("axis", 0), edge: true},
		{shapes: []ir.Shape{{0, 4}, {3}}, attrs: ir.A("axis", 1), edge: true},
		{shapes: []ir.Shape{{1}, {1}}, attrs: ir.A("axis", 0), edge: true},
	},
	"scatter_add": {
		{shapes: []ir.Shape{{6, 3}, {9}, {9, 3}}, attrs: ir.A("axis", 0)},
		{shapes: []ir.Shape{{2, 3, 4}, {5}, {2, 5, 4}}, attrs: ir.A("axis", -2)},
		{shapes: []ir.Shape{{3}, {0}, {0}}, attrs: ir.A("axis", 0), edge: true},
		{shapes: []ir.Shape{{0, 2}, {3}, {0, 3}}, attrs: ir.A("axis", 1), edge: true},
	},
	"nonzero": {
		{shapes: []ir.Shape{{5, 4}}, attrs: ir.A("max", 40)},
		{shapes: []ir.Shape{{}}, attrs: ir.A("max", 2), edge: true},
		{shapes: []ir.Shape{{2, 0}}, attrs: ir.A("max", 1), edge: true},
		{shapes: []ir.Shape{{300}}, attrs: ir.A("max", 0), edge: true},
	},
	"matmul": {
		{shapes: []ir.Shape{{17, 33}, {33, 19}}},
		{shapes: []ir.Shape{{2, 3, 4, 5}, {5, 6}}},
		{shapes: []ir.Shape{{3, 1, 2, 4}, {1, 2, 4, 3}}},
		{shapes: []ir.Shape{{3, 0}, {0, 2}}, edge: true},
		{shapes: []ir.Shape{{0, 3}, {3, 2}}, edge: true},
		{shapes: []ir.Shape{{0, 2, 3}, {1, 3, 4}}, edge: true},
		{shapes: []ir.Shape{{1, 1}, {1, 1}}, edge: true},
		{shapes: []ir.Shape{{2, 1030}, {1030, 3}}, edge: true},
		{shapes: []ir.Shape{{70, 64}, {64, 70}}, edge: true},
	},
}
