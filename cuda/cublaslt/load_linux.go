//go:build linux && (amd64 || arm64)

package cublaslt

import "github.com/ebitengine/purego"

// libraries carry the soname: the unversioned name is only there where the toolkit is
// installed.
var libraries = []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}

func loadLibrary() (find func(name string) (uintptr, error), name string, err error) {
	reason := ""
	for _, name := range libraries {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return func(name string) (uintptr, error) { return purego.Dlsym(h, name) }, name, nil
		}
		if reason == "" {
			reason = err.Error()
		}
	}
	return nil, "", &Unavailable{Libraries: libraries, Reason: reason}
}
