// Command clusters finds groups of handwritten digits without their labels: the two
// directions in which they differ most by principal component analysis, and ten
// groups by k-means, all of it on tensors.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data"
)

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// result is what was found.
type result struct {
	Explained []float64 // the share of the variance along each direction, falling
	Purity    float64   // the share of digits that are of the most frequent label of their group
	Rounds    int       // of k-means, until nothing moved
}

const (
	directions = 8
	groups     = 10
)

func run(ctx context.Context, w io.Writer) (result, error) {
	digits, err := data.Digits()
	if err != nil {
		return result{}, err
	}
	x := sinter.FromSlice(digits.Pixels, digits.N, digits.Features)
	var r result
	if r.Explained, err = principal(ctx, x); err != nil {
		return r, err
	}
	group, rounds, err := kmeans(ctx, x, 1)
	if err != nil {
		return r, err
	}
	r.Rounds, r.Purity = rounds, purity(group, digits.Labels)
	fmt.Fprintf(w, "%d directions of %d explain", directions, digits.Features)
	sum := 0.0
	for _, v := range r.Explained {
		sum += v
		fmt.Fprintf(w, " %.1f", 100*sum)
	}
	fmt.Fprintf(w, " %% of the variance\n%d groups after %d rounds: %.1f %% of the digits are of their group's most frequent label\n", groups, r.Rounds, 100*r.Purity)
	return r, nil
}

// principal returns the shares of the variance along the directions of greatest
// variance: by subspace iteration on the covariance matrix, the columns made
// orthogonal one after the other.
func principal(ctx context.Context, x *sinter.Tensor) ([]float64, error) {
	s := sinter.NewScope("pca")
	defer s.End()
	x = s.In(x).Cast(sinter.F64)
	x = x.Sub(x.Mean(sinter.Over(0).KeepDims()))
	cov := x.Transpose().MatMul(x).Div(x.Dim(0))
	q := sinter.NewGenerator(1).Normal(sinter.Of{}, sinter.F64, x.Dim(1), directions)
	for range 60 {
		q = orthogonal(cov.MatMul(q))
	}
	along := q.Mul(cov.MatMul(q)).Sum(sinter.Over(0)) // the variance of each
	return sinter.Data[float64](ctx, along.Div(cov.Mul(sinter.Eye(x.Dim(1), sinter.F64)).Sum()))
}

// orthogonal makes columns of length 1 that are orthogonal to each other.
func orthogonal(q *sinter.Tensor) *sinter.Tensor {
	var columns []*sinter.Tensor
	for _, c := range q.Split(1, ones(q.Dim(1))...) {
		for _, before := range columns {
			c = c.Sub(before.Mul(before.Mul(c).Sum()))
		}
		columns = append(columns, c.Div(c.Norm(2)))
	}
	return sinter.Concat(1, columns...)
}

func ones(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// kmeans returns the group of each row: Lloyd's algorithm from rows that are far
// from each other.
func kmeans(ctx context.Context, x *sinter.Tensor, seed uint64) ([]int64, int, error) {
	var group []int64
	s := sinter.NewScope("start")
	defer func() { s.End() }()
	first := int(seed) % x.Dim(0)
	centres := s.In(x).Slice(sinter.Span(first, first+1))
	for centres.Dim(0) < groups { // the row that is furthest from all centres
		far := distances(s.In(x), centres).Min(sinter.Over(1)).ArgMax(0)
		centres = sinter.Concat(0, centres, s.In(x).Gather(0, far.Reshape(1)))
	}
	for round := 1; ; round++ {
		near := distances(s.In(x), centres).ArgMin(1)
		member := near.OneHot(groups, sinter.F32) // [rows, groups]
		sums := member.Transpose().MatMul(s.In(x))
		counts := member.Sum(sinter.Over(0)).Maximum(1).Unsqueeze(1)
		now, err := sinter.Data[int64](ctx, near)
		if err != nil {
			return nil, 0, err
		}
		moved := 0
		for i := range now {
			if group == nil || now[i] != group[i] {
				moved++
			}
		}
		group = now
		if moved == 0 || round == 200 {
			return group, round, nil
		}
		kept := s.Keep(sums.Div(counts))
		s.End() // all else that the round made
		s = sinter.NewScope("k-means")
		centres = s.In(kept)
	}
}

// distances returns the squared distance of each row to each centre.
func distances(x, centres *sinter.Tensor) *sinter.Tensor {
	square := sinter.Over(1)
	return x.Mul(x).Sum(square.KeepDims()).
		Sub(x.MatMul(centres.Transpose()).Mul(2)).
		Add(centres.Mul(centres).Sum(square))
}

func purity(group, labels []int64) float64 {
	var counts [groups][10]int
	for i, g := range group {
		counts[g][labels[i]]++
	}
	right := 0
	for _, c := range counts {
		most := 0
		for _, n := range c {
			most = max(most, n)
		}
		right += most
	}
	return float64(right) / float64(len(labels))
}
