package cpu

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"

	"github.com/sinter-go/sinter/cpu/tune"
)

// module is where the version of measurements is found in a program.
const module = "github.com/sinter-go/sinter"

// machineTable is what "sinter tune" found on this machine, empty if it has not run.
// The error says why a file was ignored.
var machineTable = sync.OnceValues(func() (*tune.Table, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return tune.New(), nil // there is no place for a file
	}
	return tune.Open(filepath.Join(dir, "sinter"), machineKey())
})

// machineKey is what measurements depend on.
func machineKey() string {
	return fmt.Sprintf("sinter %s %s/%s %s [%s] %d processors", version(), runtime.GOOS, runtime.GOARCH, processorModel(), features(), runtime.NumCPU())
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Path == module {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return "unknown"
}

// processorModel is the processor as Linux describes it; elsewhere its features
// tell processors apart.
func processorModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "processor"
	}
	defer f.Close()
	facts := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan() && s.Text() != ""; { // of the first processor
		if k, v, ok := strings.Cut(s.Text(), ":"); ok {
			facts[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return fmt.Sprintf("%s %s/%s/%s", facts["model name"], facts["cpu family"], facts["model"], facts["stepping"])
}

func features() string {
	x := &cpu.X86
	var out []string
	for _, f := range []struct {
		name string
		has  bool
	}{{"avx2", x.HasAVX2 && x.HasFMA}, {"avx512", x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL},
		{"bf16", x.HasAVX512BF16}, {"vnni", x.HasAVX512VNNI}} {
		if f.has {
			out = append(out, f.name)
		}
	}
	return strings.Join(out, " ")
}
