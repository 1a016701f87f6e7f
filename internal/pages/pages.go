// Package pages takes memory from the system, outside the heap of Go: the
// collector neither scans nor moves it, does not count it, and never clears it
// again. Nobody may keep a slice of it that outlives Unmap: to touch it afterwards
// is a fault that no recover catches.
package pages

// HugeSize is the size of a huge page. Mappings of at least half of one begin at
// its multiples, and are made of huge pages where the system has them.
const HugeSize = 2 << 20

// Map returns n bytes of zeros at an address aligned to a page. n is a multiple of
// the page size.
func Map(n int64) ([]byte, error) { return mapPages(n) }

// Unmap returns what Map gave, whole.
func Unmap(b []byte) { unmapPages(b) }
