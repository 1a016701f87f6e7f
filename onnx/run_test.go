package onnx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
)

// mlp is relu(x·w + b)·v over a batch of any size, with a shape computed on the
// way.
func mlp(t testing.TB) *Model {
	return modelOf(&Graph{Name: "mlp",
		Inputs:  []*ValueInfo{value("x", Float, -1, 3)},
		Outputs: []*ValueInfo{value("y", Float, -1, 1, 2)},
		Initializers: []*Tensor{
			initial(t, "w", []float32{1, 2, 3, 4, 5, 6}, 3, 2),
			initial(t, "b", []float32{-10, 1}),
			initial(t, "v", []float32{1, 0, 1, 2}, 2, 2),
			initial(t, "zero", []int64{0}),
			initial(t, "rest", []int64{1, -1}),
		},
		Nodes: []*Node{
			node("MatMul", list("x", "w"), list("xw")),
			node("Add", list("xw", "b"), list("xwb")),
			node("Relu", list("xwb"), list("h")),
			node("MatMul", list("h", "v"), list("hv")),
			node("Shape", list("x"), list("shape")),
			node("Gather", list("shape", "zero"), list("n")),
			node("Concat", list("n", "rest"), list("to"), intA("axis", 0)),
			node("Reshape", list("hv", "to"), list("y")),
		}})
}

// mlpOf is what mlp computes for one row.
func mlpOf(x []float32) []float32 {
	h0, h1 := max(x[0]+3*x[1]+5*x[2]-10, 0), max(2*x[0]+4*x[1]+6*x[2]+1, 0)
	return []float32{h0 + h1, 2 * h1}
}

func TestAnyBatchAndManyGoroutines(t *testing.T) {
	ctx := context.Background()
	p := compiled(t, mlp(t))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for k := range 20 {
				n := 1 + (g+k)%5
				in := make([]float32, 3*n)
				var want []float32
				for i := range in {
					in[i] = float32((i*7+g*3+k)%11) - 2
				}
				for i := range n {
					want = append(want, mlpOf(in[3*i:])...)
				}
				out, err := p.Run(ctx, map[string]*sinter.Tensor{"x": sinter.FromSlice(in, n, 3)})
				if err != nil {
					t.Error(err)
					return
				}
				got, err := sinter.Data[float32](ctx, out["y"])
				if err != nil || !slices.Equal(got, want) || !slices.Equal(out["y"].Shape(), []int{n, 1, 2}) {
					t.Errorf("batch of %d: %v %v, %v, expected %v", n, got, out["y"].Shape(), err, want)
				}
				out["y"].Release()
			}
		})
	}
	wg.Wait()
}

// A run leaves its outputs on the device, and the constants once; at its peak it
// holds what is needed at the same time, not every intermediate.
func TestMemory(t *testing.T) {
	ctx := context.Background()
	b, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.NewRuntime().Adopt(b)
	defer d.Close()
	const n = 1 << 18 // elements: 1 MB
	g := &Graph{Inputs: []*ValueInfo{value("v0", Float, n)}, Outputs: []*ValueInfo{value("v40", Float, n)}}
	for i := range 40 {
		g.Nodes = append(g.Nodes, node("Relu", list(fmt.Sprint("v", i)), list(fmt.Sprint("v", i+1))))
	}
	p := compiled(t, modelOf(g), On(d))
	usage := func() backend.MemoryUsage {
		t.Helper()
		if err := d.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		u, err := b.MemoryUsage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	x := sinter.FromSliceOn(sinter.On(d), make([]float32, n))
	before := usage()
	for range 3 {
		out, err := p.Run(ctx, map[string]*sinter.Tensor{"v0": x})
		if err != nil {
			t.Fatal(err)
		}
		if after := usage(); after.Tensors != before.Tensors+1 {
			t.Errorf("%d tensors after a run, %d before, and one output", after.Tensors, before.Tensors)
		}
		out["v40"].Release()
	}
	if after := usage(); after.Tensors != before.Tensors || after.InUse != before.InUse {
		t.Errorf("%d tensors of %d bytes at the end, before %d of %d", after.Tensors, after.InUse, before.Tensors, before.InUse)
	}
	runtime.KeepAlive(x) // it is in what was counted before
	runtime.KeepAlive(p)
}

func TestOutputsBelongToTheScopeOfInputs(t *testing.T) {
	p := compiled(t, mlp(t))
	s := sinter.NewScope("request")
	out, err := p.Run(context.Background(), map[string]*sinter.Tensor{"x": s.In(sinter.FromSlice([]float32{1, 2, 3}, 1, 3))})
	if err != nil {
		t.Fatal(err)
	}
	if y := out["y"]; y.Scope() != s || !slices.Equal(floats(t, y), mlpOf([]float32{1, 2, 3})) {
		t.Errorf("%v in %v", y, y.Scope())
	}
	if n := s.Live(); n != 1 {
		t.Errorf("%d tensors live in the scope, expected the output", n)
	}
	s.End()
	if _, err := sinter.Data[float32](context.Background(), out["y"]); !errors.Is(err, sinter.ErrClosed) {
		t.Errorf("after the scope's end: %v", err)
	}
}

func TestGradientsPassModels(t *testing.T) {
	p := compiled(t, mlp(t))
	x := sinter.FromSlice([]float32{1, 2, 3}, 1, 3).Track()
	out, err := p.Run(context.Background(), map[string]*sinter.Tensor{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	g, err := autodiff.Grad(out["y"].Sum(), x)
	if err != nil {
		t.Fatal(err)
	}
	// Both units are active: the sum of outputs is h0 + 3·h1.
	if want := []float32{1 + 3*2, 3 + 3*4, 5 + 3*6}; !slices.Equal(floats(t, g[0]), want) {
		t.Errorf("gradient %v, expected %v", floats(t, g[0]), want)
	}
}

func TestInputsAreChecked(t *testing.T) {
	m := mlp(t)
	m.Graph.Inputs = append(m.Graph.Inputs, value("unused", Int64))
	p := compiled(t, m)
	_, err := p.Run(context.Background(), map[string]*sinter.Tensor{
		"x": sinter.FromSlice([]float32{1, 2}, 1, 2), "z": sinter.Scalar(float32(1))})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{`input "x" is float32[1 2], expected float32[?,3]`, `input "unused" (int64[]) is missing`, `no input "z"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %s: %v", part, err)
		}
	}
}

func TestErrorsOfRunsNameTheNode(t *testing.T) {
	p := compiled(t, modelOf(&Graph{Inputs: []*ValueInfo{value("x", Float, -1, -1), value("y", Float, -1, -1)}, Outputs: []*ValueInfo{value("z", Float)},
		Nodes: []*Node{node("MatMul", list("x", "y"), list("z"))}}))
	_, err := p.Run(context.Background(), map[string]*sinter.Tensor{"x": sinter.FromSlice([]float32{1, 2}, 1, 2), "y": sinter.FromSlice([]float32{1, 2, 3}, 3, 1)})
	if !errors.Is(err, sinter.ErrShape) || !strings.Contains(err.Error(), `node "MatMul of z" (MatMul)`) || !strings.Contains(err.Error(), "float32[1 2], float32[3 1]") {
		t.Error(err)
	}
}

func TestRunsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := compiled(t, mlp(t)).Run(ctx, map[string]*sinter.Tensor{"x": sinter.FromSlice([]float32{1, 2, 3}, 1, 3)})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestInitializersAreDefaults(t *testing.T) {
	m := modelOf(&Graph{Inputs: []*ValueInfo{value("x", Float, -1), value("bias", Float, -1)}, Outputs: []*ValueInfo{value("y", Float, -1)},
		Initializers: []*Tensor{initial(t, "bias", []float32{10})}, Nodes: []*Node{node("Add", list("x", "bias"), list("y"))}})
	x := sinter.FromSlice([]float32{1, 2})
	run := func(p *Program, in map[string]*sinter.Tensor) []float32 {
		t.Helper()
		out, err := p.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		return floats(t, out["y"])
	}
	p := compiled(t, m)
	if got := run(p, map[string]*sinter.Tensor{"x": x}); !slices.Equal(got, []float32{11, 12}) || !p.Optional("bias") {
		t.Error(got)
	}
	if got := run(p, map[string]*sinter.Tensor{"x": x, "bias": sinter.FromSlice([]float32{20})}); !slices.Equal(got, []float32{21, 22}) {
		t.Error(got)
	}
	m.IRVersion = 3 // then every initializer is listed, and none can be given
	p = compiled(t, m)
	if got := run(p, map[string]*sinter.Tensor{"x": x}); !slices.Equal(got, []float32{11, 12}) || len(p.Inputs()) != 1 {
		t.Error(got)
	}
}

// An output may be an input, a constant, or the same value twice; releasing one
// does not take the others.
func TestOutputsAsTheyAre(t *testing.T) {
	p := compiled(t, modelOf(&Graph{Inputs: []*ValueInfo{value("x", Float, 2)},
		Outputs:      []*ValueInfo{value("x", Float), value("c", Float), value("a", Float), value("b", Float), value("i", Float)},
		Initializers: []*Tensor{initial(t, "c", []float32{5})},
		Nodes:        []*Node{node("Neg", list("x"), list("a")), node("Identity", list("a"), list("b")), node("Identity", list("x"), list("i"))}}))
	x := sinter.FromSlice([]float32{1, 2})
	for range 2 {
		out, err := p.Run(context.Background(), map[string]*sinter.Tensor{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]float32{"x": {1, 2}, "c": {5}, "a": {-1, -2}, "b": {-1, -2}, "i": {1, 2}} {
			if got := floats(t, out[name]); !slices.Equal(got, want) {
				t.Errorf("%s is %v, expected %v", name, got, want)
			}
			out[name].Release()
		}
	}
}

func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	m := modelOf(&Graph{Inputs: []*ValueInfo{value("x", Float, 2)}, Outputs: []*ValueInfo{value("y", Float, 2)},
		Nodes: []*Node{node("Add", list("x", "w"), list("y"))}})
	path := filepath.Join(dir, "model.onnx")
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("data.bin", []byte{9, 9, 9, 9, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 9}) // 1 and 2, from byte 4 on
	externalModel := func(location, offset, length string) []byte {
		g := *m.Graph
		g.Initializers = nil
		entry := func(k, v string) []byte { return putStr(putStr(nil, 1, k), 2, v) }
		c := putInt(putInt(putStr(nil, 8, "w"), 1, 2), 2, int64(Float))
		c = putBytes(putBytes(putBytes(c, 13, entry("location", location)), 13, entry("offset", offset)), 13, entry("length", length))
		b := putBytes(putInt(nil, 1, 10), 7, putBytes((&writer{}).graph(&g), 5, putInt(c, 14, 1)))
		return putBytes(b, 8, putInt(nil, 2, 21))
	}
	load := func(location, offset, length string) (*Program, error) {
		t.Helper()
		write("model.onnx", externalModel(location, offset, length))
		loaded, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return loaded.Compile()
	}
	p, err := load("data.bin", "4", "8")
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Run(context.Background(), map[string]*sinter.Tensor{"x": sinter.FromSlice([]float32{1, 1})})
	if err != nil || !slices.Equal(floats(t, out["y"]), []float32{2, 3}) {
		t.Fatal(err, out)
	}
	for _, bad := range [][4]string{
		{"../data.bin", "4", "8", "only files in the model's directory"},
		{"/etc/passwd", "0", "8", "only files in the model's directory"},
		{"", "0", "8", "only files in the model's directory"},
		{"data.bin", "6", "8", "which has 13"},
		{"data.bin", "4", "7", "needs 8"},
		{"data.bin", "-1", "8", `offset is "-1"`},
		{"data.bin", "9223372036854775807", "8", "which has 13"},
		{"missing.bin", "0", "8", "missing.bin"},
	} {
		if _, err := load(bad[0], bad[1], bad[2]); err == nil || !strings.Contains(err.Error(), bad[3]) || !strings.Contains(err.Error(), `initializer "w"`) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err == nil {
		if _, err := load("link", "0", "8"); err == nil {
			t.Error("a link out of the directory was followed")
		}
	}
}
