package data

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Padded is a batch of rows of different lengths as one rectangle.
type Padded[T any] struct {
	Values  []T     // Rows × Width, row by row
	Lengths []int64 // of each row, without padding
	Rows    int
	Width   int
}

// Pad makes a rectangle of rows: as wide as the longest, rounded up to a multiple
// of the given number if that is above 1, so that few widths occur. Rows longer
// than limit are cut there if limit is above 0. The padding at the end of rows is
// fill.
func Pad[T any](rows [][]T, fill T, limit, multiple int) Padded[T] {
	p := Padded[T]{Rows: len(rows), Lengths: make([]int64, len(rows))}
	for i, r := range rows {
		n := len(r)
		if limit > 0 {
			n = min(n, limit)
		}
		p.Lengths[i] = int64(n)
		p.Width = max(p.Width, n)
	}
	if over := p.Width % max(multiple, 1); over > 0 {
		p.Width += multiple - over
	}
	p.Values = make([]T, 0, p.Rows*p.Width)
	for i, r := range rows {
		n := int(p.Lengths[i])
		p.Values = append(p.Values, r[:n]...)
		for range p.Width - n {
			p.Values = append(p.Values, fill)
		}
	}
	return p
}

// Row returns row i without its padding, as a view.
func (p Padded[T]) Row(i int) []T { return p.Values[i*p.Width:][:p.Lengths[i]] }

// Mask tells for each value whether it is one, not padding.
func (p Padded[T]) Mask() []bool {
	m := make([]bool, p.Rows*p.Width)
	for i, n := range p.Lengths {
		for j := range int(n) {
			m[i*p.Width+j] = true
		}
	}
	return m
}

// bucketStream keeps the random numbers of Buckets apart from others of the seed.
const bucketStream = 0x6275636b6574 << 16

// Buckets divides rows into batches of similar lengths, so that little is padding,
// and shuffles the batches, and rows of one length among each other. A batch holds
// as many rows as fit when all are padded to the longest of them: at most size
// values, one row at least. The result depends on its arguments only.
func Buckets(lengths []int, size int, seed uint64, epoch int) [][]int {
	r := rand.New(rand.NewPCG(seed^bucketStream, uint64(epoch)))
	order := r.Perm(len(lengths))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	var out [][]int
	begin := 0
	for i := range order {
		if i > begin && (i-begin+1)*lengths[order[i]] > size {
			out, begin = append(out, order[begin:i:i]), i
		}
	}
	if begin < len(order) {
		out = append(out, order[begin:])
	}
	r.Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	return out
}
