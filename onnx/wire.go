package onnx

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds how deep messages lie in messages: graphs in attributes in
// nodes in graphs, types in types.
const maxDepth = 100

// reader decodes the messages of a file. What it makes is charged to a budget
// that grows with the file, so that a small file cannot ask for much memory.
type reader struct {
	budget int64
	depth  int
}

var errTruncated = errors.New("the file is truncated or no ONNX model")

func newReader(size int) *reader { return &reader{budget: 64<<20 + 4*int64(size)} }

// charge accounts for an object of n bytes.
func (r *reader) charge(n int) error {
	r.budget -= int64(n)
	if r.budget < 0 {
		return errors.New("the file describes more objects than its size allows for")
	}
	return nil
}

// field is one field of a message.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	u    uint64 // varint, fixed32, fixed64
	data []byte // length-delimited
}

// each calls f for the fields of a message, in order.
func (r *reader) each(b []byte, f func(field) error) error {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return fmt.Errorf("messages are nested more than %d deep", maxDepth)
	}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errTruncated
		}
		b = b[n:]
		fl := field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			fl.u, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			fl.u = uint64(v)
		case protowire.Fixed64Type:
			fl.u, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			fl.data, n = protowire.ConsumeBytes(b)
		default: // groups are not used by ONNX
			return errTruncated
		}
		if n < 0 {
			return errTruncated
		}
		b = b[n:]
		if err := f(fl); err != nil {
			return err
		}
	}
	return nil
}

func (f field) wrong(what string) error {
	return fmt.Errorf("field %d of %s has wire type %d", f.num, what, f.typ)
}

// str returns a string field.
func (r *reader) str(f field) (string, error) {
	if f.typ != protowire.BytesType {
		return "", f.wrong("a string")
	}
	return string(f.data), r.charge(16 + len(f.data))
}

func (r *reader) setStr(f field, to *string) (err error) {
	*to, err = r.str(f)
	return err
}

func (r *reader) addStr(f field, to *[]string) error {
	s, err := r.str(f)
	*to = append(*to, s)
	return err
}

func setInt(f field, to *int64) error {
	if f.typ != protowire.VarintType {
		return f.wrong("an integer")
	}
	*to = int64(f.u)
	return nil
}

// addInts appends a repeated integer field, packed or not.
func (r *reader) addInts(f field, to *[]int64) error {
	if f.typ == protowire.VarintType {
		*to = append(*to, int64(f.u))
		return r.charge(8)
	}
	if f.typ != protowire.BytesType {
		return f.wrong("integers")
	}
	count := 0
	for _, c := range f.data {
		if c < 0x80 {
			count++
		}
	}
	if err := r.charge(8 * count); err != nil {
		return err
	}
	if *to == nil {
		*to = make([]int64, 0, count)
	}
	for b := f.data; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return errTruncated
		}
		*to = append(*to, int64(v))
		b = b[n:]
	}
	return nil
}

// addFloats appends a repeated float field, packed or not.
func (r *reader) addFloats(f field, to *[]float32) error {
	if f.typ == protowire.Fixed32Type {
		*to = append(*to, math.Float32frombits(uint32(f.u)))
		return r.charge(4)
	}
	if f.typ != protowire.BytesType || len(f.data)%4 != 0 {
		return f.wrong("floats")
	}
	if err := r.charge(len(f.data)); err != nil {
		return err
	}
	for b := f.data; len(b) > 0; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		*to = append(*to, math.Float32frombits(v))
	}
	return nil
}

// addFixed appends the bytes of a repeated fixed-size field: a single packed one
// is not copied.
func (r *reader) addFixed(f field, to *[]byte) error {
	switch f.typ {
	case protowire.Fixed32Type:
		*to = append((*to)[:len(*to):len(*to)], byte(f.u), byte(f.u>>8), byte(f.u>>16), byte(f.u>>24))
		return r.charge(4 + len(*to))
	case protowire.Fixed64Type:
		*to = protowire.AppendFixed64((*to)[:len(*to):len(*to)], f.u)
		return r.charge(8 + len(*to))
	case protowire.BytesType:
		if *to == nil {
			*to = f.data
			return nil
		}
		*to = append((*to)[:len(*to):len(*to)], f.data...)
		return r.charge(len(*to))
	}
	return f.wrong("numbers")
}
