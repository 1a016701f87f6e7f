package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// TestTake: taking is what the interpreter does, rows and elements, for every width,
// layout of the operand and fault.
func TestTake(t *testing.T) {
	if bestGenerator() == Interpret {
		t.Skip("no generator")
	}
	r := rand.New(rand.NewPCG(9, 9))
	taken := 0
	for _, d := range []ir.DType{ir.U8, ir.BF16, ir.F32, ir.I64} {
		for _, c := range []struct{ row, x, index string }{
			{"gather %1 %2 {axis=0}", "[7,33]", "[2,9]"}, {"gather %1 %2 {axis=1}", "[7,33]", "[40]"}, {"gather %1 %2 {axis=0}", "[50]", "[70]"},
			{"gather %1 %2 {axis=1}", "[3,5,6,4]", "[8]"}, {"gather %1 %2 {axis=3}", "[3,5,6,4]", "[8]"}, {"take_along %1 %2 {axis=1}", "[4,9]", "[4,30]"},
			{"take_along %1 %2 {axis=0}", "[9,4]", "[30,4]"},
		} {
			for _, permuted := range []bool{false, true} {
				for _, fault := range []bool{false, true} {
					text := fmt.Sprintf("program p\n  in %%1 %s%s\n  in %%2 i64%s\n  %%3 = %s\n  out %%3\n", d, c.x, c.index, c.row)
					p, err := ir.ParseProgram(text, nil)
					if err != nil {
						t.Fatal(err)
					}
					if takes(t, r, p, permuted, fault) {
						taken++
					}
				}
			}
		}
	}
	if taken < 50 {
		t.Errorf("%d kernels were taken to be gathers", taken)
	}
}

// takes runs the one node of a program both ways.
func takes(t *testing.T, r *rand.Rand, p *ir.Program, permuted, fault bool) bool {
	t.Helper()
	n := &p.Nodes[0]
	x, index, out := n.In[0].Type, n.In[1].Type, n.Out[0].Type
	layouts := map[ir.ID]ir.Layout{}
	for _, v := range []ir.Tensor{n.In[0], n.In[1], n.Out[0]} {
		layouts[v.ID] = ir.Layout{Strides: v.Shape.Strides()}
	}
	if permuted { // the axes of x lie the other way round
		strides, step := make([]int64, len(x.Shape)), int64(1)
		for i, e := range x.Shape {
			strides[i], step = step, step*int64(e)
		}
		layouts[n.In[0].ID] = ir.Layout{Strides: strides}
	}
	b, err := lower.New(p.Nodes, func(id ir.ID) ir.Layout { return layouts[id] }, nil)
	if err != nil {
		t.Fatal(err)
	}
	axis := x.Shape[n.Attr("axis").Int]
	at := make([]int64, index.Shape.Size())
	for i := range at {
		at[i] = r.Int64N(2*int64(axis)) - int64(axis)
	}
	if fault {
		at[len(at)/2], at[len(at)-1] = int64(axis), -1-int64(axis)
	}
	memory := map[ir.ID]Host{n.In[0].ID: drawn(r, x.DType, false, x.Shape...), n.In[1].ID: hostOf(ir.I64, at, index.Shape...)}
	k, params, err := b.Pieces[0].Build()
	if err != nil {
		t.Fatal(err)
	}
	code, err := generate(bestGenerator(), k)
	if err != nil {
		t.Fatal(err)
	}
	interpreter, err := kernel.NewInterpreter(k)
	if err != nil {
		t.Fatal(err)
	}
	var results [2][]byte
	var faults [2]string
	for i, exe := range []kernel.Executable{interpreter, code} {
		memory[n.Out[0].ID] = Host{Type: out, Data: dirty(out.Shape.Size() * out.DType.Size())}
		piece := b.Pieces[0]
		l := &kernel.Launch{Extents: piece.Extents, Start: piece.Start, Full: piece.Full, Params: piece.Bind(params)}
		for _, a := range piece.Args {
			m := memory[a.Tensor].Data
			l.Args = append(l.Args, operand(&buffer{data: m}, a.Offset, a.Strides, a.GatherStride, a.GatherExtent))
		}
		l.Fault = &kernel.Fault{}
		exe.Run(l)
		code, linear := l.Fault.First()
		results[i], faults[i] = memory[n.Out[0].ID].Data, fmt.Sprint(code, linear)
	}
	if !bytes.Equal(results[0], results[1]) || faults[0] != faults[1] {
		t.Fatalf("%s of %v by %v, permuted %v: the interpreter finds other elements, or fault %s, not %s", n.Row.Name, x, index, permuted, faults[0], faults[1])
	}
	_, ok := code.(*take)
	return ok
}
