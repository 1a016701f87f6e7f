package onnx

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sinter-go/sinter"
)

// ParseValue reads the value of a file of the ONNX test layout (input_0.pb) by
// its declared type: a TensorProto, a SequenceProto or an OptionalProto. A nil
// type is that of a tensor. A TensorProto in the place of a sequence holds its
// elements side by side along the first axis.
func ParseValue(data []byte, t *Type) (*Value, error) {
	v, err := newReader(len(data)).value(data, t)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return v, nil
}

// value decodes a value of a declared type.
func (r *reader) value(b []byte, t *Type) (*Value, error) {
	if t != nil && t.Optional != nil {
		if r.isTensor(b) {
			return r.value(b, t.Optional)
		}
		return r.optionalProto(b, t.Optional)
	}
	if t != nil && t.Sequence != nil && !r.isTensor(b) {
		return r.sequenceProto(b, t.Sequence)
	}
	p, err := r.tensor(b)
	if err != nil {
		return nil, err
	}
	v, err := p.Value()
	if err == nil && t != nil && t.Sequence != nil {
		return r.unstack(v)
	}
	return v, err
}

// isTensor tells a TensorProto, which begins with extents or has data, from the
// messages of sequences and optional values.
func (r *reader) isTensor(b []byte) bool {
	is := false
	_ = r.each(b, func(f field) error { // what is wrong with it is found by decoding
		is = is || f.num == 1 && f.typ == protowire.VarintType || f.num >= 8
		return nil
	})
	return is
}

// unstack makes a sequence of the slices of a tensor along its first axis.
func (r *reader) unstack(v *Value) (*Value, error) {
	shape := v.Shape()
	if len(shape) == 0 || v.fixed == nil {
		return nil, fmt.Errorf("a sequence cannot be made of %s", v.kind())
	}
	a := v.fixed.array
	out := SequenceValue()
	for i := range shape[0] {
		if err := r.charge(128); err != nil {
			return nil, err
		}
		n := len(a.Bytes) / shape[0]
		out.seq = append(out.seq, ArrayValue(v.Elem, sinter.Array{DType: a.DType, Shape: shape[1:], Bytes: a.Bytes[i*n : (i+1)*n]}))
	}
	return out, nil
}

func (r *reader) sequenceProto(b []byte, t *Type) (*Value, error) {
	v := SequenceValue()
	err := r.each(b, func(f field) error {
		if f.num < 3 || f.num > 7 {
			return nil
		}
		e, err := message(f, 64, r, func(r *reader, b []byte) (*Value, error) { return r.value(b, t) })
		v.seq = append(v.seq, e)
		return err
	})
	return v, err
}

func (r *reader) optionalProto(b []byte, t *Type) (*Value, error) {
	v := NoValue()
	err := r.each(b, func(f field) error {
		if f.num < 3 || f.num > 7 {
			return nil
		}
		e, err := message(f, 64, r, func(r *reader, b []byte) (*Value, error) { return r.value(b, t) })
		if err == nil {
			v = e
		}
		return err
	})
	return v, err
}
