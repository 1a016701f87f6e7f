package cpu

import (
	"os"
	"path/filepath"
	"strings"
)

const processors = "/sys/devices/system/cpu"

// systemFact returns a line of a file that the system keeps, "" if there is none.
func systemFact(path ...string) string {
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// physicalCores counts the cores, 0 if the system does not tell.
func physicalCores() int {
	dirs, err := filepath.Glob(processors + "/cpu[0-9]*/topology")
	if err != nil {
		return 0
	}
	cores := map[string]bool{}
	for _, d := range dirs {
		if id := systemFact(d, "core_id"); id != "" {
			cores[systemFact(d, "physical_package_id")+"/"+id] = true
		}
	}
	return len(cores)
}

// caches lists the data caches of the first processor, such as "L1 32K, L2 1024K".
func caches() string {
	dirs, err := filepath.Glob(processors + "/cpu0/cache/index[0-9]*")
	if err != nil {
		return ""
	}
	var out []string
	for _, d := range dirs {
		if size := systemFact(d, "size"); size != "" && systemFact(d, "type") != "Instruction" {
			out = append(out, "L"+systemFact(d, "level")+" "+size)
		}
	}
	return strings.Join(out, ", ")
}
