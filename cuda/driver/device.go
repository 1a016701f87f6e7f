package driver

import (
	"fmt"
	"unsafe"
)

// Device is one GPU. It is a small value and stays valid for the life of the
// process.
type Device struct {
	d       *Driver
	handle  int32
	ordinal int
}

// DeviceCount is the number of GPUs that the driver shows to this process.
func (d *Driver) DeviceCount() (int, error) {
	n := new(int32)
	err := d.check("cuDeviceGetCount", call(d.fn.deviceGetCount, uintptr(unsafe.Pointer(n))))
	return int(*n), err
}

// Device returns the GPU with the given ordinal.
func (d *Driver) Device(ordinal int) (Device, error) {
	h := new(int32)
	err := d.check("cuDeviceGet", call(d.fn.deviceGet, uintptr(unsafe.Pointer(h)), uintptr(ordinal)))
	return Device{d: d, handle: *h, ordinal: ordinal}, err
}

// Ordinal is the number by which the device was asked for.
func (v Device) Ordinal() int { return v.ordinal }

// Name is the marketing name of the device.
func (v Device) Name() (string, error) {
	b := make([]byte, 256)
	err := v.d.check("cuDeviceGetName", call(v.d.fn.deviceGetName,
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(v.handle)))
	return bytesToString(b), err
}

// TotalMemory is the size of the device's memory in bytes.
func (v Device) TotalMemory() (uint64, error) {
	n := new(uint64)
	err := v.d.check("cuDeviceTotalMem", call(v.d.fn.deviceTotalMem, uintptr(unsafe.Pointer(n)), uintptr(v.handle)))
	return *n, err
}

// PCIBusID is the place of the device on the bus: 0000:81:00.0.
func (v Device) PCIBusID() (string, error) {
	b := make([]byte, 32)
	err := v.d.check("cuDeviceGetPCIBusId", call(v.d.fn.deviceGetPCIBusID,
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(v.handle)))
	return bytesToString(b), err
}

// Attribute names a device property by the driver's own number.
type Attribute int

// The attributes in use.
const (
	MaxThreadsPerBlock       Attribute = 1
	MaxGridX                 Attribute = 5
	MaxGridY                 Attribute = 6
	MaxSharedPerBlock        Attribute = 8
	WarpSize                 Attribute = 10
	ClockRateKHz             Attribute = 13
	Multiprocessors          Attribute = 16
	MaxThreadsPerMultiproc   Attribute = 39
	L2CacheBytes             Attribute = 38
	ComputeCapabilityMajor   Attribute = 75
	ComputeCapabilityMinor   Attribute = 76
	MaxSharedPerMultiproc    Attribute = 81
	MaxSharedPerBlockOptIn   Attribute = 97
	MemoryPoolsSupported     Attribute = 115
	ClusterLaunchSupported   Attribute = 120
	VirtualAddressManagement Attribute = 102
)

// Attribute reads one property.
func (v Device) Attribute(a Attribute) (int, error) {
	n := new(int32)
	err := v.d.check(fmt.Sprintf("cuDeviceGetAttribute(%d)", int(a)), call(v.d.fn.deviceGetAttribute,
		uintptr(unsafe.Pointer(n)), uintptr(a), uintptr(v.handle)))
	return int(*n), err
}

// ComputeCapability is the architecture version, 9 and 0 for Hopper.
func (v Device) ComputeCapability() (major, minor int, err error) {
	if major, err = v.Attribute(ComputeCapabilityMajor); err != nil {
		return 0, 0, err
	}
	minor, err = v.Attribute(ComputeCapabilityMinor)
	return major, minor, err
}
