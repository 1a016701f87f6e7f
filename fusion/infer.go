package fusion

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// inferences is the number of inferred types that a stream remembers.
const inferences = 256

// inference is one remembered application of the type rules.
type inference struct {
	op    *Op
	attrs ir.Attrs
	in    [3]ir.Type
	n     int
	out   []ir.Type
}

// Infer returns the types of the results of an operation, as [ir.Infer] does. The
// slice is shared: the caller must not change it.
func (s *Stream) Infer(op *Op, attrs ir.Attrs, in []ir.Type) ([]ir.Type, error) {
	if len(in) > 3 {
		return ir.Infer(op.Row, slices.Clone(in), attrs)
	}
	h := uintptr(op.id) * 0x9E3779B1
	for i := range in {
		h = (h ^ uintptr(in[i].DType)<<8) * 0x9E3779B1
		for _, d := range in[i].Shape {
			h = (h ^ uintptr(d)) * 0x9E3779B1
		}
	}
	at := (h >> 16) % inferences
	s.inferMu.Lock()
	e := &s.infer[at]
	if e.op == op && e.n == len(in) && e.matches(attrs, in) {
		out := e.out
		s.inferMu.Unlock()
		return out, nil
	}
	s.inferMu.Unlock()
	// Of a copy, which an error keeps, so that the slice of the caller, who mostly
	// gets no error, need not be on the heap.
	out, err := ir.Infer(op.Row, slices.Clone(in), attrs)
	if err != nil {
		return nil, err
	}
	n := inference{op: op, attrs: attrs, n: len(in), out: out}
	copy(n.in[:], in)
	s.inferMu.Lock()
	s.infer[at] = n
	s.inferMu.Unlock()
	return out, nil
}

func (e *inference) matches(attrs ir.Attrs, in []ir.Type) bool {
	for i := range in {
		if !sameType(e.in[i], in[i]) {
			return false
		}
	}
	for i := range attrs {
		if &attrs[i] != &e.attrs[i] && !attrs[i].Equal(e.attrs[i]) {
			return false
		}
	}
	return true
}

func sameType(a, b ir.Type) bool {
	return a.DType == b.DType && len(a.Shape) == len(b.Shape) &&
		(unsafe.SliceData(a.Shape) == unsafe.SliceData(b.Shape) || a.Shape.Equal(b.Shape))
}
