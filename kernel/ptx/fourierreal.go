package ptx

import (
	"fmt"
	"math"
)

// The passes of transforms of real numbers are those of FFTPACK as gonum has them,
// operation by operation. Of a group of ido numbers the first is real, the others are
// complex numbers in pairs, and of an even ido the last is real again: item 0 of a group is
// what is real in it, item p the pair that ends at 2p.

// realStage is a factor of a transform of real numbers.
type realStage struct {
	radix, l1, ido int
	first          int // its factors in the table
	rotation       int // the powers of its root of unity there, of a radix above 5
}

// realStages are those of a length, nil if the host refuses it.
func realStages(n int, t *twiddleTable) (out []realStage) {
	l1 := 1
	factors := lengthFactors(n, 4, 2, 3, 5)
	if len(factors) > maxStages {
		return nil
	}
	for _, radix := range factors {
		s := realStage{radix: radix, l1: l1, ido: n / l1 / radix}
		s.first = t.addStage(radix-1, (s.ido-1)/2, l1, 1)
		l1 *= radix
		out = append(out, s)
	}
	for i := range out {
		if radix := out[i].radix; radix > 5 {
			out[i].rotation = t.addRotation(radix)
		}
	}
	return out
}

// groupItems is how many items a group has.
func (s realStage) groupItems() int { return (s.ido + 1) / 2 }

// forward and backward are the passes of the stage.
func (s realStage) forward() []transformPass {
	if s.radix > 5 {
		return s.large("f", s.forwardPairs, s.forwardSums)
	}
	return s.small("f", s.forwardEdge, s.forwardInner)
}

func (s realStage) backward() []transformPass {
	if s.radix > 5 {
		return s.large("b", s.backwardPairs, s.backwardSums)
	}
	return s.small("b", s.backwardEdge, s.backwardInner)
}

func (s realStage) name(direction string) string {
	return fmt.Sprintf("%s%d_%d_%d", direction, s.radix, s.l1, s.ido)
}

// small is a stage of radix 2, 3, 4 or 5.
func (s realStage) small(direction string, edge, inner func(t *transformAsm, k, p, row reg)) []transformPass {
	return []transformPass{{s.name(direction), s.l1 * s.groupItems(), func(t *transformAsm, row, item reg) {
		k, p := t.splitBy(item, s.groupItems())
		if s.groupItems() == 1 {
			edge(t, k, p, row)
			return
		}
		t.either(t.to(pred, "setp.eq.u32", p, 0), func() { edge(t, k, p, row) }, func() { inner(t, k, p, row) })
	}}}
}

// large is a stage of another radix, in halves.
func (s realStage) large(direction string, pairs, sums func(t *transformAsm, item largeItem)) []transformPass {
	half := (s.radix + 1) / 2
	pass := func(name string, f func(t *transformAsm, item largeItem)) transformPass {
		return transformPass{s.name(direction) + name, s.l1 * s.groupItems() * half, func(t *transformAsm, row, item reg) {
			q, j, other := pairOf(t, item, s.radix, s.l1*s.groupItems())
			k, p := t.splitBy(q, s.groupItems())
			f(t, largeItem{k, p, j, other, row})
		}}
	}
	return []transformPass{pass("_pairs", pairs), pass("_sums", sums)}
}

// largeItem is a pair of legs of item p of group k.
type largeItem struct{ k, p, j, other, row reg }

// apart is number 2p of group k in a sequence whose legs are ido·l1 apart.
func (s realStage) apart(t *transformAsm, q *sequence, row, k, twice reg) place {
	return q.from(t.to(b32, "add.u32", t.to(b32, "mad.lo.u32", k, s.ido, row), twice))
}

// side is number 2p of group k in a sequence whose legs are side by side.
func (s realStage) side(t *transformAsm, q *sequence, row, k, twice reg) place {
	return q.from(t.to(b32, "add.u32", t.to(b32, "mad.lo.u32", k, s.ido*s.radix, row), twice))
}

// mirrored is ido-2p.
func (s realStage) mirrored(t *transformAsm, twice reg) reg {
	return t.to(b32, "sub.u32", t.constant(b32, uint64(s.ido)), twice)
}

// factor is the twiddle factor of a leg for item p.
func (s realStage) factor(t *transformAsm, leg int, p reg) complexReg {
	return t.twiddle(s.first+(leg-1)*((s.ido-1)/2)-1, p)
}

// factorOf is factor for a leg in a register.
func (s realStage) factorOf(t *transformAsm, leg, p reg) complexReg {
	positions := (s.ido - 1) / 2
	return t.twiddle(s.first-positions-1, t.to(b32, "mad.lo.u32", leg, positions, p))
}

// forwardEdge is what is real in a group.
func (s realStage) forwardEdge(t *transformAsm, k, _, row reg) {
	zero := t.constant(b32, 0)
	in, out := s.apart(t, &t.in, row, k, zero), s.side(t, &t.out, row, k, zero)
	x := make([]reg, s.radix)
	for j := range x {
		x[j] = in.real(j * s.ido * s.l1)
	}
	at := func(i, j int) int { return i + j*s.ido }
	last := s.ido - 1
	switch s.radix {
	case 2:
		out.setReal(at(0, 0), t.addF64(x[0], x[1]))
		out.setReal(at(last, 1), t.subF64(x[0], x[1]))
	case 3:
		cr2 := t.addF64(x[1], x[2])
		out.setReal(at(0, 0), t.addF64(x[0], cr2))
		out.setReal(at(0, 2), t.mulF64(t.f64(fftImag3), t.subF64(x[2], x[1])))
		out.setReal(at(last, 1), t.addF64(x[0], t.mulF64(t.f64(fftReal3), cr2)))
	case 4:
		tr1, tr2 := t.addF64(x[1], x[3]), t.addF64(x[0], x[2])
		out.setReal(at(0, 0), t.addF64(tr1, tr2))
		out.setReal(at(last, 3), t.subF64(tr2, tr1))
		out.setReal(at(last, 1), t.subF64(x[0], x[2]))
		out.setReal(at(0, 2), t.subF64(x[3], x[1]))
	case 5:
		cr2, cr3 := t.addF64(x[4], x[1]), t.addF64(x[3], x[2])
		ci4, ci5 := t.subF64(x[3], x[2]), t.subF64(x[4], x[1])
		out.setReal(at(0, 0), t.addF64(t.addF64(x[0], cr2), cr3))
		out.setReal(at(last, 1), t.addF64(t.addF64(x[0], t.mulF64(t.f64(fftReal51), cr2)), t.mulF64(t.f64(fftReal52), cr3)))
		out.setReal(at(0, 2), t.addF64(t.mulF64(t.f64(fftImag51), ci5), t.mulF64(t.f64(fftImag52), ci4)))
		out.setReal(at(last, 3), t.addF64(t.addF64(x[0], t.mulF64(t.f64(fftReal52), cr2)), t.mulF64(t.f64(fftReal51), cr3)))
		out.setReal(at(0, 4), t.subF64(t.mulF64(t.f64(fftImag52), ci5), t.mulF64(t.f64(fftImag51), ci4)))
	}
	if s.ido%2 == 1 {
		return
	}
	for j := range x { // only a radix of 2 or 4 comes before an even ido
		x[j] = in.real(last + j*s.ido*s.l1)
	}
	if s.radix == 2 {
		out.setReal(at(0, 1), t.negF64(x[1]))
		out.setReal(at(last, 0), x[0])
		return
	}
	const half = math.Sqrt2 / 2
	ti1 := t.mulF64(t.f64(-half), t.addF64(x[1], x[3]))
	tr1 := t.mulF64(t.f64(half), t.subF64(x[1], x[3]))
	out.setReal(at(last, 0), t.addF64(tr1, x[0]))
	out.setReal(at(last, 2), t.subF64(x[0], tr1))
	out.setReal(at(0, 1), t.subF64(ti1, x[2]))
	out.setReal(at(0, 3), t.addF64(ti1, x[2]))
}

// forwardInner is a pair of numbers of each leg.
func (s realStage) forwardInner(t *transformAsm, k, p, row reg) {
	twice := t.to(b32, "shl.b32", p, 1)
	in := s.apart(t, &t.in, row, k, twice)
	near, far := s.side(t, &t.out, row, k, twice), s.side(t, &t.out, row, k, s.mirrored(t, twice))
	c := make([]complexReg, s.radix)
	c[0] = in.complex(-1)
	for j := 1; j < s.radix; j++ {
		c[j] = t.mulC(t.conjugate(s.factor(t, j, p)), in.complex(j*s.ido*s.l1-1))
	}
	out := func(j int, v complexReg) { near.setComplex(j*s.ido-1, v) }
	back := func(j int, v complexReg) { far.setComplex(j*s.ido-1, v) }
	switch s.radix {
	case 2:
		out(0, t.addC(c[0], c[1]))
		back(1, t.subC(t.conjugate(c[0]), t.conjugate(c[1])))
	case 3:
		sum := t.addC(c[1], c[2])
		out(0, t.addC(c[0], sum))
		t2 := t.addC(c[0], t.scaleC(fftReal3, sum))
		t3 := t.scaleC(fftImag3, t.turn(t.subC(c[1], c[2])))
		out(2, t.addC(t2, t3))
		back(1, t.conjugate(t.subC(t2, t3)))
	case 4:
		t1, t2, t3 := t.addC(c[1], c[3]), t.addC(c[0], c[2]), t.subC(c[0], c[2])
		t4 := t.conjugate(t.subC(c[3], c[1]))
		t4.re, t4.im = t4.im, t4.re
		out(0, t.addC(t1, t2))
		back(3, t.conjugate(t.subC(t2, t1)))
		out(2, t.addC(t4, t3))
		back(1, t.conjugate(t.subC(t3, t4)))
	case 5:
		c2, c3 := t.addC(c[1], c[4]), t.addC(c[2], c[3])
		c4, c5 := t.turn(t.subC(c[2], c[3])), t.turn(t.subC(c[1], c[4]))
		out(0, t.addC(t.addC(c[0], c2), c3))
		t2 := t.addC(t.addC(c[0], t.scaleC(fftReal51, c2)), t.scaleC(fftReal52, c3))
		t3 := t.addC(t.addC(c[0], t.scaleC(fftReal52, c2)), t.scaleC(fftReal51, c3))
		t4 := t.subC(t.scaleC(fftImag52, c5), t.scaleC(fftImag51, c4))
		t5 := t.addC(t.scaleC(fftImag51, c5), t.scaleC(fftImag52, c4))
		back(1, t.conjugate(t.subC(t2, t5)))
		out(2, t.addC(t2, t5))
		back(3, t.conjugate(t.subC(t3, t4)))
		out(4, t.addC(t3, t4))
	}
}

// backwardEdge is what is real in a group.
func (s realStage) backwardEdge(t *transformAsm, k, _, row reg) {
	zero := t.constant(b32, 0)
	in, out := s.side(t, &t.in, row, k, zero), s.apart(t, &t.out, row, k, zero)
	last := s.ido - 1
	x := func(i, j int) reg { return in.real(i + j*s.ido) }
	set := func(i, j int, v reg) { out.setReal(i+j*s.ido*s.l1, v) }
	twice := func(v reg) reg { return t.addF64(v, v) }
	first := x(0, 0)
	switch s.radix {
	case 2:
		other := x(last, 1)
		set(0, 0, t.addF64(first, other))
		set(0, 1, t.subF64(first, other))
	case 3:
		tr2, ci3 := twice(x(last, 1)), t.mulF64(t.f64(fftImag3), twice(x(0, 2)))
		cr2 := t.addF64(first, t.mulF64(t.f64(fftReal3), tr2))
		set(0, 0, t.addF64(first, tr2))
		set(0, 1, t.subF64(cr2, ci3))
		set(0, 2, t.addF64(cr2, ci3))
	case 4:
		other := x(last, 3)
		tr1, tr2 := t.subF64(first, other), t.addF64(first, other)
		tr3, tr4 := twice(x(last, 1)), twice(x(0, 2))
		set(0, 0, t.addF64(tr2, tr3))
		set(0, 1, t.subF64(tr1, tr4))
		set(0, 2, t.subF64(tr2, tr3))
		set(0, 3, t.addF64(tr1, tr4))
	case 5:
		tr2, tr3, ti4, ti5 := twice(x(last, 1)), twice(x(last, 3)), twice(x(0, 4)), twice(x(0, 2))
		set(0, 0, t.addF64(t.addF64(first, tr2), tr3))
		cr2 := t.addF64(t.addF64(first, t.mulF64(t.f64(fftReal51), tr2)), t.mulF64(t.f64(fftReal52), tr3))
		cr3 := t.addF64(t.addF64(first, t.mulF64(t.f64(fftReal52), tr2)), t.mulF64(t.f64(fftReal51), tr3))
		ci4 := t.subF64(t.mulF64(t.f64(fftImag52), ti5), t.mulF64(t.f64(fftImag51), ti4))
		ci5 := t.addF64(t.mulF64(t.f64(fftImag51), ti5), t.mulF64(t.f64(fftImag52), ti4))
		set(0, 1, t.subF64(cr2, ci5))
		set(0, 2, t.subF64(cr3, ci4))
		set(0, 3, t.addF64(cr3, ci4))
		set(0, 4, t.addF64(cr2, ci5))
	}
	if s.ido%2 == 1 {
		return
	}
	if s.radix == 2 { // only a radix of 2 or 4 comes before an even ido
		set(last, 0, t.mulF64(t.f64(2), x(last, 0)))
		set(last, 1, t.mulF64(t.f64(-2), x(0, 1)))
		return
	}
	r0, r2, i1, i3 := x(last, 0), x(last, 2), x(0, 1), x(0, 3)
	tr1, ti1, tr2, ti2 := t.subF64(r0, r2), t.addF64(i1, i3), t.addF64(r0, r2), t.subF64(i3, i1)
	set(last, 0, twice(tr2))
	set(last, 1, t.mulF64(t.f64(math.Sqrt2), t.subF64(tr1, ti1)))
	set(last, 2, twice(ti2))
	set(last, 3, t.mulF64(t.f64(-math.Sqrt2), t.addF64(tr1, ti1)))
}

// backwardInner is a pair of numbers of each leg.
func (s realStage) backwardInner(t *transformAsm, k, p, row reg) {
	twice := t.to(b32, "shl.b32", p, 1)
	out := s.apart(t, &t.out, row, k, twice)
	near, far := s.side(t, &t.in, row, k, twice), s.side(t, &t.in, row, k, s.mirrored(t, twice))
	x := func(j int) complexReg { return near.complex(j*s.ido - 1) }
	back := func(j int) complexReg { return t.conjugate(far.complex(j*s.ido - 1)) }
	set := func(j int, v complexReg) {
		if j > 0 {
			v = t.mulC(s.factor(t, j, p), v)
		}
		out.setComplex(j*s.ido*s.l1-1, v)
	}
	x0 := x(0)
	switch s.radix {
	case 2:
		x1 := back(1)
		set(0, t.addC(x0, x1))
		set(1, t.subC(x0, x1))
	case 3:
		x1, x2 := back(1), x(2)
		t2 := t.addC(x2, x1)
		c2 := t.addC(x0, t.scaleC(fftReal3, t2))
		set(0, t.addC(x0, t2))
		c3 := t.turn(t.scaleC(fftImag3, t.subC(x2, x1)))
		set(1, t.subC(c2, c3))
		set(2, t.addC(c2, c3))
	case 4:
		x1, x2, x3 := back(1), x(2), back(3)
		t1, t2, t3 := t.subC(x0, x3), t.addC(x0, x3), t.addC(x2, x1)
		t4 := t.turn(t.subC(x2, x1))
		set(0, t.addC(t2, t3))
		set(1, t.subC(t1, t4))
		set(2, t.subC(t2, t3))
		set(3, t.addC(t1, t4))
	case 5:
		x1, x2, x3, x4 := back(1), x(2), back(3), x(4)
		t2, t3, t4, t5 := t.addC(x2, x1), t.addC(x4, x3), t.subC(x4, x3), t.subC(x2, x1)
		set(0, t.addC(t.addC(x0, t2), t3))
		c2 := t.addC(t.addC(x0, t.scaleC(fftReal51, t2)), t.scaleC(fftReal52, t3))
		c3 := t.addC(t.addC(x0, t.scaleC(fftReal52, t2)), t.scaleC(fftReal51, t3))
		c4 := t.turn(t.subC(t.scaleC(fftImag52, t5), t.scaleC(fftImag51, t4)))
		c5 := t.turn(t.addC(t.scaleC(fftImag51, t5), t.scaleC(fftImag52, t4)))
		set(1, t.subC(c2, c5))
		set(2, t.subC(c3, c4))
		set(3, t.addC(c3, c4))
		set(4, t.addC(c2, c5))
	}
}
