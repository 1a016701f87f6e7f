package nvml

// functions holds the entry points by the names below. The _v2 suffix marks a
// changed signature, so the exact symbol is part of the contract.
type functions struct {
	init, errorString uintptr

	handleByPCIBusID, handleByUUID, handleByIndex uintptr

	// 0 where the library has none: the figure is then not told.
	driverVersion                uintptr
	temperature                  uintptr
	powerUsage, powerLimit       uintptr
	clockInfo, maxClockInfo      uintptr
	utilizationRates, memoryInfo uintptr
}

// symbol pairs an entry point's exported name with the place that keeps it.
type symbol struct {
	name     string
	at       *uintptr
	optional bool
}

// find sets every entry point by asking the library for its address.
func (f *functions) find(lookup func(name string) (uintptr, error)) error {
	for _, s := range f.symbols() {
		p, err := lookup(s.name)
		if err != nil && s.optional {
			continue
		}
		if err != nil {
			return &Unavailable{Library: library, Reason: "it lacks " + s.name + ": " + err.Error()}
		}
		*s.at = p
	}
	return nil
}

func (f *functions) symbols() []symbol {
	return []symbol{
		{"nvmlInit_v2", &f.init, false},
		{"nvmlErrorString", &f.errorString, false},
		{"nvmlDeviceGetHandleByPciBusId_v2", &f.handleByPCIBusID, false},
		{"nvmlDeviceGetHandleByUUID", &f.handleByUUID, false},
		{"nvmlDeviceGetHandleByIndex_v2", &f.handleByIndex, false},
		{"nvmlSystemGetDriverVersion", &f.driverVersion, true},
		{"nvmlDeviceGetTemperature", &f.temperature, true},
		{"nvmlDeviceGetPowerUsage", &f.powerUsage, true},
		{"nvmlDeviceGetEnforcedPowerLimit", &f.powerLimit, true},
		{"nvmlDeviceGetClockInfo", &f.clockInfo, true},
		{"nvmlDeviceGetMaxClockInfo", &f.maxClockInfo, true},
		{"nvmlDeviceGetUtilizationRates", &f.utilizationRates, true},
		{"nvmlDeviceGetMemoryInfo", &f.memoryInfo, true},
	}
}
