package contract

import (
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/internal/cputime"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// matmul is the kernel of a product of matrices, as it is lowered; the columns of
// a transposed second operand are apart.
func matmul(t ir.DType, transposed bool) *kernel.Kernel {
	b := kernel.NewBuilder("matmul", []kernel.AxisKind{kernel.Parallel, kernel.Reduced, kernel.Parallel})
	z := []kernel.Access{kernel.Broadcast, kernel.Strided, kernel.Unit}
	if transposed {
		z = []kernel.Access{kernel.Broadcast, kernel.Unit, kernel.Strided}
	}
	x := b.Load(b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: []kernel.Access{kernel.Strided, kernel.Unit, kernel.Broadcast}}))
	y := b.Load(b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: z}))
	c, out := t.Compute(), t
	if t == ir.I8 {
		c, out = ir.I32, ir.I32
	}
	kind := kernel.Dot
	if t == ir.BF16 {
		kind, c = kernel.PairDot, t
	}
	v := b.Reduce(kind, kernel.DotTree, b.Convert(x, c), b.Convert(y, c))
	b.Store(b.AddArg(kernel.Arg{Type: out, Dir: kernel.Out, Access: []kernel.Access{kernel.Strided, kernel.Broadcast, kernel.Unit}}), b.Convert(v, out))
	return b.K
}

// dense is the launch of such a kernel over row-major matrices.
func dense(k *kernel.Kernel, m, kk, n int64) *kernel.Launch {
	v := values{rand.New(rand.NewSource(1)), false}
	l := &kernel.Launch{Extents: []int64{m, kk, n}}
	transposed := k.Args[1].Access[1] == kernel.Unit
	z := []int64{0, n, 1}
	if transposed {
		z = []int64{0, 1, kk}
	}
	for i, strides := range [][]int64{{kk, 1, 0}, z, {n, 0, 1}} {
		size := int64(k.Args[i].Type.Size())
		count := max([]int64{m * kk, kk * n, m * n}[i], 1)
		b := takeBytes(int(count * size))
		base := unsafe.Pointer(&(*b)[0])
		for j := range count {
			put(unsafe.Add(base, j*size), int(size), v.bits(k.Args[i].Type))
		}
		l.Args = append(l.Args, kernel.Operand{Base: base, Size: count * size, Strides: strides})
	}
	return l
}

// team is goroutines that wait for work without parking, for measurements only.
type team struct {
	job  atomic.Pointer[teamJob]
	stop atomic.Bool
	wg   sync.WaitGroup
}

type teamJob struct {
	p    *kernel.Phase
	next atomic.Int64
	done atomic.Int64
}

func (j *teamJob) claim() {
	for {
		n := j.next.Add(1) - 1
		if n >= j.p.Tasks {
			return
		}
		j.p.Do(n)
		j.done.Add(1)
	}
}

func newTeam(helpers int) *team {
	t := &team{}
	for range helpers {
		t.wg.Add(1)
		go func() {
			defer t.wg.Done()
			for !t.stop.Load() {
				if j := t.job.Load(); j != nil {
					j.claim()
				}
			}
		}()
	}
	return t
}

func (t *team) run(c kernel.Divided, l *kernel.Launch, threads int) {
	w := c.Divide(l, threads)
	for i := range w.Phases {
		j := &teamJob{p: &w.Phases[i]}
		t.job.Store(j)
		j.claim()
		for j.done.Load() < j.p.Tasks {
		}
		t.job.Store(nil)
	}
	if w.Release != nil {
		w.Release()
	}
}

// BenchmarkMatMul measures shapes of the issue. share is that of the peak of the
// micro-kernel in the same run, on operands in the first cache.
func BenchmarkMatMul(b *testing.B) {
	level := levels(b)[len(levels(b))-1]
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.BF16, ir.I8} {
		for _, s := range []struct {
			m, n, k    int64
			transposed bool
		}{
			{128, 128, 128, false}, {256, 256, 256, false}, {512, 512, 512, false}, {1024, 1024, 1024, false}, {2048, 2048, 2048, false},
			{100, 100, 100, false}, {1000, 1000, 1000, false}, {197, 768, 768, false}, {64, 3072, 768, false}, {16, 4096, 4096, false}, {1, 4096, 4096, false},
			{512, 512, 512, true}, {197, 768, 768, true}, {16, 4096, 4096, true}, {1, 4096, 4096, true},
		} {
			name := fmt.Sprintf("%s/%dx%dx%d", t, s.m, s.n, s.k)
			if s.transposed {
				name += "/transposed"
			}
			k := matmul(t, s.transposed)
			c, err := Compile(k, level)
			if err != nil {
				b.Fatal(err)
			}
			l := dense(k, s.m, s.k, s.n)
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(b *testing.B) {
					measure(b, level, c, l, threads, 2*float64(s.m*s.n*s.k))
				})
			}
			if k := c.Constants(l)[1]; k.Bytes > 0 && s.m <= 64 {
				at := takeBytes(int(k.Bytes))
				place := unsafe.Pointer(unsafe.SliceData(*at))
				runWork(c.PackConstant(l, 1, place), 1)
				b.Run(name+"/packed/threads=1", func(b *testing.B) {
					measure(b, level, c.WithPacked([2]unsafe.Pointer{1: place}), l, 1, 2*float64(s.m*s.n*s.k))
				})
				runtime.KeepAlive(at)
			}
			runtime.KeepAlive(l)
		}
	}
}

// measure reports the best rate of a launch, and its share of the peak of the
// micro-kernel on operands in the first cache, in the same run: by processor time
// on one thread, by time of day on more.
func measure(b *testing.B, level amd64.Level, c kernel.Divided, l *kernel.Launch, threads int, flops float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := cputime.Thread
	if threads > 1 {
		begin := time.Now()
		now = func() time.Duration { return time.Since(begin) }
	}
	team := newTeam(threads - 1)
	best, peak := time.Hour, 0.0
	for range b.N {
		peak = max(peak, fmaPeak(level))
		for range 4 {
			start := now()
			team.run(c, l, threads)
			best = min(best, now()-start)
		}
	}
	team.stop.Store(true)
	team.wg.Wait()
	rate := flops / float64(best.Nanoseconds())
	b.ReportMetric(rate, "GFLOP/s")
	b.ReportMetric(rate/peak/float64(threads), "share")
	b.ReportMetric(0, "ns/op")
}

// fmaPeak is what a micro-kernel reaches on operands in the first cache.
func fmaPeak(level amd64.Level) float64 {
	t := amd64.TilesOf(level, amd64.TileF32)
	const k = 128
	m := takeBytes(4 * (14*k + 32*k + 14*32))
	defer giveBytes(m)
	clear(*m)
	at := uintptr(unsafe.Pointer(&(*m)[0]))
	x := &amd64.Tile{A: at, ARow: 4 * k, AStep: 4, B: at + 4*14*k, BStep: int64(4 * t.Cols), C: at + 4*(14*k+32*k), CRow: int64(4 * t.Cols), K: k, Rows: t.Rows, Cols: t.Cols}
	best := time.Hour
	for range 10 {
		start := cputime.Thread()
		for range 10 {
			t.Run(x)
		}
		best = min(best, cputime.Thread()-start)
	}
	runtime.KeepAlive(m)
	return float64(10*2*t.Rows*t.Cols*k) / float64(best.Nanoseconds())
}
