package router_test

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/router"
)

// Two devices behind one router: tensors move between them without waiting, and
// gradients move back.
func Example() {
	a, err := cpu.New(cpu.Options{ID: "cpu"})
	if err != nil {
		panic(err)
	}
	b, err := cpu.New(cpu.Options{ID: "interp", Generator: cpu.Interpret})
	if err != nil {
		panic(err)
	}
	r, err := router.Options{Own: true}.New(router.Member{Backend: a}, router.Member{Backend: b})
	if err != nil {
		panic(err)
	}
	defer r.Close()

	rt := sinter.NewRuntime()
	rt.Drivers.Add("lab", r)
	near, _ := rt.Device("lab/cpu")
	far, _ := rt.Device("lab/interp")

	x := sinter.FromSliceOn(sinter.On(near), []float32{1, 2, 3}).Track()
	y := x.Mul(x).To(far) // returns at once
	loss := y.Mul(2).Sum()
	g, err := autodiff.Grad(loss, x)
	if err != nil {
		panic(err)
	}
	v, err := sinter.Data[float32](context.Background(), g[0])
	fmt.Println(r.Name(), loss.Device(), g[0].Device(), v, err)
	// Output: direct<(cpu, interp)> interp cpu [4 8 12] <nil>
}
