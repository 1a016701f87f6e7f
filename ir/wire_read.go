package ir

import (
	"fmt"
	"unicode/utf8"
)

// wireReader reads the parts of the wire form. The first error sticks, and
// every later read gives zero.
type wireReader struct {
	b   []byte
	off int
	err *Error

	sites, someSite bool
	rowsUsed        int
}

func (r *wireReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = Errorf(ErrFormat, "wire form, byte %d: %s", r.off, fmt.Sprintf(format, args...))
	}
}

// header reads magic, version and flags.
func (r *wireReader) header(magic, what string) {
	if r.magic(magic, what); r.err != nil {
		return
	}
	flags := r.uint("flags")
	if flags&^wireFlagSites != 0 {
		r.fail("unknown flags %#x", flags)
	}
	r.sites = flags&wireFlagSites != 0
}

func (r *wireReader) magic(magic, what string) {
	if len(r.b) < len(magic) || string(r.b[:len(magic)]) != magic {
		r.fail("got %q, expected %q: this is not a %s", clip(string(r.b[:min(len(magic), len(r.b))])), magic, what)
		return
	}
	r.off = len(magic)
	switch version := r.uint("version"); {
	case r.err != nil:
	case version > WireVersion:
		r.fail("wire version %d is newer than %d, the newest that this build reads", version, WireVersion)
	case version == 0:
		r.fail("there is no wire version 0")
	}
}

// uint reads an unsigned varint, which must be of the least length.
func (r *wireReader) uint(what string) uint64 {
	if r.err != nil {
		return 0
	}
	v := uint64(0)
	for i := 0; ; i++ {
		if r.off+i >= len(r.b) {
			r.fail("the bytes end within: %s", what)
			return 0
		}
		c := r.b[r.off+i]
		if i == 9 && c > 1 {
			r.fail("%s has more than 64 bits", what)
			return 0
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 {
				r.fail("%s is not encoded in the least number of bytes", what)
				return 0
			}
			r.off += i + 1
			return v
		}
	}
}

func (r *wireReader) uintUpTo(what string, most uint64) uint64 {
	v := r.uint(what)
	if v > most {
		r.fail("%s is %d, at most %d is allowed", what, v, most)
		return 0
	}
	return v
}

func (r *wireReader) int(what string) int64 {
	u := r.uint(what)
	return int64(u>>1) ^ -int64(u&1)
}

// count reads a number of things that take at least size bytes each; it refuses
// one that the bytes left cannot hold, before anything is allocated.
func (r *wireReader) count(what string, most, size int) int {
	n := r.uint("number of " + what)
	switch {
	case r.err != nil:
		return 0
	case n > uint64(most):
		r.fail("%d %s, at most %d are allowed", n, what, most)
		return 0
	case n > uint64((len(r.b)-r.off)/size):
		r.fail("%d %s do not fit in the %d bytes that are left", n, what, len(r.b)-r.off)
		return 0
	}
	return int(n)
}

// index reads a reference to one of n things.
func (r *wireReader) index(what string, n int) int {
	v := r.uint(what)
	if r.err == nil && v >= uint64(n) {
		r.fail("%s %d is not defined: there are %d so far", what, v, n)
		return 0
	}
	return int(v)
}

func (r *wireReader) string(what string, most int) string {
	n := r.count("bytes of "+what, most, 1)
	if r.err != nil {
		return ""
	}
	s := r.b[r.off : r.off+n]
	if !utf8.Valid(s) {
		r.fail("%s is not UTF-8", what)
		return ""
	}
	r.off += n
	return string(s)
}

// fixed reads a number of the given bytes, the least first.
func (r *wireReader) fixed(what string, size int) uint64 {
	if r.err == nil && len(r.b)-r.off < size {
		r.fail("the bytes end within: %s", what)
	}
	if r.err != nil {
		return 0
	}
	v := uint64(0)
	for i := 0; i < size; i++ {
		v |= uint64(r.b[r.off+i]) << (8 * i)
	}
	r.off += size
	return v
}

func (r *wireReader) dtype() DType {
	v := r.uint("dtype")
	switch {
	case r.err != nil:
	case v >= uint64(QuantBase):
		r.fail("dtype %d: quantized formats are not in version %d", v, WireVersion)
	case v >= uint64(numDTypes) || !DType(v).Valid():
		r.fail("dtype %d is unknown", v)
	default:
		return DType(v)
	}
	return Invalid
}

func (r *wireReader) typ() Type {
	t := Type{r.dtype(), Shape{}}
	for n := r.count("axes", MaxRank, 1); n > 0 && r.err == nil; n-- {
		t.Shape = append(t.Shape, int(r.uintUpTo("extent", MaxElements)))
	}
	if r.err == nil {
		if err := t.Shape.Check(); err != nil {
			r.fail("%v", err)
		}
	}
	return t
}
