package ptx

// sequence is where the numbers of a transform lie, those of each lane one behind the
// other: in shared memory or in scratch memory.
type sequence struct {
	a     *asm
	space string // .shared or .global
	base  reg
	at    int64 // of its first number behind base, in bytes
	unit  int64 // bytes of a number: 16 of a complex one, 8 of a real one
}

// place is a number of a sequence.
type place struct {
	*sequence
	address reg
}

// from is the number of an index.
func (s *sequence) from(i reg) place {
	if s.space == ".shared" {
		return place{s, s.a.to(b32, "mad.lo.u32", i, s.unit, s.base)}
	}
	return place{s, s.a.step(s.base, i, s.unit)}
}

func (p place) mem(distance int) string { return mem(p.address, p.at+int64(distance)*p.unit) }

// real and setReal are of a real sequence, at a distance from the place.
func (p place) real(distance int) reg { return p.a.to(b64, "ld"+p.space+".b64", p.mem(distance)) }

func (p place) setReal(distance int, v reg) { p.a.op("st"+p.space+".b64", p.mem(distance), v) }

// complex and setComplex are of a complex sequence, or of two neighbours of a real one.
func (p place) complex(distance int) complexReg {
	if p.unit == 8 {
		return complexReg{p.real(distance), p.real(distance + 1)}
	}
	c := complexReg{p.a.reg(b64), p.a.reg(b64)}
	p.a.op("ld"+p.space+".v2.b64", group([]reg{c.re, c.im}), p.mem(distance))
	return c
}

func (p place) setComplex(distance int, v complexReg) {
	if p.unit == 8 {
		p.setReal(distance, v.re)
		p.setReal(distance+1, v.im)
		return
	}
	p.a.op("st"+p.space+".v2.b64", p.mem(distance), group([]reg{v.re, v.im}))
}

// transformAsm is the text of passes over sequences.
type transformAsm struct {
	*asm
	in, out sequence
	table   reg // address of the twiddle factors
}

// splitBy is a number of 32 bits divided by a constant: quotient and rest.
func (a *asm) splitBy(x reg, by int) (quotient, rest reg) {
	if by == 1 {
		return x, a.constant(b32, 0)
	}
	quotient = a.to(b32, "div.u32", x, by)
	return quotient, a.to(b32, "sub.u32", x, a.to(b32, "mul.lo.u32", quotient, by))
}

// twiddle is factor number i behind a constant one.
func (t *transformAsm) twiddle(first int, i reg) complexReg {
	w := complexReg{t.reg(b64), t.reg(b64)}
	t.op("ld.global.v2.b64", group([]reg{w.re, w.im}), mem(t.step(t.table, i, 16), 16*int64(first)))
	return w
}
