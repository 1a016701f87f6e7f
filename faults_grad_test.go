package sinter_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/nn/fn"
)

// grads returns the gradients of a loss, or as many errors.
func (f *faultRun) grads(loss *sinter.Tensor, wrt ...*sinter.Tensor) []*sinter.Tensor {
	f.Helper()
	g, err := autodiff.Grad(loss, wrt...)
	if err == nil {
		return g
	}
	f.Errorf("gradient: %v", err)
	g = make([]*sinter.Tensor, len(wrt))
	for i := range g {
		g[i] = sinter.Failed(err)
	}
	return g
}

func (f *faultRun) grad(loss, wrt *sinter.Tensor) *sinter.Tensor {
	f.Helper()
	return f.grads(loss, wrt)[0]
}

// leaf is a tracked vector.
func (f *faultRun) leaf(v ...float32) *sinter.Tensor { return f.f32(v...).Track() }

// memory is what the device holds once its work is done.
func (f *faultRun) memory() backend.MemoryUsage {
	f.Helper()
	if err := f.dev.Sync(context.Background()); err != nil {
		f.Fatal(err)
	}
	m, ok := backend.As[backend.Memory](f.dev.Backend())
	if !ok {
		f.Fatal("the device does not tell its memory")
	}
	u, err := m.MemoryUsage(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	return u
}

// Faults of gradients.
var faultsGrad = []fault{
	{105, "softplus where it saturates", func(f *faultRun) {
		for _, c := range []struct {
			beta    float64
			x       float32
			y, grad float64
		}{{1, 100, 100, 1}, {5, 100, 100, 1}, {1, -100, 3.8e-44, 0}} {
			x := f.leaf(c.x)
			y := x.Softplus(c.beta)
			f.near(y, 1e-40, nil, c.y)
			f.near(f.grad(y, x), 1e-40, nil, c.grad)
		}
	}},
	{106, "sigmoid where it saturates", func(f *faultRun) {
		x := f.leaf(-100, 100)
		f.near(f.grad(x.Sigmoid().Sum(), x), 1e-40, nil, 3.8e-44, 0)
	}},
	{107, "gradients of what broadcasts", func(f *faultRun) {
		x := mk(f, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
		w, b := f.on.Ones(sinter.F32, 3, 1).Track(), f.on.Zeros(sinter.F32, 1, 3).Track()
		y := x.MatMul(w).Add(b)
		loss := y.Mul(y).Sum()
		f.want(loss, []int{}, 783)
		g := f.grads(loss, b, w)
		f.want(g[0], []int{1, 3}, 42, 42, 42)
		f.want(g[1], []int{3, 1}, 396, 522, 648)
		v := f.f32(3).Reshape().Track()
		f.want(f.grad(f.f32(1, 1).Mul(v).Sum(), v), []int{}, 2)
	}},
	{109, "product with zeros", func(f *faultRun) {
		for _, c := range []struct{ x, want []float64 }{
			{[]float64{2, 0, 3, 4}, []float64{0, 24, 0, 0}}, {[]float64{0, 0, 3}, []float64{0, 0, 0}}, {[]float64{0}, []float64{1}},
		} {
			x := f.f64(c.x...).Track()
			f.want(f.grad(x.Prod(), x), nil, c.want...)
		}
		x := mk(f, []float32{2, 0, 3, 4, 0, 0, 3, 4}, 2, 4).Track()
		f.want(f.grad(x.Prod(sinter.Over(1)).Sum(), x), []int{2, 4}, 0, 24, 0, 0, 0, 0, 0, 0)
	}},
	{110, "scatter-add of fewer", func(f *faultRun) {
		x, v := f.leaf(10, 20, 30, 40), f.leaf(1, 2)
		y := x.ScatterAdd(0, f.i64(3, 0), v)
		f.want(y, nil, 12, 20, 30, 41)
		g := f.grads(y.Mul(f.f32(1, 2, 3, 4)).Sum(), v, x)
		f.want(g[0], []int{2}, 4, 1)
		f.want(g[1], []int{4}, 1, 2, 3, 4)
	}},
	{111, "an upsampled tensor used twice", func(f *faultRun) {
		x := f.leaf(1, 2)
		up := fn.Nearest(x.Reshape(1, 1, 2), fn.Asymmetric, 4)
		f.want(up, []int{1, 1, 4}, 1, 1, 2, 2)
		f.want(f.grad(up.Sum().Add(x.Sum()), x), []int{2}, 3, 3)
	}},
	{112, "softmax on every path", func(f *faultRun) {
		u := f.f32(1, 3)
		for name, row := range map[string]func(x *sinter.Tensor) *sinter.Tensor{
			"contiguous": func(x *sinter.Tensor) *sinter.Tensor { return x },
			"strided":    func(x *sinter.Tensor) *sinter.Tensor { return x.Expand(2, 2).Transpose().At(1, 1) },
			"permuted":   func(x *sinter.Tensor) *sinter.Tensor { return x.Reshape(2, 1).Transpose().At(0, 0) },
			"reversed":   func(x *sinter.Tensor) *sinter.Tensor { return x.Slice(sinter.All().By(-1)).Slice(sinter.All().By(-1)) },
		} {
			for _, steps := range []bool{false, true} {
				x := f.leaf(0, 0)
				y := row(x).Softmax(0)
				if steps {
					e := row(x).Sub(row(x).Max()).Exp()
					y = e.Div(e.Sum())
				}
				g := f.values(f.grad(y.Mul(u).Sum(), x))
				if len(g) != 2 || math.Abs(g[0]+.5) > 1e-6 || math.Abs(g[1]-.5) > 1e-6 {
					f.Errorf("%s, in steps: %v: got %v, want [-0.5 0.5]", name, steps, g)
				}
			}
		}
	}},
	{113, "one tensor by two routes", func(f *faultRun) {
		x := mk(f, []float32{1, 2}, 1, 2).Track()
		f.want(f.grad(x.MatMul(x.Transpose()), x), []int{1, 2}, 2, 4)
		v := f.leaf(1, 5, -2, 7)
		f.want(f.grad(v.Sub(v.Mean()).Sum(), v), []int{4}, 0, 0, 0, 0)
	}},
	{114, "gradients at kinks", func(f *faultRun) {
		x := f.leaf(0)
		f.want(f.grad(x.Relu(), x), nil, 0)
		f.want(f.grad(x.Maximum(0), x), nil, 1) // at ties the first operand's, as documented
		v := f.leaf(0, 0, 0)
		f.want(f.grad(v.Norm(2), v), nil, 0, 0, 0)
		a, b := f.leaf(0), f.leaf(0)
		length := a.Mul(a).Add(b.Mul(b)).Sqrt()
		for _, loss := range []*sinter.Tensor{length.Maximum(1e-10), f.f32(1e-10).Maximum(length)} {
			g := f.grads(loss, a, b)
			f.want(g[0], nil, 0)
			f.want(g[1], nil, 0)
		}
	}},
	{137, "forward passes without backward", func(f *faultRun) {
		w := f.leaf(1, 2, 3, 4)
		x := f.f32(4, 3, 2, 1)
		var freed atomic.Int64 // nodes of the graph
		watch := func(y *sinter.Tensor) *sinter.Tensor {
			o, _ := y.Origin()
			runtime.AddCleanup(o, func(n *atomic.Int64) { n.Add(1) }, &freed)
			return y
		}
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		const passes = 10000
		held, before := f.memory(), heap()
		for range passes {
			watch(watch(w.Mul(x)).Tanh())
		}
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			// Pools of buffers and new kernels stay: far less than the nodes take.
			more, now := heap()-before, f.memory()
			ok := more < 4<<20 && now.Tensors <= held.Tensors+8 && now.InUse <= held.InUse+4096
			if ok && freed.Load() >= 2*passes-8 { // the stack may still refer to the last ones
				break
			}
			if time.Now().After(end) {
				f.Errorf("of %d nodes %d are freed; %d more bytes of heap; %+v, before %+v", 2*passes, freed.Load(), more, now, held)
				break
			}
		}
		f.want(f.grad(w.Mul(x).Sum(), w), nil, 4, 3, 2, 1)
	}},
	{138, "two models on two devices", func(f *faultRun) {
		other, err := sinter.NewRuntime().Device(f.dev.ID())
		if err != nil {
			f.Fatal(err)
		}
		defer func() {
			if err := other.Close(); err != nil {
				f.Error(err)
			}
		}()
		// Least squares towards (2, -1). The gradient of each step is known: errors
		// along (1, 1) and (1, -1) shrink by 0.994 and 0.998.
		const steps = 500
		train := func(d *sinter.Device, start ...float64) []float64 {
			on := sinter.On(d)
			x := sinter.FromSliceOn(on, []float64{1, 0, 0, 1, 1, 1}, 3, 2)
			y := sinter.FromSliceOn(on, []float64{2, -1, 1}, 3, 1)
			w := sinter.NewVar(sinter.FromSliceOn(on, start, 2, 1))
			for i := 0; ; i++ {
				s := sinter.NewScope("step")
				e := x.MatMul(w.In(s)).Sub(y)
				g, err := autodiff.Gradients(e.Mul(e).Sum(), w)
				if err != nil {
					f.Error(err)
					return make([]float64, 2)
				}
				if i == steps {
					return f.values(g[0])
				}
				if err := w.Set(w.In(s).Sub(g[0].Mul(0.001))); err != nil {
					f.Error(err)
				}
				s.End()
			}
		}
		serial := [][]float64{train(f.dev, 0, 0), train(other, 1, 1)}
		both := make([][]float64, 2)
		var wg sync.WaitGroup
		wg.Add(2)
		go func() { defer wg.Done(); both[0] = train(f.dev, 0, 0) }()
		go func() { defer wg.Done(); both[1] = train(other, 1, 1) }()
		wg.Wait()
		p, q := math.Pow(0.994, steps), math.Pow(0.998, steps)
		for i, sign := range []float64{1, -1} {
			if both[0][i] != serial[0][i] || both[1][i] != serial[1][i] {
				f.Errorf("got %v, one after the other %v", both, serial)
			}
			want := 6*(-0.5+0.5)*p + 2*(-1.5-1.5)*q*sign
			if sum := both[0][i] + both[1][i]; math.Abs(sum-want) > 1e-12 {
				f.Errorf("gradients %d sum to %v, want %v", i, sum, want)
			}
		}
	}},
	{139, "gradients while another computes", func(f *faultRun) {
		var wg sync.WaitGroup
		wg.Add(2)
		x := f.f32(1, 2, 3)
		go func() {
			defer wg.Done()
			for range 50 {
				f.want(x.Mul(x).Add(1), nil, 2, 5, 10)
			}
		}()
		go func() {
			defer wg.Done()
			for range 50 {
				v := x.Track()
				f.want(f.grad(v.Mul(v).Sum(), v), nil, 2, 4, 6)
			}
		}()
		wg.Wait()
	}},
}
