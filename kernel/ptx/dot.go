package ptx

// Sums of products in the orders of gonum's assembly.

// advance moves a place of real numbers on.
func (a *asm) advance(p place, by int) {
	if p.space == ".shared" {
		a.op("add.u32", p.address, p.address, 8*by)
		return
	}
	a.op("add.s64", p.address, p.address, 8*by)
}

// products adds the products of two rows, which begin at places of their own, to as many
// sums in turn as are given, and leaves how many are left of the length.
func (a *asm) products(x, y place, length reg, sums []reg) (left reg) {
	left = a.to(b32, "mov.b32", length)
	n := len(sums)
	again, done := a.label(), a.label()
	a.place(again)
	a.opIf(a.to(pred, "setp.lt.u32", left, n), "bra", done)
	for i, sum := range sums {
		a.op("add.rn.f64", sum, sum, a.mulF64(x.real(i), y.real(i)))
	}
	a.advance(x, n)
	a.advance(y, n)
	a.op("sub.u32", left, left, n)
	a.op("bra", again)
	a.place(done)
	return left
}

// emptySums are sums to begin with.
func (a *asm) emptySums(n int) (sums []reg) {
	for range n {
		sums = append(sums, a.to(b64, "mov.b64", a.f64(0)))
	}
	return sums
}

// dot is the sum of the products of two rows as DotUnitary has it: four sums, the first of
// which takes what is left.
func (a *asm) dot(x, y place, length reg) reg {
	sums := a.emptySums(4)
	left := a.products(x, y, length, sums)
	a.products(x, y, left, sums[:1])
	return a.addF64(a.addF64(sums[0], sums[2]), a.addF64(sums[1], sums[3]))
}

// dotOfRow is the same as GemvN has it: two sums, and what is left after them, or, of a
// last row alone, with the first.
func (a *asm) dotOfRow(x, y place, length, alone reg) reg {
	sums := a.emptySums(2)
	left := a.products(x, y, length, sums)
	sum := a.addF64(sums[0], sums[1])
	a.only(a.to(pred, "setp.ne.u32", left, 0), func() {
		last := a.mulF64(x.real(0), y.real(0))
		a.op("selp.b64", sum, a.addF64(a.addF64(sums[0], last), sums[1]), a.addF64(sum, last), alone)
	})
	return sum
}
