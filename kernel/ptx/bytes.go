package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Elements of one byte come four to a word, and stay there as far as they can, such as codes of
// four bits that are shifted and masked before they are numbers: an operation on bits is one
// on the word, and a byte becomes a number of f32 without being taken out first. Rows compute
// in 32 bits and take the low byte, which comes to the same.

// byteOf says of a register that it holds a byte of a word, extended.
type byteOf struct {
	word   reg
	at     int // from the lowest on
	signed bool
}

// wordOf returns the word that elements of one byte make up, the first lowest, if it is at hand.
func (a *asm) wordOf(vals []reg) (reg, bool) {
	if len(vals) != 4 {
		return "", false
	}
	first, ok := a.bytes[vals[0]]
	for i, v := range vals {
		b, known := a.bytes[v]
		ok = ok && known && b.word == first.word && b.at == i
	}
	return first.word, ok
}

// byteToFloat converts a byte of a word to f32: as the low bits of 2²³, which is then taken away
// again. A signed one has its sign turned, which is 128 more.
func (a *asm) byteToFloat(b byteOf) reg {
	word, from := b.word, 0x1p23
	if b.signed {
		key := "turned " + string(word)
		if a.pairs[key] == "" {
			a.pairs[key] = a.to(b32, "xor.b32", word, a.constant(b32, 0x80808080))
		}
		word, from = a.pairs[key], from+128
	}
	bits := a.constant(b32, uint64(math.Float32bits(0x1p23)))
	x := a.to(b32, "prmt.b32", word, bits, fmt.Sprintf("0x%x", 0x7440+b.at))
	return a.to(b32, "sub.rn.f32", x, a.constant(b32, uint64(math.Float32bits(float32(from)))))
}

// byteOp is a conversion to a type of one byte that words have instructions for: an operation on
// bits of operands of the type, or a shift to the right of those that are not signed.
type byteOp struct {
	op   kernel.Op
	a, b kernel.Ref
}

// bytesOf finds the operations on bytes of a kernel.
func bytesOf(k *kernel.Kernel) map[kernel.Ref]byteOp {
	out := map[kernel.Ref]byteOp{}
	for i := range k.Body {
		in := &k.Body[i]
		if in.Op != kernel.OpCvt || in.Type != ir.U8 && in.Type != ir.I8 {
			continue
		}
		f := &k.Body[in.A]
		if f.Type != ir.I32 && f.Type != ir.U32 {
			continue
		}
		switch f.Op {
		case kernel.OpAnd, kernel.OpOr, kernel.OpXor:
		case kernel.OpShr:
			if in.Type != ir.U8 || f.Type != ir.U32 {
				continue
			}
		default:
			continue
		}
		if b := (byteOp{f.Op, byteOperand(k, f.A, in.Type), byteOperand(k, f.B, in.Type)}); b.a != kernel.None && b.b != kernel.None {
			out[kernel.Ref(i)] = b
		}
	}
	return out
}

// byteOperand is the value of a type of one byte that was widened, or the constant itself: what
// lies above its low byte counts for shifts alone. None of other values.
func byteOperand(k *kernel.Kernel, r kernel.Ref, t ir.DType) kernel.Ref {
	switch in := &k.Body[r]; {
	case in.Op == kernel.OpCvt && k.Body[in.A].Type == t:
		return in.A
	case in.Op == kernel.OpConst:
		return r
	}
	return kernel.None
}

// evalBytes computes an operation on bytes for all elements of a tile, four at a time. It
// reports false if the instruction is none, or its operands are not in words.
func (e *emitter) evalBytes(r kernel.Ref, t *tile) bool {
	b, ok := e.byteOps[r]
	if !ok || t.n%4 != 0 {
		return false
	}
	typ := e.k.Body[r].Type
	operand := func(r kernel.Ref, l int) (word reg, one bool, ok bool) {
		vals := make([]reg, 4)
		for i := range vals {
			vals[i] = e.value(r, t, l+i)
		}
		if same(vals) {
			return vals[0], true, true
		}
		word, ok = e.wordOf(vals)
		return word, false, ok
	}
	var vals []reg
	for l := 0; l < t.n; l += 4 {
		x, oneX, okX := operand(b.a, l)
		y, oneY, okY := operand(b.b, l)
		if !okX || !okY || oneX && oneY || b.op == kernel.OpShr && (oneX || !oneY) {
			return false
		}
		var word reg
		if b.op == kernel.OpShr { // what comes from the byte above is no part of it
			kept := e.repeated(e.to(b32, "shr.u32", "0xff", y))
			word = e.to(b32, "and.b32", e.to(b32, "shr.u32", x, y), kept)
		} else {
			if oneX {
				x = e.repeated(x)
			}
			if oneY {
				y = e.repeated(y)
			}
			word = e.to(b32, b.op.String()+".b32", x, y)
		}
		vals = append(vals, e.unpack(typ, word)...)
	}
	t.vals[r] = vals
	return true
}

// repeated is a word whose bytes all are the low one of a register.
func (a *asm) repeated(x reg) reg {
	key := "repeated " + string(x)
	if a.pairs[key] == "" {
		a.pairs[key] = a.to(b32, "prmt.b32", x, "0", "0")
	}
	return a.pairs[key]
}

func same(vals []reg) bool {
	for _, v := range vals {
		if v != vals[0] {
			return false
		}
	}
	return true
}
