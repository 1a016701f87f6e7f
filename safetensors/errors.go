package safetensors

import (
	"errors"
	"fmt"
)

// Errors to test for with [errors.Is]. The message of the error that is
// returned says which tensor is meant, what was found and what was expected.
var (
	// ErrMalformed marks a file that breaks the format, or that was cut short.
	ErrMalformed = errors.New("malformed file")

	// ErrUnsupportedDType marks a tensor whose element type is part of the
	// format, but which this library cannot represent, such as F8_E4M3. The
	// other tensors of the file can be read.
	ErrUnsupportedDType = errors.New("unsupported dtype")

	// ErrNotFound marks a name that the file does not hold.
	ErrNotFound = errors.New("no such tensor")
)

// quoteLimit bounds how much of a name goes into a message: a hostile header
// may hold a name of many megabytes.
const quoteLimit = 80

// quote returns s in double quotes, shortened when it is long.
func quote[S string | []byte](s S) string {
	if len(s) <= quoteLimit {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:quoteLimit], len(s))
}
