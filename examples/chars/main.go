// Command chars trains a small transformer on the characters of a text, tells how
// well it foresees the part that it has not seen, and lets it write on:
//
//	go run ./examples/chars RATIONALE.md
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train/metric"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chars FILE")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		_, err = run(context.Background(), os.Stdout, string(text), 600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	length = 64 // characters that are seen at once
	batch  = 16
	width  = 64
	heads  = 4
	blocks = 2
)

// model gives logits of the character after each.
type model struct {
	Embedding *nn.Embedding
	Blocks    nn.Sequential
	Norm      *nn.RMSNorm
	Out       *nn.Linear
}

func newModel(characters int) *model {
	g := sinter.NewGenerator(1)
	m := &model{Embedding: nn.NewEmbedding(g, characters, width), Norm: nn.NewRMSNorm([]int{width}), Out: nn.NewLinear(g, width, characters)}
	for range blocks {
		m.Blocks = append(m.Blocks, nn.NewTransformerBlock(g, width, heads, 2*width, nn.Causal(), nn.Rotary(10000), nn.RMS(), nn.SwiGLU()))
	}
	return m
}

// forward takes characters of shape [n, length].
func (m *model) forward(x *sinter.Tensor) *sinter.Tensor {
	return m.Out.Forward(m.Norm.Forward(m.Blocks.Forward(m.Embedding.Forward(x))))
}

// corpus is a text as numbers of its characters.
type corpus struct {
	characters  []rune
	learn, test []int64
}

// read numbers the characters of a text, and keeps its last tenth apart.
func read(text string) (*corpus, error) {
	runes := []rune(text)
	if len(runes) < 30*length {
		return nil, fmt.Errorf("a text of %d characters, too short to learn from", len(runes))
	}
	c := &corpus{characters: slices.Compact(slices.Sorted(slices.Values(runes)))}
	all := make([]int64, len(runes))
	for i, r := range runes {
		at, _ := slices.BinarySearch(c.characters, r)
		all[i] = int64(at)
	}
	cut := len(all) * 9 / 10
	c.learn, c.test = all[:cut], all[cut:]
	return c, nil
}

// result is perplexities of the part not seen: how many characters there are to
// choose from, in effect.
type result struct {
	Model     float64
	Frequency float64 // of knowing how frequent characters are
	Text      string  // that the model wrote
}

func run(ctx context.Context, w io.Writer, text string, steps int) (result, error) {
	c, err := read(text)
	if err != nil {
		return result{}, err
	}
	m := newModel(len(c.characters))
	fmt.Fprintf(w, "%d characters of %d kinds, %d parameters\n", len(c.learn)+len(c.test), len(c.characters), nn.Count(m))
	opt := optim.NewAdamW(nn.Params(m), optim.Warmup(int64(steps)/20, optim.Cosine(0.004, 0.0004, int64(steps))), 0.05)
	r := rand.New(rand.NewPCG(1, 1))
	for step := range steps {
		loss, err := c.step(ctx, m, opt, r, (step+1)%(max(steps/10, 1)) == 0)
		if err != nil {
			return result{}, err
		}
		if loss > 0 {
			fmt.Fprintf(w, "step %4d  loss %.3f\n", step+1, loss)
		}
	}
	out := result{Frequency: c.frequency()}
	if out.Model, err = c.perplexity(ctx, m); err != nil {
		return out, err
	}
	fmt.Fprintf(w, "perplexity %.2f on what it has not seen; %.2f by frequencies alone\n", out.Model, out.Frequency)
	if out.Text, err = c.write(ctx, m, r, 200); err != nil {
		return out, err
	}
	fmt.Fprintf(w, "%s\n", out.Text)
	return out, nil
}

// step learns from some places of the text; it waits for the loss if asked to.
func (c *corpus) step(ctx context.Context, m *model, opt optim.Optimizer, r *rand.Rand, report bool) (float32, error) {
	var x, y []int64
	for range batch {
		at := r.IntN(len(c.learn) - length)
		x, y = append(x, c.learn[at:at+length]...), append(y, c.learn[at+1:at+length+1]...)
	}
	s := sinter.NewScope("step")
	defer s.End()
	in, next := sinter.FromSlice(x, batch, length), sinter.FromSlice(y, batch, length)
	defer in.Release()
	defer next.Release()
	loss := nn.CrossEntropy(m.forward(s.In(in)), s.In(next))
	grads, err := autodiff.Gradients(loss, nn.Vars(m)...)
	if err != nil {
		return 0, err
	}
	grads, _ = optim.ClipByNorm(grads, 1)
	if err := opt.Step(grads); err != nil || !report {
		return 0, err
	}
	return sinter.Item[float32](ctx, loss)
}

// perplexity measures the model on the part that it has not seen.
func (c *corpus) perplexity(ctx context.Context, m *model) (float64, error) {
	var p metric.Perplexity
	for at := 0; at+length < len(c.test); at += length {
		s := sinter.NewScope("test", sinter.NoGrad())
		x := sinter.FromSlice(c.test[at:at+length], 1, length)
		loss, err := sinter.Item[float32](ctx, nn.CrossEntropy(m.forward(s.In(x)), s.In(sinter.FromSlice(c.test[at+1:at+length+1], 1, length))))
		x.Release()
		s.End()
		if err != nil {
			return 0, err
		}
		p.AddMean(float64(loss), length)
	}
	return p.Value(), nil
}

// frequency is the perplexity of guessing by how often characters occur.
func (c *corpus) frequency() float64 {
	counts := make([]float64, len(c.characters))
	for _, v := range c.learn {
		counts[v]++
	}
	var p metric.Perplexity
	for _, v := range c.test {
		p.AddMean(-math.Log((counts[v]+1)/float64(len(c.learn)+len(counts))), 1)
	}
	return p.Value()
}

// write lets the model go on after the text, a character at a time.
func (c *corpus) write(ctx context.Context, m *model, r *rand.Rand, n int) (string, error) {
	seen := slices.Clone(c.test)
	var out []rune
	for range n {
		s := sinter.NewScope("write", sinter.NoGrad())
		x := sinter.FromSlice(seen[len(seen)-length:], 1, length)
		// Divided by less than 1, likely characters become more likely.
		p, err := sinter.Data[float32](ctx, m.forward(s.In(x)).At(1, length-1).Div(0.7).Softmax(-1))
		x.Release()
		s.End()
		if err != nil {
			return "", err
		}
		next, u := len(p)-1, r.Float32()
		for i, v := range p {
			if u -= v; u < 0 {
				next = i
				break
			}
		}
		seen, out = append(seen, int64(next)), append(out, c.characters[next])
	}
	return string(out), nil
}
