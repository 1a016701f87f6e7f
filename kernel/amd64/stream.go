package amd64

import (
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// DefaultStreamFrom is the number of bytes, of all operands of the unsliced launch,
// from which results are stored past the caches: they would be evicted before
// anyone reads them, and need not be read before they are written.
const DefaultStreamFrom = 32 << 20

var streamFrom = func() *atomic.Int64 {
	v := new(atomic.Int64)
	v.Store(DefaultStreamFrom)
	return v
}()

// SetStreamFrom sets the number of bytes from which launches store past the caches,
// for all code of the process, and returns the one before. Bits do not depend on it.
func SetStreamFrom(bytes int64) (before int64) { return streamFrom.Swap(bytes) }

// streams reports whether vectors of a type are stored past the caches.
func streams(t ir.DType) bool { return t.Size() >= 4 }

// large reports whether a launch should and may use streaming stores: it exceeds
// the caches, writes over none of its inputs, and every whole vector it writes
// is aligned.
func (c *Code) large(l *kernel.Launch) bool {
	full := l.Full
	if full == nil {
		full = l.Extents
	}
	total := int64(0)
	for i := range l.Args {
		bytes := int64(c.k.Args[i].Type.Size())
		for axis, s := range l.Args[i].Strides {
			if s != 0 {
				bytes *= full[axis]
			}
		}
		total += bytes
	}
	return total >= streamFrom.Load() && c.streamable(l)
}

func (c *Code) streamable(l *kernel.Launch) bool {
	if c.vAxis < 0 || c.overlaps(l) {
		return false
	}
	found := false
	for i, a := range c.k.Args {
		if a.Dir != kernel.Out || !streams(a.Type) || a.Access[c.vAxis] != kernel.Unit {
			continue
		}
		found = true
		o := &l.Args[i]
		size := int64(a.Type.Size())
		if (int64(uintptr(o.Base))+o.Offset*size)%64 != 0 {
			return false
		}
		for axis, s := range o.Strides {
			if axis != c.vAxis && s*size%64 != 0 {
				return false
			}
		}
	}
	return found
}

// overlaps reports whether an output shares memory with an input.
func (c *Code) overlaps(l *kernel.Launch) bool {
	for i, a := range c.k.Args {
		for j, b := range c.k.Args {
			if a.Dir != kernel.Out || b.Dir != kernel.In {
				continue
			}
			p, q := uintptr(l.Args[i].Base), uintptr(l.Args[j].Base)
			if p < q+uintptr(l.Args[j].Size) && q < p+uintptr(l.Args[i].Size) {
				return true
			}
		}
	}
	return false
}
