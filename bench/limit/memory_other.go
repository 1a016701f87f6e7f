//go:build !linux

package limit

func acquire(bytes int64) ([]byte, error) { return make([]byte, bytes), nil }

func release([]byte) {}
