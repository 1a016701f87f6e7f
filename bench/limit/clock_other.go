//go:build !linux

package limit

import (
	"runtime"

	"github.com/sinter-go/sinter/ir"
)

// CPU is the time that processors spend on this process. The error has kind
// [ir.ErrUnsupported] where there is no such clock.
func CPU() (Clock, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "the time that processors spend on a process is not measured on %s", runtime.GOOS)
}
