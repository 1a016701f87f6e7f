package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sinter-go/sinter/ir"
)

// Write writes a file of the safetensors format that holds the tensors and,
// where it is not empty, the metadata. Equal arguments give equal bytes
// whatever the order of the tensors: they are laid out as the reference
// implementation does, by descending alignment, then by name, and the header is
// padded with spaces to a multiple of 8 bytes, so that every tensor is aligned
// to the size of its elements.
//
// Everything is checked before the first byte is written: names must be valid
// UTF-8, distinct and not "__metadata__", the length of Data must be that of
// shape and dtype, elements of a Bool tensor 0 or 1, and the header at most
// [MaxHeader] bytes. Other errors are those of w.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	if err := write(w, tensors, metadata); err != nil {
		return fmt.Errorf("safetensors: write: %w", err)
	}
	return nil
}

func write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	order, err := layout(tensors)
	if err != nil {
		return err
	}
	head, err := appendHeader(order, metadata)
	if err != nil {
		return err
	}
	if err := writeAll(w, head); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	for _, p := range order {
		if err := writeAll(w, p.Data); err != nil {
			return fmt.Errorf("tensor %s: %w", quote(p.Name), err)
		}
	}
	return nil
}

// writeAll reports a short write even where a careless writer does not.
func writeAll(w io.Writer, b []byte) error {
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// placed is a tensor that has passed the checks.
type placed struct {
	*Tensor
	format format
}

// layout checks the tensors and returns them in the order of the file.
func layout(tensors []Tensor) ([]placed, error) {
	order := make([]placed, len(tensors))
	for i := range tensors {
		f, err := check(&tensors[i])
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", quote(tensors[i].Name), err)
		}
		order[i] = placed{&tensors[i], f}
	}
	slices.SortFunc(order, func(a, b placed) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(order); i++ {
		if order[i].Name == order[i-1].Name {
			return nil, fmt.Errorf("tensor %s is given more than once", quote(order[i].Name))
		}
	}
	slices.SortStableFunc(order, func(a, b placed) int { return cmp.Compare(b.format, a.format) })
	return order, nil
}

func check(t *Tensor) (format, error) {
	f, ok := formatOf(t.DType)
	switch {
	case !ok:
		return 0, fmt.Errorf("%w %v", ErrUnsupportedDType, t.DType)
	case t.Name == metadataKey:
		return 0, fmt.Errorf("the name is reserved by the format")
	case !utf8.ValidString(t.Name):
		return 0, fmt.Errorf("the name is not valid UTF-8")
	case len(t.Shape) > MaxRank:
		return 0, fmt.Errorf("%d dimensions, want at most %d", len(t.Shape), MaxRank)
	}
	for i, d := range t.Shape {
		if d < 0 {
			return 0, fmt.Errorf("dimension %d of shape %v is negative", i, t.Shape)
		}
	}
	size, ok := f.byteSize(t.Shape)
	if !ok {
		return 0, fmt.Errorf("shape %v of %v takes more than 2^61-1 bytes", t.Shape, f)
	}
	if int64(len(t.Data)) != size {
		return 0, fmt.Errorf("%d bytes of data, but shape %v of %v takes %d", len(t.Data), t.Shape, f, size)
	}
	if t.DType == ir.Bool {
		return f, checkBool(t.Data)
	}
	return f, nil
}

// appendHeader returns the length and the header of the file.
func appendHeader(order []placed, metadata map[string]string) ([]byte, error) {
	b := make([]byte, lengthBytes, 1024)
	b = append(b, '{')
	sep := ""
	if len(metadata) > 0 {
		b = append(b, `"`+metadataKey+`":{`...)
		for _, k := range slices.Sorted(maps.Keys(metadata)) {
			v := metadata[k]
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				return nil, fmt.Errorf("metadata %s: not valid UTF-8", quote(k))
			}
			b = append(b, sep...)
			b = appendString(b, k)
			b = append(b, ':')
			b = appendString(b, v)
			sep = ","
		}
		b = append(b, '}')
		sep = ","
	}
	offset := int64(0)
	for _, p := range order {
		b = append(b, sep...)
		b = appendString(b, p.Name)
		b = append(b, `:{"dtype":"`+p.format.String()+`","shape":[`...)
		for i, d := range p.Shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(d), 10)
		}
		b = append(b, `],"data_offsets":[`...)
		b = strconv.AppendInt(b, offset, 10)
		offset += int64(len(p.Data))
		b = append(b, ',')
		b = strconv.AppendInt(b, offset, 10)
		b = append(b, "]}"...)
		sep = ","
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	n := len(b) - lengthBytes
	if n > MaxHeader {
		return nil, fmt.Errorf("the header takes %d bytes, the limit is %d", n, MaxHeader)
	}
	binary.LittleEndian.PutUint64(b, uint64(n))
	return b, nil
}

// appendString appends s as a JSON string, escaping only what JSON requires, as
// the reference implementation does.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	plain := 0 // where the bytes begin that need no escape
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[plain:i]...)
		b = appendEscape(b, c)
		plain = i + 1
	}
	return append(append(b, s[plain:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '\b':
		c = 'b'
	case '\f':
		c = 'f'
	case '\n':
		c = 'n'
	case '\r':
		c = 'r'
	case '\t':
		c = 't'
	case '"', '\\':
	default:
		return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	return append(b, '\\', c)
}
