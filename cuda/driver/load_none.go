//go:build !((linux && (amd64 || arm64)) || (windows && amd64))

package driver

import "runtime"

const library = ""

func loadLibrary() (find func(name string) (uintptr, error), err error) {
	return nil, &Unavailable{Reason: "there is none for " + runtime.GOOS + "/" + runtime.GOARCH}
}

// call exists so that the package builds; without a library nothing reaches it.
func call(uintptr, ...uintptr) uintptr { panic("driver: call without a library") }
