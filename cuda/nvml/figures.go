package nvml

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// Figures is what a GPU tells about itself at one moment. A figure that it does
// not tell is 0.
type Figures struct {
	Temperature        int     // degrees Celsius
	PowerWatts         float64 // of the board; many GPUs tell the mean of the last second
	PowerLimitWatts    float64 // that is enforced now
	ClockMHz           int     // of the multiprocessors
	MaxClockMHz        int
	MemoryClockMHz     int
	UtilizationPercent int   // the time in which some kernel ran, of the last sample period
	MemoryUsed         int64 // in bytes, by all processes
	MemoryTotal        int64
	DriverVersion      string // 580.159
}

// The numbers of nvml.h in use.
const (
	sensorGPU   = 0 // NVML_TEMPERATURE_GPU
	clockSM     = 1 // NVML_CLOCK_SM
	clockMemory = 2 // NVML_CLOCK_MEM

	driverVersionBytes = 80 // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
)

// memory is nvmlMemory_t.
type memory struct{ total, free, used uint64 }

// utilization is nvmlUtilization_t.
type utilization struct{ gpu, memory uint32 }

// Figures reads the figures of a GPU, which is named by its PCI bus id
// (0000:81:00.0), its UUID (GPU-...) or its index. The index is the library's
// own: CUDA may count in another order, and hide GPUs. An error says that the
// GPU was not found or cannot be reached.
func (l *Library) Figures(gpu string) (Figures, error) {
	d, err := l.device(gpu)
	if err != nil {
		return Figures{}, err
	}
	m, u := new(memory), new(utilization)
	if l.fn.memoryInfo == 0 || uint32(call(l.fn.memoryInfo, d, uintptr(unsafe.Pointer(m)))) != 0 {
		*m = memory{}
	}
	if l.fn.utilizationRates == 0 || uint32(call(l.fn.utilizationRates, d, uintptr(unsafe.Pointer(u)))) != 0 {
		*u = utilization{}
	}
	return Figures{
		Temperature:        l.numberOf(l.fn.temperature, d, sensorGPU),
		PowerWatts:         float64(l.number(l.fn.powerUsage, d)) / 1000,
		PowerLimitWatts:    float64(l.number(l.fn.powerLimit, d)) / 1000,
		ClockMHz:           l.numberOf(l.fn.clockInfo, d, clockSM),
		MaxClockMHz:        l.numberOf(l.fn.maxClockInfo, d, clockSM),
		MemoryClockMHz:     l.numberOf(l.fn.clockInfo, d, clockMemory),
		UtilizationPercent: int(u.gpu),
		MemoryUsed:         int64(m.used),
		MemoryTotal:        int64(m.total),
		DriverVersion:      l.driverVersion(),
	}, nil
}

// device finds the library's handle of a GPU.
func (l *Library) device(gpu string) (uintptr, error) {
	h := new(uintptr)
	if i, err := strconv.ParseUint(gpu, 10, 32); err == nil {
		err := l.check("nvmlDeviceGetHandleByIndex_v2", call(l.fn.handleByIndex,
			uintptr(i), uintptr(unsafe.Pointer(h))))
		return *h, err
	}
	name := append([]byte(gpu), 0)
	if strings.HasPrefix(gpu, "GPU-") || strings.HasPrefix(gpu, "MIG-") {
		err := l.check("nvmlDeviceGetHandleByUUID", call(l.fn.handleByUUID,
			uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(h))))
		return *h, err
	}
	err := l.check("nvmlDeviceGetHandleByPciBusId_v2", call(l.fn.handleByPCIBusID,
		uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(h))))
	return *h, err
}

// number asks a function that tells one number of a GPU.
func (l *Library) number(fn, device uintptr) int {
	n := new(uint32)
	if fn == 0 || uint32(call(fn, device, uintptr(unsafe.Pointer(n)))) != 0 {
		return 0
	}
	return int(*n)
}

// numberOf asks a function that tells one number of a part of a GPU.
func (l *Library) numberOf(fn, device, part uintptr) int {
	n := new(uint32)
	if fn == 0 || uint32(call(fn, device, part, uintptr(unsafe.Pointer(n)))) != 0 {
		return 0
	}
	return int(*n)
}

func (l *Library) driverVersion() string {
	b := make([]byte, driverVersionBytes)
	if l.fn.driverVersion == 0 || uint32(call(l.fn.driverVersion,
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))) != 0 {
		return ""
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// Facts are the figures as short texts for people, by their names. There is
// none for a figure that is 0.
func (f Figures) Facts() map[string]string {
	facts := map[string]string{}
	if f.Temperature != 0 {
		facts["temperature"] = fmt.Sprintf("%d C", f.Temperature)
	}
	of(facts, "power", f.PowerWatts, f.PowerLimitWatts, "W")
	of(facts, "clock", float64(f.ClockMHz), float64(f.MaxClockMHz), "MHz")
	of(facts, "memory clock", float64(f.MemoryClockMHz), 0, "MHz")
	if f.UtilizationPercent != 0 {
		facts["utilization"] = fmt.Sprintf("%d %%", f.UtilizationPercent)
	}
	if f.MemoryTotal != 0 {
		facts["memory used"] = fmt.Sprintf("%d of %d MiB", f.MemoryUsed>>20, f.MemoryTotal>>20)
	}
	if f.DriverVersion != "" {
		facts["nvidia driver"] = f.DriverVersion
	}
	return facts
}

// of writes a value and its limit, where they are known.
func of(facts map[string]string, name string, value, limit float64, unit string) {
	switch {
	case value != 0 && limit != 0:
		facts[name] = fmt.Sprintf("%.0f of %.0f %s", value, limit, unit)
	case value != 0:
		facts[name] = fmt.Sprintf("%.0f %s", value, unit)
	case limit != 0:
		facts[name] = fmt.Sprintf("at most %.0f %s", limit, unit)
	}
}
