//go:build windows && amd64

package nvtx

import "golang.org/x/sys/windows"

func open(path string) (*Tool, error) {
	h, err := windows.LoadLibrary(path)
	if err != nil {
		return nil, err
	}
	f, err := windows.GetProcAddress(h, entry)
	if err != nil {
		return nil, err
	}
	return attach(f)
}
