package sinter_test

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/nn/fn"
)

// Faults of fusion: layouts, broadcasting, several outputs; aliasing and order.
var faultsFusion = []fault{
	{4, "every consumer its own output", func(f *faultRun) {
		x := f.f32(1, 2, 3)
		p, q, s := x.Add(1), x.Mul(2), x.Sub(3)
		f.want(p, nil, 2, 3, 4)
		f.want(q, nil, 2, 4, 6)
		f.want(s, nil, -2, -1, 0)
	}},
	{5, "expand, then permute", func(f *faultRun) {
		x := mk(f, []float32{1, 2, 3, 4, 5, 6}, 2, 3).Expand(4, 2, 3).Permute(2, 0, 1)
		y := x.Add(f.on.Zeros(sinter.F32, 3, 4, 2))
		f.want(y, []int{3, 4, 2}, 1, 4, 1, 4, 1, 4, 1, 4, 2, 5, 2, 5, 2, 5, 2, 5, 3, 6, 3, 6, 3, 6, 3, 6)
	}},
	{6, "relu of swapped axes", func(f *faultRun) {
		x := mk(f, []float32{-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12}, 2, 2, 3)
		f.want(x.Permute(0, 2, 1).Relu(), []int{2, 3, 2}, 0, 4, 2, 0, 0, 6, 0, 10, 8, 0, 0, 12)
	}},
	{7, "flatten a transpose", func(f *faultRun) {
		f.want(mk(f, []float32{1, 2, 3, 4}, 2, 2).Transpose().Flatten(), []int{4}, 1, 3, 2, 4)
	}},
	{8, "response norm", func(f *faultRun) {
		x := mk(f, []float32{3, 4, 6, 8}, 1, 2, 2)
		gn := x.Mul(x).Sum(sinter.Over(2).KeepDims()).Add(1e-5).Sqrt()
		n := gn.Div(gn.Mean(sinter.Over(1).KeepDims()))
		gamma, beta := f.on.Zeros(sinter.F32, 1, 2, 1).Track(), f.on.Zeros(sinter.F32, 1, 2, 1).Track()
		y := x.Mul(n).Mul(gamma).Add(beta).Add(x)
		g := f.grads(y.Sum(), gamma, beta)
		f.want(y, []int{1, 2, 2}, 3, 4, 6, 8)
		f.near(n, 1e-5, nil, 2./3, 4./3)
		f.near(g[0], 1e-5, []int{1, 2, 1}, 14./3, 56./3)
		f.want(g[1], []int{1, 2, 1}, 2, 2)
	}},
	{11, "odd length, in place", func(f *faultRun) {
		for range 2 { // a tensor of its own each time; the second time by a cached plan
			x := f.f32(1, 2, 3, 4, 5, 6, 7)
			if err := f.dev.Sync(context.Background()); err != nil {
				f.Fatal(err)
			}
			before := f.counters()
			y := x.Mul(2).Add(1)
			x.Release()
			f.want(y, nil, 3, 5, 7, 9, 11, 13, 15)
			if after := f.counters(); f.fuses() && (after.Launches != before.Launches+1 || after.InPlace != before.InPlace+1) {
				f.Errorf("%d launches, %d results in place, want one of each", after.Launches-before.Launches, after.InPlace-before.InPlace)
			}
		}
	}},
	{13, "tails beside a neighbour", func(f *faultRun) {
		for _, n := range []int{1, 63, 64, 65, 257, 1023} {
			before, after := f.on.Full(7, sinter.F32, n), f.on.Full(8, sinter.F32, n)
			y := f.on.Arange(0, n, 1, sinter.F32).Add(1)
			f.want(y.Sum(), []int{}, float64(n*(n+1)/2))
			f.want(before.Sum(), nil, float64(7*n))
			f.want(after.Sum(), nil, float64(8*n))
		}
	}},
	{15, "ten thousand operations", func(f *faultRun) {
		x := f.f32(0)
		for range 10000 {
			x = x.Add(1)
		}
		f.want(x, nil, 10000)
	}},
	{16, "shared scalars over a block limit", func(f *faultRun) {
		s, b := f.f32(1).Reshape(), f.f32(0).Reshape()
		score := f.f32(0).Reshape()
		for i := range 150 {
			d := s.Mul(i).Add(b).Sub(2 * i)
			score = score.Add(d.Mul(d))
		}
		f.want(score, []int{}, 149*150*299/6)
	}},
	{17, "log(exp(x)+1)*2", func(f *faultRun) {
		x := f.on.Arange(0, 100000, 1, sinter.F32).Mul(0.0001)
		if _, err := sinter.Read(context.Background(), x); err != nil {
			f.Fatal(err)
		}
		before := f.counters().Launches
		s := sinter.NewScope("17")
		y := s.Keep(f.op("log", ts{f.op("exp", ts{s.In(x)}).Add(1)}).Mul(2))
		s.End()
		if _, err := sinter.Read(context.Background(), y); err != nil {
			f.Fatal(err)
		}
		if n := f.counters().Launches - before; f.fuses() && n != 1 {
			f.Errorf("%d launches, want 1", n)
		}
		f.near(y.Slice(sinter.Until(1)), 1e-6, nil, 1.3862943611198906)
		f.near(y.Slice(sinter.From(-1)), 1e-6, nil, 2*9.999945399)
	}},
	{18, "batches 4, 4, 3, 0", func(f *faultRun) {
		for _, n := range []int{4, 4, 3, 0} {
			x := f.on.Arange(0, n*2, 1, sinter.I64).Reshape(n, 2)
			y := sinter.Concat(1, x, x.Mul(2)).Add(1)
			want := []float64{}
			for i := range n {
				a, b := float64(2*i), float64(2*i+1)
				want = append(want, a+1, b+1, 2*a+1, 2*b+1)
			}
			f.want(y, []int{n, 4}, want...)
		}
	}},
	{19, "quantile of mixed dtypes", func(f *faultRun) {
		s := f.op("sort", ts{f.f32(3, 1, 4, 2)})
		pos := f.f32(0.5).Mul(3)
		low := pos.Floor().Cast(sinter.I64)
		high := low.Add(1)
		high = sinter.Where(high.Gt(3), f.i64(3), high)
		w := pos.Sub(low.Cast(sinter.F32))
		a, b := s.Gather(0, low), s.Gather(0, high)
		f.want(a.Add(b.Sub(a).Mul(w)), []int{1}, 2.5)
	}},
	{20, "attention, cached and whole", func(f *faultRun) {
		q := mk(f, []float32{1, 1}, 1, 2)
		kv := mk(f, []float32{1, 0, 0, 1, 1, 1}, 3, 2)
		attend := func(kv *sinter.Tensor) *sinter.Tensor {
			return q.MatMul(kv.Transpose()).Softmax(-1).MatMul(kv)
		}
		cached := sinter.Concat(0, kv.Slice(sinter.Until(2)), kv.Slice(sinter.From(2)))
		f.near(attend(kv), 1e-6, []int{1, 2}, 0.788058, 0.788058)
		f.near(attend(cached), 1e-6, []int{1, 2}, 0.788058, 0.788058)
		for _, kv := range []*sinter.Tensor{kv, cached} {
			kv = kv.Reshape(1, 3, 2)
			y := fn.Attention(q.Reshape(1, 1, 2), kv, kv, fn.AttentionOptions{Scale: 1})
			f.near(y, 1e-6, []int{1, 1, 2}, 0.788058, 0.788058)
		}
	}},
	{21, "an inner value asked for later", func(f *faultRun) {
		y := f.f32(-3, 1).Add(1)
		z := y.Relu().Mul(2)
		f.want(z, nil, 0, 4)
		f.want(y, nil, -2, 2)
	}},
	{22, "rank of both operands", func(f *faultRun) {
		y := f.on.Ones(sinter.F32, 5, 50, 1).Add(f.on.Ones(sinter.F32, 1, 1, 50, 1))
		f.want(y.Sum(), nil, 500)
		f.want(y.Max().Add(y.Min()), nil, 4)
		if s := y.Shape(); len(s) != 4 || s[1] != 5 || s[2] != 50 {
			f.Errorf("got shape %v, want [1 5 50 1]", s)
		}
	}},
	{24, "read after write", func(f *faultRun) {
		x := sinter.NewVar(f.f32(3))
		y := f.op("log", ts{x.Value()})
		if err := x.Set(f.op("log", ts{x.Value()})); err != nil {
			f.Error(err)
		}
		f.near(y, 1e-6, nil, 1.098612289)
		f.near(x.Value(), 1e-6, nil, 1.098612289)
	}},
	{26, "a buffer that is only read", func(f *faultRun) {
		m, p, g := f.f32(1, 1), f.f32(0, 0), f.f32(3, 5)
		m = m.Add(g.Sub(m).Mul(0.05))
		p = p.Sub(m.Mul(0.01))
		f.want(f.on.Full(9, sinter.F32, 2).Add(1), nil, 10, 10)
		f.near(m, 1e-6, nil, 1.1, 1.2)
		f.near(p, 1e-6, nil, -0.011, -0.012)
	}},
	{27, "a view, a read, an update", func(f *faultRun) {
		a := f.f32(1)
		b := a.Slice(sinter.Span(0, 1))
		a = f.op("set_slice", ts{a, f.f32(0)}, "starts", []int{0}, "sizes", []int{1}, "steps", []int{1})
		f.want(a, nil, 0)
		a = f.op("set_slice", ts{a, f.f32(2)}, "starts", []int{0}, "sizes", []int{1}, "steps", []int{1})
		f.want(b, nil, 1)
		f.want(a, nil, 2)
	}},
	{28, "identity, then in place", func(f *faultRun) {
		x := f.on.Ones(sinter.F32, 2, 2)
		y := x.Cast(sinter.F32)
		y = y.Add(y)
		f.want(y, nil, 2, 2, 2, 2)
		f.want(x, nil, 1, 1, 1, 1)
	}},
	{30, "a mask with stride 0", func(f *faultRun) {
		x := mk(f, []float32{1, 2, 3, 4}, 2, 2).Expand(2, 2, 2)
		m := mk(f, []bool{true, false, false, true}, 2, 1, 2).Expand(2, 2, 2)
		f.want(sinter.Where(m, 0, x), nil, 0, 2, 0, 4, 1, 0, 3, 0)
	}},
	{32, "reads do not change results", func(f *faultRun) {
		for _, read := range []bool{false, true} {
			c := f.f64(.1, .2, .3, .4).CumSum(0)
			if read {
				f.near(c, 1e-15, nil, .1, .3, .6, 1)
			}
			f.want(c.Lt(0.35).Sum(), nil, 2)
		}
	}},
	{33, "output over a dying input", func(f *faultRun) {
		p := f.f32(1, 2, -3, 4)
		y := sinter.Concat(0, p.Slice(sinter.Until(2)).Mul(2), p.Slice(sinter.From(2)).Relu())
		p.Release()
		f.want(y, nil, 2, 4, 0, 4)
	}},
	{35, "a mask that broadcasts", func(f *faultRun) {
		m := mk(f, []bool{true, false, false, true}, 1, 1, 2, 2)
		f.want(sinter.Where(m, 9, f.arange(1, 2, 2, 2)), []int{1, 2, 2, 2}, 9, 1, 2, 9, 9, 5, 6, 9)
	}},
	{36, "add through a negative stride", func(f *faultRun) {
		base, x := f.on.Zeros(sinter.F32, 6), f.arange(6)
		back := sinter.All().By(-1)
		sum := base.Slice(back).Add(x.Slice(back).Mul(2))
		y := f.op("set_slice", ts{base, sum}, "starts", []int{5}, "sizes", []int{6}, "steps", []int{-1})
		f.want(y, nil, 0, 2, 4, 6, 8, 10)
	}},
	{38, "element by element", func(f *faultRun) {
		n := f.on.Zeros(sinter.F32, 3, 3)
		for i := range 3 {
			for j := range 3 {
				e := n.Slice(sinter.Span(i, i+1), sinter.Span(j, j+1)).Add(1)
				n = f.op("set_slice", ts{n, e}, "starts", []int{i, j}, "sizes", []int{1, 1}, "steps", []int{1, 1})
			}
		}
		f.want(n, nil, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	}},
	{141, "printing while another evaluates", func(f *faultRun) {
		x := f.arange(2, 2)
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(2)
			go func() {
				defer wg.Done()
				if s := x.Mul(2).String(); s != "[[0. 2.]\n [4. 6.]] f32[2,2]" {
					f.Errorf("got %q", s)
				}
			}()
			go func() {
				defer wg.Done()
				if _, err := sinter.Read(context.Background(), x.MatMul(x)); err != nil {
					f.Error(err)
				}
			}()
		}
		wg.Wait()
	}},
}

// fuses reports whether the device fuses and counts.
func (f *faultRun) fuses() bool {
	_, counts := backend.As[backend.Counting](f.dev.Backend())
	_, ok := backend.As[*fusion.Client](f.dev.Backend())
	return ok && counts && !f.unfused
}

// counters are those of the device, zero if it does not count.
func (f *faultRun) counters() backend.Counters {
	if c, ok := backend.As[backend.Counting](f.dev.Backend()); ok {
		return c.Counters()
	}
	return backend.Counters{}
}
