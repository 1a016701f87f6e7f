// Package debug reads the switches that change how every device of a process
// runs, for finding faults. They are environment variables, read once:
//
//	SINTER_FUSION=off             no fusion: each operation runs by itself. The bits
//	                              are the same, so a difference is a fault of Sinter.
//	SINTER_FUSION=oracle          each segment also runs one operation per kernel, and
//	                              bits are compared; slow.
//	SINTER_FUSION=bisect:PATTERN  only the fusions that the pattern of the bisect
//	                              command allows are done, and reported.
//	SINTER_CAPSULES=DIR           where the oracle writes segments that it finds wrong.
//	SINTER_TUNE=off               choices of speed are the defaults, whatever "sinter
//	                              tune" found on the machine.
//	SINTER_TUNE=idle              devices also measure products that they meet, while
//	                              they are idle.
//	SINTER_NVTX=off               an attached profiler of NVIDIA's is told no ranges.
//	SINTER_LABELS=on              kernels run with the label "kernel" of their name in
//	                              CPU profiles; windows of a device set it too.
package debug

import (
	"os"
	"strings"
	"sync"
)

// Switches are the settings of a process.
type Switches struct {
	Off      bool
	Oracle   bool
	Bisect   string // a pattern, "" for none
	Capsules string // a directory, "" for none
	Unknown  string // a value of SINTER_FUSION that means nothing
}

// Fusion returns the switches of the process.
var Fusion = sync.OnceValue(func() Switches {
	return parse(os.Getenv("SINTER_FUSION"), os.Getenv("SINTER_CAPSULES"))
})

func parse(fusion, capsules string) Switches {
	s := Switches{Capsules: capsules}
	pattern, bisect := strings.CutPrefix(fusion, "bisect:")
	switch {
	case bisect && pattern != "":
		s.Bisect = pattern
	case fusion == "" || fusion == "on" || fusion == "1" || fusion == "true" || fusion == "yes":
	case fusion == "off" || fusion == "0" || fusion == "false" || fusion == "no":
		s.Off = true
	case fusion == "oracle":
		s.Oracle = true
	default:
		s.Unknown = fusion
	}
	return s
}

// Tuning is where choices of speed come from.
type Tuning struct {
	Off     bool
	Idle    bool
	Unknown string // a value of SINTER_TUNE that means nothing
}

// Tune returns the setting of the process.
var Tune = sync.OnceValue(func() Tuning { return parseTune(os.Getenv("SINTER_TUNE")) })

func parseTune(tune string) Tuning {
	switch tune {
	case "", "on", "1", "true", "yes":
		return Tuning{}
	case "off", "0", "false", "no":
		return Tuning{Off: true}
	case "idle":
		return Tuning{Idle: true}
	}
	return Tuning{Unknown: tune}
}

// Labels reports whether kernels are labelled in profiles even outside the windows
// of a device.
var Labels = sync.OnceValue(func() bool {
	switch os.Getenv("SINTER_LABELS") {
	case "on", "1", "true", "yes":
		return true
	}
	return false
})

// Profiler is the library of an attached profiler of NVIDIA's, "" if there is none, or it
// is told nothing.
var Profiler = sync.OnceValue(func() string {
	return parseProfiler(os.Getenv("SINTER_NVTX"), os.Getenv("NVTX_INJECTION64_PATH"))
})

func parseProfiler(nvtx, library string) string {
	switch nvtx {
	case "off", "0", "false", "no":
		return ""
	}
	return library
}
