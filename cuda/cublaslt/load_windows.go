//go:build windows && amd64

package cublaslt

import "golang.org/x/sys/windows"

var libraries = []string{"cublasLt64_13.dll", "cublasLt64_12.dll", "cublasLt64_11.dll"}

// loadLibrary looks where the system looks for libraries: the toolkit is in PATH.
func loadLibrary() (find func(name string) (uintptr, error), name string, err error) {
	reason := ""
	for _, name := range libraries {
		h, err := windows.LoadLibrary(name)
		if err == nil {
			return func(name string) (uintptr, error) { return windows.GetProcAddress(h, name) }, name, nil
		}
		if reason == "" {
			reason = err.Error()
		}
	}
	return nil, "", &Unavailable{Libraries: libraries, Reason: reason}
}
