package nn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/safetensors"
)

var blocks = sinter.Scheme{Bits: 4, Affine: true, Per: sinter.PerBlock, Block: 16, Scale: sinter.F16}

func read(t *testing.T, x *sinter.Tensor) []float32 {
	t.Helper()
	v, err := sinter.Data[float32](context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestQuantizeModel: every linear layer, wherever it is, and weights that are shared
// once; the results are those of weights that were quantized and decoded.
func TestQuantizeModel(t *testing.T) {
	g := sinter.NewGenerator(1)
	shared := nn.NewLinear(g, 32, 32)
	tied := &nn.Linear{Weight: shared.Weight}
	attention := nn.NewMultiHeadAttention(g, 32, 4)
	model := nn.Sequential{nn.NewLinear(g, 24, 32), nn.ReLU, nn.Residual{Body: nn.Sequential{shared, nn.GELU, tied}}, attention}
	x := g.Normal(sinter.Of{}, sinter.F32, 2, 5, 24)
	plain := nn.Sequential{&nn.Linear{Weight: sinter.NewVar(model[0].(*nn.Linear).Weight.Borrow().Quantize(blocks).Dequantize()), Bias: model[0].(*nn.Linear).Bias}}
	want := read(t, plain.Forward(x))
	n, err := nn.Quantize(model, blocks)
	if err != nil || n != 7 {
		t.Fatalf("%d layers, %v; want 7", n, err)
	}
	if got := read(t, model[:1].Forward(x)); !slices.Equal(got, want) {
		t.Error("the layer differs from one with decoded weights")
	}
	if shared.Quantized == nil || shared.Quantized != tied.Quantized || shared.Weight != nil || attention.V.Quantized == nil {
		t.Error("a layer is not quantized, or no longer shared")
	}
	for _, p := range nn.Params(model) {
		if strings.HasSuffix(p.Name, ".weight") {
			t.Errorf("%s is left", p.Name)
		}
		if strings.Contains(p.Name, ".weight.") != p.Buffer {
			t.Errorf("%s: a buffer: %v", p.Name, p.Buffer)
		}
	}
	if y := model.Forward(x); y.Err() != nil {
		t.Error(y.Err())
	}
	if n, err := nn.Quantize(model, blocks); n != 0 || err != nil {
		t.Errorf("again: %d layers, %v", n, err)
	}
	if _, err := nn.Quantize(nn.Sequential{nn.NewLinear(g, 4, 4), nn.NewLinear(g, 4, 4)}, sinter.Scheme{Bits: 3}); err == nil || !strings.Contains(err.Error(), "0") {
		t.Errorf("3 bits: %v", err)
	}
	if s := shared.String(); !strings.Contains(s, "4 bits affine") {
		t.Errorf("the layer describes itself as %s", s)
	}
}

// TestQuantizedGradient: x has the gradient of the decoded weights.
func TestQuantizedGradient(t *testing.T) {
	g := sinter.NewGenerator(2)
	l := nn.NewLinear(g, 20, 6)
	x := g.Normal(sinter.Of{}, sinter.F32, 3, 20).Track()
	w := l.Weight.Borrow().Quantize(blocks).Dequantize()
	want, err := autodiff.Grad(x.MatMul(w.Transpose()).Square().Sum(), x)
	if err != nil {
		t.Fatal(err)
	}
	l.Bias = nil
	if _, err := nn.Quantize(l, blocks); err != nil {
		t.Fatal(err)
	}
	got, err := autodiff.Grad(l.Forward(x).Square().Sum(), x)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read(t, got[0]), read(t, want[0])) {
		t.Error("the gradient of x differs")
	}
	if h := l.Forward(x.Detach().Cast(sinter.F16)); h.DType() != sinter.F16 {
		t.Errorf("of f16: %v, %v", h.DType(), h.Err())
	}
}

// TestQuantizeDynamic: the layer is near the one with decoded weights.
func TestQuantizeDynamic(t *testing.T) {
	g := sinter.NewGenerator(4)
	l := nn.NewLinear(g, 64, 6)
	x := g.Normal(sinter.Of{}, sinter.F32, 3, 64)
	if n, err := nn.QuantizeDynamic(l, blocks); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	got := read(t, l.Forward(x))
	l.Quantized.Dynamic = false
	for i, want := range read(t, l.Forward(x)) {
		if d := got[i] - want; d > 0.05 || d < -0.05 {
			t.Errorf("element %d is %v, want about %v", i, got[i], want)
		}
	}
}

// TestQuantizedModelFile: what was saved is loaded into a model of the same scheme,
// and into no other.
func TestQuantizedModelFile(t *testing.T) {
	ctx := context.Background()
	make := func(seed uint64, s sinter.Scheme) nn.Sequential {
		m := nn.Sequential{nn.NewLinear(sinter.NewGenerator(seed), 24, 8), nn.Tanh, nn.NewLinear(sinter.NewGenerator(seed+1), 8, 3)}
		if _, err := nn.Quantize(m, s); err != nil {
			t.Fatal(err)
		}
		return m
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	a, b := make(1, blocks), make(7, blocks)
	if err := nn.Save(ctx, path, a, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := nn.Load(path, b); err != nil {
		t.Fatal(err)
	}
	x := sinter.NewGenerator(3).Normal(sinter.Of{}, sinter.F32, 4, 24)
	if !slices.Equal(read(t, a.Forward(x)), read(t, b.Forward(x))) {
		t.Error("the loaded model differs")
	}
	var mismatch *nn.MismatchError
	other := blocks
	other.Affine = false
	if _, err := nn.Load(path, make(1, other)); !errors.As(err, &mismatch) {
		t.Errorf("another scheme: %v", err)
	}
}

// TestQuantizedFile: quantized tensors of every kind come back as they were; files
// that are not whole or do not fit are refused, and say why.
func TestQuantizedFile(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	x := sinter.NewGenerator(5).Normal(sinter.Of{}, sinter.F32, 6, 50)
	tensors := map[string]*sinter.Quantized{
		"a": x.Quantize(sinter.Scheme{}), "b": x.Quantize(blocks), "c": x.Cast(sinter.BF16).Quantize(sinter.Scheme{Bits: 4, Per: sinter.PerAxis, Axis: 1, Scale: sinter.BF16}),
		"empty": sinter.Zeros(sinter.F32, 0, 4).Quantize(blocks), "scalar": sinter.Scalar[float32](3).Quantize(sinter.Scheme{Affine: true}),
	}
	if err := nn.SaveQuantized(ctx, path, tensors, map[string]string{"maker": "test"}); err != nil {
		t.Fatal(err)
	}
	got, about, err := nn.LoadQuantized(path, sinter.On(sinter.DefaultDevice()))
	if err != nil || len(got) != len(tensors) || about["maker"] != "test" || len(about) != 1 {
		t.Fatalf("%d tensors, %v, %v", len(got), about, err)
	}
	for name, q := range tensors {
		if got[name].Type().String() != q.Type().String() || !slices.Equal(read(t, got[name].DequantizeAs(sinter.F32)), read(t, q.DequantizeAs(sinter.F32))) {
			t.Errorf("%s: %v, was %v", name, got[name], q)
		}
	}
	if err := nn.SaveQuantized(ctx, path, nil, map[string]string{"quantized:a": ""}); err == nil {
		t.Error("metadata may claim to be a description")
	}

	// Of hostile files.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what, want string) {
		t.Helper()
		if q, _, err := nn.LoadQuantized(path, sinter.On(sinter.DefaultDevice())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want an error with %q", what, q, err, want)
		}
	}
	if err := os.WriteFile(path, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	refused("cut short", "")
	codes := safetensors.Tensor{Name: "w.codes", DType: sinter.U8, Shape: []int{2, 4}, Data: make([]byte, 8)}
	scales := safetensors.Tensor{Name: "w.scales", DType: sinter.F32, Shape: []int{2, 1}, Data: make([]byte, 8)}
	zeros := safetensors.Tensor{Name: "w.zeros", DType: sinter.U8, Shape: []int{2, 1}, Data: make([]byte, 2)}
	for _, c := range []struct{ what, about, want string }{
		{"nonsense", "f32[2,8]", "expected one like"},
		{"another scheme", "f32[2,8] in 8 bits symmetric, per axis 0, scales f32", "codes of type u8[2,4]"},
		{"another shape", "f32[2,10] in 4 bits affine, per axis 0, scales f32", "codes of type u8[2,4]"},
		{"other scales", "f32[2,8] in 4 bits affine, per axis 0, scales f16", "scales of type f32[2,1]"},
		{"zeros without use", "f32[2,8] in 4 bits symmetric, per axis 0, scales f32", "zero points"},
		{"too large", "f32[4611686018427387904,8] in 4 bits affine, per axis 0, scales f32", ""},
	} {
		if err := safetensors.WriteFile(path, []safetensors.Tensor{codes, scales, zeros}, map[string]string{"quantized:w": c.about}); err != nil {
			t.Fatal(err)
		}
		refused(c.what, c.want)
	}
	if err := safetensors.WriteFile(path, []safetensors.Tensor{codes, scales}, map[string]string{"quantized:w": "f32[2,8] in 4 bits affine, per axis 0, scales f32"}); err != nil {
		t.Fatal(err)
	}
	refused("no zeros", "w.zeros")
}
