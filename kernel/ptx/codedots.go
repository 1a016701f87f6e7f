package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

func init() { natives["dot_codes"] = planCodeDots }

// The operands and the result of dot_codes.
const (
	dotsX = iota
	dotsCodes
	dotsScale
	dotsZero
	dotsY
)

// codeForm is one variant of a product of rows of x with rows of codes.
//
// Each result is 16 partials, chains of fma that take every 16th word of a row of codes:
// lanes hold chains, so a step of a row is 64 bytes of it, side by side, and the chains
// of a row are folded across lanes in the end. A lane holds four chains for each of its
// rows of x: those of four neighbouring words of one row of codes, which it reads by 16
// bytes, or of one word of four rows, which share the word of x. Either way a warp takes
// eight rows. With few rows of x what counts is how much of the codes is on its way: the
// words of depth steps, each asked for again as soon as it is used.
//
// x is the same for all lanes: a block keeps a chunk of it in shared memory, in words as
// the words of codes meet them. Codes of 4 bits meet two of them, for their halves.
type codeForm struct {
	bits          int
	signed        bool
	scale         ir.DType
	block         int // words that share a scale and a zero point; 0: a row does
	scales, zeros blockForm
	lines         int // rows of x that a lane takes
	read          codeRead
	depth         int // steps of a round, and how far ahead codes are read
	chunk         int // rounds that shared memory holds the words of x of
	chunks        bool
	staged        int // bytes of x that are brought at once: 16, 4 or 1
	warps         int
	packed        [2]bool // x and the codes lie in scratch memory
}

// codeRead is how codes are read: by 16 bytes, by words, or byte by byte.
type codeRead uint8

const (
	codeVectors codeRead = iota
	codeWords
	codeBytes
)

// blockForm says what scales or zero points there are: one for each row, for each
// block of a row, for both or for neither.
type blockForm struct{ perRow, perBlock bool }

const (
	codePartials  = 16 // of a result, and words of a step
	codeWarpRows  = 8
	codeMostLines = 8
	codeMostWarps = 4
	codeXBytes    = 32 << 10 // of x in shared memory, at most
	codeAhead     = 96       // registers for what is on its way, at most
	codeLoop      = 1050     // instructions of a round, about: many more miss the instruction cache
)

// words and rows are how many of both a lane takes in a step.
func (f *codeForm) words() int {
	if f.read == codeVectors {
		return 4
	}
	return 1
}

func (f *codeForm) rows() int { return 4 / f.words() }

// roundWords are the words of a row of codes in a round.
func (f *codeForm) roundWords() int { return f.depth * codePartials }

// halves are the words of x that a word of codes meets.
func (f *codeForm) halves() int { return 8 / f.bits }

// halfBytes is where in shared memory the words of the second halves lie behind those of
// the first, lineBytes where those of the next row of x do.
func (f *codeForm) halfBytes() int { return 4 * f.chunk * f.roundWords() }
func (f *codeForm) lineBytes() int { return f.halves() * f.halfBytes() }

// every is how many steps share a scale and a zero point that are read once for them.
func (f *codeForm) every() int {
	switch steps := f.block / codePartials; {
	case f.block%codePartials != 0 || steps == 0:
		return 1
	case f.depth%steps == 0:
		return steps
	case steps%f.depth == 0:
		return f.depth
	}
	return 1
}

// ahead is how many registers of a lane wait for memory.
func (f *codeForm) ahead() int {
	n := f.depth * f.rows() * f.words()
	for _, b := range []blockForm{f.scales, f.zeros} {
		if b.perBlock {
			n += f.depth / f.every() * f.lanesRows(b)
		}
	}
	return n
}

// instructions are about how many a step takes.
func (f *codeForm) instructions() int {
	chains, words := 4*f.lines*(2+f.halves()), f.lines*f.words()
	n := 8 + chains + words*(f.halves()+f.lanesRows(f.zeros)) + f.lines*f.halves()
	if f.bits == 4 {
		n += 3 * f.rows() * f.words()
	}
	for _, b := range []blockForm{f.scales, f.zeros} {
		if b.perBlock {
			n += 6 * f.lanesRows(b) / f.every()
		}
	}
	return n
}

// lanesRows are the rows of a lane that have a value of their own.
func (f *codeForm) lanesRows(b blockForm) int {
	if b.perRow {
		return f.rows()
	}
	return 1
}

func (f *codeForm) name() string {
	return fmt.Sprintf("dots%d%s_%s_%d_%s%s%s%s_x%d_r%d_d%d_c%d%s_s%d_w%d_%s%s", f.bits, mark(f.signed), f.scale, f.block,
		mark(f.scales.perRow), mark(f.scales.perBlock), mark(f.zeros.perRow), mark(f.zeros.perBlock),
		f.lines, f.read, f.depth, f.chunk, mark(f.chunks), f.staged, f.warps, mark(f.packed[0]), mark(f.packed[1]))
}

// The numbers of dot_codes. Steps from row to row and block to block are in bytes.
const (
	dotsRows    = iota // of x
	dotsTiles          // of rows of x
	dotsColumns        // of the result: rows of codes
	dotsK              // bytes of a row of x
	dotsBytes          // of a row of codes
	dotsRounds
	dotsScaleRow
	dotsScaleBlock
	dotsZeroRow
	dotsZeroBlock
	dotsXAt // in scratch memory
	dotsCodesAt
)

// planCodeDots gives each block some rows of codes and up to codeMostLines rows of x.
// Blocks that share rows of codes run side by side, so that memory is read once.
func planCodeDots(c *nativeCall) (*Plan, error) {
	if c.tooLarge() {
		return nil, nil
	}
	x, codes := &c.tensors[dotsX], &c.tensors[dotsCodes]
	k, n, bytes := x.Type.Shape[len(x.Type.Shape)-1], codes.Type.Shape[0], codes.Type.Shape[1]
	rows := x.Type.Shape.Size() / k
	bits, block := int(c.Attr("bits").Int), int(c.Attr("block").Int)
	tiles := int(ceil(int64(rows), codeMostLines))
	f := codeForm{
		bits: bits, signed: codes.Type.DType == ir.I8, scale: c.tensors[dotsScale].Type.DType, block: block * bits / 32,
		lines: int(ceil(int64(rows), int64(tiles))),
	}
	var at [2]int64
	var first [2]uint64
	for i := range at {
		t := &c.tensors[i]
		first[i] = c.plan.first[i]
		if s := spansOf(t.Type.Shape, t.Operand.Strides); len(s) > 1 || len(s) == 1 && s[0].stride != 1 {
			f.packed[i], at[i], first[i] = true, c.pack(i), 0
		}
	}
	v := numbers{}
	v.add(int64(rows), int64(tiles), int64(n), int64(k), int64(bytes), 0)
	for i, b := range []*blockForm{&f.scales, &f.zeros} {
		t := &c.tensors[dotsScale+i]
		size := int64(t.Type.DType.Size())
		var steps [2]int64
		for axis, several := range []*bool{&b.perRow, &b.perBlock} {
			if *several = t.Type.Shape[axis] > 1; *several {
				steps[axis] = t.Operand.Strides[axis] * size
			}
		}
		v.add(steps[:]...)
	}
	v.add(at[:]...)
	f.read = f.reading(first[dotsCodes], bytes)
	f.staged = f.staging(first[dotsX], k, bytes)
	f.fit(c.target.sms(), int64(n), int64(tiles))
	rounds := ceil(int64(bytes), int64(4*f.roundWords()))
	v[dotsRounds] = uint64(rounds)
	most := codeXBytes / (4 * f.roundWords() * f.halves() * f.lines)
	f.chunk = int(min(int64(most), int64(nextPower(rounds)))) // a power, so that there are few forms
	f.chunks = int64(f.chunk) < rounds
	blocks := ceil(int64(n), int64(f.warps*codeWarpRows)) * int64(tiles)
	c.add(f.name(), 32*f.warps, func(a *asm) { emitCodeDots(a, &f) }, blocks, 1, 0, v...)
	return c.plan, nil
}

// reading is how rows of so many bytes of codes from an address on are read: by 16 bytes
// if they are aligned, and the four words of a lane are of one block. With more rows of x
// than two it counts how often its words are read from shared memory, and four rows of
// codes share one.
func (f *codeForm) reading(first uint64, bytes int) codeRead {
	switch {
	case (first|uint64(bytes))%4 != 0:
		return codeBytes
	case (first|uint64(bytes))%16 != 0, f.block%4 != 0, f.lines > 2:
		return codeWords
	}
	return codeVectors
}

// staging is how many bytes of rows of x, k long from an address on, are brought at once:
// neighbours that words of codes side by side meet.
func (f *codeForm) staging(first uint64, k, bytes int) int {
	half := 4 * f.block
	if f.bits == 8 {
		half = 0
	} else if f.block == 0 {
		half = bytes
	}
	for _, unit := range []int{16, 4} {
		if (first|uint64(k)|uint64(half))%uint64(unit) == 0 {
			return unit
		}
	}
	return 1
}

// fit makes blocks small enough for all multiprocessors to have one, and reads as far
// ahead as registers and the length of a round allow: further if few rows are read at a
// time.
func (f *codeForm) fit(sms, n, tiles int64) {
	f.warps = codeMostWarps
	for f.warps > 1 && 4*tiles*ceil(n, int64(f.warps*codeWarpRows)) < 3*sms {
		f.warps /= 2
	}
	f.depth = 8
	if n*tiles < 64*sms {
		f.depth = 16
	}
	if f.read == codeBytes {
		f.depth = 4
	}
	for f.depth > 1 && (f.ahead() > codeAhead || f.depth*f.instructions() > codeLoop) {
		f.depth /= 2
	}
}
