package sinter

import (
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// Generator makes random tensors. Draw n of a generator is a function of its
// seed, n, and the index of the element alone: the same on every device, thread
// count and run. It is safe for concurrent use; goroutines that share one get
// distinct draws, in an order that is theirs to settle.
type Generator struct {
	seed  uint64
	draws atomic.Uint64
}

// NewGenerator returns a generator with a seed.
func NewGenerator(seed uint64) *Generator { return &Generator{seed: seed} }

// Draws returns the number of draws so far, and SetDraws continues from one: a
// checkpoint of a generator is its seed and this number.
func (g *Generator) Draws() uint64 { return g.draws.Load() }

// SetDraws sets the number of draws made.
func (g *Generator) SetDraws(n uint64) { g.draws.Store(n) }

// Seed returns the seed.
func (g *Generator) Seed() uint64 { return g.seed }

// keyOf mixes seed and draw number to the 64-bit key of a draw (the finaliser of
// SplitMix64, applied twice; Steele, Lea, Flood, 2014).
func (g *Generator) keyOf(draw uint64) int64 {
	mix := func(z uint64) uint64 {
		z += 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	return int64(mix(mix(g.seed) ^ draw))
}

// Uniform draws from [0, 1) in f32 or f64.
func (g *Generator) Uniform(o Of, d DType, shape ...int) *Tensor {
	return g.draw("uniform", o, d, shape)
}

// Normal draws from the standard normal distribution in f32 or f64.
func (g *Generator) Normal(o Of, d DType, shape ...int) *Tensor {
	return g.draw("normal", o, d, shape)
}

func (g *Generator) draw(row string, o Of, d DType, shape []int, more ...any) *Tensor {
	if !d.Valid() {
		return createError(row, ir.Errorf(ir.ErrDType, "%s is not a dtype", d))
	}
	s, n := o.stream(), g.draws.Add(1)
	key := g.keyOf(n)
	s.drew(g, n, key)
	return apply(ir.Lookup(row), s, nil, append(ir.A("shape", shape, "dtype", d, "key", key), ir.A(more...)...))[0]
}
