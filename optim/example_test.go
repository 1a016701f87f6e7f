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

// Decay for matrices only, clipped gradients, averages for evaluation.
func ExampleGroup() {
	m := nn.NewLinear(sinter.NewGenerator(1), 2, 1)
	opt := optim.NewAdamW(nn.Params(m), optim.Constant(0.01), 0.1)
	opt.SetGroups(optim.Group{Match: optim.Vectors, NoDecay: true})
	ema := optim.NewEMA(nn.Params(m), 0.99)

	s := sinter.NewScope("step")
	defer s.End()
	grads, err := autodiff.Gradients(m.Forward(s.In(sinter.Ones(sinter.F32, 4, 2))).Sum(), nn.Vars(m)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	grads, norm := optim.ClipByNorm(grads, 1)
	fmt.Println(norm, opt.Step(grads), ema.Update())
	// Output: 6.92820323 f64[] <nil> <nil>
}

func ExampleOneCycle() {
	rate := optim.OneCycle(0.1, 1000)
	fmt.Printf("%.4f %.4f %.4f %.7f\n", rate(0), rate(299), rate(650), rate(999))
	// Output: 0.0040 0.1000 0.0498 0.0000004
}
