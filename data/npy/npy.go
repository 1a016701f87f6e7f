package npy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// MaxBytes is the most bytes of elements that an array, or an archive in all, may
// have.
const MaxBytes = 1 << 34

// ErrFormat marks data that is not of the format, or of a kind that is not read.
var ErrFormat = errors.New("malformed or unknown")

// Array is an array: row-major elements in the machine's byte order.
type Array struct {
	DType ir.DType
	Shape []int
	Bytes []byte
}

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 16
	maxAxes   = 64 // numpy's limit
	align     = 64 // of the data in a file
)

// kinds are the names of dtypes, without the byte order.
var kinds = map[string]ir.DType{
	"b1": ir.Bool, "i1": ir.I8, "i2": ir.I16, "i4": ir.I32, "i8": ir.I64,
	"u1": ir.U8, "u2": ir.U16, "u4": ir.U32, "u8": ir.U64, "f2": ir.F16, "f4": ir.F32, "f8": ir.F64,
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("npy: %w: "+format, append([]any{ErrFormat}, args...)...)
}

// Read reads an array. What follows it in r is left there, but for what a buffer
// took of it.
func Read(r io.Reader) (Array, error) { return read(r, MaxBytes) }

func read(r io.Reader, limit int64) (Array, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Array{}, malformed("no header: %v", err)
	}
	if string(head[:6]) != magic || head[6] < 1 || head[6] > 3 {
		return Array{}, malformed("the file begins with %q", head[:])
	}
	length := make([]byte, 4)
	if head[6] == 1 {
		length = length[:2]
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return Array{}, malformed("the header ends early: %v", err)
	}
	n := uint32(binary.LittleEndian.Uint16(length))
	if len(length) == 4 {
		n = binary.LittleEndian.Uint32(length)
	}
	if n > maxHeader {
		return Array{}, malformed("a header of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return Array{}, malformed("the header ends early: %v", err)
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return Array{}, err
	}
	return h.data(r, limit)
}

// header is what the text before the data says.
type header struct {
	descr   string
	fortran bool
	shape   []int
}

// data reads the elements.
func (h header) data(r io.Reader, limit int64) (Array, error) {
	order, kind := h.descr[:1], h.descr[1:]
	d, ok := kinds[kind]
	if !ok || !strings.Contains("<>|=", order) || order == "|" && d.Size() > 1 {
		return Array{}, malformed("elements of type %q", h.descr)
	}
	size := int64(d.Size())
	for _, e := range h.shape {
		if e > 0 && size > limit/int64(e) {
			return Array{}, malformed("%s%v has more than %d bytes", d, h.shape, limit)
		}
		size *= int64(e)
	}
	if size > math.MaxInt {
		return Array{}, malformed("%s%v is too large for this machine", d, h.shape)
	}
	var b bytes.Buffer
	b.Grow(int(min(size, 1<<20)))
	if n, err := io.Copy(&b, io.LimitReader(r, size)); err != nil {
		return Array{}, fmt.Errorf("npy: %w", err)
	} else if n < size {
		return Array{}, malformed("%s%v has %d bytes, the data ends after %d", d, h.shape, size, n)
	}
	a := Array{DType: d, Shape: h.shape, Bytes: b.Bytes()}
	if big := order == ">"; d.Size() > 1 && order != "=" && big != hostBig {
		swap(a.Bytes, d.Size())
	}
	if d == ir.Bool {
		for i, v := range a.Bytes {
			if v > 1 {
				return Array{}, malformed("element %d is %d, no bool", i, v)
			}
		}
	}
	if h.fortran {
		a.Bytes = rowMajor(a.Bytes, a.Shape, d.Size())
	}
	return a, nil
}

var hostBig = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// swap reverses the bytes of every element.
func swap(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

// rowMajor rearranges elements whose first axis walks fastest.
func rowMajor(b []byte, shape []int, size int) []byte {
	if len(shape) < 2 || len(b) == 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	strides := make([]int, len(shape))
	step := size
	for i, e := range shape {
		strides[i] = step
		step *= e
	}
	at := make([]int, len(shape))
	for off := 0; ; {
		out = append(out, b[off:off+size]...)
		axis := len(shape) - 1
		for ; axis >= 0; axis-- {
			at[axis]++
			off += strides[axis]
			if at[axis] < shape[axis] {
				break
			}
			off -= at[axis] * strides[axis]
			at[axis] = 0
		}
		if axis < 0 {
			return out
		}
	}
}

// Write writes an array as numpy does.
func Write(w io.Writer, a Array) error {
	var kind string
	for k, d := range kinds {
		if d == a.DType {
			kind = k
		}
	}
	size := int64(a.DType.Size())
	for _, e := range a.Shape {
		if e < 0 || e > 0 && size > math.MaxInt64/int64(e) {
			return fmt.Errorf("npy: shape %v", a.Shape)
		}
		size *= int64(e)
	}
	switch {
	case kind == "":
		return fmt.Errorf("npy: numpy has no dtype %s; cast to another before", a.DType)
	case len(a.Shape) > maxAxes:
		return fmt.Errorf("npy: %d axes, numpy has at most %d", len(a.Shape), maxAxes)
	case size != int64(len(a.Bytes)):
		return fmt.Errorf("npy: %d bytes for %s%v, which has %d", len(a.Bytes), a.DType, a.Shape, size)
	}
	order := "<"
	if a.DType.Size() == 1 {
		order = "|"
	}
	var dims strings.Builder
	for i, e := range a.Shape {
		if i > 0 {
			dims.WriteByte(' ')
		}
		dims.WriteString(strconv.Itoa(e) + ",")
	}
	list := dims.String()
	if len(a.Shape) > 1 {
		list = strings.TrimSuffix(list, ",")
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, kind, list)
	const before = len(magic) + 4 // and a newline after
	text += strings.Repeat(" ", (align-(before+len(text)+1)%align)%align) + "\n"
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	if _, err := w.Write(append(b, text...)); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	data := a.Bytes
	if hostBig && a.DType.Size() > 1 {
		data = slices.Clone(data)
		swap(data, a.DType.Size())
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return nil
}

// ReadFile reads a .npy file.
func ReadFile(path string) (Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return Array{}, err
	}
	defer f.Close()
	a, err := Read(bufio.NewReader(f))
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// WriteFile writes a .npy file.
func WriteFile(path string, a Array) error {
	return writeFile(path, func(w io.Writer) error { return Write(w, a) })
}

// writeFile writes a file through a buffer.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<16)
	err = write(b)
	return errors.Join(err, b.Flush(), f.Close())
}
