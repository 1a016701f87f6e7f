package autodiff_test

import (
	"fmt"
	"log"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
)

func Example() {
	x := sinter.FromSlice([]float64{1, 2, 3}).Track()
	loss := x.Mul(x).Sum()
	g, err := autodiff.Grad(loss, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g[0])
	// Output: [2. 4. 6.] f64[3]
}

// Gradients of gradients.
func ExampleOptions() {
	x := sinter.Scalar(2.0).Track()
	y := x.Mul(x).Mul(x)
	tracked := autodiff.Options{Track: true}
	for range 3 {
		g, err := tracked.Grad(y, x)
		if err != nil {
			log.Fatal(err)
		}
		y = g[0]
		fmt.Println(y)
	}
	// Output:
	// 12. f64[]
	// 12. f64[]
	// 6. f64[]
}

// Steps of gradient descent, each in a scope that returns its memory.
func ExampleGradients() {
	w := sinter.NewVar(sinter.FromSlice([]float32{4, -2}))
	for range 3 {
		s := sinter.NewScope("step")
		x := w.In(s)
		loss := x.Mul(x).Sum()
		g, err := autodiff.Gradients(loss, w)
		if err != nil {
			log.Fatal(err)
		}
		if err := w.Set(x.Sub(g[0].Mul(0.25))); err != nil {
			log.Fatal(err)
		}
		s.End()
	}
	fmt.Println(w.Value())
	// Output: [ 0.5  -0.25] f32[2]
}

func ExampleVJP() {
	x := sinter.FromSlice([]float64{1, 2}).Track()
	y := x.Mul(x)
	u := sinter.FromSlice([]float64{10, 100})
	g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{u}, []*sinter.Tensor{x})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g[0])
	// Output: [ 20. 400.] f64[2]
}

func ExampleJVP() {
	square := func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x) }
	y, dy, err := autodiff.JVP(square, sinter.FromSlice([]float64{1, 2}), sinter.FromSlice([]float64{1, 10}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	fmt.Println(dy)
	// Output:
	// [1. 4.] f64[2]
	// [ 2. 40.] f64[2]
}

func ExampleHVP() {
	f := func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Mul(x).Sum() }
	h, err := autodiff.HVP(f, sinter.FromSlice([]float64{1, 2}), sinter.FromSlice([]float64{1, 10}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h)
	// Output: [  6. 120.] f64[2]
}

func ExampleJacobian() {
	f := func(x *sinter.Tensor) *sinter.Tensor { return x.CumSum(0) }
	_, j, err := autodiff.Jacobian(f, sinter.FromSlice([]float64{5, 6, 7}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(j)
	// Output:
	// [[1. 0. 0.]
	//  [1. 1. 0.]
	//  [1. 1. 1.]] f64[3,3]
}
