package cpu

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

var levels = map[Generator]amd64.Level{AVX2: amd64.AVX2, AVX512: amd64.AVX512}

// bestGenerator returns the widest generator that the processor and target have.
func bestGenerator() Generator {
	switch {
	case amd64.Available(amd64.AVX512):
		return AVX512
	case amd64.Available(amd64.AVX2):
		return AVX2
	}
	return Interpret
}

func hasGenerator(g Generator) bool { return amd64.Available(levels[g]) }

// generate makes machine code of a kernel; the error says why there is none.
func generate(g Generator, k *kernel.Kernel) (kernel.Executable, error) {
	level, ok := levels[g]
	if !ok {
		return nil, &amd64.Unsupported{Kernel: k.Name, Reason: "the device interprets"}
	}
	code, err := amd64.Compile(k, level)
	if err != nil {
		return nil, err
	}
	return code, nil
}
