package cpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/cpu/tune"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/kernel/contract"
)

// TuneOptions say what [Device.Tune] measures.
type TuneOptions struct {
	Choices  []string   // names, see [Choices]; all by default
	Products [][3]int64 // rows, columns and k of products; some that are common by default
	Rounds   int        // of each candidate, 5 by default
	// Note is told of each ranking. It may be nil.
	Note func(choice, bucket string, ranking []tune.Measured)
}

// commonProducts are measured by default.
var commonProducts = [][3]int64{{128, 128, 128}, {512, 512, 512}, {1024, 1024, 1024}, {197, 768, 768}, {64, 3072, 768}, {16, 4096, 4096}}

// Tune measures candidates of choices on this device, which should do nothing else
// meanwhile, and uses what is best. Save the table ([Device.TuningTable]) to have
// other processes use it. Where a choice does not apply, because the device
// interprets or has one thread, it is passed over.
func (d *Device) Tune(ctx context.Context, o TuneOptions) error {
	for _, c := range o.Choices {
		if !slices.Contains(choices, c) {
			return ir.Errorf(ir.ErrArgument, "choice %q, expected some of: %s", c, strings.Join(choices, ", "))
		}
	}
	if o.Choices == nil {
		o.Choices = choices
	}
	if o.Products == nil {
		o.Products = commonProducts
	}
	if o.Note == nil {
		o.Note = func(string, string, []tune.Measured) {}
	}
	measures := map[string]func(context.Context, TuneOptions) error{streamChoice.Name: d.tuneStream, serialChoice.Name: d.tuneSerial, spinChoice.Name: d.tuneSpin, blockChoice.Name: d.tuneBlocks}
	for _, c := range o.Choices {
		if err := measures[c](ctx, o); err != nil {
			return err
		}
	}
	return d.do(ctx, func() {
		d.tuned.apply(d.workers)
		d.tuned.blank.Clear()
	})
}

// noted measures a choice and tells of it.
func noted[C any](ctx context.Context, d *Device, o TuneOptions, c *tune.Choice[C], bucket string, trial tune.Trial[C]) error {
	trial.Rounds = o.Rounds
	if trial.Memory == nil {
		trial.Memory = func() int64 { return d.freeMemory(ctx) }
	}
	r, err := tune.Measure(ctx, d.tuned.table, c, bucket, trial)
	if err == nil {
		o.Note(c.Name, bucket, r)
	}
	return err
}

// freeMemory is how much memory tensors may still take.
func (d *Device) freeMemory(ctx context.Context) int64 {
	u, err := d.MemoryUsage(ctx)
	if err != nil {
		return 0
	}
	return u.Limit - u.InUse
}

// operandsOf makes the memory of a launch of dense tensors, of so many elements of
// f32 each, at cache lines.
func operandsOf(counts ...int64) []kernel.Operand {
	var out []kernel.Operand
	for _, n := range counts {
		b := make([]byte, 4*n+alignment)
		skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (alignment - 1))
		out = append(out, kernel.Operand{Base: unsafe.Pointer(&b[skip]), Size: 4 * n})
	}
	return out
}

// sumKernel adds two vectors.
func sumKernel() *kernel.Kernel {
	b := kernel.NewBuilder("sum", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	x := b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit}))
	y := b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit}))
	b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit}), b.Op(kernel.OpAdd, ir.F32, x, y))
	return b.K
}

// productKernel multiplies matrices, row-major.
func productKernel() *kernel.Kernel {
	b := kernel.NewBuilder("product", []kernel.AxisKind{kernel.Parallel, kernel.Reduced, kernel.Parallel})
	x := b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: []kernel.Access{kernel.Strided, kernel.Unit, kernel.Broadcast}}))
	z := b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: []kernel.Access{kernel.Broadcast, kernel.Strided, kernel.Unit}}))
	v := b.Reduce(kernel.Dot, kernel.DotTree, x, z)
	b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: []kernel.Access{kernel.Strided, kernel.Broadcast, kernel.Unit}}), v)
	return b.K
}

// tuneStream measures sums of vectors that fit the caches and that do not.
func (d *Device) tuneStream(ctx context.Context, o TuneOptions) error {
	exe, generated, err := d.compile(sumKernel())
	if err != nil || !generated {
		return err
	}
	const most = 16 << 20 // elements
	var args []kernel.Operand
	before := amd64.SetStreamFrom(amd64.DefaultStreamFrom)
	err = noted(ctx, d, o, streamChoice, "", tune.Trial[int64]{
		Needs: func(int64) int64 { return 3 * 4 * most },
		Run: func(_ context.Context, from int64) error {
			if args == nil {
				args = operandsOf(most, most, most)
				for i := range args {
					args[i].Strides = []int64{1}
				}
			}
			amd64.SetStreamFrom(from)
			for n := int64(most); n >= 1<<19; n /= 2 { // each as often as makes it the same work
				for range most / n {
					exe.Run(&kernel.Launch{Extents: []int64{n}, Args: args})
				}
			}
			return nil
		}})
	if err != nil {
		amd64.SetStreamFrom(before)
		return err
	}
	applyShared(d.tuned.table)
	return nil
}

// busy does something for a while.
func busy(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// tuneSerial measures short jobs, divided or not.
func (d *Device) tuneSerial(ctx context.Context, o TuneOptions) error {
	if d.opt.Threads == 1 {
		return nil
	}
	t := newTeam(d.opt.Threads - 1)
	defer t.close()
	return noted(ctx, d, o, serialChoice, threadBucket(d.opt.Threads), tune.Trial[time.Duration]{Run: func(_ context.Context, serial time.Duration) error {
		for range 50 {
			for _, cost := range []time.Duration{1500, 3000, 6000, 12000} {
				if cost < serial {
					busy(cost)
				} else {
					t.run(4, cost, func(int64, int) { busy(cost / 4) })
				}
			}
		}
		return nil
	}})
}

// tuneSpin measures jobs with pauses between them, in which helpers look for work or
// park.
func (d *Device) tuneSpin(ctx context.Context, o TuneOptions) error {
	if d.opt.Threads == 1 {
		return nil
	}
	return noted(ctx, d, o, spinChoice, threadBucket(d.opt.Threads), tune.Trial[time.Duration]{Run: func(_ context.Context, spin time.Duration) error {
		t := newTeam(d.opt.Threads - 1)
		defer t.close()
		t.spin.Store(int64(spin))
		for range 20 {
			for _, pause := range []time.Duration{5, 30, 80} {
				busy(pause * time.Microsecond)
				t.run(8, 40*time.Microsecond, func(int64, int) { busy(5 * time.Microsecond) })
			}
		}
		return nil
	}})
}

// tuneBlocks measures products.
func (d *Device) tuneBlocks(ctx context.Context, o TuneOptions) error {
	for _, s := range o.Products {
		if err := d.tuneProduct(ctx, o, s, nil); err != nil {
			return err
		}
	}
	return nil
}

// tuneProduct measures a product of f32. before, if there is one, waits until a run
// disturbs nobody.
func (d *Device) tuneProduct(ctx context.Context, o TuneOptions, s [3]int64, before func(context.Context) error) error {
	m, n, k := s[0], s[1], s[2]
	for _, e := range s {
		if e < 1 || e > 1<<20 || m*n > 1<<31 || m*k > 1<<31 || k*n > 1<<31 {
			return ir.Errorf(ir.ErrArgument, "product of %d rows, %d columns and k of %d: expected extents of 1 to 1048576, matrices of at most 2^31 elements", m, n, k)
		}
	}
	exe, _, err := d.compile(productKernel())
	if err != nil {
		return err
	}
	code, ok := exe.(*contract.Code)
	if !ok {
		return nil
	}
	var candidate contract.Blocking
	var problem contract.Problem
	code.SetBlocking(func(p contract.Problem) contract.Blocking {
		problem = p
		return candidate
	})
	l := &kernel.Launch{Extents: []int64{m, k, n}, Args: operandsOf(1, 1, 1)}
	strides := [][]int64{{k, 1, 0}, {0, n, 1}, {n, 0, 1}}
	for i := range l.Args {
		l.Args[i].Strides = strides[i]
	}
	candidate = contract.DefaultBlocking
	plan := code.Divide(l, 1) // of memory that is not there yet: nothing is read before a task runs
	if plan == nil {
		return nil // too small to be divided
	}
	if plan.Release != nil {
		plan.Release()
	}
	bucket := classOfProduct(problem, d.opt.Threads).bucket()
	real := false
	err = noted(ctx, d, o, blockChoice, bucket, tune.Trial[contract.Blocking]{
		Needs:  func(b contract.Blocking) int64 { return 4*(m*k+k*n+m*n) + packBytes(b, problem) },
		Before: before,
		Run: func(ctx context.Context, b contract.Blocking) error {
			if r := fitsProduct(b, problem, 1<<62); r != nil {
				return r
			}
			if !real {
				real = true
				for i, a := range operandsOf(m*k, k*n, m*n) {
					l.Args[i].Base, l.Args[i].Size = a.Base, a.Size
				}
			}
			candidate = b
			return d.do(ctx, func() { d.workers.runWork(code.Divide(l, d.workers.threads())) })
		}})
	if none := (*tune.NoCandidate)(nil); errors.As(err, &none) && errors.Is(err, ir.ErrMemory) {
		return nil // no candidate has room: the default stays
	}
	return err
}
