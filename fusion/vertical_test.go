package fusion_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// layered is a chain of layers and the way back through it: a product and what follows
// it, then per layer a chain over what the product gave and a product of that.
func layered(layers int) string {
	var b strings.Builder
	id := 1 + layers
	b.WriteString("program layers\n  in %1 f32[64,64]\n")
	for i := range layers {
		fmt.Fprintf(&b, "  in %%%d f32[64,64]\n", 2+i)
	}
	line := func(format string, args ...any) int {
		id++
		fmt.Fprintf(&b, "  %%%d = "+format+"\n", append([]any{id}, args...)...)
		return id
	}
	x := 1
	var before []int
	for i := range layers {
		y := line("matmul %%%d %%%d", x, 2+i)
		before = append(before, y)
		x = line("erf %%%d", y)
	}
	for i := layers - 1; i >= 0; i-- {
		y := before[i]
		u := line("mul %%%d %%%d", line("mul %%%d %%%d", line("sigmoid %%%d", y), y), x)
		v := line("mul %%%d %%%d", line("mul %%%d %%%d", line("exp %%%d", y), y), x)
		w := line("mul %%%d %%%d", line("add %%%d %%%d", u, v), y)
		x = line("matmul %%%d %%%d", w, 2+i)
	}
	fmt.Fprintf(&b, "  out %%%d\n", x)
	return b.String()
}

// cut makes segments of n nodes of a program, which keep what later ones read.
func cut(p *ir.Program, n int) []*fusion.Segment {
	var out []*fusion.Segment
	types := map[ir.ID]ir.Tensor{}
	for _, t := range p.Inputs {
		types[t.ID] = t
	}
	for from := 0; from < len(p.Nodes); from += n {
		nodes := p.Nodes[from:min(from+n, len(p.Nodes))]
		s := &fusion.Segment{}
		names, made, keep := map[ir.ID]ir.ID{}, map[ir.ID]bool{}, map[ir.ID]bool{}
		for i := range nodes {
			for _, t := range nodes[i].In {
				if _, known := names[t.ID]; !known && !made[t.ID] {
					names[t.ID] = ir.ID(len(names) + 1)
					s.Inputs = append(s.Inputs, ir.Tensor{ID: names[t.ID], Type: types[t.ID].Type})
				}
			}
			for _, t := range nodes[i].Out {
				made[t.ID], types[t.ID] = true, t
			}
		}
		for _, x := range nodes {
			x.In, x.Out = slices.Clone(x.In), slices.Clone(x.Out)
			for i := range x.Out {
				old := x.Out[i].ID
				names[old] = ir.ID(len(names) + 1)
				x.Out[i].ID = names[old]
				keep[x.Out[i].ID] = slices.Contains(p.Outputs, old) ||
					slices.ContainsFunc(p.Nodes[min(from+n, len(p.Nodes)):], func(y ir.Node) bool {
						return slices.ContainsFunc(y.In, func(t ir.Tensor) bool { return t.ID == old })
					})
			}
			for i := range x.In {
				x.In[i].ID = names[x.In[i].ID]
			}
			s.Nodes = append(s.Nodes, x)
		}
		s.Keep = func(id ir.ID) bool { return keep[id] }
		out = append(out, s)
	}
	return out
}

// TestLongSegment: a segment takes no more launches and moves no more bytes than the
// pieces into which it could be cut, though what lies far apart in it could merge.
func TestLongSegment(t *testing.T) {
	p := parse(t, layered(20))
	long := planOf(t, segmentOf(p), fusion.PlanOptions{}).Fused
	for _, n := range []int{40, 80} {
		var sum fusion.Cost
		for _, s := range cut(p, n) {
			c := planOf(t, s, fusion.PlanOptions{}).Fused
			sum.Launches += c.Launches
			sum.Read, sum.Written = sum.Read+c.Read, sum.Written+c.Written
		}
		if long.Launches > sum.Launches || long.Read+long.Written > sum.Read+sum.Written {
			t.Errorf("%d launches, %d bytes; in pieces of %d nodes %d launches, %d bytes",
				long.Launches, long.Read+long.Written, n, sum.Launches, sum.Read+sum.Written)
		}
	}
}

// TestMostBytesFirst: between a product, whose result others read as well, and a reduction
// an operation joins the reduction: then its result is not stored.
func TestMostBytesFirst(t *testing.T) {
	plan := planOf(t, segmentOf(parse(t, program(`
  in %1 f32[64,32]
  in %2 f32[32,64]
  in %3 f32[64]
  %4 = matmul %1 %2
  %5 = mul %4 %3
  %6 = sum %5 {axes=[1],keepdims=true}
  %7 = sub %4 %6
  out %7`))), fusion.PlanOptions{})
	if n, stored := blocksOf(plan, 1); n != 1 || stored || plan.Fused.Launches != 2 {
		t.Error(plan.Explain())
	}
}

// TestPeakPack: where kernels that share a launch keep too much alive they no longer
// share one, and no other merge is taken back.
func TestPeakPack(t *testing.T) {
	text := "\n  in %1 f32[64,64]\n  in %2 f32[64,64]\n"
	x, id := 1, 2
	var out []string
	for range 8 {
		text += fmt.Sprintf("  %%%d = matmul %%%d %%2\n  %%%d = erf %%%d\n  %%%d = sigmoid %%%d\n  %%%d = sum %%%d {axes=[0]}\n",
			id+1, x, id+2, id+1, id+3, id+2, id+4, id+3)
		out = append(out, fmt.Sprintf("%%%d", id+4))
		x, id = id+3, id+4
	}
	plan := planOf(t, segmentOf(parse(t, program(text+"  out "+strings.Join(out, " ")))), fusion.PlanOptions{})
	products := 0
	for _, b := range plan.Blocks {
		if b.Kind == fusion.KernelBlock && plan.Segment.Nodes[b.Nodes[0]].Row.Access == ir.Contraction {
			if products++; len(b.Nodes) != 3 {
				t.Errorf("nodes %v in a kernel of three", b.Nodes)
			}
		}
	}
	if products != 8 || plan.Peak > plan.Unfused.Peak {
		t.Error(plan.Explain())
	}
}
