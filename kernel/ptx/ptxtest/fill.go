package ptxtest

import (
	"math"
	"math/rand/v2"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Fill says which data an input holds.
type Fill uint8

// The fills.
const (
	Patterns Fill = iota // random bits, with special values in between
	Normal               // around zero
	Counting             // 0, 1, 2, …, wrapping: every pattern of a 16-bit type
	Small                // little numbers with many ties, some NaN and zeros of both signs
	Divisors             // like Patterns, with many 0 and -1
	Zeros                // left to the caller
)

var specials32 = []uint32{
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x807fffff, 0x80800000, // zeros, subnormals, least normals
	0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, // ones, infinities, NaN
	0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, // limits of integers
	0x3f000000, 0xbf000000, 0x3effffff, 0x3fc00000, 0x40200000, 0xbfc00000, 0x4b000000, 0x4b000001, 0x4affffff, // halves
	0x477fe000, 0x477ff000, 0x477fefff, 0x33000000, 0x33000001, 0x32ffffff, 0x387fc000, 0x38800000, 0x387fe000, // f16 edges
	0x3f808000, 0x3f818000, 0x3f808001, 0x7f7f8000, 0x7f7f7fff, 0x00008000, 0x00018000, 0x00007fff, // bf16 ties
	0x42b17218, 0xc2aeac50, 0xc2cff1b5, 0x43000000, 0xc3000000, // exp limits
}

func (b *Buffer) fill(f Fill, seed uint64) {
	if f == Zeros {
		return
	}
	r := rand.New(rand.NewPCG(seed, uint64(b.Type)*17+uint64(f)))
	switch b.Type {
	case ir.Bool:
		for i, v := range view[uint8](b) {
			_ = v
			view[uint8](b)[i] = uint8(r.Uint64() & 1)
		}
	case ir.F32:
		fillWith(b, func(i int) uint32 { return pattern32(r, f, i) })
	case ir.F64:
		fillWith(b, func(i int) uint64 { return pattern64(r, f, i) })
	case ir.F16:
		fillWith(b, func(i int) uint16 {
			if f == Patterns || f == Counting {
				return half(r, f, i)
			}
			return kernel.F16FromF32(math.Float32frombits(pattern32(r, f, i)))
		})
	case ir.BF16:
		fillWith(b, func(i int) uint16 {
			if f == Patterns || f == Counting {
				return half(r, f, i)
			}
			return kernel.BF16FromF32(math.Float32frombits(pattern32(r, f, i)))
		})
	case ir.I8, ir.U8:
		fillWith(b, func(i int) uint8 { return uint8(integer(r, f, i)) })
	case ir.I16, ir.U16:
		fillWith(b, func(i int) uint16 { return uint16(integer(r, f, i)) })
	case ir.I32, ir.U32:
		fillWith(b, func(i int) uint32 { return uint32(integer(r, f, i)) })
	default:
		fillWith(b, func(i int) uint64 { return integer(r, f, i) })
	}
}

func fillWith[T any](b *Buffer, f func(i int) T) {
	v := view[T](b)
	for i := range v {
		v[i] = f(i)
	}
}

func half(r *rand.Rand, f Fill, i int) uint16 {
	if f == Counting {
		return uint16(i)
	}
	return uint16(r.Uint64())
}

func integer(r *rand.Rand, f Fill, i int) uint64 {
	switch f {
	case Counting:
		return uint64(i)
	case Small, Normal:
		return uint64(r.IntN(21) - 10)
	case Divisors:
		switch r.IntN(5) {
		case 0:
			return 0
		case 1:
			return math.MaxUint64
		}
	}
	switch r.IntN(8) {
	case 0:
		return uint64(r.IntN(70)) // also shift counts
	case 1:
		return 1 << r.IntN(64)
	case 2:
		return uint64(int64(-1) << r.IntN(64))
	case 3: // narrow limits
		return []uint64{0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1<<63 - 1, 1 << 63, math.MaxUint64}[r.IntN(12)]
	}
	return r.Uint64()
}

func pattern32(r *rand.Rand, f Fill, i int) uint32 {
	switch f {
	case Normal:
		return math.Float32bits(float32(r.NormFloat64()))
	case Counting:
		return math.Float32bits(float32(i % 1000))
	case Small:
		switch r.IntN(40) {
		case 0:
			return 0x7fc00000
		case 1, 2, 3:
			return 0x80000000
		}
		return math.Float32bits(float32(r.IntN(9) - 4))
	}
	switch r.IntN(4) {
	case 0:
		return specials32[r.IntN(len(specials32))]
	case 1: // exponents near one, where functions do their work
		return uint32(r.Uint64())&0x807fffff | uint32(120+r.IntN(16))<<23
	}
	return uint32(r.Uint64())
}

func pattern64(r *rand.Rand, f Fill, i int) uint64 {
	switch f {
	case Normal:
		return math.Float64bits(r.NormFloat64())
	case Counting, Small:
		return math.Float64bits(float64(math.Float32frombits(pattern32(r, f, i))))
	}
	switch r.IntN(4) {
	case 0:
		return math.Float64bits(float64(math.Float32frombits(specials32[r.IntN(len(specials32))])))
	case 1: // near the midpoints of narrower types
		v := math.Float64bits(float64(math.Float32frombits(pattern32(r, f, i)&0xffff8000 | 0x8000*uint32(r.IntN(2)))))
		return v + uint64(r.IntN(3)) - 1
	case 2:
		return []uint64{0, 1 << 63, 1, 1<<63 | 1, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
			0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x43e0000000000000, 0xc3e0000000000000,
			0x43f0000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0x41efffffffe00000, 0xc1e0000000200000}[r.IntN(17)]
	}
	return r.Uint64()
}
