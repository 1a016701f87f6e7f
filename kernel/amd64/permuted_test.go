package amd64

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestPermuted runs random elementwise kernels whose arguments are adjacent along
// different axes on several tiles and parts of tiles, also of slices.
func TestPermuted(t *testing.T) {
	found := 0
	for seed := int64(0); found < 120; seed++ {
		r := rand.New(rand.NewSource(seed))
		k, axes := randomKernel(r, seed)
		if seed%2 == 0 {
			k, axes = fusedKernel(r, "elementwise", seed)
		}
		if k.Verify() != nil {
			continue
		}
		codes, in := prepare(t, k, false)
		codes = slices.DeleteFunc(codes, func(c *Code) bool { return c.permuted == nil })
		if len(codes) == 0 {
			continue
		}
		found++
		extents := make([]int64, len(axes))
		for i := range extents {
			extents[i] = 1 + r.Int63n(3)
		}
		p := codes[0].permuted
		extents[p.along], extents[p.lanes] = permutedAlong+r.Int63n(100), permutedLanes+r.Int63n(300)
		agree(t, r, k, codes, in, extents, []filler{randomBits, plainBits}[found%2])
		for _, c := range codes {
			if c.permuting(launch(r, k, extents, plainBits)) == nil {
				t.Fatalf("no tiles for %v", k)
			}
		}
		if found%20 == 0 { // the tiles' code is kept too
			for i, c := range codes {
				if codes[i] = reload(t, c); codes[i].permuted.made.Load() == nil {
					t.Fatalf("no tiles in the saved code of %v", k)
				}
			}
			agree(t, r, k, codes, in, extents, plainBits)
		}
	}
}

// BenchmarkPermuted measures transpositions against a copy of as many bytes, in
// turn: the share of the copy's time.
func BenchmarkPermuted(b *testing.B) {
	for _, t := range []ir.DType{ir.F32, ir.F64} {
		k := kernel.NewBuilder("transpose", []kernel.AxisKind{kernel.Parallel, kernel.Parallel})
		k.Store(k.AddArg(arg(t, kernel.Out, kernel.Strided, kernel.Unit)), k.Load(k.AddArg(arg(t, kernel.In, kernel.Unit, kernel.Strided))))
		for _, n := range []int64{64, 1024, 4096} {
			l, bytes := dense(k.K, n, n)
			x, y := touched(int(bytes/2)), aligned(int(bytes/2))
			for _, level := range levels {
				if !Available(level) {
					continue
				}
				code, err := Compile(k.K, level)
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("%s.%d/%s", t, n, level), func(b *testing.B) {
					best := [2]time.Duration{1 << 40, 1 << 40}
					for b.Loop() {
						t0 := time.Now()
						code.Run(l)
						t1 := time.Now()
						copy(y, x)
						best = [2]time.Duration{min(best[0], t1.Sub(t0)), min(best[1], time.Since(t1))}
					}
					b.ReportMetric(float64(best[0])/float64(best[1]), "copies")
					b.ReportMetric(float64(best[0])/float64(n*n), "ns/element")
				})
			}
		}
	}
}
