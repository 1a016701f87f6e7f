//go:build !unix

package safetensors

import "os"

// newSource reads f piece by piece. It takes over f.
func newSource(f *os.File, _ int64) source { return &readerSource{r: f, closer: f} }
