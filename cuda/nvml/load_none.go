//go:build !((linux && (amd64 || arm64)) || (windows && amd64))

package nvml

import "runtime"

const library = ""

func loadLibrary(*functions) error {
	return &Unavailable{Reason: "there is none for " + runtime.GOOS + "/" + runtime.GOARCH}
}

// call exists so that the package builds; without a library nothing reaches it.
func call(uintptr, ...uintptr) uintptr { panic("sinter/cuda/nvml: BUG: call without a library") }
