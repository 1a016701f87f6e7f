package ptx

import (
	"github.com/sinter-go/sinter/ir"
)

// Vector accesses move at most 16 bytes. Types below 4 bytes travel packed in
// 4-byte words and are taken apart in registers.

// loadOne loads one element at base+offset. Where guard is given and false, the
// result is zero: the element lies outside and its value is never used, but the
// registers after it must still be defined.
func (a *asm) loadOne(t ir.DType, base reg, offset int64, guard reg) reg {
	c, op := loadOf(t)
	r := a.reg(c)
	if guard != "" {
		a.op("mov"+moveType(c), r, "0")
	}
	a.opIf(guard, op, r, mem(base, offset))
	if t == ir.Bool {
		return a.to(pred, "setp.ne.u32", r, "0")
	}
	return r
}

// loadOf is the instruction that loads an element, and the class of what it loads.
func loadOf(t ir.DType) (class, string) {
	switch t {
	case ir.Bool, ir.U8:
		return b32, "ld.global.u8"
	case ir.I8:
		return b32, "ld.global.s8"
	case ir.I16:
		return b32, "ld.global.s16"
	case ir.U16:
		return b32, "ld.global.u16"
	case ir.F16, ir.BF16:
		return b16, "ld.global.b16"
	case ir.I64, ir.U64, ir.F64:
		return b64, "ld.global.b64"
	}
	return b32, "ld.global.b32"
}

func moveType(c class) string { return classType[c] }

// loadVector loads n consecutive elements; the address is aligned to the whole
// vector or to 16 bytes, whichever is less.
func (a *asm) loadVector(t ir.DType, n int, base reg, offset int64, guard reg) []reg {
	return a.apart(t, n, a.loadPacked(t, n, base, offset, guard))
}

// packs reports whether n elements travel in words of several.
func packs(t ir.DType, n int) bool { return n > 1 && t.Size() < 4 && n*t.Size() >= 4 }

// loadPacked is loadVector that leaves elements in the words they travel in.
func (a *asm) loadPacked(t ir.DType, n int, base reg, offset int64, guard reg) []reg {
	size := t.Size()
	if n == 1 || n*size < 4 {
		out := make([]reg, n)
		for i := range out {
			out[i] = a.loadOne(t, base, offset+int64(i*size), guard)
		}
		return out
	}
	c, unit := b32, 4
	if size == 8 {
		c, unit = b64, 8
	}
	words := n * size / unit
	regs := make([]reg, words)
	for i := range regs {
		regs[i] = a.reg(c)
		if guard != "" {
			a.op("mov"+classType[c], regs[i], "0")
		}
	}
	for i := 0; i < words; {
		w := min(16/unit, words-i)
		off := offset + int64(i*unit)
		switch w {
		case 4:
			a.opIf(guard, "ld.global.v4"+classType[c], group(regs[i:i+4]), mem(base, off))
		case 3, 2:
			w = 2
			a.opIf(guard, "ld.global.v2"+classType[c], group(regs[i:i+2]), mem(base, off))
		default:
			a.opIf(guard, "ld.global"+classType[c], regs[i], mem(base, off))
		}
		i += w
	}
	return regs
}

// apart takes what loadPacked has loaded apart.
func (a *asm) apart(t ir.DType, n int, words []reg) []reg {
	if !packs(t, n) {
		return words
	}
	out := make([]reg, 0, n)
	for _, w := range words {
		out = append(out, a.unpack(t, w)...)
	}
	return out
}

// unpack takes a 4-byte word apart.
func (a *asm) unpack(t ir.DType, w reg) []reg {
	switch t {
	case ir.F16, ir.BF16:
		lo, hi := a.reg(b16), a.reg(b16)
		a.op("mov.b32", group([]reg{lo, hi}), w)
		a.pairs[pairKey(lo, hi)] = w
		return []reg{lo, hi}
	case ir.I16:
		return []reg{a.to(b32, "bfe.s32", w, "0", "16"), a.to(b32, "shr.s32", w, "16")}
	case ir.U16:
		return []reg{a.to(b32, "and.b32", w, "0xffff"), a.to(b32, "shr.u32", w, "16")}
	}
	out := make([]reg, 4)
	for i := range out {
		pos := [...]string{"0", "8", "16", "24"}[i]
		if t == ir.I8 {
			out[i] = a.to(b32, "bfe.s32", w, pos, "8")
		} else {
			out[i] = a.to(b32, "bfe.u32", w, pos, "8")
		}
		if t == ir.Bool {
			out[i] = a.to(pred, "setp.ne.u32", out[i], "0")
		} else {
			a.bytes[out[i]] = byteOf{w, i, t == ir.I8}
		}
	}
	return out
}

// storeOne stores one element, or nothing where the guard is false.
func (a *asm) storeOne(t ir.DType, v, base reg, offset int64, guard reg) {
	op := "st.global.b32"
	switch t {
	case ir.Bool:
		v, op = a.to(b32, "selp.b32", "1", "0", v), "st.global.u8"
	case ir.U8, ir.I8:
		op = "st.global.u8"
	case ir.I16, ir.U16:
		op = "st.global.u16"
	case ir.F16, ir.BF16:
		op = "st.global.b16"
	case ir.I64, ir.U64, ir.F64:
		op = "st.global.b64"
	}
	a.opIf(guard, op, mem(base, offset), v)
}

// storeVector is the inverse of loadVector.
func (a *asm) storeVector(t ir.DType, vals []reg, base reg, offset int64, guard reg) {
	n, size := len(vals), t.Size()
	if n == 1 || n*size < 4 {
		for i, v := range vals {
			a.storeOne(t, v, base, offset+int64(i*size), guard)
		}
		return
	}
	c, unit := b32, 4
	if size == 8 {
		c, unit = b64, 8
	}
	regs := vals
	if size < 4 {
		regs = nil
		for i := 0; i < n; i += 4 / size {
			regs = append(regs, a.pack(t, vals[i:i+4/size]))
		}
	}
	for i := 0; i < len(regs); {
		w := min(16/unit, len(regs)-i)
		off := offset + int64(i*unit)
		switch w {
		case 4:
			a.opIf(guard, "st.global.v4"+classType[c], mem(base, off), group(regs[i:i+4]))
		case 3, 2:
			w = 2
			a.opIf(guard, "st.global.v2"+classType[c], mem(base, off), group(regs[i:i+2]))
		default:
			a.opIf(guard, "st.global"+classType[c], mem(base, off), regs[i])
		}
		i += w
	}
}

// pack puts narrow elements into a 4-byte word, the first lowest.
func (a *asm) pack(t ir.DType, vals []reg) reg {
	if classOf(t) == b16 {
		key := pairKey(vals[0], vals[1])
		if _, ok := a.pairs[key]; !ok {
			a.pairs[key] = a.to(b32, "mov.b32", group(vals))
		}
		return a.pairs[key]
	}
	if word, ok := a.wordOf(vals); ok {
		return word
	}
	word := reg("")
	width := 32 / len(vals)
	for i, v := range vals {
		if t == ir.Bool {
			v = a.to(b32, "selp.b32", "1", "0", v)
		}
		if word == "" {
			word = a.narrowUnsigned(v, width)
			continue
		}
		// bfi takes just the low bits, whatever the extension of v.
		word = a.to(b32, "bfi.b32", v, word, i*width, width)
	}
	return word
}

func (a *asm) narrowUnsigned(v reg, width int) reg {
	if width == 8 {
		return a.to(b32, "and.b32", v, "0xff")
	}
	return a.to(b32, "and.b32", v, "0xffff")
}
