package sinter_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// A scalar program is text. Every device compiles it, and it differentiates.
func ExampleDefine_scalarProgram() {
	err := sinter.Define(&ir.Row{
		Name: "example/softsign@1", Access: ir.Elementwise,
		Doc:      "y = x / (1 + |x|).",
		Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}},
		Body:     ir.Body{Any: "x / (1 + abs(x))"},
		Grad:     map[string]string{"x": "d = abs(x) + 1; dy / (d * d)"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := sinter.FromSlice([]float32{-3, 0, 1})
	fmt.Println(sinter.Apply("example/softsign@1", []*sinter.Tensor{x})[0])
	// Output: [-0.75  0.    0.5 ] f32[3]
}

// A decomposition writes a row in terms of others.
func ExampleDefine_decomposition() {
	err := sinter.Define(&ir.Row{
		Name: "example/norm@1", Access: ir.Reduce,
		Doc:      "y = the square root of the sum of squares of x.",
		Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}},
		Infer: func(_ *ir.Row, in []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			return []ir.Type{{DType: in[0].DType, Shape: ir.Shape{}}}, nil
		},
		Decompose: func(g ir.Graph, in []ir.Value, _ ir.Attrs) []ir.Value {
			squares := g.Apply("mul", []ir.Value{in[0], in[0]})
			return []ir.Value{g.Apply("sqrt", []ir.Value{g.Apply("sum", []ir.Value{squares})})}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := sinter.FromSlice([]float64{3, 4})
	fmt.Println(sinter.Apply("example/norm@1", []*sinter.Tensor{x})[0])
	// Output: 5. f64[]
}

// An opaque row is computed by a routine of each device.
func ExampleDefine_opaque() {
	err := sinter.Define(&ir.Row{
		Name: "example/crc@1", Access: ir.Opaque,
		Doc:      "y = the sum of the bit patterns of x.",
		Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}},
		Infer: func(_ *ir.Row, in []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			return []ir.Type{{DType: ir.U64, Shape: ir.Shape{}}}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = sinter.DefineRoutine(sinter.DefaultDevice(), "example/crc@1", func(c *backend.Call) error {
		sum := uint64(0)
		for i := 0; i < len(c.In[0].Data); i += 4 {
			sum += uint64(binary.NativeEndian.Uint32(c.In[0].Data[i:]))
		}
		binary.NativeEndian.PutUint64(c.Out[0].Data, sum)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := sinter.FromSlice([]float32{1, math.Float32frombits(2)})
	fmt.Println(sinter.Apply("example/crc@1", []*sinter.Tensor{x})[0])
	// Output: 1065353218 u64[]
}
