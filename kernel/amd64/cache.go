package amd64

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Bounds of what a processor, or what it is emulated by, is believed to have, and
// what is assumed of one that does not say.
const (
	leastCache   = 4 << 20
	mostCache    = 512 << 20
	assumedCache = 32 << 20
)

// cacheBytes is the size of the largest cache.
var cacheBytes = sync.OnceValue(func() int64 {
	a := asm.New()
	word := func(i int32) asm.Mem { return asm.Ptr(asm.DI, 8*i) }
	a.Load(asm.AX, word(0))
	a.Load(asm.CX, word(1))
	a.CPUID()
	for i, r := range []asm.Reg{asm.AX, asm.BX, asm.CX, asm.DX} {
		a.Store(word(int32(i)), r)
	}
	a.Ret()
	r, err := Assemble(a)
	if err != nil {
		return assumedCache
	}
	defer r.Free()
	ask := func(leaf, sub uint64) [4]uint64 {
		x := [4]uint64{leaf, sub}
		r.Call(unsafe.Pointer(&x))
		return x
	}
	// Intel and AMD describe caches alike, one to a sub-leaf, in leaves of their own.
	most := int64(0)
	for _, leaf := range []uint64{4, 0x8000001d} {
		if ask(leaf&0x80000000, 0)[0] < leaf {
			continue
		}
		for sub := range uint64(8) {
			x := ask(leaf, sub)
			if x[0]&31 == 0 {
				break
			}
			line, parts, ways := x[1]&0xfff+1, x[1]>>12&0x3ff+1, x[1]>>22&0x3ff+1
			most = max(most, int64(line*parts*ways*(x[2]+1)))
		}
	}
	if most == 0 {
		return assumedCache
	}
	return min(max(most, leastCache), mostCache)
})
