//go:build !((linux && (amd64 || arm64)) || (windows && amd64))

package cublaslt

import "runtime"

func loadLibrary() (find func(name string) (uintptr, error), name string, err error) {
	return nil, "", &Unavailable{Reason: "there is none for " + runtime.GOOS + "/" + runtime.GOARCH}
}

// call exists so that the package builds; without a library nothing reaches it.
func call(uintptr, ...uintptr) uintptr { panic("sinter/cuda/cublaslt: BUG: call without a library") }
