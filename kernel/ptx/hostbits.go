package ptx

import "math"

// hostRounds reports whether the routines of the host that stand on gonum have the bits
// of its assembly for amd64 and of a compiler that rounds each product that is added to
// something, as Go's does on amd64 and not on arm64.
var hostRounds = gonumAssembly && rounds(1+0x1p-30, 1-0x1p-30, -1)

// rounds: the exact product is 1 - 2^-60, which rounds to 1.
//
//go:noinline
func rounds(x, y, z float64) bool { return math.Abs(x*y+z) == 0 }

// asHost registers the native kernels of a row whose host routine stands on gonum, where
// both have the same bits.
func asHost(row string, plan func(c *nativeCall) (*Plan, error)) {
	if hostRounds {
		natives[row] = plan
	}
}
