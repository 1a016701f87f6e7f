package kernel_test

import (
	"slices"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestFaultArgs: what a fault depends on is found through other values and lookups; what
// is looked up last, and what is computed with, is none of it.
func TestFaultArgs(t *testing.T) {
	b := kernel.NewBuilder("k", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	arg := func(t ir.DType, gather bool) int {
		return b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: unit, Gather: gather})
	}
	index, table, offset, x, other := arg(ir.I64, false), arg(ir.I64, true), arg(ir.I64, false), arg(ir.F32, true), arg(ir.F32, false)
	out := b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	at := b.Op(kernel.OpAdd, ir.I64, b.Gather(table, b.Load(index)), b.Load(offset))
	b.Store(out, b.Op(kernel.OpMul, ir.F32, b.Gather(x, at), b.Load(other)))
	got := b.K.FaultArgs()
	want := make([]bool, 6)
	want[index], want[table], want[offset] = true, true, true
	if !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}

	b = kernel.NewBuilder("divisions", []kernel.AxisKind{kernel.Parallel})
	p, q, r := arg(ir.I32, false), arg(ir.I32, false), arg(ir.F32, false)
	out = b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	whole := b.Convert(b.Op(kernel.OpDiv, ir.I32, b.Load(p), b.Load(q)), ir.F32)
	b.Store(out, b.Op(kernel.OpDiv, ir.F32, whole, b.Load(r)))
	want = make([]bool, 4)
	want[p], want[q] = true, true
	if got := b.K.FaultArgs(); !slices.Equal(got, want) {
		t.Errorf("division: %v, expected %v", got, want)
	}
	b = kernel.NewBuilder("none", []kernel.AxisKind{kernel.Parallel})
	b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit}), b.Load(arg(ir.F32, false)))
	if got := b.K.FaultArgs(); got != nil {
		t.Errorf("no fault: %v", got)
	}
}
