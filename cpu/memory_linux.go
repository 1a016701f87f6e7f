package cpu

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// physicalMemory returns the bytes that the process may use: the machine's
// memory, or the limit of the control group around it.
func physicalMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(uint64(info.Totalram) * uint64(info.Unit))
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return total
}
