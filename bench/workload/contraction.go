package workload

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/nn/fn"
	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/optim"
)

// Workloads that multiply and add.

var productSizes = [][]int{{1024, 1024, 1024}, {128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {2048, 2048, 2048},
	{100, 100, 100}, {1000, 1000, 1000}, {197, 768, 768}, {64, 3072, 768}, {16, 4096, 4096}, {1, 4096, 4096}}

// productsOnGPU are square ones, that of a feed-forward layer, and odd sizes.
var productsOnGPU = append(in(ir.F32, []int{4096, 4096, 4096}, []int{1024, 1024, 1024}, []int{8192, 8192, 8192}, []int{1000, 1000, 1000}),
	in(ir.BF16, []int{4096, 4096, 4096}, []int{1024, 1024, 1024}, []int{2048, 2048, 2048}, []int{8192, 8192, 8192},
		[]int{4096, 11008, 4096}, []int{4097, 4097, 4097}, []int{512, 50257, 768})...)

var skinny = [][]int{{16, 4096, 4096}, {4, 4096, 4096}, {1, 4096, 4096}, {64, 3072, 768}}

// unit is the arithmetic in which a dtype is multiplied.
func unit(t ir.DType) limit.Kind {
	switch t {
	case ir.F64:
		return limit.F64
	case ir.BF16:
		return limit.BF16
	case ir.I8:
		return limit.Int8
	}
	return limit.F32
}

// accumulated is the dtype of a product.
func accumulated(t ir.DType) ir.DType {
	if t == ir.I8 {
		return ir.I32
	}
	return t
}

func productCost(s []int, t ir.DType) Cost {
	m, n, k := int64(s[0]), int64(s[1]), int64(s[2])
	size := int64(t.Size())
	return Cost{Bytes: size*(m*k+k*n) + int64(accumulated(t).Size())*m*n, Moves: limit.Read, Work: 2 * float64(m) * float64(n) * float64(k), Unit: unit(t)}
}

// operands are those of a product; z is [n, k] if it is transposed.
func operands(transposed, constant bool) func([]int, ir.DType) []input {
	return func(s []int, t ir.DType) []input {
		z := []int{s[2], s[1]}
		if transposed {
			z = []int{s[1], s[2]}
		}
		return []input{{t: t, shape: []int{s[0], s[2]}}, {t: t, shape: z, constant: constant}}
	}
}

// multiply is x·z, of i8 with sums in i32.
func multiply(x, z *sinter.Tensor) list {
	if x.DType() == ir.I8 {
		x, z = x.Cast(ir.I32), z.Cast(ir.I32)
	}
	return list{x.MatMul(z)}
}

var products = []op{
	{group: "products", name: "matmul", inputs: operands(false, false), cost: productCost,
		cases: append(append(append(in(ir.F32, productSizes...), in(ir.F64, productSizes[0], productSizes[3])...), in(ir.BF16, productSizes[0], productSizes[3])...),
			in(ir.I8, productSizes[0], productSizes[3])...), gpu: productsOnGPU,
		call: func(_ []int, in list) list { return multiply(in[0], in[1]) }},
	{group: "products", name: "matmul_t", inputs: operands(true, false), cost: productCost, cases: in(ir.F32, []int{512, 512, 512}, []int{1, 4096, 4096}),
		call: func(_ []int, in list) list { return multiply(in[0], in[1].Transpose()) }},
	{group: "products", name: "matmul_packed", inputs: operands(false, true), cost: productCost, cases: in(ir.F32, skinny...),
		call: func(_ []int, in list) list { return multiply(in[0], in[1]) }},
	quantized(8), quantized(4),
	{group: "products", name: "linear_gelu", gpu: in(ir.BF16, []int{4096, 4096, 4096}),
		cost: func(s []int, t ir.DType) Cost {
			c := productCost(s, t)
			c.Bytes += int64(s[1] * t.Size())
			return c
		},
		inputs: func(s []int, t ir.DType) []input {
			return append(operands(false, true)(s, t), input{t: t, shape: s[1:2], constant: true})
		},
		call: func(_ []int, in list) list { return list{in[0].MatMul(in[1]).Add(in[2]).Gelu()} }},
}

// quantized multiplies a vector by weights of so many bits, in blocks of 32 with a
// scale of f16 each: [out, in].
func quantized(bits int) op {
	return op{group: "products", name: fmt.Sprintf("matvec_q%d", bits), cases: in(ir.F32, []int{4096, 4096}),
		cost: func(s []int, _ ir.DType) Cost {
			weights := int64(s[0]) * int64(s[1])
			return Cost{Bytes: weights*int64(bits)/8 + weights/32*2, Moves: limit.Read}
		},
		state: func(s []int, t ir.DType, d *sinter.Device) stateStep {
			on := sinter.On(d)
			w := input{t: t, shape: s}.make(on, 1)
			q := w.Quantize(sinter.Scheme{Bits: bits, Per: sinter.PerBlock, Block: 32, Axis: 1, Scale: ir.F16})
			w.Release()
			x := input{t: t, shape: []int{1, s[1]}}.make(on, 2)
			return func(s *sinter.Scope) ([]*sinter.Tensor, error) {
				return list{q.In(s).Linear(s.In(x))}, q.Err()
			}
		}}
}

// conv is the sizes of a convolution by name.
type conv struct{ batch, in, h, w, out, kh, kw, stride, pad, groups int }

func convOf(s []int) conv {
	return conv{s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9]}
}

func (c conv) extent() (h, w int) {
	return (c.h+2*c.pad-c.kh)/c.stride + 1, (c.w+2*c.pad-c.kw)/c.stride + 1
}

func convCost(s []int, t ir.DType) Cost {
	c := convOf(s)
	h, w := c.extent()
	weights := c.out * c.in / c.groups * c.kh * c.kw
	elements := c.batch*c.in*c.h*c.w + weights + c.batch*c.out*h*w
	return Cost{Bytes: int64(elements * t.Size()), Moves: limit.Read, Work: 2 * float64(c.batch*h*w) * float64(weights), Unit: unit(t)}
}

func convLabel(s []int) string {
	c := convOf(s)
	kind := ""
	if c.groups > 1 {
		kind = fmt.Sprintf("/groups%d", c.groups)
	}
	return fmt.Sprintf("%dx%dx%dx%d-%d/%dx%d/stride%d%s", c.batch, c.in, c.h, c.w, c.out, c.kh, c.kw, c.stride, kind)
}

// resnet has the distinct convolutions of ResNet-18.
func resnet() []variant {
	var out []variant
	for _, batch := range []int{1, 8} {
		for _, c := range [][]int{{3, 224, 64, 7, 2, 3}, {64, 56, 64, 3, 1, 1}, {64, 56, 128, 3, 2, 1}, {64, 56, 128, 1, 2, 0}, {128, 28, 128, 3, 1, 1},
			{128, 28, 256, 3, 2, 1}, {128, 28, 256, 1, 2, 0}, {256, 14, 256, 3, 1, 1}, {256, 14, 512, 3, 2, 1}, {256, 14, 512, 1, 2, 0}, {512, 7, 512, 3, 1, 1}} {
			out = append(out, variant{t: ir.F32, sizes: []int{batch, c[0], c[1], c[1], c[2], c[3], c[3], c[4], c[5], 1}, quick: batch == 1 && c[0] == 128 && c[2] == 128})
		}
	}
	return append(out, variant{t: ir.F32, sizes: []int{8, 32, 56, 56, 64, 3, 3, 1, 1, 1}})
}

// mobilenet has the depthwise convolutions of MobileNet.
func mobilenet() []variant {
	var out []variant
	for _, c := range [][]int{{32, 112, 1}, {64, 112, 2}, {128, 56, 1}, {128, 56, 2}, {256, 28, 1}, {256, 28, 2}, {512, 14, 1}, {512, 14, 2}, {1024, 7, 1}} {
		out = append(out, variant{t: ir.F32, sizes: []int{1, c[0], c[1], c[1], c[0], 3, 3, c[2], 1, c[0]}, quick: c[0] == 128 && c[2] == 1})
	}
	return out
}

var convolutions = []op{
	{group: "convolutions", name: "conv2d", label: convLabel, cases: append(resnet(), mobilenet()...), cost: convCost,
		operator: func(s []int) *onnx.Node {
			c := convOf(s)
			ints := func(name string, v ...int64) *onnx.Attr { return &onnx.Attr{Name: name, Kind: onnx.AttrInts, Ints: v} }
			stride, pad := int64(c.stride), int64(c.pad)
			return &onnx.Node{Op: "Conv", Attrs: []*onnx.Attr{ints("strides", stride, stride), ints("pads", pad, pad, pad, pad),
				{Name: "group", Kind: onnx.AttrInt, Int: int64(c.groups)}}}
		},
		inputs: func(s []int, t ir.DType) []input {
			c := convOf(s)
			return []input{{t: t, shape: []int{c.batch, c.in, c.h, c.w}}, {t: t, shape: []int{c.out, c.in / c.groups, c.kh, c.kw}, constant: true}}
		},
		call: func(s []int, in list) list {
			c := convOf(s)
			return list{fn.Conv(in[0], in[1], nil, fn.ConvOptions{Stride: []int{c.stride, c.stride}, Pad: []int{c.pad, c.pad, c.pad, c.pad}, Groups: c.groups})}
		}},
}

var attentions = []op{
	{group: "attention", name: "attention", cases: in(ir.F32, []int{1, 12, 128, 64, 0}, []int{1, 12, 1024, 64, 0}, []int{1, 12, 1024, 64, 1}, []int{1, 12, 4096, 64, 0}),
		gpu:   append(in(ir.BF16, longHeads...), variant{t: ir.F32, sizes: []int{1, 8, 1024, 64, 0}}),
		label: attentionLabel, cost: attentionCost(1, 4),
		inputs: func(s []int, t ir.DType) []input { return tensors(3)(s[:4], t) },
		call: func(s []int, in list) list {
			return list{fn.Attention(in[0], in[1], in[2], fn.AttentionOptions{Causal: s[4] == 1})}
		}},
	// Forward and backward: 2 and 5 products of scores.
	{group: "attention", name: "attention_gradient", cases: in(ir.F32, []int{1, 12, 256, 64, 1}), gpu: in(ir.BF16, longHeads...),
		label: attentionLabel, cost: attentionCost(3.5, 8), state: attentionGradient},
}

// longHeads are batch, heads, length and width of a head, and whether it is causal.
var longHeads = [][]int{{1, 16, 4096, 128, 1}, {1, 16, 16384, 128, 1}, {1, 16, 4096, 64, 1}, {8, 12, 512, 64, 1}}

func attentionLabel(s []int) string {
	causal := ""
	if s[4] == 1 {
		causal = "/causal"
	}
	return times(s[:4]...) + causal
}

// attentionCost is that of so many times the products of attention, over so many tensors.
func attentionCost(products float64, moved int) func(s []int, t ir.DType) Cost {
	return func(s []int, t ir.DType) Cost {
		batch, heads, length, head := s[0], s[1], s[2], s[3]
		work := products * 4 * float64(batch*heads*head) * float64(length) * float64(length)
		if s[4] == 1 {
			work /= 2
		}
		return Cost{Bytes: int64(moved * product(s[:4]) * t.Size()), Moves: limit.Copy, Work: work, Unit: unit(t)}
	}
}

// attentionGradient computes attention, and the gradients of its operands for a gradient of
// ones.
func attentionGradient(s []int, t ir.DType, d *sinter.Device) stateStep {
	var operands list
	for i, p := range tensors(3)(s[:4], t) {
		operands = append(operands, p.make(sinter.On(d), uint64(i)+1))
	}
	return func(scope *sinter.Scope) ([]*sinter.Tensor, error) {
		var x list
		for _, o := range operands {
			x = append(x, scope.In(o).Track())
		}
		y := fn.Attention(x[0], x[1], x[2], fn.AttentionOptions{Causal: s[4] == 1})
		grads, err := autodiff.VJP(list{y}, nil, x)
		return append(list{y.Detach()}, grads...), err
	}
}

var trainings = []op{
	{group: "training", name: "train_mlp", cases: in(ir.F32, []int{128, 784, 256, 10}), gpu: in(ir.F32, []int{128, 784, 256, 10}), state: trainMLP, cost: mlpCost},
	{group: "training", name: "train_mlp2", gpu: in(ir.F32, []int{128, 784, 512, 512, 10}), state: trainMLP, cost: mlpCost},
	{group: "training", name: "train_transformer", cases: in(ir.F32, []int{8, 128, 256, 4, 4}), gpu: in(ir.F32, []int{8, 128, 256, 4, 4}), state: trainTransformer,
		cost: func(s []int, t ir.DType) Cost {
			tokens, length, width, layers := s[0]*s[1], s[1], s[2], s[4]
			weights := layers * 12 * width * width
			attention := 2 * float64(layers*tokens) * float64(length*width) // causal: half of 4·length·width each
			return Cost{Bytes: int64(7 * weights * t.Size()), Moves: limit.Copy, Work: 3 * (2*float64(tokens)*float64(weights) + attention), Unit: unit(t)}
		}},
}

// mlpCost is that of the batch and the widths of layers, inputs and classes included.
func mlpCost(s []int, t ir.DType) Cost {
	batch, widths, weights := s[0], s[1:], 0
	for i := range widths[1:] {
		weights += widths[i] * widths[i+1]
	}
	// Forward, the weights' gradients, and the inputs' of all layers but the first;
	// Adam reads four tensors of the weights and writes three.
	return Cost{Bytes: int64(7 * weights * t.Size()), Moves: limit.Copy, Work: 2 * float64(batch) * float64(3*weights-widths[0]*widths[1]), Unit: unit(t)}
}

func trainMLP(s []int, t ir.DType, d *sinter.Device) stateStep {
	g := sinter.NewGenerator(1)
	on, at := sinter.On(d), nn.On(d)
	model := nn.Sequential{nn.NewLinear(g, s[1], s[2], at)}
	for i := 2; i < len(s)-1; i++ {
		model = append(model, nn.ReLU, nn.NewLinear(g, s[i], s[i+1], at))
	}
	x := input{t: t, shape: s[:2]}.make(on, 1)
	labels := input{t: ir.I64, shape: s[:1], below: s[len(s)-1]}.make(on, 2)
	return training(model, optim.NewAdam(nn.Trainable(model), optim.Constant(1e-3)), func(scope *sinter.Scope, forward func(*sinter.Tensor) *sinter.Tensor) *sinter.Tensor {
		return nn.CrossEntropy(forward(scope.In(x)), scope.In(labels))
	})
}

func trainTransformer(s []int, t ir.DType, d *sinter.Device) stateStep {
	on, g := sinter.On(d), sinter.NewGenerator(1)
	model := nn.Sequential{}
	for range s[4] {
		model = append(model, nn.NewTransformerBlock(g, s[2], s[3], 4*s[2], nn.On(d), nn.Causal()))
	}
	x, target := input{t: t, shape: s[:3]}.make(on, 1), input{t: t, shape: s[:3]}.make(on, 2)
	return training(model, optim.NewAdam(nn.Trainable(model), optim.Constant(1e-3)), func(scope *sinter.Scope, forward func(*sinter.Tensor) *sinter.Tensor) *sinter.Tensor {
		return forward(scope.In(x)).Sub(scope.In(target)).Square().Mean()
	})
}

// training steps a model: forward, backward, update.
func training(model nn.Layer, rule optim.Optimizer, loss func(s *sinter.Scope, forward func(*sinter.Tensor) *sinter.Tensor) *sinter.Tensor) stateStep {
	var vars []*sinter.Var
	for _, p := range rule.Params() {
		vars = append(vars, p.Var)
	}
	mode := nn.Training(sinter.NewGenerator(2))
	return func(s *sinter.Scope) ([]*sinter.Tensor, error) {
		l := loss(s, func(x *sinter.Tensor) *sinter.Tensor { return nn.Forward(mode, model, x) })
		grads, err := autodiff.Gradients(l, vars...)
		if err != nil {
			return nil, err
		}
		if err := rule.Step(grads); err != nil {
			return nil, err
		}
		return list{l.Detach()}, nil
	}
}
