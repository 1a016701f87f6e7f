//go:build !nocuda

package main

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/backend"
	// GPUs of NVIDIA. The driver's library is opened when a device is; to be able to do
	// so, the command asks for the system's C library; with the tag nocuda, and without
	// cgo, it does not.
	"github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/cuda/cublaslt"
	"github.com/sinter-go/sinter/cuda/nvml"
)

func init() { figuresOf, openProducts = gpuFigures, openGPU }

// openGPU opens a GPU, such as cuda or cuda:1, on which somebody multiplies matrices.
func openGPU(id, who string) (backend.Backend, error) {
	products, err := cuda.ParseProducts(who)
	if err != nil {
		return nil, usage("--products is %q, expected own, own-tf32, cublaslt or cublaslt-f32", who)
	}
	index := 0
	if _, i, ok := strings.Cut(id, ":"); ok {
		if index, err = strconv.Atoi(i); err != nil {
			return nil, err
		}
	}
	d, err := cuda.New(cuda.Options{Index: index, Products: products})
	if err != nil { // not a typed nil in the interface
		return nil, err
	}
	return d, nil
}

// gpuFigures are temperature, power and the like of the GPU at a place on the bus, where
// the management library is installed, and whether cuBLASLt is.
func gpuFigures(bus string) map[string]string {
	facts := map[string]string{"cublaslt": "none"}
	if lt, err := cublaslt.Open(); err == nil {
		facts["cublaslt"] = fmt.Sprintf("%s, version %d", lt.Name(), lt.Version())
	}
	if lib, err := nvml.Open(); err == nil {
		if f, err := lib.Figures(bus); err == nil {
			maps.Copy(facts, f.Facts())
		}
	}
	return facts
}
