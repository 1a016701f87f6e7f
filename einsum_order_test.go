package sinter_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusetest"
)

// randomSpec draws a spec of some operands over a few letters, and their extents.
func randomSpec(rng *rand.Rand) (string, map[byte]int) {
	extent := map[byte]int{}
	letters := "abcde"[:1+rng.IntN(5)]
	for i := range letters {
		extent[letters[i]] = 1 + rng.IntN(4)
	}
	operands := 1 + rng.IntN(4)
	groups := make([]string, operands)
	used := ""
	for i := range groups {
		for range rng.IntN(5) {
			l := letters[rng.IntN(len(letters))]
			groups[i] += string(l)
			if !strings.ContainsRune(used, rune(l)) {
				used += string(l)
			}
		}
	}
	right := ""
	for _, i := range rng.Perm(len(used)) {
		if rng.IntN(2) == 0 {
			right += used[i : i+1]
		}
	}
	return strings.Join(groups, ",") + "->" + right, extent
}

// products counts the multiplications of the matrix products that f records.
func products(t *testing.T, f func() *sinter.Tensor) int {
	n := 0
	for _, r := range fusetest.Record(t, f().Device(), func() { _, _ = sinter.Data[float64](t.Context(), f()) }).Runs {
		for _, node := range r.Plan.Segment.Nodes {
			if node.Row.Name == "matmul" {
				x := node.In[0].Shape
				n += node.Out[0].Shape.Size() * x[len(x)-1]
			}
		}
	}
	return n
}

// Random specs give what the loop over all letters gives, exactly: small whole
// numbers leave nothing to round.
func TestEinsumRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		spec, extent := randomSpec(rng)
		var in []array
		var ts []*sinter.Tensor
		for _, g := range strings.Split(spec[:strings.Index(spec, "->")], ",") {
			var shape []int
			for i := range g {
				shape = append(shape, extent[g[i]])
			}
			a := whole(rng, shape...)
			in, ts = append(in, a), append(ts, a.tensor())
		}
		near(t, spec, sinter.Einsum(spec, ts...), summed(spec, in...), 0)
	}
}

// The order of pairs follows from the multiplications that they take: a vector at
// the end of a chain of matrices meets the matrix beside it first. Of ten operands,
// beyond what is weighed exactly, too.
func TestEinsumOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, spec := range []string{"ab,bc,cd,d->a", "a,ab,bc,cd->d", "ab,bc,cd,de,ef,fg,gh,hi,ij,j->a"} {
		const n = 8
		var in []*sinter.Tensor
		var host [][]float64
		for _, g := range strings.Split(spec[:strings.Index(spec, "->")], ",") {
			shape := []int{n, n}[:len(g)]
			a := whole(rng, shape...)
			in, host = append(in, a.tensor()), append(host, a.v)
		}
		if len(in) > 4 { // the chain by hand: entries of ten factors are still exact
			v := host[len(host)-1]
			for k := len(host) - 2; k >= 0; k-- {
				next := make([]float64, n)
				for i := range n {
					for j := range n {
						next[i] += host[k][i*n+j] * v[j]
					}
				}
				v = next
			}
			near(t, spec, sinter.Einsum(spec, in...), array{[]int{n}, v}, 0)
			continue
		}
		if got := products(t, func() *sinter.Tensor { return sinter.Einsum(spec, in...) }); got != 3*n*n {
			t.Errorf("%s takes %d multiplications, want %d", spec, got, 3*n*n)
		}
	}
}
