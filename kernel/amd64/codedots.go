package amd64

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// CodeFormat says how a matrix of codes is written whose rows are multiplied with
// a vector of codes. A word is 32 bits of codes, 4 codes of 8 bits or 8 of 4; words
// that lie side by side share a scale in blocks. Codes of 4 bits lie in halves of a
// block, or of a row that has one scale: the first half in the low bits of its bytes.
type CodeFormat struct {
	Bits   int  // 8 or 4
	Signed bool // codes of 8 bits are signed
	// Words is the number of words of a block: 1, 2, 4, 8 or a multiple of 16; 0
	// where a row has one scale.
	Words int
	Scale ir.DType // F32, F16 or BF16
	Zeros bool     // blocks have zero points, of 8 bits; else the row of x knows them
}

// check says what is not covered.
func (f CodeFormat) check() error {
	bad := f.Bits != 8 && f.Bits != 4 || f.Bits == 4 && f.Signed || f.Signed && f.Zeros ||
		f.Scale != ir.F32 && f.Scale != ir.F16 && f.Scale != ir.BF16
	switch f.Words {
	case 0, 1, 2, 4, 8:
	default:
		bad = bad || f.Words < 0 || f.Words%16 != 0
	}
	if bad {
		return &Unsupported{"dot_codes", fmt.Sprintf("codes of the format %+v", f)}
	}
	return nil
}

// codeDots is one call: Rows rows of codes, each times x:
//
//	y = the fold by halves of 16 partials, where partial j takes the words j, j+16, ...
//	    in ascending order, by fma from +0, of (the sum of x · (code - zero)) · scale
//
// with the sum, over a word, exact.
type codeDots struct {
	Codes, Scales, Zeros, Out     uintptr
	CodesRow, ScalesRow, ZerosRow int64 // bytes from one row to the next
	X                             uintptr
	Rows                          int64
	Blocks                        int64             // whole spans of 16 blocks
	Inner                         int64             // vectors of words in a block, or in a row
	Rest                          int64             // 1 if there is a last span that is not whole, or a last vector of a row
	Mask                          [spanWords]uint64 // the words that there are of the vectors of the rest
	RestScales                    uint64            // the scales of the rest
	End                           uint64            // bytes of x that a row of blocks takes
	Fold                          [16]float32
	Spread                        [2][16]float32 // scales and zero points of a span
}

// Offsets within a codeDots.
const (
	dotCodes = 8 * iota
	dotScales
	dotZeros
	dotOut
	dotCodesRow
	dotScalesRow
	dotZerosRow
	dotX
	dotRows
	dotBlocks
	dotInner
	dotRest
	dotMask
	dotRestScales = dotMask + 8*spanWords
	dotEnd        = dotRestScales + 8
	dotFold       = dotEnd + 8
	dotSpread     = dotFold + 64
)

// CodeDotter multiplies rows of codes of a format with vectors of codes.
type CodeDotter struct {
	format CodeFormat
	region *execmem.Region
}

// spanWords is the greatest number of words of blocks whose scales are loaded 16 at a
// time, for a span of as many vectors.
const spanWords = 16

// codeDotters are those that were asked for, for ever: there are few formats.
var codeDotters sync.Map // of CodeFormat: func() *CodeDotter

// CodeDotterOf returns the code for a format, or an [*Unsupported] error where the
// processor or the generator has none.
func CodeDotterOf(f CodeFormat) (*CodeDotter, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if !Available(AVX512) || !cpu.X86.HasAVX512VNNI {
		return nil, &Unsupported{"dot_codes", "the processor has no products of bytes"}
	}
	if f.Words > spanWords {
		f.Words = 2 * spanWords // the code is the same
	}
	once, _ := codeDotters.LoadOrStore(f, sync.OnceValue(func() *CodeDotter { return newCodeDotter(f) }))
	if d := once.(func() *CodeDotter)(); d != nil {
		return d, nil
	}
	return nil, &Unsupported{"dot_codes", "there is no memory for its code"}
}

func newCodeDotter(f CodeFormat) *CodeDotter {
	g := &codeGen{a: asm.New(), CodeFormat: f}
	g.emit()
	region, err := execmem.Map(g.a.Finish())
	if err != nil {
		return nil
	}
	return &CodeDotter{format: f, region: region}
}

// CodeMatrix is a matrix of codes as [CodeDotter.Dot] takes it, row-major without
// gaps, and a vector x that [CodeDotter.Vector] has laid out.
type CodeMatrix struct {
	Codes, Scales, Zeros []byte
	ScalesRow, ZerosRow  int // bytes from one row to the next; 0 if they share one
	RowWords             int // of codes
	Words                int // of a block; 0: one scale for the row
}

// planes returns how many bytes of x belong to a vector of words, and how many
// vectors x has: whole spans, so that code need not ask.
func (d *CodeDotter) vectors(rowWords int) int {
	n := (rowWords + 15) / 16
	if w := d.format.Words; w > 0 && w <= spanWords {
		n = (n + w - 1) / w * w
	}
	return n
}

// layStep is the bytes of x for a vector of words, laid out: codes, then sums.
func (f CodeFormat) layStep() int { return 512/f.Bits + 64 }

// Vector returns the bytes that x and its sums take when they are laid out for rows
// of so many words.
func (d *CodeDotter) Vector(rowWords int) int {
	return d.vectors(rowWords) * d.format.layStep()
}

// Lay lays out x, signed codes of 8 bits, in memory of so many bytes as Vector says:
// for each vector of words the codes (for codes of 4 bits first those of low bits),
// then the sums of each word, in f32 if blocks have zero points, else
// times -zero.
func (d *CodeDotter) Lay(dst []byte, x []int8, m *CodeMatrix, zero int32) {
	step := d.format.layStep()
	dst = dst[:d.vectors(m.RowWords)*step]
	clear(dst)
	sum := func(word int) *uint32 {
		return (*uint32)(unsafe.Pointer(&dst[word/16*step+step-64+word%16*4]))
	}
	if d.format.Signed {
		zero += 128 // of the codes with their highest bit turned
	}
	// Runs of codes that lie side by side in bytes: whole rows, or halves of blocks.
	run, planes := max(len(x), 1), 1
	if d.format.Bits == 4 {
		planes = 2
		if run = 4 * m.Words; run == 0 {
			run = 4 * m.RowWords
		}
	}
	for i := 0; i < len(x); i += run {
		plane := i / run % planes
		at := i / run / planes * run // byte of the first
		for _, v := range x[i:min(i+run, len(x))] {
			dst[at/64*step+64*plane+at%64] = byte(v)
			*sum(at / 4) += uint32(v)
			at++
		}
	}
	for word := range m.RowWords {
		s := sum(word)
		if d.format.Zeros {
			*s = math.Float32bits(float32(int32(*s)))
		} else {
			*s = -*s * uint32(zero)
		}
	}
}

// Dot multiplies rows from, from+1, ... of a matrix with a vector that was laid out,
// as many as out has elements. A call of some 100,000 codes takes microseconds and
// cannot be preempted.
func (d *CodeDotter) Dot(m *CodeMatrix, x []byte, from int, out []float32) {
	if len(out) == 0 || m.RowWords == 0 {
		clear(out)
		return
	}
	at := func(b []byte, i int) uintptr {
		if len(b) == 0 {
			return 0
		}
		return uintptr(unsafe.Pointer(&b[0])) + uintptr(i)
	}
	c := &codeDots{
		Codes: at(m.Codes, from*4*m.RowWords), CodesRow: int64(4 * m.RowWords),
		Scales: at(m.Scales, from*m.ScalesRow), ScalesRow: int64(m.ScalesRow),
		Zeros: at(m.Zeros, from*m.ZerosRow), ZerosRow: int64(m.ZerosRow),
		X: at(x, 0), Out: uintptr(unsafe.Pointer(&out[0])), Rows: int64(len(out)),
	}
	if w := d.format.Words; w > 0 && w <= spanWords {
		c.Blocks = int64(m.RowWords / (16 * w))
		if rest := m.RowWords % (16 * w); rest > 0 {
			c.Rest = 1
			for i := range c.Mask {
				c.Mask[i] = 1<<max(min(rest-16*i, 16), 0) - 1
			}
			c.RestScales = 1<<((rest+w-1)/w) - 1
		}
	} else {
		words := m.Words
		if words == 0 {
			words = m.RowWords
		}
		c.Inner, c.End = int64(words/16), uint64(d.Vector(m.RowWords))
		if rest := words % 16; rest > 0 {
			c.Rest, c.Mask[0] = 1, 1<<rest-1
		}
	}
	call(d.region.Addr(), unsafe.Pointer(c))
	runtime.KeepAlive(m)
	runtime.KeepAlive(x)
	runtime.KeepAlive(out)
}

// codeGen emits the code for a format. Rows run one after the other: they lie in
// memory so, and several at a time were slower from there.
type codeGen struct {
	a *asm.Asm
	CodeFormat
}

// Registers.
const (
	cCodes, cScales, cZeros, cX = asm.AX, asm.R8, asm.R11, asm.BX
	cCount, cTmp                = asm.R14, asm.R15
)

// Vectors. Places are those of the scales of each vector of a span.
const (
	cvAcc, cvScale, cvZero, cvSpread asm.Vec = 0, 1, 2, 3
	cvWords, cvLow, cvDot, cvConst   asm.Vec = 5, 6, 7, 8
	cvPlace                          asm.Vec = 24 // 8 of them
)

const (
	cmVector = asm.Mask(1)
	cmScales = asm.Mask(2)
)

func (g *codeGen) word(at int32) asm.Mem { return asm.Ptr(asm.DI, at) }

// small reports whether rows are spans of 16 blocks.
func (g *codeGen) small() bool { return g.Words > 0 && g.Words <= spanWords }

func (g *codeGen) emit() {
	a := g.a
	switch {
	case g.Bits == 4:
		g.constant(0x0f0f0f0f)
	case g.Signed:
		g.constant(0x80808080)
	}
	if g.Words < spanWords {
		for j := range g.Words {
			place := make([]byte, 64)
			for lane := range 16 {
				place[4*lane] = byte((16*j + lane) / g.Words)
			}
			a.RM(asm.VMOVUPS, asm.L512, cvPlace+asm.Vec(j), asm.M(a.Const(place)))
		}
	}
	rows := a.Here()
	for _, r := range []struct {
		reg asm.Reg
		at  int32
	}{{cCodes, dotCodes}, {cScales, dotScales}, {cZeros, dotZeros}, {cX, dotX}} {
		a.Load(r.reg, g.word(r.at))
	}
	g.clear(cvAcc)
	if g.small() {
		g.spans()
	} else {
		g.blocks()
	}
	g.finish()
	for _, r := range []struct{ step, at int32 }{{dotCodesRow, dotCodes}, {dotScalesRow, dotScales}, {dotZerosRow, dotZeros}} {
		a.Load(cTmp, g.word(r.step))
		a.MemAlu(asm.ADD, g.word(r.at), cTmp)
	}
	a.MemAluImm(asm.ADD, g.word(dotOut), 4)
	a.MemAluImm(asm.SUB, g.word(dotRows), 1)
	a.Jcc(asm.Greater, rows)
	a.VZeroUpper()
	a.Ret()
}

func (g *codeGen) constant(v uint32) {
	g.a.RM(asm.VBROADCASTSS, asm.L512, cvConst, asm.M(g.a.Const32(v)))
}

func (g *codeGen) clear(v asm.Vec) { g.a.RVM(asm.VPXOR, asm.L512, v, v, asm.V(v)) }

// spans runs over spans of 16 blocks, which Words vectors hold.
func (g *codeGen) spans() {
	a := g.a
	rest, done := a.NewLabel(), a.NewLabel()
	span := func(masked bool) {
		g.spanScales(masked)
		for j := range g.Words {
			if masked {
				a.Load(cTmp, g.word(dotMask+8*int32(j)))
				a.KMov(cmVector, cTmp)
			}
			g.spread(j)
			g.vector(j, masked, cvSpread, cvSpread+1)
		}
	}
	a.Load(cCount, g.word(dotBlocks))
	a.Test(cCount, cCount)
	a.Jcc(asm.Eq, rest)
	a.Align(16)
	loop := a.Here()
	span(false)
	g.advance(g.Words, 16)
	a.Dec(cCount)
	a.Jcc(asm.NotEq, loop)
	a.Bind(rest)
	a.MemAluImm(asm.CMP, g.word(dotRest), 0)
	a.Jcc(asm.Eq, done)
	a.Load(cTmp, g.word(dotRestScales))
	a.KMov(cmScales, cTmp)
	span(true)
	a.Bind(done)
}

// spread puts the scales and zero points of the words of vector j of a span into
// their lanes.
func (g *codeGen) spread(j int) {
	a := g.a
	for i, v := range []asm.Vec{cvScale, cvZero} {
		switch to := cvSpread + asm.Vec(i); {
		case i == 1 && !g.Zeros:
		case g.Words < spanWords:
			a.RVM(asm.VPERMD, asm.L512, to, cvPlace+asm.Vec(j), asm.V(v))
		default: // one for all
			a.RM(asm.VBROADCASTSS, asm.L512, to, asm.M(g.word(dotSpread+int32(64*i+4*j))))
		}
	}
}

// advance moves on by vectors of words and by blocks.
func (g *codeGen) advance(vectors, blocks int) {
	a := g.a
	if vectors > 0 {
		a.AluImm(asm.ADD, cCodes, int32(64*vectors))
		a.AluImm(asm.ADD, cX, int32(g.layStep()*vectors))
	}
	if blocks > 0 {
		a.AluImm(asm.ADD, cScales, int32(blocks*g.Scale.Size()))
		if g.Zeros {
			a.AluImm(asm.ADD, cZeros, int32(blocks))
		}
	}
}

// spanScales loads the scales and zero points of 16 blocks.
func (g *codeGen) spanScales(masked bool) {
	a := g.a
	load := func(op asm.Op, v asm.Vec, base asm.Reg) {
		if masked {
			a.Masked(cmScales, true)
		}
		a.RM(op, asm.L512, v, asm.M(asm.Ptr(base, 0)))
	}
	switch g.Scale {
	case ir.F32:
		load(asm.VMOVUPS, cvScale, cScales)
	case ir.F16:
		load(asm.VCVTPH2PS, cvScale, cScales)
	default:
		load(asm.VPMOVZXWD, cvScale, cScales)
		a.VMI(asm.VPSLLD, asm.L512, cvScale, cvScale, 16)
	}
	if g.Zeros {
		load(asm.VPMOVZXBD, cvZero, cZeros)
		a.RM(asm.VCVTDQ2PS, asm.L512, cvZero, asm.V(cvZero))
	}
	if g.Words == spanWords {
		a.MR(asm.VMOVUPSST, asm.L512, asm.M(g.word(dotSpread)), cvScale)
		if g.Zeros {
			a.MR(asm.VMOVUPSST, asm.L512, asm.M(g.word(dotSpread+64)), cvZero)
		}
	}
}

// codeUnroll is how many vectors of a long block one turn of the loop takes.
const codeUnroll = 4

// blocks runs over blocks of whole vectors, or over one block that is the row.
func (g *codeGen) blocks() {
	a := g.a
	loop := a.Here()
	switch at := asm.M(asm.Ptr(cScales, 0)); g.Scale {
	case ir.F32:
		a.RM(asm.VBROADCASTSS, asm.L512, cvScale, at)
	case ir.F16:
		a.RM(asm.VPBROADCASTW, asm.L256, cvScale, at)
		a.RM(asm.VCVTPH2PS, asm.L512, cvScale, asm.V(cvScale))
	default:
		a.RM(asm.VPBROADCASTW, asm.L512, cvScale, at)
		a.VMI(asm.VPSLLD, asm.L512, cvScale, cvScale, 16)
	}
	if g.Zeros {
		a.LoadByte(cTmp, asm.Ptr(cZeros, 0))
		a.RM(asm.VPBROADCASTDR, asm.L512, cvZero, asm.G(cTmp))
		a.RM(asm.VCVTDQ2PS, asm.L512, cvZero, asm.V(cvZero))
	}
	few, rest, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.Load(cCount, g.word(dotInner))
	a.AluImm(asm.SUB, cCount, codeUnroll)
	a.Jcc(asm.Less, few)
	a.Align(16)
	inner := a.Here()
	for j := range codeUnroll {
		g.vector(j, false, cvScale, cvZero)
	}
	g.advance(codeUnroll, 0)
	a.AluImm(asm.SUB, cCount, codeUnroll)
	a.Jcc(asm.GreatEq, inner)
	a.Bind(few)
	a.AluImm(asm.ADD, cCount, codeUnroll)
	a.Jcc(asm.Eq, rest)
	one := a.Here()
	g.vector(0, false, cvScale, cvZero)
	g.advance(1, 0)
	a.Dec(cCount)
	a.Jcc(asm.NotEq, one)
	a.Bind(rest)
	if g.Words == 0 {
		a.MemAluImm(asm.CMP, g.word(dotRest), 0)
		a.Jcc(asm.Eq, done)
		a.Load(cTmp, g.word(dotMask))
		a.KMov(cmVector, cTmp)
		g.vector(0, true, cvScale, cvZero)
		a.Bind(done)
		return
	}
	g.advance(0, 1)
	a.Mov(cTmp, cX)
	a.AluMem(asm.SUB, cTmp, g.word(dotX))
	a.AluMem(asm.CMP, cTmp, g.word(dotEnd))
	a.Jcc(asm.Less, loop)
}

// vector adds the products of vector j of words from the present place.
func (g *codeGen) vector(j int, masked bool, scale, zero asm.Vec) {
	a := g.a
	step := int32(g.layStep())
	x := func(plane int) asm.Arg { return asm.M(asm.Ptr(cX, step*int32(j)+64*int32(plane))) }
	sums := asm.M(asm.Ptr(cX, step*int32(j+1)-64))
	codes := asm.M(asm.Ptr(cCodes, int32(64*j)))
	if masked {
		a.Masked(cmVector, true)
	}
	if masked || !g.Signed {
		a.RM(asm.VMOVUPS, asm.L512, cvWords, codes)
		codes = asm.V(cvWords)
	}
	if g.Zeros {
		g.clear(cvDot)
	} else {
		a.RM(asm.VMOVUPS, asm.L512, cvDot, sums)
	}
	switch {
	case g.Bits == 4:
		a.RVM(asm.VPAND, asm.L512, cvLow, cvConst, codes)
		a.VMI(asm.VPSRLD, asm.L512, cvWords, cvWords, 4)
		a.RVM(asm.VPDPBUSD, asm.L512, cvDot, cvLow, x(0))
		a.RVM(asm.VPAND, asm.L512, cvWords, cvConst, codes)
		a.RVM(asm.VPDPBUSD, asm.L512, cvDot, cvWords, x(1))
	case g.Signed:
		a.RVM(asm.VPXOR, asm.L512, cvWords, cvConst, codes)
		fallthrough
	default:
		a.RVM(asm.VPDPBUSD, asm.L512, cvDot, cvWords, x(0))
	}
	a.RM(asm.VCVTDQ2PS, asm.L512, cvDot, asm.V(cvDot))
	if g.Zeros { // exact: all are whole and below 2^24
		a.RVM(asm.VFNMADD231PS, asm.L512, cvDot, zero, sums)
	}
	a.RVM(asm.VFMADD231PS, asm.L512, cvAcc, cvDot, asm.V(scale))
}

// finish folds the partials by halves, through memory, and stores the result.
func (g *codeGen) finish() {
	a := g.a
	l := asm.L512
	for half := int32(32); half >= 4; half /= 2 {
		a.MR(asm.VMOVUPSST, l, asm.M(g.word(dotFold)), cvAcc)
		if l = asm.L128; half == 32 {
			l = asm.L256
		}
		a.RVM(asm.VADDPS, l, cvAcc, cvAcc, asm.M(g.word(dotFold+half)))
	}
	a.Load(cTmp, g.word(dotOut))
	a.MR(asm.VMOVSSST, asm.L128, asm.M(asm.Ptr(cTmp, 0)), cvAcc)
}
