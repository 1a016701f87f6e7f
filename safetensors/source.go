package safetensors

import (
	"fmt"
	"io"
	"math"
)

// source is where the bytes of a file come from.
type source interface {
	// read returns n bytes from offset off. The caller has checked the range
	// against the file's size. The result may be shared and is not written to.
	read(off, n int64) ([]byte, error)
	close() error
}

// readerSource copies each range it is asked for.
type readerSource struct {
	r      io.ReaderAt
	closer io.Closer // may be nil
}

func (s *readerSource) read(off, n int64) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	if n > math.MaxInt {
		return nil, fmt.Errorf("%d bytes do not fit the memory of this machine", n)
	}
	// The size may be wrong by now, or have been wrong from the start. Looking
	// at the last byte first makes sure that the memory asked for next is no
	// larger than what is there to fill it.
	if err := s.readAt(make([]byte, 1), off+n-1); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if err := s.readAt(b, off); err != nil {
		return nil, err
	}
	return b, nil
}

func (s *readerSource) readAt(b []byte, off int64) error {
	n, err := s.r.ReadAt(b, off)
	switch {
	case n >= len(b):
		return nil // io.ReaderAt may report io.EOF along with the last bytes
	case err == nil || err == io.EOF:
		return fmt.Errorf("at byte %d: %w", off+int64(max(n, 0)), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("at byte %d: %w", off+int64(max(n, 0)), err)
}

func (s *readerSource) close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}
