package pages

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages; a system without them has none to give.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
