package ptx

// Stages of a large radix of transforms of real numbers, in two passes: sums and
// differences of pairs of legs, and of each pair the sums over all. Between them legs are
// ido·l1 apart.

// leg is the place of a leg in a register, of number 2p of a group, in a sequence whose
// legs are apart.
func (s realStage) leg(t *transformAsm, q *sequence, x largeItem, j, twice reg) place {
	return s.apart(t, q, t.to(b32, "mad.lo.u32", j, s.ido*s.l1, x.row), x.k, twice)
}

// sideLeg is the same where they are side by side.
func (s realStage) sideLeg(t *transformAsm, q *sequence, x largeItem, j, twice reg) place {
	return s.side(t, q, t.to(b32, "mad.lo.u32", j, s.ido, x.row), x.k, twice)
}

// cases writes what is done for the real number of a group and for a pair of it, each for
// the first leg, alone, and for a pair of legs.
func (s realStage) cases(t *transformAsm, x largeItem, firstReal, pairReal func(), firstInner, pairInner func(twice reg)) {
	isFirst := t.to(pred, "setp.eq.u32", x.j, 0)
	edge := func() { t.either(isFirst, firstReal, pairReal) }
	if s.groupItems() == 1 {
		edge()
		return
	}
	t.either(t.to(pred, "setp.eq.u32", x.p, 0), edge, func() {
		twice := t.to(b32, "shl.b32", x.p, 1)
		t.either(isFirst, func() { firstInner(twice) }, func() { pairInner(twice) })
	})
}

func (s realStage) forwardPairs(t *transformAsm, x largeItem) {
	zero := t.constant(b32, 0)
	in := func(j, twice reg) place { return s.leg(t, &t.in, x, j, twice) }
	out := func(j, twice reg) place { return s.leg(t, &t.out, x, j, twice) }
	s.cases(t, x, func() {
		out(x.j, zero).setReal(0, in(x.j, zero).real(0))
	}, func() {
		v, w := in(x.j, zero).real(0), in(x.other, zero).real(0)
		out(x.j, zero).setReal(0, t.addF64(v, w))
		out(x.other, zero).setReal(0, t.subF64(w, v))
	}, func(twice reg) {
		out(x.j, twice).setComplex(-1, in(x.j, twice).complex(-1))
	}, func(twice reg) {
		v := t.mulC(t.conjugate(s.factorOf(t, x.j, x.p)), in(x.j, twice).complex(-1))
		w := t.mulC(t.conjugate(s.factorOf(t, x.other, x.p)), in(x.other, twice).complex(-1))
		out(x.j, twice).setComplex(-1, t.addC(v, w))
		out(x.other, twice).setComplex(-1, t.turn(t.subC(v, w)))
	})
}

func (s realStage) backwardPairs(t *transformAsm, x largeItem) {
	zero := t.constant(b32, 0)
	out := func(j, twice reg) place { return s.leg(t, &t.out, x, j, twice) }
	even := t.to(b32, "shl.b32", x.j, 1) // the legs of a pair are 2j-1 and 2j here
	odd := t.to(b32, "sub.u32", even, 1)
	s.cases(t, x, func() {
		out(x.j, zero).setReal(0, s.sideLeg(t, &t.in, x, x.j, zero).real(0))
	}, func() {
		v, w := s.sideLeg(t, &t.in, x, odd, zero).real(s.ido-1), s.sideLeg(t, &t.in, x, even, zero).real(0)
		out(x.j, zero).setReal(0, t.addF64(v, v))
		out(x.other, zero).setReal(0, t.addF64(w, w))
	}, func(twice reg) {
		out(x.j, twice).setComplex(-1, s.sideLeg(t, &t.in, x, x.j, twice).complex(-1))
	}, func(twice reg) {
		v := s.sideLeg(t, &t.in, x, even, twice).complex(-1)
		w := t.conjugate(s.sideLeg(t, &t.in, x, odd, s.mirrored(t, twice)).complex(-1))
		out(x.j, twice).setComplex(-1, t.addC(v, w))
		out(x.other, twice).setComplex(-1, t.subC(v, w))
	})
}

// sumOver is the sum of the first legs of all pairs, after that of leg 0; add adds leg j of
// the numbers at hand.
func (s realStage) sumOver(t *transformAsm, add func(j reg)) {
	t.loop(1, (s.radix+1)/2, add)
}

// rotated calls add for each pair of legs behind the first with the power of the root of
// unity that it is multiplied by, which is made by repeated products.
func (s realStage) rotated(t *transformAsm, x largeItem, begin func(w complexReg), add func(w complexReg, j, other reg)) {
	root := t.twiddle(s.rotation-1, x.j)
	begin(root)
	w := complexReg{t.to(b64, "mov.b64", root.re), t.to(b64, "mov.b64", root.im)}
	t.loop(2, (s.radix+1)/2, func(l reg) {
		t.rotate(w, root)
		add(w, l, t.to(b32, "sub.u32", t.constant(b32, uint64(s.radix)), l))
	})
}

// sums are the two sums of a pair of legs, of the real number of a group.
func (s realStage) realSums(t *transformAsm, x largeItem) (even, odd reg) {
	zero := t.constant(b32, 0)
	first := s.apart(t, &t.in, x.row, x.k, zero)
	in := func(j reg) reg { return s.leg(t, &t.in, x, j, zero).real(0) }
	s.rotated(t, x, func(w complexReg) {
		even = t.addF64(first.real(0), t.mulF64(w.re, first.real(s.ido*s.l1)))
		odd = t.mulF64(w.im, first.real(s.ido*s.l1*(s.radix-1)))
	}, func(w complexReg, j, other reg) {
		t.op("add.rn.f64", even, even, t.mulF64(w.re, in(j)))
		t.op("add.rn.f64", odd, odd, t.mulF64(w.im, in(other)))
	})
	return even, odd
}

// complexSums are those of a pair of numbers.
func (s realStage) complexSums(t *transformAsm, x largeItem, twice reg) (even, odd complexReg) {
	first := s.apart(t, &t.in, x.row, x.k, twice)
	in := func(j reg) complexReg { return s.leg(t, &t.in, x, j, twice).complex(-1) }
	times := func(f reg, x complexReg) complexReg { return complexReg{t.mulF64(f, x.re), t.mulF64(f, x.im)} }
	s.rotated(t, x, func(w complexReg) {
		even = t.addC(first.complex(-1), times(w.re, first.complex(s.ido*s.l1-1)))
		odd = times(w.im, first.complex(s.ido*s.l1*(s.radix-1)-1))
	}, func(w complexReg, j, other reg) {
		t.accumulate(even, times(w.re, in(j)))
		t.accumulate(odd, times(w.im, in(other)))
	})
	return even, odd
}

// firstReal and firstComplex are the sums over all legs.
func (s realStage) firstReal(t *transformAsm, x largeItem) reg {
	zero := t.constant(b32, 0)
	sum := t.to(b64, "mov.b64", s.apart(t, &t.in, x.row, x.k, zero).real(0))
	s.sumOver(t, func(j reg) { t.op("add.rn.f64", sum, sum, s.leg(t, &t.in, x, j, zero).real(0)) })
	return sum
}

func (s realStage) firstComplex(t *transformAsm, x largeItem, twice reg) complexReg {
	sum := s.apart(t, &t.in, x.row, x.k, twice).complex(-1)
	s.sumOver(t, func(j reg) { t.accumulate(sum, s.leg(t, &t.in, x, j, twice).complex(-1)) })
	return sum
}

func (s realStage) forwardSums(t *transformAsm, x largeItem) {
	zero := t.constant(b32, 0)
	even := t.to(b32, "shl.b32", x.j, 1)
	odd := t.to(b32, "sub.u32", even, 1)
	out := func(j, twice reg) place { return s.sideLeg(t, &t.out, x, j, twice) }
	s.cases(t, x, func() {
		out(x.j, zero).setReal(0, s.firstReal(t, x))
	}, func() {
		u, v := s.realSums(t, x)
		out(odd, zero).setReal(s.ido-1, u)
		out(even, zero).setReal(0, v)
	}, func(twice reg) {
		out(x.j, twice).setComplex(-1, s.firstComplex(t, x, twice))
	}, func(twice reg) {
		u, v := s.complexSums(t, x, twice)
		out(even, twice).setComplex(-1, t.addC(u, v))
		out(odd, s.mirrored(t, twice)).setComplex(-1, t.conjugate(t.subC(u, v)))
	})
}

func (s realStage) backwardSums(t *transformAsm, x largeItem) {
	zero := t.constant(b32, 0)
	out := func(j, twice reg) place { return s.leg(t, &t.out, x, j, twice) }
	s.cases(t, x, func() {
		out(x.j, zero).setReal(0, s.firstReal(t, x))
	}, func() {
		u, v := s.realSums(t, x)
		out(x.j, zero).setReal(0, t.subF64(u, v))
		out(x.other, zero).setReal(0, t.addF64(u, v))
	}, func(twice reg) {
		out(x.j, twice).setComplex(-1, s.firstComplex(t, x, twice))
	}, func(twice reg) {
		u, v := s.complexSums(t, x, twice)
		v = t.turn(v)
		out(x.j, twice).setComplex(-1, t.mulC(s.factorOf(t, x.j, x.p), t.subC(u, v)))
		out(x.other, twice).setComplex(-1, t.mulC(s.factorOf(t, x.other, x.p), t.addC(u, v)))
	})
}
