package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// shapeOf checks extents and returns them with their product.
func shapeOf(dims []int64) ([]int, int, error) {
	if len(dims) > 64 {
		return nil, 0, fmt.Errorf("%d axes, at most 64 are supported", len(dims))
	}
	shape := make([]int, len(dims))
	size := 1
	empty := false
	for i, d := range dims {
		if d < 0 || d > ir.MaxElements {
			return nil, 0, fmt.Errorf("the extents %v are not those of a tensor", dims)
		}
		shape[i] = int(d)
		if d == 0 {
			empty = true
		} else if size > ir.MaxElements/int(d) {
			return nil, 0, fmt.Errorf("the extents %v have too many elements", dims)
		} else {
			size *= int(d)
		}
	}
	if empty {
		size = 0
	}
	return shape, size, nil
}

// Array returns the elements in the dtype that holds the type of the tensor
// (see [Elem.DType]). Where the file has them in this form, the bytes are those
// of the file and must not be changed. Tensors of strings have Strs instead.
func (t *Tensor) Array() (sinter.Array, error) {
	fail := func(format string, args ...any) (sinter.Array, error) {
		name := ""
		if t.Name != "" {
			name = fmt.Sprintf(" %q", t.Name)
		}
		return sinter.Array{}, fmt.Errorf("tensor%s: %s", name, fmt.Sprintf(format, args...))
	}
	shape, size, err := shapeOf(t.Dims)
	if err != nil {
		return fail("%v", err)
	}
	info, known := elems[t.Elem]
	if !known || !info.held.Valid() {
		return fail("elements of type %s are not supported", t.Elem)
	}
	a := sinter.Array{DType: info.held, Shape: shape}
	bits := int64(size) * int64(info.bits)
	want := (bits + 7) / 8
	raw := t.raw
	switch {
	case t.external != nil:
		if raw, err = t.readExternal(want); err != nil {
			return fail("%v", err)
		}
	case t.given == "" && size == 0:
	case t.given == "raw_data":
	case t.given == "float_data" && t.Elem == Float, t.given == "double_data" && t.Elem == Double:
	case t.given == "int64_data" && t.Elem == Int64, t.given == "uint64_data" && (t.Elem == Uint64 || t.Elem == Uint32),
		t.given == "int32_data" && (t.Elem != Int64 && t.Elem != Uint64 && t.Elem != Uint32 && t.Elem != Float && t.Elem != Double):
		per := max(info.bits/8, 1)
		if int64(len(t.ints))*int64(per) != want {
			return fail("%s has %d numbers, %s%v needs %d", t.given, len(t.ints), t.Elem, t.Dims, want/int64(per))
		}
		raw = make([]byte, 0, want)
		for _, v := range t.ints {
			switch per {
			case 1:
				raw = append(raw, byte(v))
			case 2:
				raw = binary.LittleEndian.AppendUint16(raw, uint16(v))
			case 4:
				raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
			default:
				raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
			}
		}
	case t.given == "":
		return fail("there is no data for %s%v", t.Elem, t.Dims)
	default:
		return fail("%s does not hold elements of type %s", t.given, t.Elem)
	}
	if int64(len(raw)) != want {
		return fail("%d bytes of data, %s%v needs %d", len(raw), t.Elem, t.Dims, want)
	}
	a.Bytes = widen(t.Elem, raw, size)
	return a, nil
}

// Value returns the tensor as a value.
func (t *Tensor) Value() (*Value, error) {
	if t.Elem == String {
		return stringsValue(t)
	}
	a, err := t.Array()
	if err != nil {
		return nil, err
	}
	return ArrayValue(t.Elem, a), nil
}

// widen returns the elements of raw data in the dtype and byte order in which
// they are held.
func widen(e Elem, raw []byte, size int) []byte {
	if f, ok := floatFormats[e]; ok {
		out := make([]byte, 4*size)
		per := 8 / (elems[e].bits)
		for i := range size {
			code := raw[i/per] >> (i % per * elems[e].bits)
			if per > 1 {
				code &= 1<<elems[e].bits - 1
			}
			binary.NativeEndian.PutUint32(out[4*i:], math.Float32bits(f.decode(code)))
		}
		return out
	}
	if bits, signed, ok := wholeBits(e); ok {
		out := make([]byte, size)
		for i := range size {
			code := raw[i*bits/8] >> (i * bits % 8) & (1<<bits - 1)
			if signed && code>>(bits-1) == 1 {
				code |= 0xff << bits
			}
			out[i] = code
		}
		return out
	}
	if e == Bool {
		for i, b := range raw {
			if b > 1 { // any other byte is true
				out := append([]byte(nil), raw...)
				for j := i; j < len(out); j++ {
					out[j] = min(out[j], 1)
				}
				return out
			}
		}
		return raw
	}
	if n := elems[e].bits / 8; n > 1 && binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		out := make([]byte, len(raw))
		for i := range raw {
			out[i] = raw[i/n*n+n-1-i%n]
		}
		return out
	}
	return raw
}

// readExternal reads the data of a tensor from a file beside the model.
func (t *Tensor) readExternal(want int64) ([]byte, error) {
	location := t.external["location"]
	if t.dir == "" {
		return nil, fmt.Errorf("the data is in the file %q, but the model was not loaded from a file", location)
	}
	local := filepath.FromSlash(location)
	if location == "" || !filepath.IsLocal(local) || strings.ContainsRune(location, 0) {
		return nil, fmt.Errorf("external data in %q: only files in the model's directory are read", location)
	}
	number := func(key string, otherwise int64) (int64, error) {
		s, ok := t.external[key]
		if !ok || s == "" {
			return otherwise, nil
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 0 {
			return 0, fmt.Errorf("external data: %s is %q", key, s)
		}
		return v, nil
	}
	offset, err := number("offset", 0)
	if err != nil {
		return nil, err
	}
	length, err := number("length", want)
	if err != nil {
		return nil, err
	}
	if length != want {
		return nil, fmt.Errorf("external data of %d bytes, %s%v needs %d", length, t.Elem, t.Dims, want)
	}
	root, err := os.OpenRoot(t.dir) // links do not lead out of the directory
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	defer root.Close()
	file, err := root.Open(local)
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() < length || offset > info.Size()-length {
		return nil, fmt.Errorf("external data: bytes %d to %d of %q, which has %d", offset, offset+length, location, info.Size())
	}
	data := make([]byte, length)
	if _, err := file.ReadAt(data, offset); err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	return data, nil
}
