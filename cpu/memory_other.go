//go:build !linux && !darwin && !windows

package cpu

import (
	"math/bits"
	"runtime"
)

// physicalMemory is not known here; a 32-bit memory (wasm) has at most 4 GiB,
// of which tensors may take half.
func physicalMemory() int64 {
	if runtime.GOARCH == "wasm" || bits.UintSize == 32 {
		return 2 << 30
	}
	return 0
}
