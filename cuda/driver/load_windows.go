//go:build windows && amd64

package driver

import (
	"os"
	"path/filepath"
	"syscall"
)

const library = "nvcuda.dll"

// loadLibrary names the system folder in full, so that a file of the same name
// beside the program is never taken for the driver.
func loadLibrary() (find func(name string) (uintptr, error), err error) {
	root := os.Getenv("SystemRoot")
	if root == "" {
		root = `C:\Windows`
	}
	h, err := syscall.LoadLibrary(filepath.Join(root, "System32", library))
	if err != nil {
		return nil, &Unavailable{Library: library, Reason: err.Error()}
	}
	return func(name string) (uintptr, error) { return syscall.GetProcAddress(h, name) }, nil
}
