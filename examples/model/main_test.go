package main

import (
	"context"
	"log"
	"os"
	"path/filepath"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

// write exports max(x·w, 0) for two rows of three columns.
func write(path string) error {
	w := sinter.FromSlice([]float32{1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, -1}, 3, 4)
	f := func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		return []*sinter.Tensor{in[0].MatMul(w).Relu()}, nil
	}
	traced, err := onnx.Trace(context.Background(), f, onnx.Port{Name: "x", DType: sinter.F32, Shape: []int{2, 3}})
	if err != nil {
		return err
	}
	traced.Outputs = []string{"y"}
	model, err := onnx.Export(traced)
	if err != nil {
		return err
	}
	b, err := model.Marshal()
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}

func Example() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "m.onnx")
	if err := write(path); err != nil {
		log.Fatal(err)
	}
	os.Args = []string{"model", path}
	main()
	// Output:
	// [[1.  2.  3.  0. ]
	//  [0.  0.  0.5 0. ]] f32[2,4]
}
