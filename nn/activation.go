package nn

import "github.com/sinter-go/sinter"

// activation is a layer that applies one function to each element.
type activation struct {
	name string
	f    func(*sinter.Tensor) *sinter.Tensor
}

func (a activation) Forward(x *sinter.Tensor) *sinter.Tensor { return a.f(x) }

func (a activation) String() string { return a.name }

// ReLU is max(x, 0) as a layer; x is of any signed dtype and shape. In code of
// your own call [sinter.Tensor.Relu].
var ReLU Layer = activation{"ReLU", (*sinter.Tensor).Relu}
