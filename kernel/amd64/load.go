package amd64

import (
	"encoding/binary"
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Limits of saved code.
const (
	maxCode    = 16 << 20 // bytes
	maxContext = 1 << 20
	maxParts   = 1 << 14
)

// Load makes the code of a kernel again that [Code.Save] wrote where [BuildID] was
// what it is here. Nothing is generated.
//
// The bytes become executable: whoever could change them controls the process. Load
// only what comes from the program's own build; the checks here find accidents, not
// attacks.
func Load(k *kernel.Kernel, level Level, data []byte) (*Code, error) {
	if !Available(level) {
		return nil, &Unsupported{k.Name, "no " + level.String() + " code can run here"}
	}
	if err := k.Verify(); err != nil {
		return nil, err
	}
	r := &codeReader{b: data}
	p := r.program(k, level)
	n, q := newNest(k, level), newPermuted(k, p.vAxis, level)
	of := [...]*kernel.Kernel{k, nil, nil}
	if n != nil {
		of[1] = n.k
	}
	if q != nil {
		of[2] = q.k
	}
	variants := [len(of)]*program{}
	for i := range variants {
		if r.flag() {
			if of[i] == nil {
				r.fail("code of a form that the kernel does not have")
				break
			}
			variants[i] = r.program(of[i], level)
		}
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes follow the end", len(r.b))
	}
	if r.err != nil {
		return nil, &ir.Error{Kind: ir.ErrFormat, Op: k.Name, Msg: "saved code", Cause: r.err}
	}
	c, err := load(p)
	if err != nil {
		return nil, err
	}
	for i, p := range variants {
		if p == nil {
			continue
		}
		s, err := load(p)
		if err != nil {
			return nil, err
		}
		made := func() *Code { return s }
		switch i {
		case 0:
			s.alone()
			c.streaming = made
			c.variants.stream.Store(s)
		case 1:
			s.alone()
			p.k, c.nest.compile = c.nest.k, made
			c.nest.made.Store(s)
		default:
			s.nest, s.permuted = nil, nil
			p.k, c.permuted.compile = c.permuted.k, made
			c.permuted.made.Store(s)
		}
	}
	return c, nil
}

type codeReader struct {
	b   []byte
	err error
}

func (r *codeReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.b = nil
	}
}

// int reads a number of [low, high].
func (r *codeReader) int(low, high int) int {
	if r.err != nil {
		return low
	}
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("the bytes end within a number")
		return low
	}
	r.b = r.b[n:]
	if v < int64(low) || v > int64(high) {
		r.fail("got %d, expected %d to %d", v, low, high)
		return low
	}
	return int(v)
}

func (r *codeReader) flag() bool { return r.int(0, 1) == 1 }

// count reads a number of things of at least size bytes each.
func (r *codeReader) count(most, size int) int {
	n := r.int(0, most)
	if n > len(r.b)/size {
		r.fail("%d things do not fit in %d bytes", n, len(r.b))
		return 0
	}
	return n
}

// word reads the place of n bytes in the context block.
func (r *codeReader) word(p *program, n int) int32 { return int32(r.int(0, max(0, p.ctxSize-n))) }

func (r *codeReader) program(k *kernel.Kernel, level Level) *program {
	p := &program{k: k, level: level}
	axes := len(k.Axes)
	p.ctxSize = r.int(wArgs+argSize*len(k.Args), maxContext)
	p.lanes = r.int(1, 64)
	p.vAxis, p.uAxis, p.rAxis = r.int(-1, axes-1), r.int(-1, axes-1), r.int(-1, axes-1)
	p.rFrom = r.int(0, axes)
	p.unroll, p.block, p.cost = r.int(1, 64), r.int(0, 1<<24), r.int(1, 1<<24)
	p.byRows, p.faults = r.flag(), r.flag()
	for n := r.count(maxParts, 5); n > 0 && r.err == nil; n-- {
		s := paramSlot{off: r.word(p, 64), typ: ir.DType(r.int(0, 255)), index: r.int(0, maxParts), extent: r.flag(), launch: r.flag()}
		if !s.typ.Valid() || s.extent && s.index >= axes || !s.extent && s.index >= len(k.Params) {
			r.fail("a parameter of dtype %d, number %d", uint8(s.typ), s.index)
		}
		p.slots = append(p.slots, s)
	}
	for n := r.count(maxParts, 1); n > 0 && r.err == nil; n-- {
		p.buffers = append(p.buffers, r.word(p, 64))
	}
	for n := r.count(maxParts, 4); n > 0 && r.err == nil; n-- {
		p.arrays = append(p.arrays, array{word: r.word(p, 8), size: r.int(0, maxContext), chunk: r.int(1, 1<<30), whole: r.flag()})
	}
	n := r.count(maxCode, 1)
	if r.err == nil && n == 0 {
		r.fail("there is no code")
	}
	p.code = append([]byte(nil), r.b[:n]...)
	r.b = r.b[n:]
	return p
}
