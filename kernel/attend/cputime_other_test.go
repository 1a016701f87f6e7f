//go:build !linux

package attend

import "time"

var processStart = time.Now()

// threadTime is the time of day where no clock of a thread is known.
func threadTime() time.Duration { return time.Since(processStart) }
