package fusion

import (
	"encoding/binary"
	"math"

	"github.com/sinter-go/sinter/internal/wire"
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

// planReader reads them.
type planReader struct{ wire.Reader }

func (r *planReader) int(what string, most int) int { return int(r.Uint(what, uint64(most))) }

func (r *planReader) signed(what string) int64 {
	if r.Err != nil {
		return 0
	}
	v, n := binary.Varint(r.B)
	if n <= 0 {
		r.Fail("the bytes end within: %s", what)
		return 0
	}
	r.B = r.B[n:]
	return v
}

func (r *planReader) flag(what string) bool { return r.int(what, 1) == 1 }

// bytes reads a part, which is not copied.
func (r *planReader) bytes(what string) []byte {
	n := r.Count("bytes of "+what, math.MaxInt, 1)
	b := r.B[:n:n]
	r.B = r.B[n:]
	return b
}

func (r *planReader) flags(what string) []bool {
	n := r.int("number of "+what, maxIDs)
	if r.Err != nil || n == 0 {
		return nil
	}
	n--
	if (n+7)/8 > len(r.B) {
		r.Fail("%d %s do not fit in the %d bytes that are left", n, what, len(r.B))
		return nil
	}
	f := make([]bool, n)
	for i := range f {
		f[i] = r.B[i/8]>>(i%8)&1 == 1
	}
	r.B = r.B[(n+7)/8:]
	return f
}

func (r *planReader) typ() ir.Type {
	t := ir.Type{DType: ir.DType(r.int("dtype", 255)), Shape: ir.Shape{}}
	for n := r.Count("axes", ir.MaxRank, 1); n > 0 && r.Err == nil; n-- {
		t.Shape = append(t.Shape, r.int("extent", math.MaxInt))
	}
	if r.Err == nil {
		if err := t.Check(); err != nil {
			r.Fail("%v", err)
		}
	}
	return t
}
