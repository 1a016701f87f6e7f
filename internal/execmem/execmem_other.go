//go:build !amd64 || !(linux || darwin || windows)

package execmem

func mapCode([]byte) (*Region, error) { return nil, ErrUnsupported }

func unmap(*Region) {}
