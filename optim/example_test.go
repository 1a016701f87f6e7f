package optim_test

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// A step per scope: what a step computes goes when its scope ends, parameters and
// the optimizer's state stay.
func Example() {
	x := sinter.NewVar(sinter.FromSlice([]float64{5, -3}))
	opt := optim.NewMomentum([]nn.Named{{Name: "x", Var: x}}, optim.Constant(0.1), 0.5, false)
	for range 200 {
		s := sinter.NewScope("step")
		v := x.In(s).Sub(1)
		grads, err := autodiff.Gradients(v.Mul(v).Sum(), x)
		if err == nil {
			err = opt.Step(grads)
		}
		s.End()
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(x.Value(), opt.Steps())
	// Output: [1. 1.] f64[2] 200
}

func ExampleCosine() {
	rate := optim.Warmup(10, optim.Cosine(0.01, 0, 100))
	fmt.Printf("%.4f %.4f %.4f %.4f\n", rate(0), rate(10), rate(55), rate(100))
	// Output: 0.0010 0.0098 0.0042 0.0000
}
