package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// drawn are normal numbers, or of some of them zeros, infinities and NaN.
func drawn(rng *rand.Rand, t ir.DType, special bool, shape ...int) *array {
	a := newArray(t, shape...)
	specials := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e300, 5e-324}
	for i := range a.typ.Shape.Size() {
		v := rng.NormFloat64()
		if special && rng.IntN(3) == 0 {
			v = specials[rng.IntN(2+rng.IntN(len(specials)-1))]
		}
		writeSized(a.at(i), t.Size(), kernel.Convert(t, ir.F64, floatBits(v)))
	}
	return a
}

// transformNode is a node of each kind over lanes of a length.
func transformNode(t testing.TB, kind transformKind, operand func(shape ...int) *array, n, before, after int, inverse bool) *nativeNode {
	switch kind {
	case complexTransform:
		return newNativeNode(t, "fft", ir.A("axis", 1, "inverse", inverse), operand(before, n, after, 2))
	case forwardTransform:
		return newNativeNode(t, "rfft", ir.A("axis", 1), operand(before, n, after))
	}
	return newNativeNode(t, "irfft", ir.A("axis", 1, "n", n), operand(before, n/2+1, after, 2))
}

// TestTransforms: the bits of the host's routine, of lanes in blocks and in passes.
func TestTransforms(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(11, 1))
	kinds := []transformKind{complexTransform, forwardTransform, backwardTransform}
	for _, kind := range kinds {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 20, 28, 30, 49, 60, 63, 64, 77, 98, 147, 539, 100, 105, 121, 128, 1000, 1001, 1024} {
			for _, dt := range []ir.DType{ir.F32, ir.F64} {
				if dt == ir.F32 && n > 128 { // widening and rounding are the same for any length
					continue
				}
				t.Run(fmt.Sprintf("%d of %d %s", kind, n, dt), func(t *testing.T) {
					draw := func(shape ...int) *array { return drawn(rng, dt, false, shape...) }
					transformNode(t, kind, draw, n, 2, 1, n%2 == 0).check(t, x)
				})
			}
		}
		for _, n := range []int{12, 35, 64} {
			for l := range numLayouts {
				t.Run(fmt.Sprintf("%d of %d %s", kind, n, l), func(t *testing.T) {
					draw := func(shape ...int) *array {
						a := drawn(rng, ir.F32, l%2 == 1, shape...)
						a.layout = l
						return a
					}
					transformNode(t, kind, draw, n, 3, 5, n == 12).check(t, x)
				})
			}
			for range 3 {
				draw := func(shape ...int) *array { return drawn(rng, ir.F64, true, shape...) }
				transformNode(t, kind, draw, n, 40, 1, true).check(t, x)
			}
		}
		t.Run(fmt.Sprintf("%d of 1030 side by side", kind), func(t *testing.T) {
			draw := func(shape ...int) *array { return drawn(rng, ir.F32, false, shape...) }
			transformNode(t, kind, draw, 1030, 1, 9, false).check(t, x)
		})
		for _, n := range []int{257, 514, 15000} { // too much for a block, or too long
			t.Run(fmt.Sprintf("%d of %d in passes", kind, n), func(t *testing.T) {
				draw := func(shape ...int) *array { return drawn(rng, ir.F32, false, shape...) }
				transformNode(t, kind, draw, n, 1, 1, true).check(t, x)
			})
		}
	}
}

// TestTransformChunks: lanes that do not go through scratch memory together.
func TestTransformChunks(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	zeros := func(shape ...int) *array { return newArray(ir.F32, shape...) }
	node := transformNode(t, complexTransform, zeros, 16384, 65, 1, false)
	s := &simulator{}
	tensors, _ := node.tensors(s)
	plan, err := NewNatives(Target{Major: 9}).Plan(&node.node, tensors)
	if err != nil {
		t.Fatal(err)
	}
	if lane := int64(16 * 16384); plan.Scratch > 2*transformChunk+2*lane {
		t.Errorf("%d bytes of scratch memory", plan.Scratch)
	}
	loads := 0
	for _, st := range plan.Steps {
		if st.Entry == plan.Steps[1].Entry {
			loads++
		}
	}
	if loads != 2 {
		t.Errorf("%d chunks, expected 2", loads)
	}
}

// TestTransformRefused: lengths that the host refuses are left to it.
func TestTransformRefused(t *testing.T) {
	n := 1 << 27 // 13 factors of 4 and one of 2
	if complexStages(n, 1, &twiddleTable{}) != nil || realStages(n, &twiddleTable{}) != nil {
		t.Error("a length of 14 factors has a plan")
	}
	if complexStages(n/2, 1, &twiddleTable{}) == nil {
		t.Error("a length of 13 factors has none")
	}
}

// TestTwiddles: the sine and cosine that the device computes are those of package math, at
// the angles of any length.
func TestTwiddles(t *testing.T) {
	const at = 0x5_0000_0000_00
	for _, n := range []int{2, 7, 360, 1000, 4099, 8192} {
		c := &nativeCall{Natives: NewNatives(Target{Major: 9}), plan: &Plan{}}
		table := &twiddleTable{n: n}
		table.addStage(1, n, 1, n)
		c.addTwiddles(table)
		memory := make([]byte, c.plan.Scratch)
		s := &simulator{buffers: []simBuffer{{at, memory}}}
		c.plan.Bind(at, 0)
		for _, st := range c.plan.Steps {
			pr, err := load(st.Entry.Text)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.launch(pr, st.GridX, st.GridY, st.Params); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			steps := i
			if i == 0 {
				steps = n
			}
			angle := float64(steps) * (2 * math.Pi / float64(n))
			for part, want := range []float64{math.Cos(angle), math.Sin(angle)} {
				if got := math.Float64frombits(binary.LittleEndian.Uint64(memory[16*i+8*part:])); got != want {
					t.Fatalf("n %d, factor %d, part %d: %v, expected %v", n, i, part, got, want)
				}
			}
		}
	}
}
