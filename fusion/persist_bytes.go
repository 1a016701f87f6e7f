package fusion

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/sinter-go/sinter/ir"
)

// planWriter writes the parts of a file: numbers as varints of the least length.
type planWriter struct{ b []byte }

func (w *planWriter) int(v int)      { w.b = binary.AppendUvarint(w.b, uint64(v)) }
func (w *planWriter) signed(v int64) { w.b = binary.AppendVarint(w.b, v) }

func (w *planWriter) flag(v bool) {
	if v {
		w.int(1)
	} else {
		w.int(0)
	}
}

func (w *planWriter) bytes(b []byte) {
	w.int(len(b))
	w.b = append(w.b, b...)
}

// flags writes a list that may be nil.
func (w *planWriter) flags(f []bool) {
	if f == nil {
		w.int(0)
		return
	}
	w.int(len(f) + 1)
	for i := 0; i < len(f); i += 8 {
		b := byte(0)
		for j := i; j < min(i+8, len(f)); j++ {
			if f[j] {
				b |= 1 << (j - i)
			}
		}
		w.b = append(w.b, b)
	}
}

func (w *planWriter) typ(t ir.Type) {
	w.int(int(t.DType))
	w.int(len(t.Shape))
	for _, d := range t.Shape {
		w.int(d)
	}
}

// planReader reads them; the first error sticks, and later reads give nothing.
type planReader struct {
	b   []byte
	err error
}

func (r *planReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.b = nil
	}
}

func (r *planReader) int(what string, most int) int {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b)
	switch {
	case n <= 0:
		r.fail("the bytes end within: %s", what)
		return 0
	case n != max(1, (bits.Len64(v)+6)/7):
		r.fail("%s is not encoded in the least number of bytes", what)
		return 0
	case v > uint64(most):
		r.fail("%s is %d, at most %d is allowed", what, v, most)
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *planReader) signed(what string) int64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("the bytes end within: %s", what)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *planReader) flag(what string) bool { return r.int(what, 1) == 1 }

// count reads a number of things of at least size bytes each.
func (r *planReader) count(what string, most, size int) int {
	n := r.int("number of "+what, most)
	if n > len(r.b)/size {
		r.fail("%d %s do not fit in the %d bytes that are left", n, what, len(r.b))
		return 0
	}
	return n
}

// bytes reads a part, which is not copied.
func (r *planReader) bytes(what string) []byte {
	n := r.count("bytes of "+what, math.MaxInt, 1)
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *planReader) flags(what string) []bool {
	n := r.int("number of "+what, maxIDs)
	if r.err != nil || n == 0 {
		return nil
	}
	n--
	if (n+7)/8 > len(r.b) {
		r.fail("%d %s do not fit in the %d bytes that are left", n, what, len(r.b))
		return nil
	}
	f := make([]bool, n)
	for i := range f {
		f[i] = r.b[i/8]>>(i%8)&1 == 1
	}
	r.b = r.b[(n+7)/8:]
	return f
}

func (r *planReader) typ() ir.Type {
	t := ir.Type{DType: ir.DType(r.int("dtype", 255)), Shape: ir.Shape{}}
	for n := r.count("axes", ir.MaxRank, 1); n > 0 && r.err == nil; n-- {
		t.Shape = append(t.Shape, r.int("extent", math.MaxInt))
	}
	if r.err == nil {
		if err := t.Check(); err != nil {
			r.fail("%v", err)
		}
	}
	return t
}

func (r *planReader) end() {
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes follow the end", len(r.b))
	}
}
