package fn_test

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

func ExampleConv() {
	x := sinter.FromSlice([]float32{1, 2, 3, 4, 5}, 1, 1, 5)
	w := sinter.FromSlice([]float32{10, 1}, 1, 1, 2)
	fmt.Println(fn.Conv(x, w, nil, fn.ConvOptions{Stride: []int{2}, Pad: []int{1, 0}}).Flatten())
	// Output: [ 1. 23. 45.] f32[3]
}

func ExampleAttention() {
	q := sinter.Ones(sinter.F32, 1, 2, 2) // one head, two queries
	k := sinter.FromSlice([]float32{1, 0, 0, 1, 1, 1}, 1, 3, 2)
	mask := sinter.FromSlice([]bool{true, false, true, false, false, false}, 2, 3)
	y := fn.Attention(q, k, k, fn.AttentionOptions{Scale: 1, Mask: mask})
	fmt.Println(y.At(0, 0).At(0, 1)) // the second query sees nothing
	// Output: [0. 0.] f32[2]
}

func ExampleLinear() {
	x := sinter.FromSlice([]float32{1, 2}, 1, 1, 2)
	fmt.Println(fn.Linear(x, fn.HalfPixel, 4).Flatten())
	// Output: [1.   1.25 1.75 2.  ] f32[4]
}
