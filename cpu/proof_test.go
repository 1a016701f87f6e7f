package cpu

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// chained is a device with a launch of ten operations on n elements, result 3.
func chained(t testing.TB, opt Options, n int) (*Device, []backend.Launch) {
	d, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	k, err := d.Compile(chainKernel())
	if err != nil {
		t.Fatal(err)
	}
	of := func(id ir.ID) ir.Tensor {
		return ir.Tensor{ID: id, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{n}}}
	}
	for id := range 2 {
		if err := d.Upload(of(ir.ID(1+id)), longInput(ir.Shape{n}, ir.F32, id)); err != nil {
			t.Fatal(err)
		}
	}
	return d, []backend.Launch{{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{int64(n)}, Args: []backend.LaunchArg{whole(of(1)), whole(of(2)), whole(of(3))}}}}}
}

// TestHardTimes: generated code gives the same while the collector runs all the
// time, goroutines are preempted or never, and the process is profiled and traced.
func TestHardTimes(t *testing.T) {
	if os.Getenv("SINTER_TEST_HARD") == "" {
		for _, off := range []string{"0", "1"} {
			c := exec.Command(os.Args[0], "-test.run=^TestHardTimes$")
			c.Env = append(os.Environ(), "SINTER_TEST_HARD=1", "GOGC=1", "GODEBUG=asyncpreemptoff="+off)
			if out, err := c.CombinedOutput(); err != nil {
				if started := c.ProcessState != nil; !started { // no processes here, or an emulated processor
					t.Skip("the test cannot be started again:", err)
				}
				t.Errorf("asyncpreemptoff=%s: %v\n%s", off, err, out)
			}
		}
		return
	}
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		defer pprof.StopCPUProfile()
	}
	if err := trace.Start(io.Discard); err == nil {
		defer trace.Stop()
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // garbage, collections, and stacks that grow
		var grow func(n int) int
		grow = func(n int) int {
			var pad [256]byte
			if n == 0 {
				return len(pad)
			}
			return grow(n-1) + int(pad[n%256])
		}
		for {
			select {
			case <-stop:
				return
			default:
				_ = make([]byte, 1<<16)
				grow(200)
				debug.FreeOSMemory()
			}
		}
	})
	ctx := context.Background()
	d, launch := chained(t, Options{Threads: 3}, 200000)
	b := &bench{T: t, d: d, last: 100}
	for _, c := range longRows {
		if c.shape.Size() < 200000 {
			b.longRun(c.row, c.attrs, c.shape, c.dtype, c.inputs, longInput(c.shape, c.dtype, 0))
		}
	}
	var want []byte
	for start := time.Now(); time.Since(start) < time.Second; {
		for range 20 {
			if err := d.Launch(ctx, launch); err != nil {
				t.Fatal(err)
			}
		}
		data, errs, err := d.Read(ctx, 3)
		if err != nil || errs[0] != nil {
			t.Fatal(err, errs)
		}
		if want == nil {
			want = data[0].Bytes
		}
		if !bytes.Equal(want, data[0].Bytes) {
			t.Fatal("a launch gave other bits")
		}
	}
	close(stop)
	wg.Wait()
}

// stopped returns the times that stopping the world takes, in order.
func stopped(rounds int) []time.Duration {
	var took []time.Duration
	var m runtime.MemStats
	for range rounds {
		time.Sleep(3 * time.Millisecond)
		start := time.Now()
		runtime.ReadMemStats(&m)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took
}

// TestStopTheWorld: kernels of many milliseconds do not hold up the collector for
// that long. Other programs on the machine lengthen single stops, so the test looks at
// the better ones.
func TestStopTheWorld(t *testing.T) {
	before := stopped(20)
	d, launch := chained(t, Options{}, 8<<20)
	ctx := context.Background()
	end := make(chan struct{})
	var wg sync.WaitGroup
	work := func(run func() error) []time.Duration {
		wg.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					if err := run(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		took := stopped(50)
		close(end)
		wg.Wait()
		end = make(chan struct{})
		return took
	}
	for name, run := range map[string]func() error{
		"chain": func() error {
			if err := d.Launch(ctx, launch); err != nil {
				return err
			}
			return d.Sync(ctx)
		},
		"sum": func() error {
			r := ir.Lookup("sum")
			a, err := r.MakeAttrs(nil)
			if err != nil {
				return err
			}
			n := ir.Node{Row: r, Attrs: a, In: []ir.Tensor{launch[0].Pieces[0].Args[0].Tensor}, Out: []ir.Tensor{{ID: 9, Type: ir.Type{DType: ir.F32}}}}
			if err := d.Submit(ctx, []ir.Node{n}); err != nil {
				return err
			}
			return d.Sync(ctx)
		},
	} {
		took := work(run)
		t.Logf("%s: stops take %v, %v, %v (a tenth, half, nine tenths); idle %v, %v, %v", name,
			took[5], took[25], took[45], before[2], before[10], before[18])
		if took[5] > 5*time.Millisecond {
			t.Errorf("%s: only a tenth of the stops takes %v or less", name, took[5])
		}
	}
}

// TestLabels: while a window is open, a CPU profile knows kernels by name.
func TestLabels(t *testing.T) {
	d, launch := chained(t, Options{}, 1<<18)
	ctx := context.Background()
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		t.Skip(err)
	}
	w, err := d.ProfileStart()
	for start := time.Now(); err == nil && time.Since(start) < 500*time.Millisecond; {
		if err = d.Launch(ctx, launch); err == nil {
			err = d.Sync(ctx)
		}
	}
	pprof.StopCPUProfile()
	if err != nil {
		t.Fatal(err)
	}
	w.Abandon()
	z, err := gzip.NewReader(&profile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("cpu.(*workers)")) && !bytes.Contains(text, []byte("chain")) {
		t.Error("the profile has work of the device and no kernel by name")
	}
}

// codeBytes counts the executable memory of this process that no file backs, and
// fails if some is writable too.
func codeBytes(t *testing.T) (n uint64) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("the system does not show the map of the process")
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.Contains(f[1], "x") {
			continue
		}
		if strings.Contains(f[1], "w") {
			t.Errorf("writable and executable: %s", line)
		}
		from, to, _ := strings.Cut(f[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if f[4] == "0" && len(f) == 5 && err1 == nil && err2 == nil {
			n += b - a
		}
	}
	return n
}

// TestCodeIsFreed: code goes when its kernel was released, and no page is ever
// writable and executable.
func TestCodeIsFreed(t *testing.T) {
	d, _ := chained(t, Options{}, 16)
	if d.opt.Generator == Interpret {
		t.Skip("there is no generated code here")
	}
	runtime.GC()
	before, most := codeBytes(t), uint64(0)
	var all []backend.Compiled
	for range 60 {
		k, err := d.Compile(chainKernel())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k)
		most = max(most, codeBytes(t))
	}
	if most == before {
		t.Fatal("no code was mapped")
	}
	for _, k := range all {
		k.Release()
	}
	if err := d.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	clear(all)
	after := uint64(0)
	for range 100 {
		runtime.GC()
		if after = codeBytes(t); after <= before+4096 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d bytes of code before, %d at most, %d after all kernels were released", before, most, after)
}
