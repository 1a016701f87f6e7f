package safetensors

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

const (
	// MaxHeader is the largest header that is read or written, in bytes: the
	// limit of the reference implementation.
	MaxHeader = 100_000_000

	// MaxRank is the largest number of dimensions of a tensor.
	MaxRank = 64

	// metadataKey is the one key of the header that is not a tensor's name.
	metadataKey = "__metadata__"

	// lengthBytes is the size of the header's length at the start of a file.
	lengthBytes = 8
)

// entry is what the header says about one tensor.
type entry struct {
	name       string
	format     format
	shape      []int
	begin, end int64 // within the data part
}

// header is a header that passed all checks: entries are sorted by name
// without duplicates, and their extents cover the data part exactly.
type header struct {
	entries  []entry
	metadata map[string]string
}

// parseHeader reads the JSON of a file whose data part has dataSize bytes. It
// keeps no reference to b.
func parseHeader(b []byte, dataSize int64) (*header, error) {
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("header byte %d: invalid UTF-8", firstInvalid(b))
	}
	if len(b) == 0 || b[0] != '{' {
		return nil, (&scanner{b: b}).unexpected("'{' as its first byte")
	}
	h, s, seenMetadata := new(header), &scanner{b: b}, false
	err := s.object(func(key []byte) error {
		if string(key) != metadataKey {
			e, err := s.entry(string(key))
			if err != nil {
				return fmt.Errorf("tensor %s: %w", quote(key), err)
			}
			h.entries = append(h.entries, e)
			return nil
		}
		if seenMetadata {
			return s.errorf("duplicate key %q", metadataKey)
		}
		seenMetadata = true
		var err error
		h.metadata, err = s.metadata()
		if err != nil {
			return fmt.Errorf("%s: %w", metadataKey, err)
		}
		return nil
	})
	if err == nil {
		err = s.end()
	}
	if err == nil {
		err = h.checkNames()
	}
	if err == nil {
		err = h.checkExtents(dataSize)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// metadata reads the value of "__metadata__". null counts as an empty map, as
// in the reference implementation.
func (s *scanner) metadata() (map[string]string, error) {
	if s.next(); s.word("null") {
		return nil, nil
	}
	m := make(map[string]string)
	err := s.object(func(key []byte) error {
		k := string(key)
		if _, ok := m[k]; ok {
			return s.errorf("duplicate key %s", quote(k))
		}
		v, err := s.str()
		if err != nil {
			return fmt.Errorf("key %s: %w", quote(k), err)
		}
		m[k] = string(v)
		return nil
	})
	return m, err
}

// entry reads the description of one tensor and checks what can be checked
// without knowing the others.
func (s *scanner) entry(name string) (entry, error) {
	e := entry{name: name, shape: []int{}}
	const dtype, shape, offsets = 1 << 0, 1 << 1, 1 << 2
	seen := 0
	err := s.object(func(key []byte) error {
		bit, read := 0, func() error { return s.skip(0) }
		switch string(key) {
		case "dtype":
			bit, read = dtype, func() error { return s.dtype(&e) }
		case "shape":
			bit, read = shape, func() error { return s.shape(&e) }
		case "data_offsets":
			bit, read = offsets, func() error { return s.offsets(&e) }
		}
		if seen&bit != 0 {
			return s.errorf("duplicate field %s", quote(key))
		}
		seen |= bit
		return read()
	})
	if err != nil {
		return e, err
	}
	for i, field := range []string{"dtype", "shape", "data_offsets"} {
		if seen&(1<<i) == 0 {
			return e, s.errorf("field %q is missing", field)
		}
	}
	size, ok := e.format.byteSize(e.shape)
	switch {
	case !ok && formats[e.format].bits < 8:
		return e, fmt.Errorf("shape %v of %v is not a whole number of bytes, or more than 2^61-1", e.shape, e.format)
	case !ok:
		return e, fmt.Errorf("shape %v of %v takes more than 2^61-1 bytes", e.shape, e.format)
	case e.begin > e.end:
		return e, fmt.Errorf("data_offsets [%d, %d] end before they begin", e.begin, e.end)
	case e.end-e.begin != size:
		return e, fmt.Errorf("data_offsets [%d, %d] hold %d bytes, but shape %v of %v takes %d",
			e.begin, e.end, e.end-e.begin, e.shape, e.format, size)
	}
	return e, nil
}

func (s *scanner) dtype(e *entry) error {
	name, err := s.str()
	if err != nil {
		return fmt.Errorf("dtype: %w", err)
	}
	f, ok := formatNamed(name)
	if !ok {
		return fmt.Errorf("dtype %s is not one of the format", quote(name))
	}
	e.format = f
	return nil
}

func (s *scanner) shape(e *entry) error {
	err := s.array(func() error {
		d, err := s.count()
		if err != nil {
			return err
		}
		if len(e.shape) == MaxRank {
			return s.errorf("more than %d dimensions", MaxRank)
		}
		if d > math.MaxInt {
			return s.errorf("dimension %d does not fit an int of this machine", d)
		}
		e.shape = append(e.shape, int(d))
		return nil
	})
	if err != nil {
		return fmt.Errorf("shape: %w", err)
	}
	return nil
}

func (s *scanner) offsets(e *entry) error {
	n := 0
	err := s.array(func() error {
		v, err := s.count()
		if err != nil {
			return err
		}
		switch n {
		case 0:
			e.begin = v
		case 1:
			e.end = v
		default:
			return s.errorf("more than 2 numbers")
		}
		n++
		return nil
	})
	if err == nil && n != 2 {
		err = s.errorf("%d numbers, want 2", n)
	}
	if err != nil {
		return fmt.Errorf("data_offsets: %w", err)
	}
	return nil
}

// checkNames sorts the entries by name and refuses duplicates.
func (h *header) checkNames() error {
	slices.SortFunc(h.entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for i := 1; i < len(h.entries); i++ {
		if h.entries[i].name == h.entries[i-1].name {
			return fmt.Errorf("tensor %s: the header holds this name more than once", quote(h.entries[i].name))
		}
	}
	return nil
}

// checkExtents checks that the tensors cover the data part without holes or
// overlaps. The order of the tensors in the header does not matter: files from
// before the reference implementation sorted its output are in any order.
func (h *header) checkExtents(dataSize int64) error {
	order := make([]*entry, len(h.entries))
	for i := range h.entries {
		order[i] = &h.entries[i]
	}
	slices.SortFunc(order, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	at, after := int64(0), "the start of the data"
	for _, e := range order {
		if e.end > dataSize {
			return fmt.Errorf("tensor %s: data_offsets [%d, %d] reach past the end of the data, which has %d bytes",
				quote(e.name), e.begin, e.end, dataSize)
		}
		if e.begin != at {
			kind := "leave a hole"
			if e.begin < at {
				kind = "overlap"
			}
			return fmt.Errorf("tensor %s: data_offsets [%d, %d] %s: they must begin at %d, right after %s",
				quote(e.name), e.begin, e.end, kind, at, after)
		}
		at, after = e.end, "tensor "+quote(e.name)
	}
	if at != dataSize {
		return fmt.Errorf("%d bytes follow the last tensor: the tensors take %d bytes, the data has %d",
			dataSize-at, at, dataSize)
	}
	return nil
}

// find returns the entry of a name.
func (h *header) find(name string) (*entry, error) {
	i, ok := slices.BinarySearchFunc(h.entries, name, func(e entry, name string) int {
		return cmp.Compare(e.name, name)
	})
	if !ok {
		return nil, fmt.Errorf("%w: %s (the file holds %d tensors)", ErrNotFound, quote(name), len(h.entries))
	}
	return &h.entries[i], nil
}

// errShort is the error for a file that ends before its header does.
func errShort(size int64) error {
	return fmt.Errorf("the file has %d bytes, want at least %d for the length of the header", size, lengthBytes)
}

// headerLength checks the length that the file claims for its header.
func headerLength(n uint64, fileSize int64) (int64, error) {
	switch {
	case n > MaxHeader:
		return 0, fmt.Errorf("the header claims %d bytes, the limit is %d", n, MaxHeader)
	case int64(n) > fileSize-lengthBytes:
		return 0, fmt.Errorf("the header claims %d bytes, but only %d follow its length", n, fileSize-lengthBytes)
	case n < 2:
		return 0, errors.New("the header is empty, want at least {}")
	}
	return int64(n), nil
}
