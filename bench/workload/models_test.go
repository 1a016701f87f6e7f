package workload

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

func device(t *testing.T) *sinter.Device {
	t.Helper()
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func read[T sinter.Element](t *testing.T, x *sinter.Tensor) []T {
	t.Helper()
	v, err := sinter.Data[T](t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestGPT2: the loss begins near that of a guess and falls, every parameter has a finite
// gradient, no position sees a later one, and captured training has the bits of recorded
// training.
func TestGPT2(t *testing.T) {
	d := device(t)
	s := []int{2, 32, 4, 40, 3, 16}
	for _, precision := range []ir.DType{ir.F32, ir.BF16} {
		w := Workload{Sizes: s, DType: precision, of: &models[0]}
		recorded, captured := w.Prepare(d), w.Prepare(d)
		var first, last float64
		for step := range 60 {
			scope := sinter.NewScope("step")
			out, err := recorded.step(scope, nil)
			if err != nil {
				t.Fatal(err)
			}
			loss := read[float32](t, out[0])[0]
			scope.End()
			if out, err = captured.captured.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := read[float32](t, out[0])[0]; math.Float32bits(got) != math.Float32bits(loss) {
				t.Fatalf("%s: step %d: the loss is %v, recorded %v", precision, step, got, loss)
			}
			if last = float64(loss); step == 0 {
				first = last
			}
		}
		if guess := math.Log(40); math.Abs(first-guess) > 0.1 || last > first-0.05 || math.IsNaN(last) {
			t.Errorf("%s: the loss falls from %v to %v; that of a guess is %v", precision, first, last, guess)
		}
		if st := captured.captured.Stats(); st.Replayed < 50 {
			t.Errorf("%s: %+v", precision, st)
		}
		recorded.Release()
		captured.Release()

		m := newGPT2(sinter.NewGenerator(1), s[0], s[1], s[2], s[3], s[5], precision, nn.On(d))
		tokens := input{t: ir.I64, shape: s[4:], below: s[3]}.make(sinter.On(d), 1)
		grads, err := autodiff.Gradients(nn.CrossEntropy(m.Forward(tokens).Cast(sinter.F32), tokens), nn.Vars(m)...)
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range grads {
			sum := read[float64](t, g.Abs().Cast(sinter.F64).Sum())[0]
			if name := nn.Params(m)[i].Name; !(sum > 0) || math.IsInf(sum, 0) || g.DType() != ir.F32 {
				t.Errorf("%s: the gradient of %s is %s, of sum %v", precision, name, g.DType(), sum)
			}
		}
		half := m.Forward(tokens.Slice(sinter.All(), sinter.Until(8))).Cast(sinter.F64)
		whole := m.Forward(tokens).Slice(sinter.All(), sinter.Until(8)).Cast(sinter.F64)
		if a, b := read[float64](t, half), read[float64](t, whole); scaleOf(a) == 0 || distance(a, b) > 1e-2 {
			t.Errorf("%s: logits of 8 tokens are off by %v from those of 16", precision, distance(a, b))
		}
	}
}

func distance(a, b []float64) (most float64) {
	for i := range a {
		most = math.Max(most, math.Abs(a[i]-b[i]))
	}
	return most
}

// TestLlama: tokens that are decoded one by one, by a captured step, have the logits of
// the whole sequence.
func TestLlama(t *testing.T) {
	d := device(t)
	on := sinter.On(d)
	const length = 12
	for dtype, most := range map[ir.DType]float64{ir.F32: 1e-5, ir.BF16: 0.05} {
		m := newLlama(sinter.NewGenerator(1), 2, 32, 4, 2, 48, 40, nn.On(d), nn.DType(dtype), nn.InitWith(nn.Normal(0.3)))
		caches := m.caches(1, length)
		position := sinter.NewVar(on.Zeros(sinter.I64))
		tokens := input{t: ir.I64, shape: []int{1, length}, below: 40}.make(on, 1)
		step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			at := nn.At(position.In(s))
			return list{m.next(in[0], at, caches)}, position.Set(at.Position().Add(1))
		})
		whole := read[float64](t, m.Forward(tokens).Cast(sinter.F64))
		one := read[int64](t, tokens)
		for i, token := range one {
			out, err := step.Run(t.Context(), sinter.FromSliceOn(on, []int64{token}, 1, 1))
			if err != nil {
				t.Fatal(err)
			}
			if got := read[float64](t, out[0].Cast(sinter.F64)); distance(got, whole[40*i:]) > most*scaleOf(whole) {
				t.Errorf("%s: logits of token %d are off by %v of %v", dtype, i, distance(got, whole[40*i:]), scaleOf(whole))
			}
		}
		if st := step.Stats(); st.Replayed < length-5 {
			t.Errorf("%s: %+v", dtype, st)
		}
		step.Release()
	}
}

// scaleOf is the greatest of all values, without their signs.
func scaleOf(v []float64) (most float64) {
	for _, x := range v {
		most = math.Max(most, math.Abs(x))
	}
	return most
}

// TestModelCosts: the workloads cost what their parameters do.
func TestModelCosts(t *testing.T) {
	d := device(t)
	s := []int{3, 16, 4, 2, 24, 32, 8}
	m := newLlama(sinter.NewGenerator(1), s[0], s[1], s[2], s[3], s[4], s[5], nn.On(d))
	vectors := 0
	for _, p := range nn.Params(m) {
		if optim.Vectors(p) {
			vectors += p.Var.Borrow().Size()
		}
	}
	cache := 0
	for _, c := range m.caches(1, s[6]) {
		cache += c.Key.Borrow().Size() + c.Value.Borrow().Size()
	}
	if got, want := llamaCost(s, ir.F32).Bytes, int64(4*(nn.Count(m)-vectors+cache)); got != want {
		t.Errorf("decoding reads %d bytes, expected %d", got, want)
	}
	if got := nn.Count(newGPT2(sinter.NewGenerator(1), 1, 768, 12, 50257, 1024, ir.BF16, nn.On(d))); got != 124439808-11*7087872 {
		t.Errorf("GPT-2 of one layer has %d parameters", got)
	}
}
