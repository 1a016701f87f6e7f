//go:build linux && (amd64 || arm64)

package nvtx

import "github.com/ebitengine/purego"

func open(path string) (*Tool, error) {
	h, err := purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	f, err := purego.Dlsym(h, entry)
	if err != nil {
		return nil, err
	}
	return attach(f)
}
