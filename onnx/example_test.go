package onnx_test

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

// file is what a model file holds: relu(x + bias), for any number of rows.
func file() []byte {
	arrays, err := sinter.Read(context.Background(), sinter.FromSlice([]float32{-1, 1}))
	if err != nil {
		panic(err)
	}
	bias, err := onnx.MakeTensor("bias", arrays[0])
	if err != nil {
		panic(err)
	}
	rows := &onnx.Type{Elem: onnx.Float, HasShape: true, Dims: []onnx.Dim{{Size: -1, Param: "n"}, {Size: 2}}}
	m := &onnx.Model{IRVersion: 10, Opsets: map[string]int64{"": 21}, Graph: &onnx.Graph{Name: "example",
		Inputs:       []*onnx.ValueInfo{{Name: "x", Type: rows}},
		Outputs:      []*onnx.ValueInfo{{Name: "y", Type: rows}},
		Initializers: []*onnx.Tensor{bias},
		Nodes: []*onnx.Node{
			{Op: "Add", Inputs: []string{"x", "bias"}, Outputs: []string{"sum"}},
			{Op: "Relu", Inputs: []string{"sum"}, Outputs: []string{"y"}},
		}}}
	b, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return b
}

func Example() {
	model, err := onnx.Parse(file()) // or onnx.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	prog, err := model.Compile()
	if err != nil {
		fmt.Println(err) // everything that is not supported, with the names of nodes
		return
	}
	for _, in := range prog.Inputs() {
		fmt.Println(in.Name, in.Type)
	}
	x := sinter.FromSlice([]float32{1, 2, 3, 4, -5, 6}, 3, 2) // any number of rows
	out, err := prog.Run(context.Background(), map[string]*sinter.Tensor{"x": x})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out["y"])
	// Output:
	// x float32[n,2]
	// [[0. 3.]
	//  [2. 5.]
	//  [0. 7.]] f32[3,2]
}

func ExampleModel_Compile_problems() {
	m, err := onnx.Parse(file())
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Graph.Nodes[0].Op = "Plus"
	m.Graph.Nodes[1].Inputs[0] = "total"
	_, err = m.Compile()
	fmt.Println(err)
	// Output:
	// onnx: the model has 2 problems:
	// 	the node of "sum" (Plus): the operator is not supported
	// 	the node of "y" (Relu): input 0, "total", is made by no node, input or initializer
}
