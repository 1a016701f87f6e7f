package nn_test

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// A small convolutional network for images of 28 by 28.
func ExampleNewConv2d() {
	g := sinter.NewGenerator(1)
	m := nn.Sequential{
		nn.NewConv2d(g, 1, 8, 3, nn.PadSame(), nn.NoBias()), nn.NewBatchNorm(8), nn.ReLU,
		nn.MaxPool{Kernel: []int{2}},
		nn.NewConv2d(g, 8, 16, 3, nn.Stride(2)), nn.ReLU,
		nn.GlobalAvgPool, nn.NewLinear(g, 16, 10),
	}
	fmt.Println(m.Forward(sinter.Zeros(sinter.F32, 5, 1, 28, 28)).Shape())
	fmt.Print(nn.Summary(m))
	// Output:
	// [5 10]
	// name                   shape       dtype  elements
	// 0.weight               [8 1 3 3]   f32    72
	// 1.weight               [8]         f32    8
	// 1.bias                 [8]         f32    8
	// 1.running_mean         [8]         f32    8  buffer
	// 1.running_var          [8]         f32    8  buffer
	// 1.num_batches_tracked  []          i64    1  buffer
	// 4.weight               [16 8 3 3]  f32    1,152
	// 4.bias                 [16]        f32    16
	// 7.weight               [10 16]     f32    160
	// 7.bias                 [10]        f32    10
	// total                                     1,426
}

// A model of your own passes the mode on to its layers.
type Classifier struct {
	Hidden *nn.Linear
	Norm   *nn.BatchNorm
	Drop   nn.Dropout
	Out    *nn.Linear
}

func (c *Classifier) Forward(x *sinter.Tensor) *sinter.Tensor { return c.ForwardMode(nn.Mode{}, x) }

func (c *Classifier) ForwardMode(m nn.Mode, x *sinter.Tensor) *sinter.Tensor {
	x = c.Norm.ForwardMode(m, c.Hidden.Forward(x)).Relu()
	return c.Out.Forward(c.Drop.ForwardMode(m, x))
}

// A training step takes the mode of training, an evaluation takes none.
func ExampleForward() {
	g := sinter.NewGenerator(1)
	c := &Classifier{nn.NewLinear(g, 4, 8), nn.NewBatchNorm(8), nn.Dropout{P: 0.5}, nn.NewLinear(g, 8, 3)}
	opt := optim.NewAdam(nn.Params(c), optim.Constant(0.01))
	draws := sinter.NewGenerator(2)
	x, labels := g.Normal(sinter.Of{}, sinter.F32, 16, 4), sinter.Arange(16, sinter.I64).Mod(3)

	s := sinter.NewScope("step")
	defer s.End()
	loss := nn.CrossEntropy(nn.Forward(nn.Training(draws), c, s.In(x)), labels)
	grads, err := autodiff.Gradients(loss, nn.Vars(c)...)
	if err == nil {
		err = opt.Step(grads)
	}
	fmt.Println(err, c.Norm.NumBatchesTracked.Value(), c.Forward(x).Shape())
	// Output: <nil> 1 i64[] [16 3]
}

// A decoder generates a position at a time; the cache holds what was before.
func ExampleMultiHeadAttention_ForwardCached() {
	g := sinter.NewGenerator(1)
	block := nn.NewTransformerBlock(g, 32, 4, 64, nn.Causal(), nn.KVHeads(2), nn.Rotary(10000), nn.SwiGLU(), nn.RMS(), nn.NoBias())
	x := g.Normal(sinter.Of{}, sinter.F32, 1, 5, 32)
	whole := block.Forward(x)

	cache := block.Attention.NewCache(1, 16)
	prompt := block.ForwardCached(x.Slice(sinter.All(), sinter.Until(4)), cache)
	next := block.ForwardCached(x.Slice(sinter.All(), sinter.From(4)), cache)
	equal, err := sinter.Item[bool](context.Background(), sinter.Concat(1, prompt, next).Eq(whole).All()) // bit for bit
	fmt.Println(cache.Length, cache.Capacity(), equal, err)
	// Output: 5 16 true <nil>
}

// A prompt goes in at once, and then one position after the other, at a place that the
// device counts: a step that is captured decodes all of them.
func ExampleMultiHeadAttention_ForwardStep() {
	ctx := context.Background()
	device, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	on, g := sinter.On(device), sinter.NewGenerator(1)
	block := nn.NewTransformerBlock(g, 32, 4, 64, nn.On(device), nn.Causal(), nn.KVHeads(2), nn.Rotary(10000), nn.SwiGLU(), nn.RMS(), nn.NoBias())
	x := g.Normal(on, sinter.F32, 1, 12, 32)
	whole := block.Forward(x)

	cache := block.Attention.NewCache(1, 16)
	block.ForwardCached(x.Slice(sinter.All(), sinter.Until(4)), cache)
	place := sinter.NewVar(on.Full(cache.Length, sinter.I64))
	place.Freeze()
	step := sinter.Capture(device, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		at := nn.At(place.In(s))
		y := block.ForwardStep(in[0], at, cache)
		return []*sinter.Tensor{y}, place.Set(at.Position().Add(1))
	})
	defer step.Release()
	near := true
	for i := 4; i < 12; i++ {
		span := []sinter.Range{sinter.All(), sinter.Span(i, i+1)}
		out, err := step.Run(ctx, x.Slice(span...).Add(0)) // a tensor of its own
		if err != nil {
			fmt.Println(err)
			return
		}
		off, err := sinter.Item[float32](ctx, out[0].Sub(whole.Slice(span...)).Abs().Max())
		near = near && err == nil && off < 1e-5
	}
	fmt.Println(near, step.Stats().Replayed > 0)
	// Output: true true
}

func ExampleNewLSTM() {
	g := sinter.NewGenerator(1)
	net := nn.NewLSTM(g, 8, 16, nn.Layers(2), nn.Bidirectional())
	y, last := net.Run(nn.Mode{}, sinter.Zeros(sinter.F32, 5, 3, 8), nn.State{})
	fmt.Println(net, y.Shape(), last.H.Shape(), last.C.Shape())
	// Output: LSTM(8 → 16, 2 layers, both ways) [5 3 32] [4 3 16] [4 3 16]
}

func ExampleEmbedding() {
	g := sinter.NewGenerator(1)
	table, positions := nn.NewEmbedding(g, 100, 8), nn.NewLearnedPositions(g, 32, 8)
	tokens := sinter.FromSlice([]int64{5, 3, 99, 5}, 1, 4)
	fmt.Println(positions.Forward(table.Forward(tokens)).Shape())
	// Output: [1 4 8]
}

func ExampleShapes() {
	g := sinter.NewGenerator(1)
	m := nn.Sequential{nn.NewConv2d(g, 1, 8, 3, nn.PadSame()), nn.MaxPool{Kernel: []int{2}}, nn.Flatten, nn.NewLinear(g, 512, 10)}
	fmt.Print(nn.Shapes(m, sinter.Zeros(sinter.F32, 5, 1, 16, 16)))
	// Output:
	// layer                                    result       dtype
	// x                                        [5 1 16 16]  f32
	// 0: Conv(1 → 8, kernel 3 3, pad 1 1 1 1)  [5 8 16 16]  f32
	// 1: MaxPool(2)                            [5 8 8 8]    f32
	// 2: Flatten                               [5 512]      f32
	// 3: Linear(512 → 10)                      [5 10]       f32
}
