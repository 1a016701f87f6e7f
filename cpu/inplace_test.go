package cpu

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestMayOverwrite: the store must be the last that anything wants of the operand,
// in the body and in the passes over a row.
func TestMayOverwrite(t *testing.T) {
	row := []kernel.AxisKind{kernel.Parallel, kernel.Reduced}
	element := []kernel.Access{kernel.Strided, kernel.Unit}
	level := []kernel.Access{kernel.Strided, kernel.Broadcast}
	type b = *kernel.Builder
	arg := func(k b, d kernel.Direction, a []kernel.Access) int {
		return k.AddArg(kernel.Arg{Type: ir.F32, Dir: d, Access: a})
	}
	sum := func(k b, v kernel.Ref) kernel.Ref { return k.Reduce(kernel.Sum, kernel.SumTree(1), v) }
	for _, c := range []struct {
		name string
		want bool
		make func(k b) (in, out int)
	}{
		{"softmax: the row is read before it is written", true, func(k b) (int, int) {
			x, y := arg(k, kernel.In, element), arg(k, kernel.Out, element)
			v := k.Load(x)
			k.Store(y, k.Op(kernel.OpDiv, ir.F32, v, sum(k, v)))
			return x, y
		}},
		{"stored in the first pass, read again in the second", false, func(k b) (int, int) {
			x, y, z := arg(k, kernel.In, element), arg(k, kernel.Out, element), arg(k, kernel.Out, element)
			v := k.Load(x)
			k.Store(y, k.Op(kernel.OpAdd, ir.F32, v, v))
			k.Store(z, k.Op(kernel.OpDiv, ir.F32, v, sum(k, v)))
			return x, y
		}},
		{"the same, over the other result", true, func(k b) (int, int) {
			x, y, z := arg(k, kernel.In, element), arg(k, kernel.Out, element), arg(k, kernel.Out, element)
			v := k.Load(x)
			k.Store(y, k.Op(kernel.OpAdd, ir.F32, v, v))
			k.Store(z, k.Op(kernel.OpDiv, ir.F32, v, sum(k, v)))
			return x, z
		}},
		{"stored while a reduction that reads twice goes on", false, func(k b) (int, int) {
			x, y, z := arg(k, kernel.In, element), arg(k, kernel.Out, element), k.AddArg(kernel.Arg{Type: ir.I64, Dir: kernel.Out, Access: level})
			v := k.Load(x)
			k.Store(z, k.Reduce(kernel.ArgMax, kernel.StripedTree, v))
			k.Store(y, k.Op(kernel.OpAdd, ir.F32, v, v))
			return x, y
		}},
		{"a value computed from it is computed again", false, func(k b) (int, int) {
			x, y, z := arg(k, kernel.In, element), arg(k, kernel.Out, element), arg(k, kernel.Out, element)
			e := k.Op(kernel.OpSqrt, ir.F32, k.Load(x))
			k.Store(y, e)
			k.Store(z, k.Op(kernel.OpDiv, ir.F32, e, sum(k, e)))
			return x, y
		}},
		{"used after the store", false, func(k b) (int, int) {
			x, y, z := arg(k, kernel.In, element), arg(k, kernel.Out, element), arg(k, kernel.Out, element)
			v := k.Load(x)
			k.Store(y, k.Op(kernel.OpAdd, ir.F32, v, v))
			k.Store(z, k.Op(kernel.OpMul, ir.F32, v, v))
			return x, y
		}},
		{"a value of the row, stored after its last element", true, func(k b) (int, int) {
			x, bias, y := arg(k, kernel.In, element), arg(k, kernel.In, level), arg(k, kernel.Out, level)
			k.Store(y, k.Op(kernel.OpAdd, ir.F32, sum(k, k.Load(x)), k.Load(bias)))
			return bias, y
		}},
		{"a value of the row that later elements want", false, func(k b) (int, int) {
			x, bias := arg(k, kernel.In, element), arg(k, kernel.In, level)
			y, z := arg(k, kernel.Out, level), arg(k, kernel.Out, element)
			v, w := k.Load(x), k.Load(bias)
			s := sum(k, v)
			k.Store(z, k.Op(kernel.OpMul, ir.F32, k.Op(kernel.OpAdd, ir.F32, v, w), s))
			k.Store(y, k.Op(kernel.OpAdd, ir.F32, s, w))
			return bias, y
		}},
		{"another walk", false, func(k b) (int, int) {
			x, y := arg(k, kernel.In, element), arg(k, kernel.Out, level)
			k.Store(y, sum(k, k.Load(x)))
			return x, y
		}},
		{"another width", false, func(k b) (int, int) {
			x := arg(k, kernel.In, element)
			y := k.AddArg(kernel.Arg{Type: ir.F64, Dir: kernel.Out, Access: element})
			k.Store(y, k.Convert(k.Load(x), ir.F64))
			return x, y
		}},
	} {
		k := kernel.NewBuilder("test", row)
		in, out := c.make(k)
		if err := k.K.Verify(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := mayOverwrite(k.K, in, out); got != c.want {
			t.Errorf("%s: %v\n%s", c.name, got, k.K)
		}
	}
}
