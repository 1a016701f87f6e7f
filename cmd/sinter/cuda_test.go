//go:build !nocuda

package main

import (
	"strings"
	"testing"
)

func TestProductsUsage(t *testing.T) {
	for args, want := range map[string]string{
		"train --device cuda:0 --products x":             `--products is "x", expected own, own-tf32, cublaslt or cublaslt-f32`,
		"train --device cuda:x --products own":           `--products applies to GPUs such as cuda:0, not to "cuda:x"`,
		"train --device cuda --products own --threads 2": `--threads applies to the devices cpu and interp, not to "cuda"`,
	} {
		invoke(t, "", strings.Fields(args)...).want(t, args, exitUsage, "", want)
	}
}
