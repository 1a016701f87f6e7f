package kernel

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Convert converts one value, given and returned as bits, by the rules of
// [OpCvt]:
//
//   - float to float: the nearest value, ties to even, rounded once whatever
//     the two types (never through a third); subnormals are kept, overflow gives
//     infinity, a NaN stays a NaN (which one is not specified).
//   - float to integer: truncated towards zero; what is out of range saturates
//     to the range of the destination itself, also of a narrow one; NaN gives 0.
//   - integer to integer: modulo 2^bits (wraps), sign-extended from signed types.
//   - integer to float: the nearest value, ties to even, rounded once.
//   - anything to bool: whether it differs from zero; NaN does, -0 does not.
//   - bool to anything: 0 or 1.
func Convert(to, from ir.DType, bits uint64) uint64 {
	if to == from {
		return bits
	}
	fn := cvtFn(to, from)
	if fn == nil {
		panic(fmt.Sprintf("sinter/kernel: BUG: no conversion from %s to %s", from, to))
	}
	var in, out uint64
	putBits(unsafe.Pointer(&in), from.Size(), bits)
	f := frame{ptr: []unsafe.Pointer{unsafe.Pointer(&out), unsafe.Pointer(&in)}}
	fn(&f, &step{dst: 0, a: 1}, 1)
	return getBits(unsafe.Pointer(&out), to.Size())
}

func putBits(p unsafe.Pointer, size int, bits uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(bits)
	case 2:
		*(*uint16)(p) = uint16(bits)
	case 4:
		*(*uint32)(p) = uint32(bits)
	default:
		*(*uint64)(p) = bits
	}
}

func getBits(p unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	default:
		return *(*uint64)(p)
	}
}

// cvtFn returns the loop that converts a tile, nil if there is none.
func cvtFn(to, from ir.DType) stepFn {
	switch from {
	case ir.Bool, ir.U8:
		return cvtFromInt[uint8](to)
	case ir.U16:
		return cvtFromInt[uint16](to)
	case ir.U32:
		return cvtFromInt[uint32](to)
	case ir.U64:
		return cvtFromInt[uint64](to)
	case ir.I8:
		return cvtFromInt[int8](to)
	case ir.I16:
		return cvtFromInt[int16](to)
	case ir.I32:
		return cvtFromInt[int32](to)
	case ir.I64:
		return cvtFromInt[int64](to)
	case ir.F32:
		return cvtFromFloat[float32](to)
	case ir.F64:
		return cvtFromFloat[float64](to)
	case ir.F16:
		return cvtFromF16(to)
	case ir.BF16:
		return cvtFromBF16(to)
	}
	return nil
}

func cvtFromInt[S integer](to ir.DType) stepFn {
	switch to {
	case ir.Bool:
		return cvtBool[S]
	case ir.U8:
		return cvtPlain[uint8, S]
	case ir.U16:
		return cvtPlain[uint16, S]
	case ir.U32:
		return cvtPlain[uint32, S]
	case ir.U64:
		return cvtPlain[uint64, S]
	case ir.I8:
		return cvtPlain[int8, S]
	case ir.I16:
		return cvtPlain[int16, S]
	case ir.I32:
		return cvtPlain[int32, S]
	case ir.I64:
		return cvtPlain[int64, S]
	case ir.F32:
		return cvtIntF32[S]
	case ir.F64:
		return cvtPlain[float64, S]
	case ir.F16:
		return func(f *frame, s *step, n int) {
			d, a := vec[uint16](f, s.dst, n), vec[S](f, s.a, n)
			for i := range d {
				d[i] = F16FromF64(stickyFloat64(a[i]))
			}
		}
	case ir.BF16:
		return func(f *frame, s *step, n int) {
			d, a := vec[uint16](f, s.dst, n), vec[S](f, s.a, n)
			for i := range d {
				d[i] = BF16FromF64(stickyFloat64(a[i]))
			}
		}
	}
	return nil
}

func cvtFromFloat[S float](to ir.DType) stepFn {
	switch to {
	case ir.Bool:
		return cvtBool[S]
	case ir.F32:
		return cvtPlain[float32, S]
	case ir.F64:
		return cvtPlain[float64, S]
	case ir.F16:
		return func(f *frame, s *step, n int) {
			d, a := vec[uint16](f, s.dst, n), vec[S](f, s.a, n)
			for i := range d {
				d[i] = F16FromF64(float64(a[i]))
			}
		}
	case ir.BF16:
		if unsafe.Sizeof(S(0)) == 4 {
			return func(f *frame, s *step, n int) {
				d, a := vec[uint16](f, s.dst, n), vec[float32](f, s.a, n)
				for i := range d {
					d[i] = BF16FromF32(a[i])
				}
			}
		}
		return func(f *frame, s *step, n int) {
			d, a := vec[uint16](f, s.dst, n), vec[S](f, s.a, n)
			for i := range d {
				d[i] = BF16FromF64(float64(a[i]))
			}
		}
	}
	return cvtSaturating(to, func(f *frame, s *step, n, at int, d []float64) {
		for i, x := range vec[S](f, s.a, n)[at : at+len(d)] {
			d[i] = float64(x)
		}
	})
}

func cvtFromF16(to ir.DType) stepFn {
	switch to {
	case ir.Bool:
		return cvtHalfBool
	case ir.F32:
		return func(f *frame, s *step, n int) {
			d, a := vec[float32](f, s.dst, n), vec[uint16](f, s.a, n)
			for i := range d {
				d[i] = F16ToF32(a[i])
			}
		}
	case ir.F64:
		return func(f *frame, s *step, n int) {
			d, a := vec[float64](f, s.dst, n), vec[uint16](f, s.a, n)
			for i := range d {
				d[i] = float64(F16ToF32(a[i]))
			}
		}
	case ir.BF16:
		return func(f *frame, s *step, n int) {
			d, a := vec[uint16](f, s.dst, n), vec[uint16](f, s.a, n)
			for i := range d {
				d[i] = BF16FromF32(F16ToF32(a[i]))
			}
		}
	}
	return cvtSaturating(to, func(f *frame, s *step, n, at int, d []float64) {
		for i, x := range vec[uint16](f, s.a, n)[at : at+len(d)] {
			d[i] = float64(F16ToF32(x))
		}
	})
}

func cvtFromBF16(to ir.DType) stepFn {
	switch to {
	case ir.Bool:
		return cvtHalfBool
	case ir.F32:
		return func(f *frame, s *step, n int) {
			d, a := vec[float32](f, s.dst, n), vec[uint16](f, s.a, n)
			for i := range d {
				d[i] = BF16ToF32(a[i])
			}
		}
	case ir.F64:
		return func(f *frame, s *step, n int) {
			d, a := vec[float64](f, s.dst, n), vec[uint16](f, s.a, n)
			for i := range d {
				d[i] = float64(BF16ToF32(a[i]))
			}
		}
	case ir.F16:
		return func(f *frame, s *step, n int) {
			d, a := vec[uint16](f, s.dst, n), vec[uint16](f, s.a, n)
			for i := range d {
				d[i] = F16FromF32(BF16ToF32(a[i]))
			}
		}
	}
	return cvtSaturating(to, func(f *frame, s *step, n, at int, d []float64) {
		for i, x := range vec[uint16](f, s.a, n)[at : at+len(d)] {
			d[i] = float64(BF16ToF32(x))
		}
	})
}

func cvtPlain[D, S number](f *frame, s *step, n int) {
	d, a := vec[D](f, s.dst, n), vec[S](f, s.a, n)
	for i := range d {
		d[i] = D(a[i])
	}
}

// cvtIntF32 goes through float64, exact or with a sticky bit, because not every
// target has a 64-bit integer to float32 conversion that rounds once.
func cvtIntF32[S integer](f *frame, s *step, n int) {
	d, a := vec[float32](f, s.dst, n), vec[S](f, s.a, n)
	if unsafe.Sizeof(S(0)) < 8 {
		for i := range d {
			d[i] = float32(float64(a[i]))
		}
		return
	}
	for i := range d {
		d[i] = float32(stickyFloat64(a[i]))
	}
}

func cvtBool[S number](f *frame, s *step, n int) {
	d, a := vec[uint8](f, s.dst, n), vec[S](f, s.a, n)
	for i := range d {
		d[i] = b2u(a[i] != 0)
	}
}

func cvtHalfBool(f *frame, s *step, n int) {
	d, a := vec[uint8](f, s.dst, n), vec[uint16](f, s.a, n)
	for i := range d {
		d[i] = b2u(a[i]&0x7fff != 0)
	}
}

// cvtSaturating converts to an integer type by way of float64, which holds every
// float exactly; widen fills d from position at of the operand.
func cvtSaturating(to ir.DType, widen func(f *frame, s *step, n, at int, d []float64)) stepFn {
	switch to {
	case ir.U8:
		return saturate[uint8](0, math.MaxUint8, 0x1p8, widen)
	case ir.U16:
		return saturate[uint16](0, math.MaxUint16, 0x1p16, widen)
	case ir.U32:
		return saturate[uint32](0, math.MaxUint32, 0x1p32, widen)
	case ir.U64:
		return saturate[uint64](0, math.MaxUint64, 0x1p64, widen)
	case ir.I8:
		return saturate[int8](math.MinInt8, math.MaxInt8, 0x1p7, widen)
	case ir.I16:
		return saturate[int16](math.MinInt16, math.MaxInt16, 0x1p15, widen)
	case ir.I32:
		return saturate[int32](math.MinInt32, math.MaxInt32, 0x1p31, widen)
	case ir.I64:
		return saturate[int64](math.MinInt64, math.MaxInt64, 0x1p63, widen)
	}
	return nil
}

// saturate converts to D with range [lo,hi]; above is hi+1, exact in float64.
func saturate[D integer](lo, hi D, above float64, widen func(f *frame, s *step, n, at int, d []float64)) stepFn {
	below := float64(lo)
	return func(f *frame, s *step, n int) {
		for at := 0; at < n; at += len(f.wide) {
			w := f.wide[:min(len(f.wide), n-at)]
			widen(f, s, n, at, w)
			d := vec[D](f, s.dst, n)[at : at+len(w)]
			for i, x := range w {
				var r D // of NaN, which no comparison admits
				switch {
				case x >= above:
					r = hi
				case x > below:
					r = D(x)
				case x <= below:
					r = lo
				}
				d[i] = r
			}
		}
	}
}
