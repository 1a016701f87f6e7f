package metric_test

import (
	"fmt"

	"github.com/sinter-go/sinter/train/metric"
)

func ExampleConfusion() {
	c := metric.NewConfusion(2)
	c.Add([]int64{0, 1, 1}, []int64{0, 1, 0}) // a batch
	c.Add([]int64{1}, []int64{1})             // another
	fmt.Println(c.Accuracy(), c.Class(1).Recall, c.Counts)
	// Output: 0.75 1 [1 1 0 2]
}
