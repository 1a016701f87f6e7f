package sinter_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusetest"
	"github.com/sinter-go/sinter/ir"
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

// Each pair of operands is one launch, whatever the order of letters: operands and
// results are views, and no transposed copy is made.
func TestEinsumCopies(t *testing.T) {
	if !strings.Contains(sinter.DefaultDevice().Info().Detail, "avx") {
		t.Skip("the device has no packed tiles")
	}
	extent := map[byte]int{'a': 3, 'b': 2, 'h': 4, 'q': 6, 'k': 5, 'd': 8, 'i': 6, 'j': 7, 'l': 9}
	for _, c := range []struct {
		spec     string
		launches int
	}{
		{"ij,jk->ik", 1}, {"ij,kj->ik", 1}, {"ji,jk->ik", 1}, {"ji,kj->ki", 1}, {"ij,jk->ki", 1},
		{"bhqd,bhkd->bhqk", 1}, {"bqhd,bkhd->bhqk", 1}, {"bhqk,bkhd->bqhd", 1}, {"bij,bjk->bik", 1}, {"bij,jk->kbi", 1},
		{"abij,jcib->ac", 1}, {"ijk,lkj->il", 1}, {"ijk,kjl->il", 1}, {"iji,jk->ik", 1}, {"ij,j->i", 1}, {"i,j->ij", 1},
		{"ik,jk,kl->ijl", 2}, {"ij,jk,kl->il", 2}, {"bqhd,bkhd,bkhl->bqhl", 2},
		{"ijl,jk->ik", 2}, // l is alone and summed before
	} {
		spec := c.spec
		if strings.Contains(spec, "c") {
			extent['c'] = 3
		}
		var ts []*sinter.Tensor
		for _, g := range strings.Split(spec[:strings.Index(spec, "->")], ",") {
			var shape []int
			for i := range g {
				shape = append(shape, extent[g[i]])
			}
			ts = append(ts, sinter.FromSlice(make([]float32, ir.Shape(shape).Size()), shape...))
		}
		p := fusetest.Record(t, sinter.DefaultDevice(), func() {
			s := sinter.NewScope("einsum")
			in := make([]*sinter.Tensor, len(ts))
			for i, x := range ts {
				in[i] = s.In(x)
			}
			y := s.Keep(sinter.Einsum(spec, in...))
			s.End()
			if _, err := sinter.Data[float32](t.Context(), y); err != nil {
				t.Fatal(err)
			}
		})
		if got := p.Launches(); got > c.launches {
			t.Errorf("%s: %d launches, want at most %d:\n%s", spec, got, c.launches, p)
		}
	}
}
