package ptx

import "math"

// The twiddle factors of a transform are made on the device, in scratch memory, by the
// same operations as the host's math.Cos and math.Sin: their bits decide over those of the
// results.

// twiddleStage is where the factors of a stage begin in the table, and what they are: of
// leg j, at position p, the angle is (p + shift)·(j + 1)·l1·2π/n; at position 0 it is
// first·(j + 1)·l1·2π/n.
type twiddleStage struct{ start, legs, positions, l1, first int }

// twiddleTable is what a transform has in scratch memory beside its numbers: the factors of
// its stages, and the rotations of the stages of real numbers whose radix is above 5.
type twiddleTable struct {
	n         int // the length
	shift     int
	stages    []twiddleStage
	rotations []rotation
	count     int // of all
}

// rotation is where the powers of the first root of unity of a radix begin in a table.
type rotation struct{ start, radix int }

// addStage makes room for the factors of a stage.
func (t *twiddleTable) addStage(legs, positions, l1, first int) (start int) {
	start = t.count
	t.stages = append(t.stages, twiddleStage{start, legs, positions, l1, first})
	t.count += legs * positions
	return start
}

// addRotation makes room for the powers of a root of unity, behind the factors of all stages.
func (t *twiddleTable) addRotation(radix int) (start int) {
	start = t.count
	t.rotations = append(t.rotations, rotation{start, radix})
	t.count += radix / 2
	return start
}

// maxStages is how many factors of a length the routine of the host takes.
const maxStages = 13

// The numbers of a table.
const (
	twiddleCount = iota
	twiddleShift
	twiddleAngle // 2π/n, the bits of an f64
	twiddleAt    // where it begins in scratch memory
	twiddleStages
)

const twiddleThreads = 128

// addTwiddles appends the launches that make a table, and returns where it begins.
func (c *nativeCall) addTwiddles(t *twiddleTable) (at int64) {
	at = c.room(16 * int64(max(1, t.count)))
	count := int64(0)
	v := numbers{}
	for i := range maxStages {
		if i < len(t.stages) {
			s := t.stages[i]
			count += int64(s.legs * s.positions)
			v.add(int64(s.start), int64(s.positions), int64(s.l1), int64(s.first))
			continue
		}
		v.add(math.MaxUint32, 1, 0, 0)
	}
	head := numbers{}
	head.add(count, int64(t.shift), int64(math.Float64bits(2*math.Pi/float64(t.n))), at)
	if count > 0 {
		c.add("fft_twiddles", twiddleThreads, emitTwiddles, ceil(count, twiddleThreads), 1, 0, append(head, v...)...)
	}
	for _, r := range t.rotations {
		c.addRotations(at+16*int64(r.start), r.radix)
	}
	return at
}

// emitTwiddles has a thread make each factor.
func emitTwiddles(a *asm) {
	done := a.label()
	item := a.item(twiddleThreads, a.number32(twiddleCount), done)
	stage := func(i, field int) reg { return a.number32(twiddleStages + 4*i + field) }
	var s [4]reg
	for field := range s {
		s[field] = a.to(b32, "mov.b32", stage(0, field))
	}
	for i := 1; i < maxStages; i++ {
		inside := a.to(pred, "setp.ge.u32", item, stage(i, 0))
		for field := range s {
			a.op("selp.b32", s[field], stage(i, field), s[field], inside)
		}
	}
	start, positions, l1, first := s[0], s[1], s[2], s[3]
	leg, position := a.split(a.to(b32, "sub.u32", item, start), positions)
	turns := a.to(b32, "mad.lo.u32", leg, l1, l1)
	steps := a.to(b32, "add.u32", position, a.number32(twiddleShift))
	steps = a.to(b32, "selp.b32", first, steps, a.to(pred, "setp.eq.u32", position, 0))
	wide := func(x reg) reg { return a.to(b64, "cvt.rn.f64.u32", x) }
	angle := a.mulF64(wide(steps), a.mulF64(wide(turns), a.number(twiddleAngle)))
	sin, cos := a.sinCos(angle)
	a.op("st.global.v2.b64", mem(a.step(a.scratchAt(twiddleAt), item, 16), 0), group([]reg{cos, sin}))
	a.place(done)
}

// Cephes' polynomials, as package math has them: of the sine and of the cosine between
// -π/4 and π/4; and π/4 in three parts.
var (
	sinTerms   = []float64{0x1.5d8fd1fd19ccdp-33, -0x1.ae5e5a9291f5dp-26, 0x1.71de3567d48a1p-19, -0x1.a01a019bfdf03p-13, 0x1.111111110f7dp-07, -0x1.5555555555548p-03}
	cosTerms   = []float64{-0x1.8fa49a0861a9bp-37, 0x1.1ee9d7b4e3f05p-29, -0x1.27e4f7eac4bc6p-22, 0x1.a01a019c844f5p-16, -0x1.6c16c16c14f91p-10, 0x1.555555555554bp-05}
	quarterPis = []float64{0x1.921fb4p-01, 0x1.4442dp-25, 0x1.8469898cc517p-49}
)

// sinCos is math.Sin and math.Cos of an angle from 0 up to 2^29.
func (a *asm) sinCos(x reg) (sin, cos reg) {
	octant := a.to(b32, "cvt.rzi.u32.f64", a.mulF64(x, a.f64(4/math.Pi)))
	octant = a.to(b32, "add.u32", octant, a.to(b32, "and.b32", octant, 1))
	y := a.to(b64, "cvt.rn.f64.u32", octant)
	octant = a.to(b32, "and.b32", octant, 7) // 0, 2, 4 or 6
	z := x
	for _, part := range quarterPis {
		z = a.subF64(z, a.mulF64(y, a.f64(part)))
	}
	zz := a.mulF64(z, z)
	sum := func(terms []float64) reg {
		r := a.f64(terms[0])
		for _, t := range terms[1:] {
			r = a.addF64(a.mulF64(r, zz), a.f64(t))
		}
		return r
	}
	s := a.addF64(z, a.mulF64(a.mulF64(z, zz), sum(sinTerms)))
	c := a.addF64(a.subF64(a.f64(1), a.mulF64(a.f64(0.5), zz)), a.mulF64(a.mulF64(zz, zz), sum(cosTerms)))
	is := func(octants ...int) reg {
		p := a.to(pred, "setp.eq.u32", octant, octants[0])
		for _, o := range octants[1:] {
			p = a.to(pred, "or.pred", p, a.to(pred, "setp.eq.u32", octant, o))
		}
		return p
	}
	exchanged := is(2, 6)
	sin, cos = a.to(b64, "selp.b64", c, s, exchanged), a.to(b64, "selp.b64", s, c, exchanged)
	sin = a.to(b64, "selp.b64", a.negF64(sin), sin, is(4, 6))
	cos = a.to(b64, "selp.b64", a.negF64(cos), cos, is(2, 4))
	return sin, cos
}

// rotationsThreads is the block of the launch that makes the rotations of a long stage.
const rotationsThreads = 64

// The numbers of rotations.
const (
	rotationCount = iota
	rotationCos   // of 2π/radix, the bits of an f64
	rotationSin
	rotationTable
)

// addRotations appends the launch that makes the first powers of a root of unity, from
// the first on, by repeated products, as transforms of real numbers have them for a radix
// above 5.
func (c *nativeCall) addRotations(at int64, radix int) {
	count := int64(radix / 2)
	angle := 2 * math.Pi / float64(radix)
	v := numbers{}
	v.add(count, int64(math.Float64bits(math.Cos(angle))), int64(math.Float64bits(math.Sin(angle))), at)
	c.add("fft_rotations", rotationsThreads, func(a *asm) {
		done := a.label()
		item := a.item(rotationsThreads, a.number32(rotationCount), done)
		root := complexReg{a.number(rotationCos), a.number(rotationSin)}
		w := complexReg{a.to(b64, "mov.b64", a.f64(1)), a.to(b64, "mov.b64", a.f64(0))}
		a.loop(0, a.to(b32, "add.u32", item, 1), func(reg) { a.rotate(w, root) })
		a.op("st.global.v2.b64", mem(a.step(a.scratchAt(rotationTable), item, 16), 0), group([]reg{w.re, w.im}))
		a.place(done)
	}, ceil(count, rotationsThreads), 1, 0, v...)
}

// rotate multiplies a number by another.
func (a *asm) rotate(w, by complexReg) {
	re := a.subF64(a.mulF64(by.re, w.re), a.mulF64(by.im, w.im))
	im := a.addF64(a.mulF64(by.re, w.im), a.mulF64(by.im, w.re))
	a.op("mov.b64", w.re, re)
	a.op("mov.b64", w.im, im)
}
