//go:build !nocuda

package main

import (
	// GPUs of NVIDIA. The driver's library is opened when a device is; to be able to do
	// so, the command asks for the system's C library; with the tag nocuda, and without
	// cgo, it does not.
	_ "github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/cuda/nvml"
)

func init() { figuresOf = gpuFigures }

// gpuFigures are temperature, power and the like of the GPU at a place on the bus; none
// where the management library is not installed.
func gpuFigures(bus string) map[string]string {
	lib, err := nvml.Open()
	if err != nil {
		return nil
	}
	f, err := lib.Figures(bus)
	if err != nil {
		return nil
	}
	return f.Facts()
}
