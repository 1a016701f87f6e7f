package fn_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// convWorkload is a convolution of one of the networks that are measured.
type convWorkload struct {
	name                     string
	n, in, size, out, kernel int
	stride, pad, groups      int
}

var convWorkloads = func() (list []convWorkload) {
	for _, n := range []int{1, 8} {
		list = append(list, []convWorkload{
			{"resnet18-stem", n, 3, 224, 64, 7, 2, 3, 1},
			{"resnet18-56", n, 64, 56, 64, 3, 1, 1, 1},
			{"resnet18-56s2", n, 64, 56, 128, 3, 2, 1, 1},
			{"resnet18-56down", n, 64, 56, 128, 1, 2, 0, 1},
			{"resnet18-28", n, 128, 28, 128, 3, 1, 1, 1},
			{"resnet18-14", n, 256, 14, 256, 3, 1, 1, 1},
			{"resnet18-7", n, 512, 7, 512, 3, 1, 1, 1},
		}...)
	}
	return append(list,
		convWorkload{"8x32x56x56-64", 8, 32, 56, 64, 3, 1, 1, 1},
		convWorkload{"pointwise-56", 1, 24, 56, 144, 1, 1, 0, 1},
		convWorkload{"pointwise-14", 1, 96, 14, 576, 1, 1, 0, 1},
		convWorkload{"depthwise-112", 1, 32, 112, 32, 3, 1, 1, 32},
		convWorkload{"depthwise-112s2", 1, 96, 112, 96, 3, 2, 1, 96},
		convWorkload{"depthwise-56", 1, 144, 56, 144, 3, 1, 1, 144},
		convWorkload{"depthwise-28", 1, 192, 28, 192, 3, 1, 1, 192},
		convWorkload{"depthwise-14", 1, 576, 14, 576, 3, 1, 1, 576},
		convWorkload{"depthwise-7", 1, 960, 7, 960, 3, 1, 1, 960},
	)
}()

// BenchmarkConv runs convolutions of ResNet-18 and MobileNet v2 with a bias and relu.
func BenchmarkConv(b *testing.B) {
	for _, w := range convWorkloads {
		b.Run(fmt.Sprintf("%s/%d", w.name, w.n), func(b *testing.B) {
			noise := func(shape ...int) *sinter.Tensor {
				h := random(1, shape...)
				return h.tensor().Cast(sinter.F32)
			}
			x, k, bias := noise(w.n, w.in, w.size, w.size), noise(w.out, w.in/w.groups, w.kernel, w.kernel), noise(w.out)
			run := func() {
				s := sinter.NewScope("conv")
				y := fn.Conv(s.In(x), s.In(k), s.In(bias), fn.ConvOptions{Stride: []int{w.stride}, Pad: []int{w.pad}, Groups: w.groups}).Relu()
				y = s.Keep(y)
				s.End()
				if err := x.Device().Sync(ctx); err != nil {
					b.Fatal(err)
				}
				y.Release()
			}
			run()
			run()
			places := (w.size+2*w.pad-w.kernel)/w.stride + 1
			flops := 2 * float64(w.n*w.out*places*places) * float64(w.in/w.groups*w.kernel*w.kernel)
			least := time.Hour // on a busy machine the only figure that means something
			for b.Loop() {
				begin := time.Now()
				run()
				least = min(least, time.Since(begin))
			}
			b.ReportMetric(flops/least.Seconds()/1e9, "best-GFLOP/s")
		})
	}
}
