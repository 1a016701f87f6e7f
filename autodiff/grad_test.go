package autodiff_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

// grad is autodiff.Grad that must succeed.
func grad(t *testing.T, loss *sinter.Tensor, wrt ...*sinter.Tensor) []*sinter.Tensor {
	t.Helper()
	g, err := autodiff.Grad(loss, wrt...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range g {
		if g[i].DType() != wrt[i].DType() || !ir.Shape(g[i].Shape()).Equal(wrt[i].Shape()) {
			t.Fatalf("gradient %d is %s%v, expected %s%v", i, g[i].DType(), g[i].Shape(), wrt[i].DType(), wrt[i].Shape())
		}
	}
	return g
}

func TestIntermediatesAndRepeats(t *testing.T) {
	x := vec(1, 2)
	y := x.Mul(3)
	loss := y.Mul(y).Sum().Add(x.Sum())
	g := grad(t, loss, x, y, loss, x)
	for i, want := range [][]float64{{19, 37}, {6, 12}, {1}, {19, 37}} {
		if got := data(t, g[i]); !same(got, want) {
			t.Errorf("gradient %d is %v, expected %v", i, got, want)
		}
	}
	g[0].Release()
	if got := data(t, g[3]); !same(got, []float64{19, 37}) {
		t.Errorf("a gradient asked for twice went with the other: %v", got)
	}
}

// TestHandles checks that gradients do not share memory handles, with each other
// or with cotangents, although add passes on what arrives.
func TestHandles(t *testing.T) {
	x, z := vec(1, 2), vec(3, 4)
	y := x.Add(z)
	u := sinter.FromSlice([]float64{5, 6})
	g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{u}, []*sinter.Tensor{x, z, y})
	if err != nil {
		t.Fatal(err)
	}
	for i := range g {
		if got := data(t, g[i]); !same(got, []float64{5, 6}) {
			t.Errorf("gradient %d is %v", i, got)
		}
		g[i].Release()
	}
	if got := data(t, u); !same(got, []float64{5, 6}) {
		t.Errorf("the cotangent is %v", got)
	}
}

// TestFanInOrder checks that contributions are added in the order of recording.
func TestFanInOrder(t *testing.T) {
	x := sinter.FromSlice([]float32{1}).Track()
	a, b, c := x.Mul(float32(1e8)), x.Mul(float32(-1e8)), x.Mul(1)
	// (1e8 - 1e8) + 1 is 1, in any other order the 1 is lost.
	for name, loss := range map[string]*sinter.Tensor{
		"ascending uses": a.Add(b).Add(c).Sum(), "other uses": c.Add(a).Add(b).Sum(), "nested": b.Add(c.Add(a)).Sum()} {
		if got := data(t, grad(t, loss, x)[0]); got[0] != 1 {
			t.Errorf("%s: the gradient is %v, expected 1", name, got[0])
		}
	}
	// The operands of one operation, in order.
	big, small := sinter.FromSlice([]float32{1e8}), sinter.FromSlice([]float32{1})
	joined := sinter.Concat(0, x, x, x).Mul(sinter.Concat(0, big, big.Neg(), small)).Sum()
	if got := data(t, grad(t, joined, x)[0]); got[0] != 1 {
		t.Errorf("operands of one operation: the gradient is %v, expected 1", got[0])
	}
}

func TestBroadcast(t *testing.T) {
	for _, c := range []struct{ x, z []int }{{[]int{2, 3}, []int{3}}, {[]int{2, 1}, []int{1, 3}}, {[]int{}, []int{2, 3}}, {[]int{1, 1}, []int{}},
		{[]int{1}, []int{0}}, {[]int{2, 1, 4}, []int{3, 1}}, {[]int{1, 3}, []int{0, 3}}, {[]int{1, 1, 1}, []int{2, 2}}} {
		for _, d := range []sinter.DType{sinter.F16, sinter.BF16, sinter.F32, sinter.F64} {
			x, z := sinter.Ones(d, c.x...).Track(), sinter.Ones(d, c.z...).Track()
			y := x.Add(z)
			g := grad(t, y.Sum(), x, z)
			for i, v := range []*sinter.Tensor{x, z} {
				want := 0.0
				if v.Size() > 0 {
					want = float64(y.Size() / v.Size())
				}
				for _, got := range data(t, g[i]) {
					if got != want {
						t.Errorf("%s%v + %v: gradient %d is %v, expected %v", d, c.x, c.z, i, got, want)
					}
				}
			}
		}
	}
}

func TestStops(t *testing.T) {
	x := vec(2, 3)
	zero, one := []float64{0, 0}, []float64{1, 1}
	quiet := sinter.NewScope("quiet", sinter.NoGrad())
	defer quiet.End()
	for _, c := range []struct {
		name string
		loss *sinter.Tensor
		want []float64
	}{
		{"detach", x.Add(x.Detach()).Sum(), one},
		{"a scope without gradients", quiet.Keep(quiet.In(x).Mul(5)).Add(x).Sum(), one},
		{"comparison", x.Gt(1).Cast(sinter.F64).Add(x).Sum(), one},
		{"integers", x.Cast(sinter.I64).Mul(7).FloorDiv(2).Cast(sinter.F64).Add(x).Sum(), one},
		{"argmax", x.ArgMax(0).Cast(sinter.F64).Add(x).Sum(), one},
		{"floor", x.Floor().Sum(), zero},
		{"another leaf", vec(1).Sum(), zero},
		{"a later leaf", x.Track().Sum(), zero},
	} {
		if got := data(t, grad(t, c.loss, x)[0]); !same(got, c.want) {
			t.Errorf("%s: the gradient is %v, expected %v", c.name, got, c.want)
		}
	}
	if x.Detach().Mul(2).Tracked() || quiet.In(x).Mul(2).Tracked() || x.Gt(1).Tracked() {
		t.Error("a result is tracked that cannot be differentiated")
	}
}

func TestSecondOrder(t *testing.T) {
	x := vec(1, -2, 3)
	tracked := autodiff.Options{Track: true}
	y := x.Mul(x).Mul(x).Mul(x) // x⁴
	want := [][]float64{{4, -32, 108}, {12, 48, 108}, {24, -48, 72}, {24, 24, 24}, {0, 0, 0}}
	for order, w := range want {
		if !y.Tracked() { // the last derivative is that of a constant
			t.Fatalf("order %d is not tracked", order)
		}
		g, err := tracked.Grad(y.Sum(), x)
		if err != nil {
			t.Fatal(err)
		}
		if got := data(t, g[0]); !near(got, w, 1e-14) {
			t.Errorf("derivative %d is %v, expected %v", order+1, got, w)
		}
		y = g[0].Add(x.Mul(0))
	}
	g := grad(t, x.Mul(x).Sum(), x)
	if g[0].Tracked() {
		t.Error("Grad tracks its result")
	}
	lin, err := tracked.Grad(x.Mul(2).Sum(), x)
	if err != nil || lin[0].Tracked() {
		t.Errorf("the gradient of a linear function is tracked, or %v", err)
	}
}

func TestSeveralOutputs(t *testing.T) {
	x := vec(1, 2)
	y, s := x.Mul(x), x.Sum()
	g, err := autodiff.VJP([]*sinter.Tensor{y, s, y}, []*sinter.Tensor{sinter.FromSlice([]float64{1, 10}), sinter.Scalar(100.0), nil}, []*sinter.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, g[0]); !same(got, []float64{2 + 100 + 2, 40 + 100 + 4}) {
		t.Errorf("got %v", got)
	}
	untracked := sinter.FromSlice([]float64{3})
	g, err = autodiff.VJP([]*sinter.Tensor{untracked, s}, nil, []*sinter.Tensor{x})
	if err != nil || !same(data(t, g[0]), []float64{1, 1}) {
		t.Errorf("an untracked output among others: %v, %v", g, err)
	}
	if g, err := autodiff.VJP([]*sinter.Tensor{s}, nil, nil); err != nil || len(g) != 0 {
		t.Errorf("nothing asked for gave %v, %v", g, err)
	}
}

// TestCustomRow differentiates a custom operation with two results, of which
// only one is used.
func TestCustomRow(t *testing.T) {
	rt := sinter.NewRuntime()
	err := rt.Table.Add(&ir.Row{Name: "test/pair@1", Doc: "y = x·z, w = x + z.", Access: ir.Elementwise, Results: []string{"y", "w"},
		Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}, {Name: "z", Class: ir.FloatClass}},
		Infer:    func(_ *ir.Row, in []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return []ir.Type{in[0], in[0]}, nil },
		Body:     ir.Body{Any: "y = x * z; w = x + z"},
		Grad:     map[string]string{"x": "dy * z + dw", "z": "dy * x + dw"}})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := rt.Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	on := sinter.On(dev)
	x, z := sinter.FromSliceOn(on, []float64{2, 3}).Track(), sinter.FromSliceOn(on, []float64{5, 7}).Track()
	out := sinter.Apply("test/pair@1", []*sinter.Tensor{x, z})
	for i, want := range [][2][]float64{{{5, 7}, {2, 3}}, {{1, 1}, {1, 1}}} {
		g := grad(t, out[i].Sum(), x, z)
		if !same(data(t, g[0]), want[0]) || !same(data(t, g[1]), want[1]) {
			t.Errorf("result %d: got %v", i, g)
		}
	}
	g := grad(t, out[0].Mul(out[1]).Sum(), x, z)
	if !same(data(t, g[0]), []float64{5*7 + 10, 7*10 + 21}) || !same(data(t, g[1]), []float64{2*7 + 10, 3*10 + 21}) {
		t.Errorf("both results: got %v", g)
	}
}

func TestNaNGoesOn(t *testing.T) {
	x := vec(math.NaN(), 1)
	if got := data(t, grad(t, x.Mul(x).Sum(), x)[0]); !math.IsNaN(got[0]) || got[1] != 2 {
		t.Errorf("got %v", got)
	}
}

// TestCustomGradFunc: gradients written in Go may pass on an operand, which the
// walk must not release, or be wrong, which is an error that names the row.
func TestCustomGradFunc(t *testing.T) {
	rt := sinter.NewRuntime()
	row := func(name string, f ir.GradFunc) {
		err := rt.Table.Add(&ir.Row{Name: name, Doc: "y = x·z.", Access: ir.Elementwise,
			Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}, {Name: "z", Class: ir.FloatClass}},
			Infer:    func(_ *ir.Row, in []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return in[:1], nil },
			Body:     ir.Body{Any: "x * z"}, GradFunc: f})
		if err != nil {
			t.Fatal(err)
		}
	}
	row("test/lends@1", func(g *ir.GradContext) []ir.Value { return []ir.Value{g.In[1], g.In[0]} }) // right where dy is 1
	row("test/dtype@1", func(g *ir.GradContext) []ir.Value {
		return []ir.Value{g.Do("cast", g.DOut, "dtype", sinter.F32), nil}
	})
	row("test/fails@1", func(g *ir.GradContext) []ir.Value {
		return []ir.Value{g.Do("reshape", g.DOut, "shape", []int{77}), nil}
	})
	row("test/unknown@1", func(g *ir.GradContext) []ir.Value { return []ir.Value{g.Do("no_such_row", g.DOut)} })
	row("test/none@1", func(g *ir.GradContext) []ir.Value { return nil })
	dev, err := rt.Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	on := sinter.On(dev)
	x, z := sinter.FromSliceOn(on, []float64{2, 3}).Track(), sinter.FromSliceOn(on, []float64{5, 7}).Track()
	call := func(name string) *sinter.Tensor { return sinter.Apply(name, []*sinter.Tensor{x, z})[0].Sum() }
	for range 2 {
		g := grad(t, call("test/lends@1"), x, z)
		if !same(data(t, g[0]), []float64{5, 7}) || !same(data(t, g[1]), []float64{2, 3}) {
			t.Errorf("got %v", g)
		}
		g[0].Release()
		g[1].Release()
	}
	for name, kind := range map[string]error{"test/dtype@1": ir.ErrInternal, "test/fails@1": ir.ErrShape, "test/unknown@1": ir.ErrInternal} {
		if _, err := autodiff.Grad(call(name), x); !errors.Is(err, kind) || !strings.Contains(err.Error(), "the gradient of "+name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := data(t, grad(t, call("test/none@1"), x)[0]); !same(got, []float64{0, 0}) {
		t.Errorf("a row that gives no gradient: %v", got)
	}
}
