package kernel

// TreeFold folds x along the tree t: the definition that every implementation
// of the trees is tested against. The partials start from zero, which must be
// the identity of f; the result of nothing is zero.
func TreeFold[T any](t Tree, x []T, zero T, f func(a, b T) T) T {
	if len(x) == 0 {
		return zero
	}
	var results []T
	for len(x) > 0 {
		n := min(len(x), t.Chunk)
		results = append(results, foldChunk(t, x[:n], zero, f))
		x = x[n:]
	}
	return TreeCombine(t, results, zero, f)
}

// TreeCombine folds the results of the chunks of a tree, of which there is at
// least one.
func TreeCombine[T any](t Tree, results []T, zero T, f func(a, b T) T) T {
	r := append([]T(nil), results...)
	if len(r) == 1 {
		return r[0]
	}
	switch t.Kind {
	case Striped:
		return TreeFold(t, r, zero, f)
	case Columns:
		w := 1
		for 2*w < len(r) {
			w *= 2
		}
		for ; w > 0; w /= 2 {
			for i := 0; i < w && i+w < len(r); i++ {
				r[i] = f(r[i], r[i+w])
			}
			r = r[:w]
		}
		return r[0]
	default:
		for _, v := range r[1:] {
			r[0] = f(r[0], v)
		}
		return r[0]
	}
}

// TreeSum returns the sum of x along the tree t.
func TreeSum[T float32 | float64 | int32 | int64 | uint32 | uint64](t Tree, x []T) T {
	return TreeFold(t, x, 0, func(a, b T) T { return a + b })
}

// foldChunk folds at most t.Chunk elements.
func foldChunk[T any](t Tree, x []T, zero T, f func(a, b T) T) T {
	if t.Kind != Striped {
		acc := zero
		for _, v := range x {
			acc = f(acc, v)
		}
		return acc
	}
	p := make([]T, t.Lanes)
	for i := range p {
		p[i] = zero
	}
	for i, v := range x {
		p[i%t.Lanes] = f(p[i%t.Lanes], v)
	}
	for h := t.Lanes / 2; h > 0; h /= 2 {
		for i := 0; i < h; i++ {
			p[i] = f(p[i], p[i+h])
		}
	}
	return p[0]
}

// Moments are the count, mean and sum of squared deviations of some elements.
// The count is kept as an integer and rounded to T where it enters a formula.
type Moments[T float32 | float64] struct {
	N        int64
	Mean, M2 T
}

// Combine joins the moments of two sets by Chan's formula; an empty side is
// skipped. Every product is rounded before it is added.
func (a Moments[T]) Combine(b Moments[T]) Moments[T] {
	if a.N == 0 {
		return b
	}
	if b.N == 0 {
		return a
	}
	n := a.N + b.N
	d := b.Mean - a.Mean
	return Moments[T]{
		N:    n,
		Mean: a.Mean + T(d*(T(b.N)/T(n))),
		M2:   (a.M2 + b.M2) + T(T(d*d)*(T(T(a.N)*T(b.N))/T(n))),
	}
}

// TreeMoments returns the moments of x: each chunk in two passes, the mean
// first, with both sums along the tree; the chunks combined along the tree.
func TreeMoments[T float32 | float64](t Tree, x []T) Moments[T] {
	var chunks []Moments[T]
	for len(x) > 0 {
		n := min(len(x), t.Chunk)
		mean := TreeSum(t, x[:n]) / T(n)
		squares := make([]T, n)
		for i, v := range x[:n] {
			d := v - mean
			squares[i] = d * d
		}
		chunks = append(chunks, Moments[T]{int64(n), mean, TreeSum(t, squares)})
		x = x[n:]
	}
	if len(chunks) == 0 {
		return Moments[T]{}
	}
	return TreeCombine(t, chunks, Moments[T]{}, Moments[T].Combine)
}
