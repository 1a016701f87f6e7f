package amd64

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var levels = []Level{AVX2, AVX512}

var specials32 = []uint32{
	0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
	1, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000, 0x4f800000,
	0x4effffff, 0x43000000, 0x477fe000, 0x477ff000, 0x33000000, 0x33000001, 0x387fc000, 0x3f000000, 0x3fc00000, 0x5f000000, 0xdf000000, 0x5f800000,
}

var specials64 = []uint64{
	0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
	0x7ff0000000000001, 1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
	0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0x41efffffffe00000, 0x41f0000000000000,
	0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x43dfffffffffffff, 0x3fe0000000000000,
	0x36a0000000000000, 0x3690000000000000, 0x47efffffe0000000, 0x47effffff0000000,
}

// randomBits returns the bits of a value of the type: special, of any pattern,
// or of moderate size.
func randomBits(r *rand.Rand, t ir.DType) uint64 {
	switch t {
	case ir.Bool:
		return uint64(r.Intn(2))
	case ir.F32:
		switch r.Intn(4) {
		case 0:
			return uint64(specials32[r.Intn(len(specials32))])
		case 1:
			return uint64(r.Uint32())
		}
		return uint64(math.Float32bits(float32(r.NormFloat64() * 3)))
	case ir.F64:
		switch r.Intn(4) {
		case 0:
			return specials64[r.Intn(len(specials64))]
		case 1:
			return r.Uint64()
		}
		return math.Float64bits(r.NormFloat64() * 3)
	case ir.F16:
		if r.Intn(2) == 0 {
			return uint64(r.Intn(1 << 16))
		}
		return uint64(kernel.F16FromF32(float32(r.NormFloat64())))
	case ir.BF16:
		if r.Intn(2) == 0 {
			return uint64(r.Intn(1 << 16))
		}
		return uint64(kernel.BF16FromF32(float32(r.NormFloat64())))
	}
	switch r.Intn(3) {
	case 0:
		return uint64(r.Intn(7)) - 3
	case 1:
		return uint64(1) << (t.Bits() - 1) >> r.Intn(2) & (1<<t.Bits() - 1)
	}
	return r.Uint64()
}

// plainBits returns finite values of moderate size only, so that sums stay finite.
func plainBits(r *rand.Rand, t ir.DType) uint64 {
	x := r.NormFloat64()
	switch t {
	case ir.F64:
		return math.Float64bits(x)
	case ir.F32:
		return uint64(math.Float32bits(float32(x)))
	case ir.F16:
		return uint64(kernel.F16FromF64(x))
	case ir.BF16:
		return uint64(kernel.BF16FromF64(x))
	}
	return randomBits(r, t)
}

type filler func(r *rand.Rand, t ir.DType) uint64

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

func ptrAt(b []byte, i int) unsafe.Pointer { return unsafe.Pointer(&b[i]) }

const guard = 256

// launch makes random memory for a kernel. Strided axes are laid out with gaps,
// and some of them backwards.
func launch(r *rand.Rand, k *kernel.Kernel, extents []int64, fill filler) *kernel.Launch {
	l := &kernel.Launch{Extents: extents, Start: make([]int64, len(extents))}
	for i := range l.Start {
		if k.Axes[i] == kernel.Parallel { // launches are not sliced along others
			l.Start[i] = int64(r.Intn(3) * 5)
		}
	}
	l.Full = make([]int64, len(extents))
	for i := range l.Full {
		l.Full[i] = extents[i] + l.Start[i] + 3
	}
	for _, a := range k.Args {
		strides := make([]int64, len(extents))
		size, offset := int64(1), int64(0)
		axes := r.Perm(len(extents))
		for pass, unit := range []bool{true, false} {
			for _, axis := range axes {
				if a.Access[axis] == kernel.Broadcast || (a.Access[axis] == kernel.Unit) != unit {
					continue
				}
				strides[axis] = size
				if pass == 1 && r.Intn(3) == 0 {
					strides[axis] = -size
					offset += size * (extents[axis] - 1)
				}
				size *= extents[axis]
				if pass == 1 {
					size += int64(r.Intn(3))
				} else if r.Intn(2) == 0 {
					size += int64(r.Intn(3))
				}
			}
		}
		es := int64(a.Type.Size())
		gatherStride, gatherExtent := int64(0), int64(0)
		if a.Gather {
			gatherStride, gatherExtent = size, 1+int64(r.Intn(9))
			size *= gatherExtent
		}
		buf := make([]byte, size*es+2*guard+64)
		for i := range buf {
			buf[i] = 0xa5
		}
		shift := int64(r.Intn(4)) * es
		base := unsafe.Pointer(&buf[guard+shift])
		if a.Dir == kernel.In {
			for i := int64(0); i < size; i++ {
				put(unsafe.Add(base, i*es), int(es), fill(r, a.Type))
			}
		}
		l.Args = append(l.Args, kernel.Operand{Base: base, Size: size * es, Offset: offset, Strides: strides, GatherStride: gatherStride, GatherExtent: gatherExtent})
	}
	for _, t := range k.Params {
		l.Params = append(l.Params, fill(r, t)&(^uint64(0)>>(64-t.Bits())))
	}
	return l
}

// withOutputs returns a copy of the launch with output buffers of its own, and
// these buffers with their guards.
func withOutputs(k *kernel.Kernel, l *kernel.Launch) (*kernel.Launch, [][]byte) {
	c := *l
	c.Args = append([]kernel.Operand(nil), l.Args...)
	var outs [][]byte
	for i, a := range k.Args {
		if a.Dir != kernel.Out {
			continue
		}
		o := &c.Args[i]
		whole := make([]byte, o.Size+2*guard)
		for j := range whole {
			whole[j] = 0xa5
		}
		o.Base = unsafe.Pointer(&whole[guard])
		outs = append(outs, whole)
	}
	return &c, outs
}

// equalOutputs compares two sets of outputs bit for bit, NaN with NaN.
func equalOutputs(k *kernel.Kernel, want, got [][]byte) error {
	n := 0
	for i, a := range k.Args {
		if a.Dir != kernel.Out {
			continue
		}
		w, g := want[n], got[n]
		n++
		size := a.Type.Size()
		for at := 0; at < len(w); at += size {
			x, y := get(unsafe.Pointer(&w[at]), size), get(unsafe.Pointer(&g[at]), size)
			if x == y || isNaN(a.Type, x) && isNaN(a.Type, y) {
				continue
			}
			return fmt.Errorf("output %d (%s) element %d: got %#x, want %#x", i, a.Type, (at-guard)/size, y, x)
		}
	}
	return nil
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

// agree runs a kernel on the interpreter and on the given levels. It reports
// whether any level compiled it.
func agree(t testing.TB, r *rand.Rand, k *kernel.Kernel, codes []*Code, in kernel.Executable, extents []int64, fill filler) {
	t.Helper()
	l := launch(r, k, extents, fill)
	ref, want := withOutputs(k, l)
	in.Run(ref)
	for _, c := range codes {
		ll, got := withOutputs(k, l)
		c.Run(ll)
		if err := equalOutputs(k, want, got); err != nil {
			t.Fatalf("extents %v, lanes %d, rows %v, start %v: %v\n%v", extents, c.lanes, c.byRows, l.Start, err, k)
		}
	}
}

// prepare compiles a kernel for every level there is. must says that it may not
// be refused.
func prepare(t testing.TB, k *kernel.Kernel, must bool) ([]*Code, kernel.Executable) {
	t.Helper()
	if err := k.Verify(); err != nil {
		t.Fatalf("%v\n%v", err, k)
	}
	in, err := kernel.NewInterpreter(k)
	if err != nil {
		t.Fatal(err)
	}
	var codes []*Code
	for _, level := range levels {
		if !Available(level) {
			continue
		}
		c, err := Compile(k, level)
		var un *Unsupported
		if errors.As(err, &un) && !must {
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%v", err, k)
		}
		codes = append(codes, c)
	}
	return codes, in
}
