package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
)

func TestDropout(t *testing.T) {
	x := sinter.Ones(sinter.F32, 100, 50)
	d := nn.Dropout{P: 0.25}
	if d.Forward(x) != x || nn.Forward(nn.Mode{}, d, x) != x {
		t.Error("inference drops out")
	}
	y := data[float32](t, nn.Forward(nn.Training(sinter.NewGenerator(1)), d, x))
	kept := 0
	for _, v := range y {
		if v != 0 {
			kept++
			if v != float32(1/0.75) {
				t.Fatalf("an element is %v", v)
			}
		}
	}
	if share := float64(kept) / float64(len(y)); math.Abs(share-0.75) > 0.02 {
		t.Errorf("%v were kept", share)
	}
	if again := data[float32](t, nn.Forward(nn.Training(sinter.NewGenerator(1)), d, x)); !slices.Equal(again, y) {
		t.Error("the same draw gave something else")
	}
	c := data[float32](t, nn.ChannelDropout{P: 0.5}.ForwardMode(nn.Training(sinter.NewGenerator(1)), sinter.Ones(sinter.F32, 20, 10, 3)))
	zero := 0
	for i := 0; i < len(c); i += 3 {
		if c[i] != c[i+1] || c[i] != c[i+2] {
			t.Fatal("a channel was dropped in part")
		}
		if c[i] == 0 {
			zero++
		}
	}
	if zero < 60 || zero > 140 {
		t.Errorf("%d of 200 channels were dropped", zero)
	}
	for want, l := range map[string]nn.Layer{"probability -1": nn.Dropout{P: -1}, "probability 2": nn.ChannelDropout{P: 2}} {
		if err := nn.Forward(nn.Training(sinter.NewGenerator(1)), l, x).Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	if y := nn.Forward(nn.Training(sinter.NewGenerator(1)), d, sinter.Zeros(sinter.F32, 0, 3)); y.Err() != nil {
		t.Errorf("no samples: %v", y)
	}
}

// forgetful has no ForwardMode, but a layer inside that needs one.
type forgetful struct{ Parts map[string]any }

func (f *forgetful) Forward(x *sinter.Tensor) *sinter.Tensor {
	return f.Parts["drop"].(nn.Layer).Forward(x)
}

type ring struct {
	Next  *ring
	Any   any
	Array [1]nn.Layer
}

func (*ring) Forward(x *sinter.Tensor) *sinter.Tensor { return x }

func TestForwardOfModes(t *testing.T) {
	train := nn.Training(sinter.NewGenerator(1))
	x := sinter.Ones(sinter.F32, 4, 3)
	f := &forgetful{map[string]any{"drop": nn.Sequential{nn.Dropout{P: 0.5}}}}
	err := nn.Forward(train, f, x).Err()
	if err == nil || !strings.Contains(err.Error(), "*nn_test.forgetful has no ForwardMode, but nn.Sequential inside") || !strings.Contains(err.Error(), "mode_test.go") {
		t.Errorf("a hidden layer: %v", err)
	}
	if nn.Forward(nn.Mode{}, f, x) != x {
		t.Error("inference of the same layer")
	}
	if err := nn.Forward(train, nil, x).Err(); err == nil {
		t.Error("a nil layer")
	}
	r := &ring{}
	r.Next = r
	if err := nn.Forward(train, r, x).Err(); err != nil {
		t.Errorf("a ring: %v", err)
	}
	r.Array[0] = nn.NewBatchNorm(3)
	if err := nn.Forward(train, r, x).Err(); err == nil {
		t.Error("a hidden BatchNorm")
	}
	deep := nn.Sequential{nn.Residual{Body: nn.Sequential{nn.NewLinear(sinter.NewGenerator(1), 3, 3), nn.NewBatchNorm(3)}}, nn.Residual{Body: nn.Dropout{P: 0.5},
		Shortcut: nn.ReLU}}
	if y := deep.ForwardMode(train, x); y.Err() != nil {
		t.Error(y.Err())
	}
	if n := data[int64](t, nn.Params(deep)[6].Var.Borrow()); n[0] != 1 || nn.Params(deep)[6].Name != "0.body.1.num_batches_tracked" {
		t.Errorf("%v batches, %v", n, names(deep))
	}
	if s := deep.String(); !strings.Contains(s, "1: Residual(ReLU + Dropout(0.5))") {
		t.Error(s)
	}
}

func TestInitialisers(t *testing.T) {
	g := sinter.NewGenerator(3)
	draw := func(i nn.Init, shape ...int) []float64 {
		return data[float64](t, i(g, sinter.Of{}, sinter.F64, nn.Fan{In: 50, Out: 100}, shape...))
	}
	for name, c := range map[string]struct {
		i                nn.Init
		deviation, bound float64
	}{
		"LeCunUniform": {nn.LeCunUniform, math.Sqrt(1. / 50), math.Sqrt(3. / 50)}, "LeCunNormal": {nn.LeCunNormal, math.Sqrt(1. / 50), 1},
		"Uniform": {nn.Uniform(2), 2 / math.Sqrt(3), 2}, "Normal": {nn.Normal(3), 3, 30},
		// The deviation of the standard normal distribution between -2 and 2 is 0.8796.
		"TruncatedNormal": {nn.TruncatedNormal(0.5, -2, 2), 0.5 * 0.87962566, 1},
	} {
		v := draw(c.i, 100, 50)
		mean, square := 0.0, 0.0
		for _, x := range v {
			mean, square = mean+x/5000, square+x*x/5000
			if math.Abs(x) > c.bound {
				t.Errorf("%s drew %v", name, x)
			}
		}
		if math.Abs(mean) > 0.05*c.deviation || math.Abs(math.Sqrt(square)/c.deviation-1) > 0.04 {
			t.Errorf("%s: mean %v, deviation %v, want %v", name, mean, math.Sqrt(square), c.deviation)
		}
	}
	if v := draw(nn.TruncatedNormal(1, 3, 4), 1000); slices.Min(v) < 3 || slices.Max(v) > 4 {
		t.Errorf("a tail from %v to %v", slices.Min(v), slices.Max(v))
	}
	if a, b, c := draw(nn.Zeros, 2), draw(nn.Ones, 2), draw(nn.Constant(-3), 2); a[1] != 0 || b[1] != 1 || c[1] != -3 {
		t.Error(a, b, c)
	}
	for _, shape := range [][]int{{4, 6}, {6, 4}, {5, 2, 3}, {1, 3}} {
		q := draw(nn.Orthogonal(2), shape...)
		rows := shape[0]
		columns := len(q) / rows
		at := func(i, k int) float64 { return q[i*columns+k] }
		short, long := rows, columns
		if rows > columns {
			short, long = columns, rows
			at = func(i, k int) float64 { return q[k*columns+i] }
		}
		for i := range short {
			for j := range short {
				s, want := 0.0, 0.0
				for k := range long {
					s += at(i, k) * at(j, k)
				}
				if i == j {
					want = 4
				}
				if math.Abs(s-want) > 1e-12 {
					t.Errorf("%v: product of %d and %d is %v, want %v", shape, i, j, s, want)
				}
			}
		}
	}
	for _, bad := range []*sinter.Tensor{nn.Orthogonal(1)(g, sinter.Of{}, sinter.F32, nn.Fan{}, 3), nn.Orthogonal(1)(g, sinter.Of{}, sinter.F32, nn.Fan{}, 0, 3),
		nn.TruncatedNormal(1, 2, 2)(g, sinter.Of{}, sinter.F32, nn.Fan{}, 3)} {
		if ir.AsError(bad.Err()) == nil {
			t.Error("no error")
		}
	}
	if l := nn.NewLinear(g, 8, 4, nn.DType(sinter.BF16), nn.InitWith(nn.Orthogonal(1))); l.Weight.Borrow().DType() != sinter.BF16 {
		t.Error("bf16")
	}
}

// TestDropoutMemory checks that nothing of a step outlives its scope.
func TestDropoutMemory(t *testing.T) {
	b, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.Default().Adopt(b)
	defer d.Close()
	x := sinter.On(d).Ones(sinter.F32, 4, 3)
	g := sinter.NewGenerator(1)
	count := func() int {
		s := sinter.NewScope("step")
		_, err := sinter.Read(t.Context(), nn.Dropout{P: 0.5}.ForwardMode(nn.Training(g), s.In(x)))
		s.End()
		if err != nil {
			t.Fatal(err)
		}
		d.Sync(t.Context())
		u, err := b.MemoryUsage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return u.Tensors
	}
	first := count()
	for range 5 {
		count()
	}
	if n := count(); n > first {
		t.Errorf("%d tensors after some steps, %d after the first", n, first)
	}
}

func TestShapesOfErrors(t *testing.T) {
	g := sinter.NewGenerator(1)
	s := nn.Shapes(nn.Sequential{nn.NewLinear(g, 3, 4), nil, nn.NewLinear(g, 3, 4)}, sinter.Ones(sinter.F32, 2, 3))
	if !strings.Contains(s, "0: Linear(3 → 4)") || !strings.Contains(s, "1: nothing") || strings.Contains(s, "2:") {
		t.Error(s)
	}
}
