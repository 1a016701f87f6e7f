package cpu

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/contract"
	"github.com/sinter-go/sinter/lower"
)

// TestProductsAreTiles: the kernels that matmul lowers to run on the engine for
// contractions, whatever their dtype and the order of their operands in memory.
func TestProductsAreTiles(t *testing.T) {
	level, ok := levels[bestGenerator()]
	if !ok {
		t.Skip("no generator")
	}
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.F16, ir.BF16, ir.I32, ir.I8, ir.U8} {
		for _, strides := range [][]int64{{64, 1}, {1, 64}} {
			typ := ir.Type{DType: d, Shape: ir.Shape{64, 64}}
			n := ir.Node{Row: ir.Lookup("matmul"), In: []ir.Tensor{{ID: 1, Type: typ}, {ID: 2, Type: typ}}, Out: []ir.Tensor{{ID: 3, Type: typ}}}
			b, err := lower.New([]ir.Node{n}, func(id ir.ID) ir.Layout {
				if id == 2 {
					return ir.Layout{Strides: strides}
				}
				return ir.Layout{Strides: []int64{64, 1}}
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			k, _, err := b.Pieces[0].Build()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := contract.Compile(onHost(k), level); err != nil {
				t.Errorf("%s, z with strides %v: %v\n%s", d, strides, err, k)
			}
		}
	}
}
