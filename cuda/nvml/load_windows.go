//go:build windows && amd64

package nvml

import "golang.org/x/sys/windows"

const library = "nvml.dll"

// loadLibrary looks in the system folder only, so that a file of the same name
// beside the program is never taken for the library.
func loadLibrary(f *functions) error {
	h, err := windows.LoadLibraryEx(library, 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if err != nil {
		return &Unavailable{Library: library, Reason: err.Error()}
	}
	return f.find(func(name string) (uintptr, error) { return windows.GetProcAddress(h, name) })
}
