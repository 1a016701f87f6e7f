package amd64

import (
	"fmt"
	"math/rand"
	"runtime"
	"sort"
	"testing"

	"github.com/sinter-go/sinter/internal/cputime"
	"github.com/sinter-go/sinter/kernel"
)

// largest returns the kernels of most instructions among many as fusion makes
// them.
func largest(count int) []*kernel.Kernel {
	var all []*kernel.Kernel
	for seed := range int64(900) {
		k, _ := fusedKernel(rand.New(rand.NewSource(seed)), fusedKinds[int(seed)%len(fusedKinds)], seed)
		if _, err := kernel.NewInterpreter(k); err == nil && len(k.Args) <= maxArgs {
			all = append(all, k)
		}
	}
	sort.Slice(all, func(i, j int) bool { return len(all[i].Body) > len(all[j].Body) })
	return all[:count]
}

// BenchmarkCompileLargest shows what the code of the largest kernels costs to
// make, and one of the middle.
func BenchmarkCompileLargest(b *testing.B) {
	for _, k := range append(largest(10), largest(450)[449], realSoftmax()) {
		for _, level := range levels {
			b.Run(fmt.Sprintf("%s.%d/%s", k.Name, len(k.Body), level), func(b *testing.B) {
				b.ReportAllocs()
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				size := 0
				cputime.Report(b, cputime.Thread, func() {
					p, err := generate(k, level, false)
					if err != nil {
						b.Fatal(err)
					}
					size = len(p.code)
				})
				b.ReportMetric(float64(size), "code-bytes")
			})
		}
	}
}
