//go:build linux && (amd64 || arm64)

package driver

import (
	"strings"

	"github.com/ebitengine/purego"
)

// library carries the soname: the unversioned name is only there where the
// toolkit is installed.
const library = "libcuda.so.1"

func loadLibrary(f *functions) error {
	h, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return &Unavailable{Library: library, Reason: strings.TrimPrefix(err.Error(), library+": ")}
	}
	for _, s := range f.symbols() {
		p, err := purego.Dlsym(h, s.name)
		if err != nil {
			return &Unavailable{Library: library, Reason: "it lacks " + s.name + ": " + err.Error()}
		}
		*s.at = p
	}
	return nil
}
