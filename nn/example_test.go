package nn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

type Net struct {
	Hidden, Out *nn.Linear
}

func NewNet(seed uint64) *Net {
	g := sinter.NewGenerator(seed)
	return &Net{Hidden: nn.NewLinear(g, 4, 8), Out: nn.NewLinear(g, 8, 3)}
}

func (n *Net) Forward(x *sinter.Tensor) *sinter.Tensor {
	return n.Out.Forward(n.Hidden.Forward(x).Relu())
}

// A model is a struct; its parameters are found by their fields.
func Example() {
	n := NewNet(1)
	fmt.Println(n.Forward(sinter.Ones(sinter.F32, 2, 4)).Shape())
	fmt.Print(nn.Summary(n))
	// Output:
	// [2 3]
	// name           shape  dtype  elements
	// hidden.weight  [8 4]  f32    32
	// hidden.bias    [8]    f32    8
	// out.weight     [3 8]  f32    24
	// out.bias       [3]    f32    3
	// total                        67
}

func ExampleSave() {
	dir, err := os.MkdirTemp("", "nn")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "net.safetensors")

	err = nn.Save(context.Background(), path, NewNet(1), map[string]string{"task": "irises"})
	fmt.Println(err)
	metadata, err := nn.Load(path, NewNet(2))
	fmt.Println(metadata["task"], err)
	// Output:
	// <nil>
	// irises <nil>
}

func ExampleSequential() {
	g := sinter.NewGenerator(1)
	fmt.Println(nn.Sequential{nn.NewLinear(g, 64, 128), nn.ReLU, nn.NewLinear(g, 128, 10)})
	// Output:
	// Sequential(
	//   0: Linear(64 → 128)
	//   1: ReLU
	//   2: Linear(128 → 10)
	// )
}

func ExampleCrossEntropy() {
	logits := sinter.Zeros(sinter.F64, 2, 4)
	fmt.Println(nn.CrossEntropy(logits, sinter.FromSlice([]int64{0, 3})))
	// Output: 1.38629436 f64[]
}
