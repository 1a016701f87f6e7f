package amd64

import (
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/kernel"
)

// TestRare: blocks that no lane, some lanes and all lanes need, in code whose
// registers are scarce around them.
func TestRare(t *testing.T) {
	block := "m = abs(x) > z\nrare(m) {\na = x * 0.5\nb = a * a\nc = b + a\nd = c * b\ne = d + c\nf = e * d\ng = f + e\nh = g * f\ni = h + g\nj = i * h\nk = j + x\nl = k * k\no = l + a\n}\n"
	many := ""
	for _, v := range "pqrstu" {
		many += string(v) + " = fma(x, x, z) * 1.25 + sin(x)\n"
	}
	for _, text := range []string{
		block + "y = select(m, o, x)",
		block + "y = select(m, l, select(m, o, z)) + select(m, b, z)",
		"s = sin(x); c = cos(z); w = tan(x * z)\ny = s * c + w",
		many + block + "y = select(m, o, x) + p + q + r + s + t + u",
	} {
		for _, axes := range [][]kernel.AxisKind{par1, rowAxes} {
			last := text
			if len(axes) == 2 {
				last += "\nv = reduce_sum(y)\nn = y * v"
			}
			out := map[int]string{1: "y", 2: "n"}[len(axes)]
			k := composed(t, "rare", last, axes, []string{"x", "z"}, []string{out})
			if len(k.Rares) == 0 {
				t.Fatalf("no rare block in %v", k)
			}
			codes, in := prepare(t, k, true)
			r := rand.New(rand.NewSource(1))
			for _, fill := range []filler{randomBits, plainBits} {
				extents := []int64{1 + r.Int63n(3), 1 + r.Int63n(900)}
				agree(t, r, k, codes, in, extents[2-len(axes):], fill)
			}
		}
	}
}
