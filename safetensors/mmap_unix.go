//go:build unix

package safetensors

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mappedSource is a file mapped into memory, read-only: pages are loaded when
// they are touched and can be dropped again by the system.
type mappedSource []byte

// newSource maps f, or reads it piece by piece where its file system cannot map
// it. It takes over f.
func newSource(f *os.File, size int64) source {
	if size > 0 && size <= math.MaxInt {
		b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
		if err == nil {
			// The mapping outlives the descriptor, of which a process has few.
			f.Close()
			return mappedSource(b)
		}
	}
	return &readerSource{r: f, closer: f}
}

func (s mappedSource) read(off, n int64) ([]byte, error) { return s[off : off+n : off+n], nil }

func (s mappedSource) close() error { return unix.Munmap(s) }
