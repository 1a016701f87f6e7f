//go:build linux && (amd64 || arm64)

package nvml

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// standIn is a library with one GPU, of which each function has the C signature
// of nvml.h. asked is how the GPU was asked for last.
type standIn struct {
	Library
	asked string
}

const (
	standInGPU   = 0xdead_beef_0000 // a handle has more than 32 bits
	notSupported = 3
	notFound     = 6
)

// texts is memory that the stand-in owns, as the library does its texts.
var texts = []byte("Not Found\x00")

func newStandIn() *standIn {
	s := &standIn{}
	find := func(kind string, name *byte, gpu *uintptr) int32 {
		if s.asked = kind + cString(uintptr(unsafe.Pointer(name))); s.asked == "pci gone" {
			return notFound
		}
		*gpu = standInGPU
		return 0
	}
	one := func(value uint32) uintptr {
		return purego.NewCallback(func(gpu uintptr, out *uint32) int32 {
			if gpu != standInGPU {
				return notFound
			}
			*out = value
			return 0
		})
	}
	of := func(values ...uint32) uintptr {
		return purego.NewCallback(func(gpu uintptr, part uint32, out *uint32) int32 {
			if gpu != standInGPU || int(part) >= len(values) {
				return notSupported
			}
			*out = values[part]
			return 0
		})
	}
	s.fn = functions{
		errorString: purego.NewCallback(func(code int32) uintptr {
			if code != notFound {
				return 0
			}
			return uintptr(unsafe.Pointer(&texts[0]))
		}),
		handleByPCIBusID: purego.NewCallback(func(name *byte, gpu *uintptr) int32 { return find("pci ", name, gpu) }),
		handleByUUID:     purego.NewCallback(func(name *byte, gpu *uintptr) int32 { return find("uuid ", name, gpu) }),
		handleByIndex: purego.NewCallback(func(i uint32, gpu *uintptr) int32 {
			if i != 2 {
				return notSupported
			}
			s.asked, *gpu = "index", standInGPU
			return 0
		}),
		driverVersion: purego.NewCallback(func(text *byte, n uint32) int32 {
			copy(unsafe.Slice(text, n), "580.159\x00rest")
			return 0
		}),
		temperature:  of(31),
		powerUsage:   one(74_610),
		powerLimit:   one(700_000),
		clockInfo:    of(1, 345, 3201),
		maxClockInfo: of(2, 1980, 4),
		utilizationRates: purego.NewCallback(func(gpu uintptr, out *utilization) int32 {
			*out = utilization{gpu: 7, memory: 8}
			return 0
		}),
		memoryInfo: purego.NewCallback(func(gpu uintptr, out *memory) int32 {
			*out = memory{total: 80 << 30, free: 79 << 30, used: 1 << 30}
			return 0
		}),
	}
	return s
}

// TestFigures reads the figures of the stand-in.
func TestFigures(t *testing.T) {
	s := newStandIn()
	want := Figures{
		Temperature: 31, PowerWatts: 74.61, PowerLimitWatts: 700, ClockMHz: 345, MaxClockMHz: 1980,
		MemoryClockMHz: 3201, UtilizationPercent: 7, MemoryUsed: 1 << 30, MemoryTotal: 80 << 30,
		DriverVersion: "580.159",
	}
	for gpu, asked := range map[string]string{
		"0000:81:00.0": "pci 0000:81:00.0",
		"GPU-81ab":     "uuid GPU-81ab",
		"MIG-81ab":     "uuid MIG-81ab",
		"2":            "index",
	} {
		if got, err := s.Figures(gpu); err != nil || got != want || s.asked != asked {
			t.Errorf("%s: have %+v, %v, asked for %q", gpu, got, err, s.asked)
		}
	}

	var e *Error
	_, err := s.Figures("gone")
	if !errors.As(err, &e) || *e != (Error{Call: "nvmlDeviceGetHandleByPciBusId_v2", Code: notFound, Text: "Not Found"}) {
		t.Errorf("have %v", err)
	}
	_, err = s.Figures("1")
	if !errors.As(err, &e) || *e != (Error{Call: "nvmlDeviceGetHandleByIndex_v2", Code: notSupported, Text: "no description"}) {
		t.Errorf("have %v", err)
	}
}

// TestFiguresNotTold: what a GPU does not tell, or the library cannot ask, is 0.
func TestFiguresNotTold(t *testing.T) {
	s := newStandIn()
	// They leave something behind, and fail.
	one := purego.NewCallback(func(gpu uintptr, out *uint32) int32 { *out = 5; return notSupported })
	of := purego.NewCallback(func(gpu uintptr, part uint32, out *uint32) int32 { *out = 5; return notSupported })
	s.fn.powerUsage, s.fn.powerLimit, s.fn.utilizationRates, s.fn.memoryInfo = one, one, one, one
	s.fn.temperature, s.fn.clockInfo, s.fn.maxClockInfo = of, of, of
	s.fn.driverVersion = purego.NewCallback(func(text *byte, n uint32) int32 { *text = 'x'; return notSupported })
	if f, err := s.Figures("2"); err != nil || f != (Figures{}) {
		t.Errorf("not told: %+v, %v", f, err)
	}

	s.fn = functions{handleByIndex: s.fn.handleByIndex}
	if f, err := s.Figures("2"); err != nil || f != (Figures{}) {
		t.Errorf("not there: %+v, %v", f, err)
	}
}
