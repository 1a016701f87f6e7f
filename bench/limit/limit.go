// Package limit measures what the processor at hand can do at most: how fast bytes
// are copied and read, in caches and memory, and how many multiplications it
// does. The loops are generated for it, as kernels are; each thread counts what it
// did until a deadline, so that neither clocks nor a slow start weigh in.
package limit

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// Kind is something that has a limit.
type Kind string

// The kinds. Bytes of a copy count as read and as written. A multiplication with
// its addition is two operations.
const (
	Copy       Kind = "copy"
	CopyStream Kind = "copy past the caches" // by non-temporal stores
	Read       Kind = "read"
	F32        Kind = "f32"
	F64        Kind = "f64"
	BF16       Kind = "bf16" // products of pairs, added in f32
	Int8       Kind = "int8" // products of quads, added in i32
)

// Bandwidths and Arithmetic are the kinds, in the order of tables.
var (
	Bandwidths = []Kind{Read, Copy, CopyStream}
	Arithmetic = []Kind{F32, F64, BF16, Int8}
)

// Machine is the processor at hand. Not for several goroutines at once.
type Machine struct {
	level    amd64.Level
	routines map[Kind]*amd64.Routine
	memory   []byte // that bandwidths are measured in
	whole    []byte // memory before it was aligned
	clock    Clock
}

// Open generates the loops. On a target or processor without a generator the error
// has kind [ir.ErrUnsupported].
func Open() (*Machine, error) {
	m := &Machine{level: amd64.AVX512, routines: map[Kind]*amd64.Routine{}, clock: Wall()}
	if !amd64.Available(m.level) {
		m.level = amd64.AVX2
	}
	if !amd64.Available(m.level) {
		return nil, ir.Errorf(ir.ErrUnsupported, "limits are measured by generated code, which %s/%s or this processor does not have", runtime.GOOS, runtime.GOARCH)
	}
	wide := m.level == amd64.AVX512
	has := map[Kind]bool{Copy: true, CopyStream: true, Read: true, F32: true, F64: true,
		BF16: wide && cpu.X86.HasAVX512BF16, Int8: wide && cpu.X86.HasAVX512VNNI}
	for k, ok := range has {
		if !ok {
			continue
		}
		r, err := amd64.Assemble(assemble(k, m.level))
		if err != nil {
			m.Close()
			return nil, fmt.Errorf("the loop of %s: %w", k, err)
		}
		m.routines[k] = r
	}
	return m, nil
}

// Close returns memory and code.
func (m *Machine) Close() {
	for _, r := range m.routines {
		r.Free()
	}
	release(m.whole)
	m.routines, m.memory, m.whole = nil, nil, nil
}

// SetClock measures by another clock than [Wall].
func (m *Machine) SetClock(c Clock) { m.clock = c }

// Level is the instruction set of the loops.
func (m *Machine) Level() amd64.Level { return m.level }

// Has reports whether the processor has instructions of a kind.
func (m *Machine) Has(k Kind) bool { return m.routines[k] != nil }

// block is what a loop finds at DI.
type block struct{ src, dst, count uint64 }

const (
	unit      = 512       // bytes that a turn of a bandwidth loop handles
	callBytes = 256 << 10 // of one call, which cannot be preempted
	skew      = 2048      // between source and destination, so that they are not equal modulo a page
	callTurns = 2000      // of an arithmetic loop
)

// Bandwidth moves bytes within memory of the given size, shared out among threads,
// for a while, and returns bytes per second.
func (m *Machine) Bandwidth(k Kind, bytes int64, threads int, d time.Duration) (float64, error) {
	r := m.routines[k]
	if r == nil || k != Copy && k != CopyStream && k != Read {
		return 0, ir.Errorf(ir.ErrArgument, "limit of %q: it moves no bytes here", k)
	}
	each := max(bytes/int64(threads)/(2*unit)*(2*unit), 2*unit)
	if err := m.reserve(int64(threads) * (each + 2*skew)); err != nil {
		return 0, err
	}
	return m.run(threads, d, func(thread int) func() float64 {
		at := int64(thread) * (each + 2*skew)
		base := uint64(uintptr(unsafe.Pointer(&m.memory[at])))
		b := &block{}
		if k == Read {
			return func() float64 {
				for from := int64(0); from < each; from += callBytes {
					b.src, b.count = base+uint64(from), uint64(min(callBytes, each-from)/unit)
					r.Call(unsafe.Pointer(b))
				}
				return float64(each)
			}
		}
		half := each / 2
		dst := base + uint64(half) + skew
		return func() float64 {
			for from := int64(0); from < half; from += callBytes {
				b.src, b.dst, b.count = base+uint64(from), dst+uint64(from), uint64(min(callBytes, half-from)/unit)
				r.Call(unsafe.Pointer(b))
			}
			return float64(2 * half)
		}
	}), nil
}

// Rate multiplies and adds for a while and returns operations per second.
func (m *Machine) Rate(k Kind, threads int, d time.Duration) (float64, error) {
	r := m.routines[k]
	if r == nil || operations(k, m.level) == 0 {
		return 0, ir.Errorf(ir.ErrArgument, "limit of %q: this processor has no instructions for it", k)
	}
	turn := float64(callTurns) * operations(k, m.level)
	return m.run(threads, d, func(int) func() float64 {
		b := &block{count: callTurns}
		return func() float64 { r.Call(unsafe.Pointer(b)); return turn }
	}), nil
}

// run lets threads do work of their own until a while is over; a call returns how
// much it did. The result is work per second.
func (m *Machine) run(threads int, d time.Duration, work func(thread int) func() float64) float64 {
	var ready atomic.Int32
	var group sync.WaitGroup
	rates := make([]float64, threads)
	one := func(i int) {
		call := work(i)
		call() // code, pages, caches
		for ready.Add(1); ready.Load() < int32(threads); {
			runtime.Gosched()
		}
		start := m.clock()
		done, batch := 0.0, 1
		for {
			for range batch {
				done += call()
			}
			took := m.clock() - start
			if took >= d && took > 0 {
				rates[i] = done / took.Seconds()
				return
			}
			if took < d/16 { // so that the clock weighs little
				batch *= 2
			}
		}
	}
	for i := 1; i < threads; i++ {
		group.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			one(i)
		})
	}
	one(0)
	group.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum
}

// reserve makes the memory that large.
func (m *Machine) reserve(bytes int64) error {
	if int64(len(m.memory)) >= bytes {
		return nil
	}
	release(m.whole)
	m.memory, m.whole = nil, nil
	whole, err := acquire(bytes + 4096)
	if err != nil {
		return &ir.Error{Kind: ir.ErrMemory, Msg: fmt.Sprintf("%d bytes to measure bandwidth in", bytes), Cause: err}
	}
	m.whole = whole
	skip := -uintptr(unsafe.Pointer(&whole[0])) & 4095
	m.memory = whole[skip:][:bytes]
	for i := 0; i < len(m.memory); i += 4096 { // untouched pages are all the same one
		m.memory[i] = 1
	}
	return nil
}
