package limit

import "time"

// Clock tells a time from which differences are taken.
type Clock func() time.Duration

// Wall is the time that passes.
func Wall() Clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
