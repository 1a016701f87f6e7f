package cpu

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// processorFacts describe the processor for people: what it is, its features that
// kernels use, cores and caches, as far as the system tells.
var processorFacts = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	add := func(name, fact string) {
		if fact = strings.TrimSpace(fact); fact != "" {
			out[name] = fact
		}
	}
	if m := processorModel(); m != "processor" {
		add("processor", m)
	}
	add("features", features())
	cores := fmt.Sprintf("%d logical", runtime.NumCPU())
	if n := physicalCores(); n > 0 {
		cores = fmt.Sprintf("%d physical, %s", n, cores)
	}
	add("cores", cores)
	add("caches", caches())
	return out
})
