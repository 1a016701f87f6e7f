package ptx

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// TestShortenExp: the short form is found where the operand is not above 0, nowhere else,
// and has the bits of the long one, at results that are subnormal too.
func TestShortenExp(t *testing.T) {
	for _, c := range []struct {
		axes, text string
		want       bool
	}{
		{"p", "y = exp(-abs(x))", true},
		{"p", "y = exp(x * x * -0.5)", true},
		{"p", "y = exp(-(x * x))", true},
		{"r", "y = exp(x - reduce_max(x))", true},
		{"p", "y = exp(x)", false},
		{"p", "y = exp(abs(x))", false},
		{"p", "y = exp(x * x * 0.5)", false},
		{"p", "y = exp(x * z * -0.5)", false},
		{"r", "y = exp(x - reduce_min(x))", false},
		{"r", "y = exp(z - reduce_max(x))", false},
	} {
		in := func(name string) ptxtest.Arg {
			return ptxtest.Arg{Name: name, Type: ir.F32, Axes: "u", Fill: ptxtest.Patterns}
		}
		s := ptxtest.Spec{Name: c.text, Axes: c.axes, Extents: []int64{1 << 18}, Compute: ir.F32, Tree: kernel.StripedTree,
			In: []ptxtest.Arg{in("x"), in("z")}, Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "u"}}, Text: c.text}
		made := s.Make()
		x := made.Buffers[0].Bytes()
		for i := range 1 << 17 { // densely where results become subnormal, and 0
			v := float32(-80 - 30*float64(i)/(1<<17))
			writeSized(x[4*i:], 4, uint64(math.Float32bits(v)))
		}
		if c.axes == "r" { // the greatest of all is 0 then
			for i := range 1 << 18 {
				v := math.Float32frombits(uint32(readSized(x[4*i:], 4)))
				if !(v <= 0) {
					writeSized(x[4*i:], 4, 0)
				}
			}
		}
		short := shortenExp(made.Kernel)
		if found := short != made.Kernel; found != c.want {
			t.Errorf("%s: short form %v", c.text, found)
		}
		if !c.want {
			continue
		}
		if err := short.Verify(); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		want, err := made.Reference(1)
		if err != nil {
			t.Fatal(err)
		}
		made.Kernel = short
		have, err := made.Reference(1)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range made.Buffers {
			if n, first := ptxtest.Mismatches(b.Type, have[i], want[i]); b.Out && n > 0 {
				t.Errorf("%s: %d mismatches, %s", c.text, n, first)
			}
		}
	}
}
