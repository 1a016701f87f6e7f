//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestQuantizedKernels: few rows of bf16 times quantized weights are one kernel that decodes
// them on the way, whatever the scheme; codes of 4 bits come with a table of two shifts.
func TestQuantizedKernels(t *testing.T) {
	_, _, d, dev := standIns(t, Options{})
	on := sinter.On(dev)
	for _, c := range []struct {
		scheme sinter.Scheme
		tables int64
	}{
		{sinter.Scheme{Bits: 8, Per: sinter.PerTensor}, 0}, {sinter.Scheme{Bits: 8, Per: sinter.PerAxis}, 0}, {sinter.Scheme{Bits: 8, Per: sinter.PerAxis, Affine: true}, 0},
		{sinter.Scheme{Bits: 8, Per: sinter.PerBlock, Block: 32, Scale: sinter.F16}, 0}, {sinter.Scheme{Bits: 4, Per: sinter.PerBlock, Block: 32, Scale: sinter.F16}, 1},
		{sinter.Scheme{Bits: 4, Per: sinter.PerBlock, Block: 128, Affine: true, Scale: sinter.BF16}, 1}, {sinter.Scheme{Bits: 4, Per: sinter.PerAxis}, 1},
	} {
		for _, rows := range []int{1, 7, 64} {
			q := on.Ones(sinter.F32, 512, 1024).Quantize(c.scheme)
			x := on.Ones(sinter.BF16, rows, 1024)
			for _, p := range []*sinter.Tensor{x, q.Parts().Codes, q.Parts().Scales} {
				if _, err := sinter.Read(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			before := d.Stats().Kernels
			y := q.Linear(x)
			if err := dev.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := d.Stats().Kernels - before; n != 1+c.tables {
				t.Errorf("%s, %d rows: %d kernels", fmt.Sprint(c.scheme), rows, n)
			}
			y.Release()
		}
	}
}
