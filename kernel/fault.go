package kernel

import "sync/atomic"

// FaultCode says what went wrong with the data of a launch.
type FaultCode uint8

// The faults that depend on data. The values produced are defined: a clamped
// index, a quotient of 0.
const (
	NoFault FaultCode = iota
	IndexOutOfRange
	DivisionByZero
)

// String describes the fault in words.
func (c FaultCode) String() string {
	switch c {
	case IndexOutOfRange:
		return "index out of range"
	case DivisionByZero:
		return "integer division by zero"
	}
	return "no fault"
}

// Fault collects the first fault of a launch: the one at the lowest linear
// index of the iteration space, whatever the number of threads. The zero value
// is ready to use and safe for concurrent use.
type Fault struct {
	word atomic.Uint64 // 0: none; else (linear index + 1) << 8 | code
}

// Note records a fault at a linear index of the whole iteration space.
func (f *Fault) Note(code FaultCode, linear int64) {
	if f == nil {
		return
	}
	w := (uint64(linear)+1)<<8 | uint64(code)
	for {
		old := f.word.Load()
		if old != 0 && old <= w {
			return
		}
		if f.word.CompareAndSwap(old, w) {
			return
		}
	}
}

// First returns the recorded fault and its linear index; NoFault if none.
func (f *Fault) First() (FaultCode, int64) {
	w := f.word.Load()
	if w == 0 {
		return NoFault, 0
	}
	return FaultCode(w & 0xff), int64(w>>8) - 1
}
