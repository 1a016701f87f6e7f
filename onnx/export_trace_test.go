package onnx_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/nn/fn"
	"github.com/sinter-go/sinter/onnx"
)

// function is a function to export, with inputs to try it on.
type function struct {
	f  func(in []*sinter.Tensor) ([]*sinter.Tensor, error)
	in []*sinter.Tensor
}

func one(t *sinter.Tensor) ([]*sinter.Tensor, error) { return []*sinter.Tensor{t}, nil }

func functions() map[string]function {
	g := sinter.NewGenerator(3)
	draw := func(shape ...int) *sinter.Tensor { return g.Uniform(sinter.Of{}, sinter.F32, shape...).Sub(0.5) }
	first, second := nn.NewLinear(g, 8, 16), nn.NewLinear(g, 16, 3)
	table, embedding := draw(10, 6), nn.NewEmbedding(g, 10, 4)
	kernel, bias := draw(4, 3, 3, 3), draw(4)
	block := nn.NewTransformerBlock(g, 8, 2, 16)
	ids := sinter.FromSlice([]int64{1, 9, 0, 4}, 2, 2)
	return map[string]function{
		"layers": {func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			return one(second.Forward(first.Forward(in[0]).Relu()).Softmax(-1))
		}, []*sinter.Tensor{draw(5, 8)}},
		"convolution": {func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			y := fn.Conv(in[0], kernel, bias, fn.ConvOptions{Pad: []int{1, 1, 1, 1}, Stride: []int{2, 2}}).Relu()
			return one(fn.MaxPool(y, fn.PoolOptions{Kernel: []int{2, 2}}).Mean(sinter.Over(2, 3)))
		}, []*sinter.Tensor{draw(2, 3, 12, 12)}},
		"a table first": {func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {

			return one(table.Gather(0, in[0]).Sum(sinter.Over(1)))

		}, []*sinter.Tensor{ids}},
		"an embedding": {func(in []*sinter.Tensor) ([]*sinter.Tensor, error) { return one(embedding.Forward(in[0])) }, []*sinter.Tensor{ids}},
		"transformer": {func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			y := block.Forward(in[0])
			return one(y)
		}, []*sinter.Tensor{draw(2, 5, 8)}},
		"several outputs": {func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			values, index := in[0].Sort(-1, false)
			return []*sinter.Tensor{values, index, in[1], in[0].Slice(sinter.All(), sinter.All().Back(2)), values}, nil
		}, []*sinter.Tensor{draw(3, 4), draw(2)}},
	}
}

// TestExportFunctions: a function that was exported, written and read again gives
// the bits of the function.
func TestExportFunctions(t *testing.T) {
	ctx := context.Background()
	for name, c := range functions() {
		t.Run(name, func(t *testing.T) {
			var ports []onnx.Port
			inputs := map[string]*sinter.Tensor{}
			for i, x := range c.in {
				if err := x.Err(); err != nil {
					t.Fatal(err)
				}
				p := onnx.Port{Name: fmt.Sprintf("in%d", i), DType: x.DType(), Shape: x.Shape()}
				ports, inputs[p.Name] = append(ports, p), x
			}
			traced, err := onnx.Trace(ctx, c.f, ports...)
			if err != nil {
				t.Fatal(err)
			}
			model, err := onnx.Export(traced)
			if err != nil {
				t.Fatal(err)
			}
			file, err := model.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			read, err := onnx.Parse(file)
			if err != nil {
				t.Fatal(err)
			}
			prog, err := read.Compile()
			if err != nil {
				t.Fatal(err)
			}
			got, err := prog.Run(ctx, inputs)
			if err != nil {
				t.Fatal(err)
			}
			want, err := c.f(c.in)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range prog.Outputs() {
				a, err := sinter.Read(ctx, got[o.Name], want[i])
				if err != nil {
					t.Fatal(err)
				}
				if a[0].DType != a[1].DType || !slices.Equal(a[0].Shape, a[1].Shape) || !slices.Equal(a[0].Bytes, a[1].Bytes) {
					t.Errorf("output %d: %s%v, expected %s%v", i, a[0].DType, a[0].Shape, a[1].DType, a[1].Shape)
				}
			}
		})
	}
}

func TestExportRefuses(t *testing.T) {
	ctx := context.Background()
	port := onnx.Port{Name: "x", DType: sinter.F32, Shape: []int{3, 3}}
	traced, err := onnx.Trace(ctx, func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		return one(in[0].Erfc().Add(in[0].Variance(0).Cbrt()))
	}, port)
	if err != nil {
		t.Fatal(err)
	}
	_, err = onnx.Export(traced)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"3 operations", "erfc", "variance", "cbrt", "export_trace_test.go:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	for name, f := range map[string]func(in []*sinter.Tensor) ([]*sinter.Tensor, error){
		"reads a tensor while it is traced": func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			_, err := sinter.Item[float32](ctx, in[0].Sum())
			return nil, err
		},
		"returned no tensor":              func([]*sinter.Tensor) ([]*sinter.Tensor, error) { return nil, nil },
		"does not depend on the argument": func([]*sinter.Tensor) ([]*sinter.Tensor, error) { return one(sinter.Zeros(sinter.F32, 2)) },
		"matmul": func(in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			return one(in[0].MatMul(sinter.Zeros(sinter.F32, 5)))
		},
	} {
		if _, err := onnx.Trace(ctx, f, port); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, expected %q", err, name)
		}
	}
}
