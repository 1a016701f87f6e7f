package ptx

import "math"

// The terms of FreeBSD's logarithm as package math has them in the assembly of amd64: for
// the odd and the even powers of s², highest first, and log 2 in two parts.
var (
	logOdd  = []uint64{0x3FC2F112DF3E5244, 0x3FC7466496CB03DE, 0x3FD2492494229359, 0x3FE5555555555593}
	logEven = []uint64{0x3FC39A09D078C69F, 0x3FCC71C51D8E78AF, 0x3FD999999997FA04}
	log2    = [2]uint64{0x3fe62e42fee00000, 0x3dea39ef35793c76}
)

// log is math.Log, operation by operation, of a number that is 0, positive or NaN.
func (a *asm) log(x reg) reg {
	exponent := a.to(b32, "cvt.u32.u64", a.to(b64, "shr.u64", x, 52))
	k := a.subF64(a.to(b64, "cvt.rn.f64.u32", exponent), a.f64(0x3fe))
	f := a.to(b64, "and.b64", x, a.constant(b64, 1<<52-1))
	f = a.to(b64, "or.b64", f, a.f64(0.5))
	low := a.to(b64, "selp.b64", a.f64(1), a.f64(0), a.to(pred, "setp.le.f64", f, a.f64(math.Sqrt2/2)))
	k = a.subF64(k, low)
	f = a.subF64(a.mulF64(f, a.addF64(low, a.f64(1))), a.f64(1))
	s := a.to(b64, "div.rn.f64", f, a.addF64(a.f64(2), f))
	s2 := a.mulF64(s, s)
	s4 := a.mulF64(s2, s2)
	sum := func(terms []uint64) reg {
		r := a.constant(b64, terms[0])
		for _, t := range terms[1:] {
			r = a.addF64(a.mulF64(r, s4), a.constant(b64, t))
		}
		return r
	}
	r := a.addF64(a.mulF64(s2, sum(logOdd)), a.mulF64(s4, sum(logEven)))
	half := a.mulF64(a.mulF64(a.f64(0.5), f), f)
	low = a.addF64(a.mulF64(s, a.addF64(r, half)), a.mulF64(k, a.constant(b64, log2[1])))
	y := a.subF64(a.mulF64(k, a.constant(b64, log2[0])), a.subF64(a.subF64(half, low), f))
	y = a.to(b64, "selp.b64", a.f64(math.Inf(-1)), y, a.to(pred, "setp.eq.f64", x, a.f64(0)))
	return a.to(b64, "selp.b64", x, y, a.to(pred, "setp.ge.u64", x, a.constant(b64, 0x7ff<<52)))
}
