//go:build linux && (amd64 || arm64)

package nvml

import (
	"strings"

	"github.com/ebitengine/purego"
)

// library carries the soname: the unversioned name is only there where the
// toolkit is installed.
const library = "libnvidia-ml.so.1"

func loadLibrary(f *functions) error {
	h, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return &Unavailable{Library: library, Reason: strings.TrimPrefix(err.Error(), library+": ")}
	}
	return f.find(func(name string) (uintptr, error) { return purego.Dlsym(h, name) })
}
