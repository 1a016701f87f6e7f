package data

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// splitStream keeps the random numbers of Split apart from those of Batches,
// which uses the epoch in its place, for the same seed.
const splitStream = 0x73706c6974 << 24

// permutation returns the numbers below n in an order that depends on n, seed
// and stream only. The generator and the algorithm of math/rand/v2 give the
// same values on machines of any word size.
func permutation(n int, seed, stream uint64) []int {
	return rand.New(rand.NewPCG(seed, stream)).Perm(n)
}

// Split divides the set in two, shuffled: test gets round(fraction × N)
// samples, train the others. Where there are labels, each label is divided in
// that proportion (to within one sample), so that rare ones do not end up on
// one side by chance. The result depends on the set, seed and fraction only.
//
// The error says that fraction is not within [0, 1], or what is wrong with the
// set.
func (s *Set) Split(seed uint64, fraction float64) (train, test *Set, err error) {
	if err := s.Validate(); err != nil {
		return nil, nil, err
	}
	if !(fraction >= 0 && fraction <= 1) { // so that NaN fails too
		return nil, nil, fmt.Errorf("data: split by fraction %v, want 0 to 1", fraction)
	}
	order := permutation(s.N, seed, splitStream)
	quota := s.quotas(fraction)
	// The first samples of each label in the shuffled order go to test. Both
	// sides keep that order, so both are shuffled.
	var trainRows, testRows []int
	for _, i := range order {
		if l := s.label(i); quota[l] > 0 {
			quota[l]--
			testRows = append(testRows, i)
		} else {
			trainRows = append(trainRows, i)
		}
	}
	return s.take(trainRows), s.take(testRows), nil
}

// label returns the label of a sample; all are alike in a set without labels.
func (s *Set) label(i int) int64 {
	if s.Labels == nil {
		return 0
	}
	return s.Labels[i]
}

// quotas returns how many samples of each label make up the given fraction of
// the set: the exact shares rounded down, and what is left to reach the rounded
// total to the labels with the largest remainders (the smaller label where two
// are equal).
func (s *Set) quotas(fraction float64) map[int64]int {
	counts := make(map[int64]int)
	for i := range s.N {
		counts[s.label(i)]++
	}
	quota := make(map[int64]int, len(counts))
	remainder := make(map[int64]float64, len(counts))
	left := int(math.Round(float64(s.N) * fraction))
	for l, n := range counts {
		// The conversion forbids a fused multiply-subtract below, which would
		// give other remainders on machines that have one.
		share := float64(float64(n) * fraction)
		quota[l] = int(share)
		remainder[l] = share - math.Floor(share)
		left -= quota[l]
	}
	labels := slices.SortedFunc(maps.Keys(counts), func(a, b int64) int {
		return cmp.Or(cmp.Compare(remainder[b], remainder[a]), cmp.Compare(a, b))
	})
	for _, l := range labels {
		if left <= 0 {
			break
		}
		if quota[l] < counts[l] {
			quota[l]++
			left--
		}
	}
	return quota
}

// Batches returns an iterator over one epoch: the indices of all samples in
// shuffled order, in batches of the given size, of which the last may be
// smaller. A size below 1 means a single batch of the whole set. The order
// depends on N, seed and epoch only, so an interrupted training can be resumed
// at any epoch, and each run over the iterator gives the same batches.
//
// The slices are distinct parts of one permutation: the consumer may keep them,
// for instance to load batches ahead.
func (s *Set) Batches(size int, seed uint64, epoch int) iter.Seq[[]int] {
	n := max(s.N, 0)
	return func(yield func([]int) bool) {
		if n == 0 {
			return
		}
		step := size
		if step < 1 {
			step = n
		}
		for batch := range slices.Chunk(permutation(n, seed, uint64(epoch)), step) {
			if !yield(batch) {
				return
			}
		}
	}
}
