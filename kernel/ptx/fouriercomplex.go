package ptx

import "fmt"

// The passes of a complex transform are those of FFTPACK as gonum has them, operation by
// operation. A pass takes each row of l1·radix·ido numbers from one sequence to another:
// item q of it is number i below ido in group k below l1.

// transformPass is a pass over rows of a transform.
type transformPass struct {
	name  string
	items int // of a row
	// emit writes what a thread does for an item, in the row that begins at an index.
	emit func(t *transformAsm, row, item reg)
}

// complexStage is a factor of a complex transform.
type complexStage struct {
	radix, l1, ido int
	first          int     // its factors in the table
	sign           float64 // of the exponent
}

// complexStages are those of a length, nil if the host refuses it.
func complexStages(n int, sign float64, t *twiddleTable) (out []complexStage) {
	l1 := 1
	factors := lengthFactors(n, 3, 4, 2, 5)
	if len(factors) > maxStages {
		return nil
	}
	for _, radix := range factors {
		s := complexStage{radix: radix, l1: l1, ido: n / l1 / radix, sign: sign}
		first := 0
		if radix > 5 { // its first factors are the roots of unity
			first = s.ido
		}
		s.first = t.addStage(radix-1, s.ido, l1, first)
		l1 *= radix
		out = append(out, s)
	}
	return out
}

// lengthFactors are the factors of a length: those that are tried first, then the odd ones
// above 5. A 2 comes before all others.
func lengthFactors(n int, try ...int) (out []int) {
	for j := 0; n > 1; j++ {
		f := 5 + 2*(j+1-len(try))
		if j < len(try) {
			f = try[j]
		}
		for ; n%f == 0; n /= f {
			if f == 2 {
				out = append([]int{2}, out...)
				continue
			}
			out = append(out, f)
		}
	}
	return out
}

// passes are those of the stage.
func (s complexStage) passes() []transformPass {
	name := fmt.Sprintf("c%d_%d_%d", s.radix, s.l1, s.ido)
	if s.radix > 5 {
		half := (s.radix + 1) / 2
		return []transformPass{
			{name + "_pairs", s.l1 * s.ido * half, s.pairs},
			{name + "_sums", s.l1 * s.ido * half, s.sums},
		}
	}
	return []transformPass{{name, s.l1 * s.ido, s.butterfly}}
}

// places are where an item reads and writes: numbers of j are at steps of ido on the way
// in, and of ido·l1 on the way out.
func (s complexStage) places(t *transformAsm, row, q reg) (in, out place, i reg) {
	k, i := t.splitBy(q, s.ido)
	at := t.to(b32, "add.u32", row, q)
	return t.in.from(t.to(b32, "mad.lo.u32", k, s.ido*(s.radix-1), at)), t.out.from(at), i
}

// butterfly is a stage of radix 2, 3, 4 or 5.
func (s complexStage) butterfly(t *transformAsm, row, q reg) {
	in, out, i := s.places(t, row, q)
	x := make([]complexReg, s.radix)
	for j := range x {
		x[j] = in.complex(j * s.ido)
	}
	var y []complexReg
	switch s.radix {
	case 2:
		y = []complexReg{t.addC(x[0], x[1]), t.subC(x[0], x[1])}
	case 3:
		y = t.complex3(x, s.sign)
	case 4:
		y = t.complex4(x, s.sign)
	case 5:
		y = t.complex5(x, s.sign)
	}
	out.setComplex(0, y[0])
	for j := 1; j < s.radix; j++ {
		v := y[j]
		if s.ido > 1 {
			v = t.mulC(s.factor(t, s.first+(j-1)*s.ido, i), v)
		}
		out.setComplex(j*s.ido*s.l1, v)
	}
}

// factor is a twiddle factor, or its conjugate forward.
func (s complexStage) factor(t *transformAsm, first int, i reg) complexReg {
	w := t.twiddle(first, i)
	if s.sign < 0 {
		w = t.conjugate(w)
	}
	return w
}

// The constants of FFTPACK, with as many digits as it has.
const (
	fftReal3  = -0.5
	fftImag3  = 0.866025403784439
	fftReal51 = 0.309016994374947
	fftImag51 = 0.951056516295154
	fftReal52 = -0.809016994374947
	fftImag52 = 0.587785252292473
)

func (t *transformAsm) complex3(x []complexReg, sign float64) []complexReg {
	t2 := t.addC(x[1], x[2])
	c2 := t.addC(x[0], t.scaleC(fftReal3, t2))
	c3 := t.turn(t.scaleC(sign*fftImag3, t.subC(x[1], x[2])))
	return []complexReg{t.addC(x[0], t2), t.subC(c2, c3), t.addC(c2, c3)}
}

func (t *transformAsm) complex4(x []complexReg, sign float64) []complexReg {
	t1, t2, t3 := t.subC(x[0], x[2]), t.addC(x[0], x[2]), t.addC(x[1], x[3])
	t4 := t.turn(t.scaleC(sign, t.subC(x[3], x[1])))
	return []complexReg{t.addC(t2, t3), t.addC(t1, t4), t.subC(t2, t3), t.subC(t1, t4)}
}

func (t *transformAsm) complex5(x []complexReg, sign float64) []complexReg {
	t2, t3 := t.addC(x[1], x[4]), t.addC(x[2], x[3])
	t4, t5 := t.subC(x[2], x[3]), t.subC(x[1], x[4])
	c2 := t.addC(t.addC(x[0], t.scaleC(fftReal51, t2)), t.scaleC(fftReal52, t3))
	c3 := t.addC(t.addC(x[0], t.scaleC(fftReal52, t2)), t.scaleC(fftReal51, t3))
	c4 := t.turn(t.scaleC(sign, t.subC(t.scaleC(fftImag52, t5), t.scaleC(fftImag51, t4))))
	c5 := t.turn(t.scaleC(sign, t.addC(t.scaleC(fftImag51, t5), t.scaleC(fftImag52, t4))))
	return []complexReg{t.addC(t.addC(x[0], t2), t3), t.subC(c2, c5), t.subC(c3, c4), t.addC(c3, c4), t.addC(c2, c5)}
}

// pairOf is the pair of legs of an item: those of legs j and radix-j are taken together
// in a stage of a large radix, number q of as many as there are in each.
func pairOf(t *transformAsm, item reg, radix, each int) (q, j, other reg) {
	j, q = t.splitBy(item, each)
	return q, j, t.to(b32, "sub.u32", t.constant(b32, uint64(radix)), j)
}

// pairs is the first half of a stage of a large radix: the sums and differences of legs.
func (s complexStage) pairs(t *transformAsm, row, item reg) {
	q, j, other := pairOf(t, item, s.radix, s.l1*s.ido)
	k, _ := t.splitBy(q, s.ido)
	at := t.to(b32, "add.u32", row, q)
	from := t.to(b32, "mad.lo.u32", k, s.ido*(s.radix-1), at)
	in := func(j reg) complexReg { return t.in.from(t.to(b32, "mad.lo.u32", j, s.ido, from)).complex(0) }
	out := func(j reg, v complexReg) {
		t.out.from(t.to(b32, "mad.lo.u32", j, s.ido*s.l1, at)).setComplex(0, v)
	}
	t.either(t.to(pred, "setp.eq.u32", j, 0), func() { out(j, in(j)) }, func() {
		x, y := in(j), in(other)
		out(j, t.addC(x, y))
		out(other, t.subC(x, y))
	})
}

// sums is the second half: of each pair of legs the sums over all, then the factors.
func (s complexStage) sums(t *transformAsm, row, item reg) {
	each, half := s.l1*s.ido, (s.radix+1)/2
	q, j, other := pairOf(t, item, s.radix, each)
	at := t.to(b32, "add.u32", row, q)
	_, i := t.splitBy(q, s.ido)
	index := func(j reg) reg { return t.to(b32, "mad.lo.u32", j, each, at) }
	in := func(j reg) complexReg { return t.in.from(index(j)).complex(0) }
	first := t.in.from(at).complex(0)
	t.either(t.to(pred, "setp.eq.u32", j, 0), func() {
		sum := complexReg{t.to(b64, "mov.b64", first.re), t.to(b64, "mov.b64", first.im)}
		t.loop(1, half, func(l reg) { t.accumulate(sum, in(l)) })
		t.out.from(at).setComplex(0, sum)
	}, func() {
		root := func(m reg) (re, im reg) { // of unity, to the power of m
			w := t.twiddle(s.first, t.to(b32, "mul.lo.u32", t.to(b32, "sub.u32", m, 1), s.ido))
			if s.sign < 0 {
				return w.re, t.negF64(w.im)
			}
			return w.re, w.im
		}
		times := func(f reg, x complexReg) complexReg { return complexReg{t.mulF64(f, x.re), t.mulF64(f, x.im)} }
		re, im := root(j)
		one, last := t.in.from(at).complex(each), t.in.from(at).complex(each*(s.radix-1))
		even, odd := t.addC(first, times(re, one)), times(im, last)
		m, n := t.to(b32, "mov.b32", j), t.constant(b32, uint64(s.radix))
		t.loop(2, half, func(l reg) {
			t.op("add.u32", m, m, j)
			t.opIf(t.to(pred, "setp.gt.u32", m, n), "sub.u32", m, m, n)
			re, im := root(m)
			t.accumulate(even, times(re, in(l)))
			t.accumulate(odd, times(im, in(t.to(b32, "sub.u32", n, l))))
		})
		odd = t.turn(odd)
		for _, leg := range []struct {
			j reg
			v complexReg
		}{{j, t.subC(even, odd)}, {other, t.addC(even, odd)}} {
			v := leg.v
			if s.ido > 1 { // numbers that are first in their group have no factor
				w := s.factor(t, s.first, t.to(b32, "mad.lo.u32", t.to(b32, "sub.u32", leg.j, 1), s.ido, i))
				p, plain := t.mulC(w, v), t.to(pred, "setp.eq.u32", i, 0)
				v = complexReg{t.to(b64, "selp.b64", v.re, p.re, plain), t.to(b64, "selp.b64", v.im, p.im, plain)}
			}
			t.out.from(index(leg.j)).setComplex(0, v)
		}
	})
}

// accumulate adds to a sum.
func (a *asm) accumulate(sum, x complexReg) {
	a.op("add.rn.f64", sum.re, sum.re, x.re)
	a.op("add.rn.f64", sum.im, sum.im, x.im)
}
