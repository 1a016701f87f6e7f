package ptx

// Branches and loops of texts that are written by hand.

// either branches.
func (a *asm) either(when reg, yes, no func()) {
	first, end := a.label(), a.label()
	a.opIf(when, "bra", first)
	no()
	a.op("bra", end)
	a.place(first)
	yes()
	a.place(end)
}

// only runs a body in one branch.
func (a *asm) only(when reg, body func()) {
	done := a.label()
	a.opUnless(when, "bra", done)
	body()
	a.place(done)
}

// loop counts a register of 32 bits from a number up to another, at least once.
func (a *asm) loop(from int, to any, body func(i reg)) {
	i := a.to(b32, "mov.b32", from)
	again := a.label()
	a.place(again)
	body(i)
	a.op("add.u32", i, i, 1)
	a.opIf(a.to(pred, "setp.lt.u32", i, to), "bra", again)
}

// turns counts a register from a number up to another, which it may not reach, by steps.
func (a *asm) turns(from any, to reg, step int, body func(i reg)) {
	i := a.to(b32, "mov.b32", from)
	again, done := a.label(), a.label()
	a.place(again)
	a.opIf(a.to(pred, "setp.ge.u32", i, to), "bra", done)
	body(i)
	a.op("add.u32", i, i, step)
	a.op("bra", again)
	a.place(done)
}

// downward counts a register from a number down to 0; from the number minus 1 on.
func (a *asm) downward(from reg, body func(i reg)) {
	i := a.to(b32, "mov.b32", from)
	again, done := a.label(), a.label()
	a.place(again)
	a.opIf(a.to(pred, "setp.eq.u32", i, 0), "bra", done)
	a.op("sub.u32", i, i, 1)
	body(i)
	a.op("bra", again)
	a.place(done)
}

// strided has the threads of a block take turns over items, of which there are most at
// most.
func (a *asm) strided(threads int, most int64, items reg, body func(i reg)) {
	i := a.to(b32, "mov.b32", a.tidHead())
	again, done := a.label(), a.label()
	a.place(again)
	a.opIf(a.to(pred, "setp.ge.u32", i, items), "bra", done)
	body(i)
	if most > int64(threads) {
		a.op("add.u32", i, i, threads)
		a.op("bra", again)
	}
	a.place(done)
}
