//go:build linux && (amd64 || arm64)

package driver

import (
	"strings"

	"github.com/ebitengine/purego"
)

// library carries the soname: the unversioned name is only there where the
// toolkit is installed.
const library = "libcuda.so.1"

func loadLibrary() (find func(name string) (uintptr, error), err error) {
	h, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, &Unavailable{Library: library, Reason: strings.TrimPrefix(err.Error(), library+": ")}
	}
	return func(name string) (uintptr, error) { return purego.Dlsym(h, name) }, nil
}
