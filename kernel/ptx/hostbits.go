package ptx

import (
	"math"
	"runtime"
)

// hostRounds reports whether the compiler of this program rounds each product that is
// added to something, as on amd64 and not on arm64. Routines of the host that stand on
// gonum are compiled so, and its assembly for amd64 rounds too.
var hostRounds = runtime.GOARCH == "amd64" && rounds(1+0x1p-30, 1-0x1p-30, -1)

// rounds: the exact product is 1 - 2^-60, which rounds to 1.
//
//go:noinline
func rounds(x, y, z float64) bool { return math.Abs(x*y+z) == 0 }

// asHost registers the native kernels of a row whose host routine stands on gonum. Where
// products are not rounded they would have other bits than the host, and there are none.
func asHost(row string, plan func(c *nativeCall) (*Plan, error)) {
	if hostRounds {
		natives[row] = plan
	}
}
