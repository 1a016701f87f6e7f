package amd64

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/sinter-go/sinter/internal/execmem"
)

//go:noescape
func call(fn uintptr, ctx unsafe.Pointer)

// Available reports whether code of a level can run in this process.
func Available(level Level) bool {
	x := &cpu.X86
	ok := x.HasAVX2 && x.HasFMA && x.HasBMI2 && x.HasOSXSAVE
	if level == AVX512 {
		ok = ok && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL
	}
	return ok && execmem.Supported()
}
