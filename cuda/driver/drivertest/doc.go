// Package drivertest has a driver that stands in for NVIDIA's where there is no GPU:
// functions of C over memory of the host. Copies and fills are done at once; kernels and
// graphs are noted and compute nothing.
package drivertest
