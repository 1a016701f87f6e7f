// Package debug reads the switches that change how every device of a process
// runs, for finding faults. They are environment variables, read once:
//
//	SINTER_FUSION=off   no fusion: each operation runs by itself. The bits are
//	                    the same, so a difference is a fault of Sinter.
package debug

import (
	"os"
	"sync"
)

// FusionOff reports whether SINTER_FUSION says that nothing is fused.
var FusionOff = sync.OnceValue(func() bool { return off(os.Getenv("SINTER_FUSION")) })

// off reads a switch that is on unless it says otherwise.
func off(v string) bool {
	switch v {
	case "off", "OFF", "Off", "0", "false", "no":
		return true
	}
	return false
}
