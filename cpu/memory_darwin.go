package cpu

import "golang.org/x/sys/unix"

// physicalMemory returns the bytes of the machine's memory.
func physicalMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
