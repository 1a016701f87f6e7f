//go:build !linux

package cpu

// physicalCores is not known here.
func physicalCores() int { return 0 }

// caches are not known here.
func caches() string { return "" }
