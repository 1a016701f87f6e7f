package cpu

import (
	"encoding/binary"

	"github.com/sinter-go/sinter/ir"
)

// guardBytes lie before and behind each buffer of a device with Options.Poison.
const guardBytes = alignment

// poisonWord is what such a device fills memory with that nobody may read, by size
// class, so that a stray value tells where it came from. It is a signalling NaN as
// a float64, NaNs as float32 and bfloat16, and out of range as an index.
func poisonWord(class int) uint64 {
	return 0x7ff4_0000_7fa0_0000 | uint64(class)<<32 | uint64(class)
}

// fillPoison writes the pattern of a class over b, which begins at a multiple of 8.
func fillPoison(b []byte, class int) {
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], poisonWord(class))
	n := copy(b, word[:])
	for n < len(b) { // doubling
		n += copy(b[n:], b[:n])
	}
}

// spoiled returns the first byte of b that is not the pattern of a class, -1 if
// all are. from is the place of b in the pattern.
func spoiled(b []byte, class, from int) int {
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], poisonWord(class))
	for i, v := range b {
		if v != word[(from+i)%8] {
			return i
		}
	}
	return -1
}

// inspect checks the guards of a buffer and the bytes behind its contents.
func (p *pool) inspect(b *buffer) {
	n := len(b.data)
	end := guardBytes + n
	if at := spoiled(b.whole[:guardBytes], b.class, 0); at >= 0 {
		p.damage("a kernel or routine wrote %d bytes before a buffer of %d bytes", guardBytes-at, n)
	} else if at := spoiled(b.whole[end:], b.class, end); at >= 0 {
		p.damage("a kernel or routine wrote %d bytes behind a buffer of %d bytes", at+1, n)
	}
}

// inspectIdle checks that nobody wrote to a buffer since it was freed.
func (p *pool) inspectIdle(b *buffer) {
	if at := spoiled(b.whole, b.class, 0); at >= 0 {
		p.damage("a buffer of %d bytes was written to after it was freed, at byte %d", cap(b.data), at-guardBytes)
		fillPoison(b.whole, b.class)
	}
}

func (p *pool) damage(format string, args ...any) {
	if p.damaged == nil {
		p.damaged = ir.Errorf(ir.ErrInternal, format, args...)
	}
}
