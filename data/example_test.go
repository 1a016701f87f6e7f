package data_test

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter/data"
)

// Sentences of different lengths, as rectangles that a tensor can be made of. Two
// batches are made ahead.
func ExampleLoader() {
	sentences := [][]int32{{5, 3}, {7}, {2, 2, 2, 4}, {1, 6, 1}}
	l := &data.Loader[[]int32, data.Padded[int32]]{
		Len: len(sentences), Batch: 2, InOrder: true, Ahead: 2,
		Get:     func(_ context.Context, i int) ([]int32, error) { return sentences[i], nil },
		Collate: func(s [][]int32) (data.Padded[int32], error) { return data.Pad(s, 0, 0, 1), nil },
	}
	for batch, err := range l.Epoch(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.Values, batch.Rows, batch.Width, batch.Lengths)
	}
	// Output:
	// [5 3 7 0] 2 2 [2 1]
	// [2 2 2 4 1 6 1 0] 2 4 [4 3]
}
