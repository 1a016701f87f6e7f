package contract

import (
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// levels that can run here.
func levels(t testing.TB) (out []amd64.Level) {
	for _, l := range []amd64.Level{amd64.AVX2, amd64.AVX512} {
		if amd64.Available(l) {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		t.Skip("no code can run here")
	}
	return out
}

const guard = 256

// buffer is memory between guards.
type buffer struct{ whole []byte }

func newBuffer(n int64) buffer {
	b := buffer{make([]byte, n+2*guard)}
	for i := range b.whole {
		b.whole[i] = 0xa5
	}
	return b
}

func (b buffer) base() unsafe.Pointer { return unsafe.Pointer(&b.whole[guard]) }

// put writes a value given by its bits.
func put(p unsafe.Pointer, size int, v uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
}

func get(p unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// values makes the bits of elements: moderate ones, with special ones now and then.
type values struct {
	*rand.Rand
	special bool
}

var specials = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, -3e-45, 3e38, -1e38, 1}

func (v values) bits(t ir.DType) uint64 {
	x := v.NormFloat64()
	if v.special && v.Intn(50) == 0 {
		x = specials[v.Intn(len(specials))]
	}
	switch t {
	case ir.F64:
		return math.Float64bits(x)
	case ir.F32:
		return uint64(math.Float32bits(float32(x)))
	case ir.F16:
		return uint64(kernel.F16FromF64(x))
	case ir.BF16:
		return uint64(kernel.BF16FromF64(x))
	case ir.Bool:
		return uint64(v.Intn(2))
	}
	return v.Uint64()
}

// layout gives an argument random strides of its classes: gaps, backwards, and
// sometimes windows that overlap.
func layout(r *rand.Rand, k *kernel.Kernel, a *kernel.Arg, extents []int64) (strides []int64, offset, size int64) {
	strides = make([]int64, len(extents))
	size = 1
	axes := r.Perm(len(extents))
	if r.Intn(2) == 0 { // row-major
		for i := range axes {
			axes[i] = len(axes) - 1 - i
		}
	}
	dense := r.Intn(2) == 0
	for pass, unit := range []bool{true, false} {
		for _, axis := range axes {
			if a.Access[axis] == kernel.Broadcast || (a.Access[axis] == kernel.Unit) != unit {
				continue
			}
			step := size
			if pass == 1 && a.Dir == kernel.In && r.Intn(6) == 0 {
				step = 1 + int64(r.Intn(3)) // overlaps
			}
			strides[axis] = step
			if pass == 1 && r.Intn(5) == 0 {
				strides[axis] = -step
				offset += step * (extents[axis] - 1)
			}
			size = max(size, 1+step*(extents[axis]-1)+(size-1))
			if step == size-(extents[axis]-1)*step {
				size = step * extents[axis]
			}
			if !dense {
				size += int64(r.Intn(3))
			}
		}
	}
	return strides, offset, size
}

// launch makes random memory for a kernel.
func launch(v values, k *kernel.Kernel, extents []int64) *kernel.Launch {
	l := &kernel.Launch{Extents: extents, Start: make([]int64, len(extents)), Full: make([]int64, len(extents))}
	for i := range extents {
		if k.Axes[i] == kernel.Parallel {
			l.Start[i] = int64(v.Intn(3) * 5)
		}
		l.Full[i] = extents[i] + l.Start[i]
		if k.Axes[i] == kernel.Parallel {
			l.Full[i] += 3
		}
	}
	for i := range k.Args {
		a := &k.Args[i]
		strides, offset, size := layout(v.Rand, k, a, extents)
		gather := int64(0)
		if a.Gather {
			gather = 1 + int64(v.Intn(8))
			size += gather
		}
		es := int64(a.Type.Size())
		base := fenced(size * es)
		if a.Dir == kernel.In {
			for i := range size {
				put(unsafe.Add(base, i*es), int(es), v.bits(a.Type))
			}
		}
		o := kernel.Operand{Base: base, Size: size * es, Offset: offset, Strides: strides}
		if a.Gather {
			o.GatherStride, o.GatherExtent = 1, gather
		}
		l.Args = append(l.Args, o)
	}
	for _, t := range k.Params {
		l.Params = append(l.Params, v.bits(t))
	}
	return l
}

// outputs returns a copy of a launch with results of its own, and these.
func outputs(k *kernel.Kernel, l *kernel.Launch) (*kernel.Launch, []buffer) {
	c := *l
	c.Args = append([]kernel.Operand(nil), l.Args...)
	var outs []buffer
	for i, a := range k.Args {
		if a.Dir == kernel.Out {
			b := newBuffer(c.Args[i].Size)
			c.Args[i].Base = b.base()
			outs = append(outs, b)
		}
	}
	return &c, outs
}

func isNaN(t ir.DType, v uint64) bool {
	switch t {
	case ir.F64:
		return v<<1 > 0x7ff0000000000000<<1
	case ir.F32:
		return uint32(v)<<1 > 0x7f800000<<1
	case ir.F16:
		return v&0x7fff > 0x7c00
	case ir.BF16:
		return v&0x7fff > 0x7f80
	}
	return false
}

// equal compares results with their guards, NaN with NaN.
func equal(k *kernel.Kernel, want, got []buffer) error {
	n := 0
	for i, a := range k.Args {
		if a.Dir != kernel.Out {
			continue
		}
		w, g := want[n].whole, got[n].whole
		n++
		size := a.Type.Size()
		for at := 0; at < len(w); at += size {
			x, y := get(unsafe.Pointer(&w[at]), size), get(unsafe.Pointer(&g[at]), size)
			if x != y && !(isNaN(a.Type, x) && isNaN(a.Type, y)) {
				return fmt.Errorf("argument %d (%s) element %d: got %#x, want %#x", i, a.Type, (at-guard)/size, y, x)
			}
		}
	}
	return nil
}

// runDivided runs a launch as a device does: its phases one after the other, the
// tasks of each in any order on several goroutines.
func runDivided(c *Code, l *kernel.Launch, threads int) bool {
	w := c.Divide(l, threads)
	if w == nil {
		return false
	}
	runWork(w, threads)
	return true
}

func runWork(w *kernel.Work, threads int) {
	for _, p := range w.Phases {
		var wg sync.WaitGroup
		for t := range threads {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for n := p.Tasks - 1 - int64(t); n >= 0; n -= int64(threads) {
					p.Do(n)
				}
			}()
		}
		wg.Wait()
	}
	if w.Release != nil {
		w.Release()
	}
}

// agree compares the engine with the interpreter on one launch: whole, on several
// goroutines, and in slices.
func agree(t testing.TB, r *rand.Rand, c *Code, l *kernel.Launch) {
	t.Helper()
	k := c.k
	in, err := kernel.NewInterpreter(k)
	if err != nil {
		t.Fatal(err)
	}
	ref, want := outputs(k, l)
	ref.Fault = new(kernel.Fault)
	in.Run(ref)
	check := func(how string, run func(l *kernel.Launch)) {
		t.Helper()
		ll, got := outputs(k, l)
		ll.Fault = new(kernel.Fault)
		run(ll)
		wantCode, wantAt := ref.Fault.First()
		if code, at := ll.Fault.First(); code != wantCode || at != wantAt {
			t.Fatalf("%s, %s, extents %v: fault %v at %d, want %v at %d\n%v", c.level, how, l.Extents, code, at, wantCode, wantAt, k)
		}
		if err := equal(k, want, got); err != nil {
			t.Fatalf("%s, %s, extents %v, start %v: %v\n%v%v", c.level, how, l.Extents, l.Start, err, k, strides(l))
		}
	}
	check("whole", c.Run)
	threads := []int{1, 2, 5}[r.Intn(3)]
	check(fmt.Sprintf("%d threads", threads), func(l *kernel.Launch) {
		if !runDivided(c, l, threads) {
			c.Run(l)
		}
	})
	var places [2]unsafe.Pointer
	var memory [2]*[]byte
	packed := func(how string, places [2]unsafe.Pointer) {
		check(how, func(l *kernel.Launch) {
			if w := c.WithPacked(places).Divide(l, threads); w != nil {
				runWork(w, threads)
			} else {
				t.Fatal("it has a constant, but is not divided")
			}
		})
	}
	for side, k := range c.Constants(l) {
		if k.Bytes > 0 {
			memory[side] = takeBytes(int(k.Bytes))
			places[side] = unsafe.Pointer(unsafe.SliceData(*memory[side]))
			runWork(c.PackConstant(l, side, places[side]), threads)
			var one [2]unsafe.Pointer
			one[side] = places[side]
			packed(fmt.Sprintf("side %d packed for good", side), one)
		}
	}
	if places[0] != nil && places[1] != nil {
		packed("both packed for good", places)
	}
	runtime.KeepAlive(memory)
	giveBytes(memory[0])
	giveBytes(memory[1])
	axis := r.Intn(len(k.Axes))
	if k.Axes[axis] == kernel.Parallel && l.Extents[axis] > 1 {
		at := 1 + int64(r.Intn(int(l.Extents[axis]-1)))
		check(fmt.Sprintf("slices of axis %d at %d", axis, at), func(l *kernel.Launch) {
			c.Run(l.Slice(axis, at, l.Extents[axis]))
			c.Run(l.Slice(axis, 0, at))
		})
	}
	runtime.KeepAlive(l)
}

func strides(l *kernel.Launch) string {
	s := ""
	for i := range l.Args {
		s += fmt.Sprintf("arg%d strides %v\n", i, l.Args[i].Strides)
	}
	return s
}
