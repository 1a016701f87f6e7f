//go:build linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/sinter-go/sinter/bench/workload"
)

// TestManyStep: what is done to every parameter of a model takes few launches: a step of training
// a GPT-2 of four layers is launched as less than two thirds of its kernels. It prints both.
func TestManyStep(t *testing.T) {
	var kernels [2]int64 // one by one, and together
	for i := range kernels {
		_, _, d, dev := standIns(t, Options{NoManyLaunch: i == 0, Memory: 130 << 30}) // as an H200 has
		found, err := workload.GPU.Select([]string{"train_gpt2"})
		if err != nil {
			t.Fatal(err)
		}
		w := *found[0]
		w.Sizes = []int{4, 768, 12, 2000, 8, 512} // layers, width, heads, vocabulary, batch, tokens
		r := w.Prepare(dev)
		for range 8 { // captured after some
			before := d.Stats().Kernels
			if err := r.Again(); err != nil {
				t.Fatal(err)
			}
			if err := dev.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			kernels[i] = d.Stats().Kernels - before
		}
		r.Release()
	}
	t.Logf("%d kernels one by one, %d together", kernels[0], kernels[1])
	if 3*kernels[1] > 2*kernels[0] || kernels[1] == 0 {
		t.Errorf("%d kernels one by one, %d together", kernels[0], kernels[1])
	}
}
