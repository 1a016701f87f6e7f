package nvtx

import "unsafe"

// The numbers of NVTX 3: of the tables that a profiler asks for, of the modules whose
// functions it may replace, and of those of the core module in use.
const (
	tableCallbacks = 1
	tableVersion   = 3

	moduleCore    = 1
	coreRangePush = 9 // of a text of bytes
	coreRangePop  = 11

	version = 3
)

// moduleSizes are one more than the highest number of a function in each module: core,
// CUDA, OpenCL, CUDA's runtime, the core with domains, synchronisation.
var moduleSizes = [6]uint32{16, 9, 15, 7, 16, 7}

const mostFunctions = 16

// tables are what a profiler is shown. It keeps their addresses.
type tables struct {
	callbacks struct { // NvtxExportTableCallbacks
		size   uintptr
		module uintptr // int (module, table *, size *)
	}
	version struct { // NvtxExportTableVersionInfo
		size     uintptr
		version  uint32
		reserved uint32
		set      uintptr // void (version)
	}
	functions [6][mostFunctions]uintptr     // that the profiler sets
	places    [6][mostFunctions + 1]uintptr // where they stand; 0 for number 0 and behind the last
}

func newTables() *tables {
	x := &tables{}
	x.callbacks.size, x.callbacks.module = unsafe.Sizeof(x.callbacks), callback(x.module)
	x.version.size, x.version.version, x.version.set = unsafe.Sizeof(x.version), version, callback(ignore)
	for m, n := range moduleSizes {
		for i := uint32(1); i < n; i++ {
			x.places[m][i] = uintptr(unsafe.Pointer(&x.functions[m][i]))
		}
	}
	return x
}

// ignore is told the version of the profiler.
func ignore(uint32) uintptr { return 0 }

// export is the address of the function that gives out tables. It keeps x alive.
func (x *tables) export() uintptr {
	return callback(func(table uint32) uintptr {
		switch table {
		case tableCallbacks:
			return uintptr(unsafe.Pointer(&x.callbacks))
		case tableVersion:
			return uintptr(unsafe.Pointer(&x.version))
		}
		return 0
	})
}

// module gives out the places of a module's functions. Either result may be left out.
func (x *tables) module(module uint32, places *uintptr, size *uint32) uintptr {
	if module < 1 || module > uint32(len(moduleSizes)) {
		return 0
	}
	if size != nil {
		*size = moduleSizes[module-1]
	}
	if places != nil {
		*places = uintptr(unsafe.Pointer(&x.places[module-1]))
	}
	return 1
}
