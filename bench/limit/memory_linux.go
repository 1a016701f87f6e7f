package limit

import "golang.org/x/sys/unix"

// acquire maps memory of huge pages, where the system gives them.
func acquire(bytes int64) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a system without them measures without them
	}
	return b, err
}

func release(b []byte) {
	if b != nil {
		_ = unix.Munmap(b) // it was mapped so
	}
}
