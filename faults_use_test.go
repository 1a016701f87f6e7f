package sinter_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/sinter-go/sinter"
)

// Faults of concurrency, lifetime, randomness and messages.
var faultsUse = []fault{
	{136, "creations that nobody reads", func(f *faultRun) {
		v := make([]float32, 4*8*8)
		runtime.GC()
		before := f.memory().InUse
		for i := range 3000 {
			s := sinter.NewScope("step")
			x := s.In(mk(f, v, 4, 8, 8))
			x.Add(1).Relu()
			x.Release()
			s.End()
			if i%1000 == 999 {
				if n := f.memory().InUse; n > before+1<<20 {
					f.Errorf("after %d rounds %d bytes are in use, before %d", i+1, n, before)
				}
			}
		}
	}},
	{142, "several results from a pool of buffers", func(f *faultRun) {
		x := mk(f, []bool{true, false, true, true}, 2, 2)
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 50 {
					coords, count := x.NonZeroMax(4)
					a, err := sinter.Read(context.Background(), coords, count)
					if err != nil || fmt.Sprint(floatsOf(a[0]), floatsOf(a[1])) != "[0 0 1 0 1 1 -1 -1] [3]" {
						f.Errorf("got %v %v", a, err)
						return
					}
					coords.Release()
					count.Release()
				}
			}()
		}
		wg.Wait()
	}},
	{143, "draws differ", func(f *faultRun) {
		g := sinter.NewGenerator(5)
		var mu sync.Mutex
		seen := map[float64]int{}
		var wg sync.WaitGroup
		for range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 5 {
					a, b := g.Uniform(f.on, sinter.F64, 1000), g.Uniform(f.on, sinter.F64, 1000)
					for _, v := range f.values(sinter.Concat(0, a, b)) {
						mu.Lock()
						seen[v]++
						mu.Unlock()
					}
				}
			}()
		}
		wg.Wait()
		if len(seen) != 20000 {
			f.Errorf("%d of 20000 draws differ", len(seen))
		}
		n := 100000
		keep := f.values(g.Uniform(f.on, sinter.F32, n).Lt(0.5).Sum())[0]
		if math.Abs(keep-float64(n)/2) > 5*math.Sqrt(float64(n)/4) {
			f.Errorf("%v of %d kept", keep, n)
		}
		keep = f.values(g.Dropout(f.on.Ones(sinter.F32, n), 0.5).Ne(0).Sum())[0]
		if math.Abs(keep-float64(n)/2) > 5*math.Sqrt(float64(n)/4) {
			f.Errorf("dropout kept %v of %d", keep, n)
		}
	}},
	{147, "messages with shapes and the user's line", func(f *faultRun) {
		a, b := f.on.Zeros(sinter.F32, 2, 3), f.on.Zeros(sinter.F32, 4, 5)
		_, _, line, _ := runtime.Caller(0)
		y := a.MatMul(b).Relu()
		e := f.fails(y, sinter.ErrShape)
		for _, part := range []string{"matmul", "[2,3]", "[4,5]", fmt.Sprintf("faults_use_test.go:%d", line+1)} {
			if !strings.Contains(e.Error(), part) {
				f.Errorf("the error %q does not say %q", e, part)
			}
		}
		_, _, line, _ = runtime.Caller(0)
		e = f.fails(a.Add(f.on.Zeros(sinter.F32, 4)), sinter.ErrShape)
		for _, part := range []string{"add", "[2,3]", "[4]", fmt.Sprintf("faults_use_test.go:%d", line+1)} {
			if !strings.Contains(e.Error(), part) {
				f.Errorf("the error %q does not say %q", e, part)
			}
		}
	}},
}
