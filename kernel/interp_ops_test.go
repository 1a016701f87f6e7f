package kernel

import (
	"math"
	"math/big"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

var computeTypes = []ir.DType{ir.Bool, ir.I32, ir.I64, ir.U32, ir.U64, ir.F32, ir.F64}

// packed lays values out as elements of a type.
func packed(t ir.DType, bits []uint64) []byte {
	out := make([]byte, 8*len(bits)+8)
	for i, v := range bits {
		putBits(unsafe.Pointer(&out[i*t.Size()]), t.Size(), v)
	}
	return out
}

// runOp runs one instruction over operand tuples; types are of the operands.
func runOp(t testing.TB, o Op, res ir.DType, types []ir.DType, in [][]uint64) []uint64 {
	t.Helper()
	b := newKB(pp)
	var refs []Ref
	n := len(in[0])
	l := &Launch{Extents: []int64{int64(n)}, Fault: new(Fault)}
	for i, ty := range types {
		refs = append(refs, b.load(ty, Unit))
		l.Args = append(l.Args, op(packed(ty, in[i]), 0, 1))
	}
	b.store(b.emit(o, res, 0, refs...), Unit)
	out := packed(res, make([]uint64, n))
	l.Args = append(l.Args, op(out, 0, 1))
	b.build(t).Run(l)
	got := make([]uint64, n)
	for i := range got {
		got[i] = getBits(unsafe.Pointer(&out[i*res.Size()]), res.Size())
	}
	return got
}

// interesting returns values of a compute type.
func interesting(t ir.DType) []uint64 {
	switch t {
	case ir.Bool:
		return []uint64{0, 1}
	case ir.F32:
		var out []uint64
		r := newRand(31)
		for _, v := range []float32{0, negZero32, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0x1p-149, -0x1p-149, 0x1p-126, math.MaxFloat32, -math.MaxFloat32,
			float32(posInf), float32(negInf), nan32, 1e7 + 0.5, 0x1p23 + 1, -0x1p23 - 1, 4194303.5, -4194303.5, 3, 0x1.fffffep-1} {
			out = append(out, uint64(math.Float32bits(v)))
		}
		for range 20 {
			out = append(out, uint64(math.Float32bits(float32(r.NormFloat64()))), uint64(r.Uint32()))
		}
		return out
	case ir.F64:
		var out []uint64
		r := newRand(32)
		for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0x1p-1074, -0x1p-1074, 0x1p-1022, math.MaxFloat64, -math.MaxFloat64,
			posInf, negInf, math.NaN(), 0x1p52 + 1, -0x1p52 - 1, 2251799813685247.5, 3, 0x1.fffffffffffffp-1} {
			out = append(out, math.Float64bits(v))
		}
		for range 20 {
			out = append(out, math.Float64bits(r.NormFloat64()), r.Uint64())
		}
		return out
	}
	mask := ^uint64(0) >> (64 - t.Bits())
	var out []uint64
	r := newRand(33)
	for _, v := range []uint64{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 100} {
		out = append(out, v, -v&mask)
	}
	out = append(out, mask, mask>>1, mask>>1+1, mask>>1+2, mask-1)
	for range 20 {
		out = append(out, r.Uint64()&mask, r.Uint64()&mask>>r.IntN(t.Bits()))
	}
	return out
}

// tuples returns all combinations of k values, or many of them.
func tuples(v []uint64, k int) [][]uint64 {
	out := make([][]uint64, k)
	n := 1
	for range k {
		n *= len(v)
	}
	step := 1
	if n > 8000 {
		step = n/8000 | 1
	}
	for i := 0; i < n; i += step {
		j := i
		for d := range k {
			out[d] = append(out[d], v[j%len(v)])
			j /= len(v)
		}
	}
	return out
}

// intRef is an integer instruction in unbounded integers.
func intRef(o Op, t ir.DType, in []uint64) uint64 {
	bits := t.Bits()
	mask := ^uint64(0) >> (64 - bits)
	val := func(v uint64) *big.Int {
		x := new(big.Int).SetUint64(v)
		if t.Kind() == ir.KindInt && v>>(bits-1) == 1 {
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
		}
		return x
	}
	a := val(in[0])
	b := new(big.Int)
	if len(in) > 1 {
		b = val(in[1])
	}
	r := new(big.Int)
	switch o {
	case OpAdd:
		r.Add(a, b)
	case OpSub:
		r.Sub(a, b)
	case OpMul:
		r.Mul(a, b)
	case OpMulHi:
		r.Rsh(r.Mul(a, b), 32)
	case OpDiv:
		if b.Sign() != 0 {
			r.Quo(a, b)
		}
	case OpRem:
		if b.Sign() != 0 {
			r.Rem(a, b)
		}
	case OpNeg:
		r.Neg(a)
	case OpAbs:
		r.Abs(a)
	case OpMin:
		r = a
		if b.Cmp(a) < 0 {
			r = b
		}
	case OpMax:
		r = a
		if b.Cmp(a) > 0 {
			r = b
		}
	case OpAnd:
		r.And(a, b)
	case OpOr:
		r.Or(a, b)
	case OpXor:
		r.Xor(a, b)
	case OpNot:
		r.Not(a)
	case OpShl:
		if in[1] < uint64(bits) {
			r.Lsh(a, uint(in[1]))
		}
	case OpShr: // of an unbounded integer: floor(a / 2^count)
		r.Rsh(a, uint(min(in[1], 200)))
	}
	return new(big.Int).And(r, new(big.Int).SetUint64(mask)).Uint64()
}

func TestIntegerInstructions(t *testing.T) {
	ops := []Op{OpAdd, OpSub, OpMul, OpDiv, OpRem, OpMulHi, OpNeg, OpAbs, OpMin, OpMax, OpAnd, OpOr, OpXor, OpNot, OpShl, OpShr}
	for _, ty := range []ir.DType{ir.I32, ir.I64, ir.U32, ir.U64} {
		for _, o := range ops {
			if o == OpMulHi && ty != ir.U32 {
				continue
			}
			in := tuples(interesting(ty), o.Arity())
			types := []ir.DType{ty, ty}[:o.Arity()]
			got := runOp(t, o, ty, types, in)
			for i := range got {
				args := []uint64{in[0][i]}
				if o.Arity() == 2 {
					args = append(args, in[1][i])
				}
				if want := intRef(o, ty, args); got[i] != want {
					t.Fatalf("%s %s %#x: got %#x, want %#x", o, ty, args, got[i], want)
				}
			}
		}
	}
}

// finite decodes a float; nil if it is not finite.
func finite(t ir.DType, bits uint64) *big.Rat {
	x, _, _ := formats[t].value(bits)
	return x
}

func toF64(t ir.DType, bits uint64) float64 {
	if t == ir.F32 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

func ratBits(t ir.DType, x *big.Rat, negZero bool) uint64 {
	if x.Sign() == 0 {
		return formats[t].round(x, negZero)
	}
	if t == ir.F32 {
		return uint64(math.Float32bits(ratF32(x)))
	}
	f, _ := x.Float64()
	return math.Float64bits(math.Copysign(math.Abs(f), float64(x.Sign())))
}

// floatRef gives the result of an instruction on floats, in rational arithmetic
// where the operands are finite. any means any NaN.
func floatRef(o Op, t ir.DType, in []uint64) (want uint64, anyNaN bool) {
	sign := uint64(1) << (t.Bits() - 1)
	fromF64 := func(v float64) (uint64, bool) {
		if v != v {
			return 0, true
		}
		return Convert(t, ir.F64, math.Float64bits(v)), false
	}
	if t == ir.F64 {
		fromF64 = func(v float64) (uint64, bool) { return math.Float64bits(v), v != v }
	}
	v, rat := make([]float64, 3), make([]*big.Rat, 3)
	allFinite, someNaN := true, false
	for i, b := range in {
		v[i], rat[i] = toF64(t, b), finite(t, b)
		allFinite = allFinite && rat[i] != nil
		someNaN = someNaN || v[i] != v[i]
	}
	neg := func(i int) bool { return in[i]&sign != 0 }
	switch o {
	case OpNeg:
		return in[0] ^ sign, false
	case OpAbs:
		return in[0] &^ sign, false
	}
	if someNaN {
		return 0, true
	}
	switch o {
	case OpMin, OpMax:
		less := v[0] < v[1] || v[0] == v[1] && neg(0)
		if less == (o == OpMin) {
			return in[0], false
		}
		return in[1], false
	case OpFloor, OpCeil, OpTrunc, OpRint:
		if !allFinite {
			return in[0], false
		}
		q := new(big.Int).Div(rat[0].Num(), rat[0].Denom()) // floor, the denominator being positive
		frac := new(big.Rat).Sub(rat[0], new(big.Rat).SetInt(q))
		up := false
		switch o {
		case OpCeil:
			up = frac.Sign() > 0
		case OpTrunc:
			up = frac.Sign() > 0 && rat[0].Sign() < 0
		case OpRint:
			c := frac.Cmp(big.NewRat(1, 2))
			up = c > 0 || c == 0 && q.Bit(0) == 1
		}
		if up {
			q.Add(q, big.NewInt(1))
		}
		return ratBits(t, new(big.Rat).SetInt(q), neg(0)), false
	}
	if !allFinite { // class rules, the same in every precision; f64 holds the f32 operands
		switch o {
		case OpAdd:
			return fromF64(v[0] + v[1])
		case OpSub:
			return fromF64(v[0] - v[1])
		case OpMul:
			return fromF64(v[0] * v[1])
		case OpDiv:
			return fromF64(v[0] / v[1])
		case OpFma: // a finite product cannot reach infinity before the sum is taken
			if math.IsInf(v[0], 0) || math.IsInf(v[1], 0) {
				return fromF64(float64(v[0]*v[1]) + v[2])
			}
			return fromF64(v[2])
		}
	}
	x, y := rat[0], rat[1]
	switch o {
	case OpAdd:
		return ratBits(t, new(big.Rat).Add(x, y), neg(0) && neg(1)), false
	case OpSub:
		return ratBits(t, new(big.Rat).Sub(x, y), neg(0) && !neg(1)), false
	case OpMul:
		return ratBits(t, new(big.Rat).Mul(x, y), neg(0) != neg(1)), false
	case OpDiv:
		if y.Sign() == 0 {
			if x.Sign() == 0 {
				return 0, true
			}
			return formats[t].round(pow2(5000), neg(0) != neg(1)), false
		}
		return ratBits(t, new(big.Rat).Quo(x, y), neg(0) != neg(1)), false
	case OpFma:
		p := new(big.Rat).Mul(x, y)
		exactZero := p.Sign() == 0 && rat[2].Sign() == 0
		return ratBits(t, p.Add(p, rat[2]), exactZero && neg(0) != neg(1) && neg(2)), false
	}
	panic(o.String())
}

func TestFloatInstructions(t *testing.T) {
	ops := []Op{OpAdd, OpSub, OpMul, OpDiv, OpNeg, OpAbs, OpFma, OpMin, OpMax, OpFloor, OpCeil, OpTrunc, OpRint}
	for _, ty := range []ir.DType{ir.F32, ir.F64} {
		for _, o := range ops {
			in := tuples(interesting(ty), o.Arity())
			got := runOp(t, o, ty, []ir.DType{ty, ty, ty}[:o.Arity()], in)
			for i := range got {
				if ty == ir.F64 && o.Arity() > 1 && i%4 != 0 {
					continue // the reference is slow
				}
				var args []uint64
				for j := range in {
					args = append(args, in[j][i])
				}
				want, anyNaN := floatRef(o, ty, args)
				if anyNaN && !isNaNBits(ty, got[i]) || !anyNaN && got[i] != want {
					t.Fatalf("%s %s %#x: got %#x, want %#x (NaN %v)", o, ty, args, got[i], want, anyNaN)
				}
			}
		}
	}
}

// TestSqrt checks that the operand lies between the squares of the midpoints
// around the result.
func TestSqrt(t *testing.T) {
	for _, ty := range []ir.DType{ir.F32, ir.F64} {
		in := interesting(ty)
		got := runOp(t, OpSqrt, ty, []ir.DType{ty}, [][]uint64{in})
		for i, g := range got {
			x := toF64(ty, in[i])
			switch {
			case x == 0 || math.IsInf(x, 1):
				if g != in[i] {
					t.Fatalf("sqrt %v: %#x", x, g)
				}
			case !(x > 0):
				if !isNaNBits(ty, g) {
					t.Fatalf("sqrt %v: %#x", x, g)
				}
			default:
				mid := func(other uint64) *big.Rat {
					m := new(big.Rat).Add(finite(ty, g), finite(ty, other))
					m.Mul(m, big.NewRat(1, 2))
					return m.Mul(m, m)
				}
				if v := finite(ty, in[i]); mid(g-1).Cmp(v) > 0 || mid(g+1).Cmp(v) < 0 {
					t.Fatalf("sqrt %v: %#x", x, g)
				}
			}
		}
	}
}

func TestCompareSelectBool(t *testing.T) {
	for _, ty := range computeTypes {
		in := tuples(interesting(ty), 2)
		for _, o := range []Op{OpEq, OpNe, OpLt, OpLe} {
			got := runOp(t, o, ir.Bool, []ir.DType{ty, ty}, in)
			for i := range got {
				c, nan := 0, false
				a, b := in[0][i], in[1][i]
				switch {
				case ty.IsFloat():
					x, y := toF64(ty, a), toF64(ty, b)
					nan = x != x || y != y
					if x < y {
						c = -1
					} else if x > y {
						c = 1
					}
				case ty.Kind() == ir.KindInt:
					x, y := int64(a<<(64-ty.Bits())), int64(b<<(64-ty.Bits()))
					c = int(b2u(x > y)) - int(b2u(x < y))
				default:
					c = int(b2u(a > b)) - int(b2u(a < b))
				}
				want := map[Op]bool{OpEq: !nan && c == 0, OpNe: nan || c != 0, OpLt: !nan && c < 0, OpLe: !nan && c <= 0}[o]
				if got[i] != uint64(b2u(want)) {
					t.Fatalf("%s %s %#x %#x: got %d", o, ty, a, b, got[i])
				}
			}
		}
		mask := make([]uint64, len(in[0]))
		for i := range mask {
			mask[i] = uint64(i>>1) & 1
		}
		for i, g := range runOp(t, OpSelect, ty, []ir.DType{ir.Bool, ty, ty}, [][]uint64{mask, in[0], in[1]}) {
			if want := in[1-mask[i]][i]; g != want {
				t.Fatalf("select %s: %#x, want %#x", ty, g, want)
			}
		}
	}
	in := tuples([]uint64{0, 1}, 2)
	for o, f := range map[Op]func(a, b uint64) uint64{
		OpAnd: func(a, b uint64) uint64 { return a & b },
		OpOr:  func(a, b uint64) uint64 { return a | b },
		OpXor: func(a, b uint64) uint64 { return a ^ b },
	} {
		for i, g := range runOp(t, o, ir.Bool, []ir.DType{ir.Bool, ir.Bool}, in) {
			if g != f(in[0][i], in[1][i]) {
				t.Fatalf("%s bool", o)
			}
		}
	}
	if g := runOp(t, OpNot, ir.Bool, []ir.DType{ir.Bool}, [][]uint64{{0, 1}}); g[0] != 1 || g[1] != 0 {
		t.Fatal("not bool", g)
	}
}

func TestConvertInKernel(t *testing.T) {
	for _, from := range ir.DTypes() {
		in := sampleBits(from)
		in = in[:min(len(in), 1000)]
		for _, to := range ir.DTypes() {
			if to == from {
				continue
			}
			for i, g := range runOp(t, OpCvt, to, []ir.DType{from}, [][]uint64{in}) {
				if want := Convert(to, from, in[i]); g != want {
					t.Fatalf("%s %#x to %s: %#x, alone %#x", from, in[i], to, g, want)
				}
			}
			if to.Size() == from.Size() {
				for i, g := range runOp(t, OpBitcast, to, []ir.DType{from}, [][]uint64{in}) {
					if g != in[i] {
						t.Fatalf("bitcast %s %#x to %s: %#x", from, in[i], to, g)
					}
				}
			}
		}
	}
}

// TestNoSuch checks that what the IR does not define is refused.
func TestNoSuch(t *testing.T) {
	for name, build := range map[string]func(b *kb){
		"compare f16":   func(b *kb) { b.emit(OpLt, ir.Bool, 0, b.load(ir.F16, Broadcast), b.load(ir.F16, Broadcast)) },
		"m2 of i32":     func(b *kb) { b.reduce(OpReduce, M2, StripedTree, ir.I32, b.load(ir.I32, Unit)) },
		"scan argmax":   func(b *kb) { b.reduce(OpScan, ArgMax, ScanTree, ir.I64, b.load(ir.F32, Unit)) },
		"scan striped":  func(b *kb) { b.reduce(OpScan, Sum, StripedTree, ir.F32, b.load(ir.F32, Unit)) },
		"sum of f16":    func(b *kb) { b.reduce(OpReduce, Sum, StripedTree, ir.F16, b.load(ir.F16, Unit)) },
		"3 lanes":       func(b *kb) { b.reduce(OpReduce, Sum, Tree{Striped, 9, 3}, ir.F32, b.load(ir.F32, Unit)) },
		"undefined use": func(b *kb) { b.emit(OpNeg, ir.F32, 0, 5) },
		"no argument":   func(b *kb) { b.emit(OpLoad, ir.F32, 3) },
		"no axis":       func(b *kb) { b.emit(OpIndex, ir.I64, 1) },
		"neg of bool":   func(b *kb) { b.emit(OpNeg, ir.Bool, 0, b.load(ir.Bool, Unit)) },
	} {
		b := newKB(rr)
		build(b)
		if _, err := NewInterpreter(b.k); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
