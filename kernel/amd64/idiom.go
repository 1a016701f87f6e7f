package amd64

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Instructions of the processor that do in one step what scalar programs write in
// several. They appear in lowered kernels only, and have the bits of what they
// replace.
const (
	opLesser   kernel.Op = 0x80 + iota // A < B ? A : B, which is vminps and vminpd
	opGreater                          // A > B ? A : B, which is vmaxps and vmaxpd
	opAtLeast0                         // OpMax of +0 and A
	opScale                            // A * 2^B rounded once, |B| an integer of moderate size: AVX-512
	opLogic                            // the function of A, B and C by bits that Imm tabulates: AVX-512
	opFnma                             // C - A*B rounded once
)

// idioms returns the kernel with such instructions in the place of the last one of
// what they stand for. What nothing uses any more is never emitted.
func idioms(k *kernel.Kernel, wide bool) *kernel.Kernel {
	out := *k
	out.Body = slices.Clone(k.Body)
	m := matcher{out.Body}
	for i := range m.body {
		in := &m.body[i]
		switch in.Op {
		case kernel.OpSelect:
			m.choice(in)
		case kernel.OpMax, kernel.OpMin:
			m.bounded(in)
		case kernel.OpFma:
			m.negated(in)
		case kernel.OpMul:
			if wide {
				m.scaled(in)
			}
		case kernel.OpOr, kernel.OpAnd, kernel.OpXor:
			if wide {
				m.logic(in)
			}
		}
	}
	return &out
}

// matcher looks for idioms.
type matcher struct {
	body []kernel.Instr
}

// op returns the instruction of a value if it is of the given kind, else nil.
func (m *matcher) op(r kernel.Ref, op kernel.Op) *kernel.Instr {
	if r == kernel.None || m.body[r].Op != op {
		return nil
	}
	return &m.body[r]
}

// number returns the value of a float constant.
func (m *matcher) number(r kernel.Ref) (v float64, ok bool) {
	in := m.op(r, kernel.OpConst)
	switch {
	case in == nil:
		return 0, false
	case in.Type == ir.F32:
		return float64(math.Float32frombits(uint32(in.Imm))), true
	case in.Type == ir.F64:
		return math.Float64frombits(in.Imm), true
	}
	return 0, false
}

// integer reports whether a value is the i32 constant v.
func (m *matcher) integer(r kernel.Ref, v int32) bool {
	in := m.op(r, kernel.OpConst)
	return in != nil && in.Type == ir.I32 && int32(in.Imm) == v
}

// choice rewrites a select of the lesser or the greater of two values: NaN, and
// zeros of either sign, give the second operand in both forms.
func (m *matcher) choice(in *kernel.Instr) {
	c := m.op(in.A, kernel.OpLt)
	if c == nil {
		return
	}
	op := [2]kernel.Op{opLesser, opGreater}
	if !in.Type.IsFloat() {
		op = [2]kernel.Op{kernel.OpMin, kernel.OpMax}
	}
	a, b := c.A, c.B
	switch {
	case in.Type == ir.Bool || a == b:
	case in.B == a && in.C == b: // a < b ? a : b
		*in = kernel.Instr{Op: op[0], Type: in.Type, A: a, B: b, C: kernel.None}
	case in.B == b && in.C == a: // b > a ? b : a
		*in = kernel.Instr{Op: op[1], Type: in.Type, A: b, B: a, C: kernel.None}
	}
}

// bounded rewrites an extremum of which one operand is a constant. The processor's
// form gives the other operand where that is NaN, and where both are zeros.
func (m *matcher) bounded(in *kernel.Instr) {
	x, c := in.A, in.B
	v, ok := m.number(c)
	if !ok {
		x, c = c, x
		v, ok = m.number(c)
	}
	if !ok || v != v {
		return
	}
	op, loses := opGreater, !math.Signbit(v) // loses the constant +0 against -0
	if in.Op == kernel.OpMin {
		op, loses = opLesser, math.Signbit(v)
	}
	switch {
	case v != 0 || !loses:
		*in = kernel.Instr{Op: op, Type: in.Type, A: c, B: x, C: kernel.None}
	case in.Op == kernel.OpMax:
		*in = kernel.Instr{Op: opAtLeast0, Type: in.Type, A: x, B: kernel.None, C: kernel.None}
	}
}

// negated rewrites a product with a negated factor.
func (m *matcher) negated(in *kernel.Instr) {
	for _, f := range [2][2]kernel.Ref{{in.A, in.B}, {in.B, in.A}} {
		if n := m.op(f[0], kernel.OpNeg); n != nil {
			*in = kernel.Instr{Op: opFnma, Type: in.Type, A: n.A, B: f[1], C: in.C}
			return
		}
	}
}

// Tables of opLogic: what a bit of A, B and C gives, at position 4A+2B+C.
const (
	bitsA = 0xf0
	bitsB = 0xcc
	bitsC = 0xaa
)

// logic joins two operations by bits.
func (m *matcher) logic(in *kernel.Instr) {
	if in.Type == ir.Bool {
		return
	}
	for _, f := range [2][2]kernel.Ref{{in.A, in.B}, {in.B, in.A}} {
		n := &m.body[f[1]]
		if t, ok := table(n.Op, bitsB, bitsC); ok && n.A != n.B {
			t, _ = table(in.Op, bitsA, t)
			*in = kernel.Instr{Op: opLogic, Type: in.Type, A: f[0], B: n.A, C: n.B, Imm: uint64(t)}
			return
		}
	}
}

// table applies an operation by bits to two tables.
func table(op kernel.Op, x, y uint8) (t uint8, ok bool) {
	switch op {
	case kernel.OpAnd:
		return x & y, true
	case kernel.OpOr:
		return x | y, true
	case kernel.OpXor:
		return x ^ y, true
	}
	return 0, false
}

// magic is 1.5·2^23 + 254: the scale idiom of the f32 functions (ir/math_f32.go).
const magic = 0x1.8001fcp23

// scaled rewrites p * float(a) * float(b) with a = (k << 22) & -0x800000 and
// b = (k << 23) - a, where k = bits(t) and t = n + magic: p·2^n. The first product
// is exact, so that both round once, for
//
//   - -154 < n < 250, by bounds on the argument that t is computed from;
//   - p = fma(…, …, 1), which is 0 or at least 2^-48 in magnitude: were the exact
//     product in [-2, -1/2], of 48 digits, its multiples of 2^-48 meet those of 1.
//
// Where t is NaN, p is, because it is computed from it by operations that keep NaN.
func (m *matcher) scaled(in *kernel.Instr) {
	if in.Type != ir.F32 {
		return
	}
	first, fb := m.op(in.A, kernel.OpMul), m.op(in.B, kernel.OpBitcast)
	if first == nil || fb == nil {
		return
	}
	fa := m.op(first.B, kernel.OpBitcast)
	if fa == nil {
		return
	}
	a, b := m.op(fa.A, kernel.OpAnd), m.op(fb.A, kernel.OpSub)
	if a == nil || b == nil || b.B != fa.A || !m.integer(a.B, -0x800000) {
		return
	}
	low, high := m.op(a.A, kernel.OpShl), m.op(b.A, kernel.OpShl)
	if low == nil || high == nil || low.A != high.A || !m.integer(low.B, 22) || !m.integer(high.B, 23) {
		return
	}
	k := m.op(low.A, kernel.OpBitcast)
	if k == nil || k.Type != ir.I32 || m.body[k.A].Type != ir.F32 {
		return
	}
	t := k.A
	p := m.op(first.A, kernel.OpFma)
	if p == nil || !m.keepsNaN(first.A, t, 32) {
		return
	}
	if one, ok := m.number(p.C); !ok || one != 1 {
		return
	}
	if lo, hi, ok := m.steps(t); !ok || lo <= -154 || hi >= 250 {
		return
	}
	for j := range m.body {
		n := &m.body[j]
		if n.Op != kernel.OpSub || n.A != t {
			continue
		}
		if c, ok := m.number(n.B); ok && c == magic {
			*in = kernel.Instr{Op: opScale, Type: ir.F32, A: first.A, B: kernel.Ref(j), C: kernel.None}
			return
		}
	}
}

// steps bounds t - magic.
func (m *matcher) steps(t kernel.Ref) (lo, hi float64, ok bool) {
	in := &m.body[t]
	x, factor, added := in.A, 1.0, in.B
	if in.Op == kernel.OpFma {
		if factor, ok = m.number(in.B); !ok {
			return 0, 0, false
		}
		added = in.C
	} else if in.Op != kernel.OpAdd {
		return 0, 0, false
	}
	if c, is := m.number(added); !is || c != magic {
		return 0, 0, false
	}
	lo, hi = m.bounds(x)
	lo, hi = lo*factor, hi*factor
	return math.Floor(min(lo, hi)), math.Ceil(max(lo, hi)), true
}

// bounds returns what a value that is not NaN lies between.
func (m *matcher) bounds(r kernel.Ref) (lo, hi float64) {
	in := &m.body[r]
	if in.Op == opLesser || in.Op == opGreater {
		if c, ok := m.number(in.A); ok {
			lo, hi = m.bounds(in.B)
			if in.Op == opLesser {
				return lo, min(hi, c)
			}
			return max(lo, c), hi
		}
	}
	return math.Inf(-1), math.Inf(1)
}

// keepsNaN reports whether a value is NaN where t is, by following what it is
// computed from for a few steps.
func (m *matcher) keepsNaN(r, t kernel.Ref, steps int) bool {
	if r == t {
		return true
	}
	in := &m.body[r]
	switch in.Op {
	case kernel.OpAdd, kernel.OpSub, kernel.OpMul, kernel.OpFma:
		if steps == 0 {
			return false
		}
		found := false
		in.Operands(func(o kernel.Ref) { found = found || m.body[o].Op != kernel.OpConst && m.keepsNaN(o, t, steps-1) })
		return found
	}
	return false
}
