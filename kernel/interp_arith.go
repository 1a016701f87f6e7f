package kernel

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// arithFn returns the loop of an arithmetic instruction on operands of type t,
// nil if there is none. Each instruction has a loop of its own, so no target
// can contract a product and a sum of two of them.
func arithFn(op Op, t ir.DType) stepFn {
	switch t {
	case ir.Bool:
		return boolFn(op)
	case ir.I32:
		return intFn[int32](op)
	case ir.I64:
		return intFn[int64](op)
	case ir.U32:
		if op == OpMulHi {
			return mulHi
		}
		return intFn[uint32](op)
	case ir.U64:
		return intFn[uint64](op)
	case ir.F32:
		return floatFn[float32](op)
	case ir.F64:
		return floatFn[float64](op)
	}
	return nil
}

func boolFn(op Op) stepFn {
	switch op {
	case OpAnd:
		return and[uint8]
	case OpOr:
		return or[uint8]
	case OpXor:
		return xor[uint8]
	case OpNot:
		return func(f *frame, s *step, n int) {
			d, a := vec[uint8](f, s.dst, n), vec[uint8](f, s.a, n)
			for i := range d {
				d[i] = b2u(a[i] == 0)
			}
		}
	}
	return compareFn[uint8](op)
}

func compareFn[T number](op Op) stepFn {
	switch op {
	case OpEq:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[uint8](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = b2u(a[i] == b[i])
			}
		}
	case OpNe:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[uint8](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = b2u(a[i] != b[i])
			}
		}
	case OpLt:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[uint8](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = b2u(a[i] < b[i])
			}
		}
	case OpLe:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[uint8](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = b2u(a[i] <= b[i])
			}
		}
	}
	return nil
}

func b2u(b bool) uint8 {
	var r uint8
	if b {
		r = 1
	}
	return r
}

// numberFn has what integers and floats write the same way. The built-in min
// and max have the rules of OpMin and OpMax: NaN wins, -0 < +0.
func numberFn[T number](op Op) stepFn {
	switch op {
	case OpAdd:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = a[i] + b[i]
			}
		}
	case OpSub:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = a[i] - b[i]
			}
		}
	case OpMul:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = a[i] * b[i]
			}
		}
	case OpMin:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = min(a[i], b[i])
			}
		}
	case OpMax:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = max(a[i], b[i])
			}
		}
	}
	return compareFn[T](op)
}

func intFn[T int32 | int64 | uint32 | uint64](op Op) stepFn {
	switch op {
	case OpDiv:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			zero := -1
			for i := range d {
				y := b[i]
				if y == 0 {
					if zero < 0 {
						zero = i
					}
					d[i] = 0
					continue
				}
				d[i] = a[i] / y // min/-1 wraps in Go
			}
			f.noteZero(zero)
		}
	case OpRem:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			zero := -1
			for i := range d {
				y := b[i]
				if y == 0 {
					if zero < 0 {
						zero = i
					}
					d[i] = 0
					continue
				}
				d[i] = a[i] % y
			}
			f.noteZero(zero)
		}
	case OpNeg:
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = -a[i]
			}
		}
	case OpAbs:
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				v := a[i]
				if v < 0 {
					v = -v
				}
				d[i] = v
			}
		}
	case OpAnd:
		return and[T]
	case OpOr:
		return or[T]
	case OpXor:
		return xor[T]
	case OpNot:
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = ^a[i]
			}
		}
	case OpShl: // a negative count becomes a huge one
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = a[i] << uint64(b[i])
			}
		}
	case OpShr:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = a[i] >> uint64(b[i])
			}
		}
	}
	return numberFn[T](op)
}

// noteZero notes a division by zero in a lane, if not negative.
func (f *frame) noteZero(lane int) {
	if lane >= 0 {
		f.l.Fault.Note(DivisionByZero, f.linear(lane))
	}
}

func and[T integer](f *frame, s *step, n int) {
	d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func or[T integer](f *frame, s *step, n int) {
	d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xor[T integer](f *frame, s *step, n int) {
	d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func mulHi(f *frame, s *step, n int) {
	d, a, b := vec[uint32](f, s.dst, n), vec[uint32](f, s.a, n), vec[uint32](f, s.b, n)
	for i := range d {
		d[i] = uint32(uint64(a[i]) * uint64(b[i]) >> 32)
	}
}

func floatFn[T float](op Op) stepFn {
	single := unsafe.Sizeof(T(0)) == 4
	switch op {
	case OpDiv:
		return func(f *frame, s *step, n int) {
			d, a, b := vec[T](f, s.dst, n), vec[T](f, s.a, n), vec[T](f, s.b, n)
			for i := range d {
				d[i] = a[i] / b[i]
			}
		}
	case OpNeg: // of the sign bit: 0-x is not it, and targets differ on -NaN
		if single {
			return signBit[uint32](1<<31, true)
		}
		return signBit[uint64](1<<63, true)
	case OpAbs:
		if single {
			return signBit[uint32](1<<31, false)
		}
		return signBit[uint64](1<<63, false)
	case OpFma:
		if single {
			return fmaStep32
		}
		return func(f *frame, s *step, n int) {
			d, a := vec[float64](f, s.dst, n), vec[float64](f, s.a, n)
			b, c := vec[float64](f, s.b, n), vec[float64](f, s.c, n)
			for i := range d {
				d[i] = math.FMA(a[i], b[i], c[i])
			}
		}
	case OpSqrt: // of a float32 through float64: provably the same as one rounding
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = T(math.Sqrt(float64(a[i])))
			}
		}
	case OpFloor:
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = T(math.Floor(float64(a[i])))
			}
		}
	case OpCeil:
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = T(math.Ceil(float64(a[i])))
			}
		}
	case OpTrunc:
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = T(math.Trunc(float64(a[i])))
			}
		}
	case OpRint:
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = T(math.RoundToEven(float64(a[i])))
			}
		}
	}
	return numberFn[T](op)
}

// signBit flips or clears a bit.
func signBit[T raw](bit T, flip bool) stepFn {
	if flip {
		return func(f *frame, s *step, n int) {
			d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
			for i := range d {
				d[i] = a[i] ^ bit
			}
		}
	}
	return func(f *frame, s *step, n int) {
		d, a := vec[T](f, s.dst, n), vec[T](f, s.a, n)
		for i := range d {
			d[i] = a[i] &^ bit
		}
	}
}

func fmaStep32(f *frame, s *step, n int) {
	fmaTile32(vec[float32](f, s.dst, n), vec[float32](f, s.a, n), vec[float32](f, s.b, n), vec[float32](f, s.c, n))
}
