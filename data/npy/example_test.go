package npy_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data/npy"
)

func Example() {
	x := sinter.Arange(6, sinter.F32).Reshape(2, 3)
	arrays, err := sinter.Read(context.Background(), x)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := npy.Write(&file, npy.Array(arrays[0])); err != nil {
		fmt.Println(err)
		return
	}
	a, err := npy.Read(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sinter.FromBytes(sinter.Of{}, a.DType, a.Bytes, a.Shape...))
	// Output:
	// [[0. 1. 2.]
	//  [3. 4. 5.]] f32[2,3]
}
