package lint

import (
	"strconv"
	"strings"
	"testing"
)

// layer says which packages of the project a folder may import, and why.
type layer struct {
	may    []string
	reason string
}

// layers are checked for the files of a folder that are no tests; folders that
// are not listed may import what they like.
var layers = map[string]layer{
	"ir":                  {nil, "the op table and the descriptors are the ground that all others stand on"},
	"kernel":              {[]string{"ir", "internal/wire"}, "a kernel knows dtypes, not devices or operations"},
	"kernel/amd64":        {[]string{"ir", "kernel", "kernel/amd64/asm", "internal/execmem"}, "a generator knows instructions only"},
	"kernel/contract":     {[]string{"ir", "kernel", "kernel/amd64"}, "an engine knows kernels and their code, not operations"},
	"kernel/attend":       {[]string{"ir", "kernel", "kernel/amd64", "kernel/attend/texts"}, "a device brings its compiler"},
	"kernel/attend/texts": {[]string{"ir"}, "texts are what all engines share"},
	"kernel/ptx":          {[]string{"ir", "kernel", "kernel/attend/texts"}, "a generator knows instructions only"},
	"lower":               {[]string{"ir", "kernel"}, "there is one lowering, which no device bends"},
	"backend":             {[]string{"ir", "kernel"}, "the contract does not depend on those who keep it"},
	"fusion":              {[]string{"ir", "kernel", "lower", "backend", "internal/debug", "internal/wire"}, "a decorator works over any backend"},
	"router":              {[]string{"ir", "kernel", "lower", "backend", "internal/debug"}, "a decorator works over any backend"},
	"kernel/divide":       {[]string{"ir", "kernel"}, "kernels of kernels"},
	"cpu/tune":            {[]string{"ir"}, "what candidates do is their owner's matter"},
	"cpu":                 {[]string{"ir", "cpu/tune", "kernel", "kernel/amd64", "kernel/attend", "kernel/contract", "kernel/divide", "lower", "backend", "internal/debug", "internal/keysort", "internal/pages"}, "a device does not know who records"},
	".":                   {[]string{"ir", "kernel", "lower", "backend", "cpu", "fusion", "router", "remote", "internal/callsite", "internal/debug", "internal/drivers"}, "what is built on tensors may import the root, so the root may not import it"},
	"safetensors":         {[]string{"ir"}, "files are read without a runtime"},
	"internal/debug":      {nil, "everybody imports it"},
	"internal/wire":       {nil, "it reads numbers, whatever they mean"},
	"internal/cputime":    {nil, "it reads a clock"},
	"internal/keysort":    {nil, "it sorts numbers, whatever they are keys of"},
	"cuda":                {[]string{"ir", "kernel", "kernel/gemm", "kernel/ptx", "backend", "cpu", "cuda/cublaslt", "cuda/driver", "cuda/nvtx", "internal/debug", "internal/drivers"}, "a device does not know who records; the root must not need it"},
	"cuda/nvml":           {nil, "figures of a GPU are read without a runtime"},
	"cuda/cublaslt":       {[]string{"ir", "kernel/gemm"}, "a library knows problems, not devices"},
	"kernel/gemm":         {[]string{"ir", "kernel"}, "what libraries do is a matter of kernels"},
	"cuda/nvtx":           {nil, "a profiler is told of anything"},
	"internal/drivers":    {[]string{"backend"}, "it is a list"},
	"cuda/driver":         {[]string{"ir"}, "the driver's functions are usable alone"},
	"ir/irtest":           {[]string{"ir"}, "random programs are made from the table alone"},
	"autodiff":            {[]string{".", "ir", "internal/callsite"}, "gradients are recorded through the public interface"},
	"optim":               {[]string{".", "ir", "nn", "autodiff", "internal/callsite"}, "optimizers are recorded through the public interface"},
	"internal/exact":      {[]string{"ir", "kernel"}, "an oracle must not share code with what it judges"},
	"bench/limit":         {[]string{"ir", "internal/cputime", "kernel/amd64", "kernel/amd64/asm"}, "what a processor can do is no matter of kernels"},
	"bench/peers":         {[]string{"ir"}, "peers know nothing of Sinter"},
	"kernel/amd64/asm":    {nil, "an assembler knows nothing of kernels"},
}

// TestLayers: the packages import downwards only.
func TestLayers(t *testing.T) {
	for _, s := range files(t) {
		l, ok := layers[s.dir()]
		if !ok || s.test() {
			continue
		}
		for _, i := range s.file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			rest, inside := strings.CutPrefix(path, module)
			if !inside {
				continue
			}
			name := strings.TrimPrefix(rest, "/")
			if name == "" {
				name = "."
			}
			if !contains(l.may, name) {
				t.Errorf("%s imports %s: %s", s.path, name, l.reason)
			}
		}
	}
	present := map[string]bool{}
	for _, s := range files(t) {
		present[s.dir()] = true
	}
	for _, must := range []string{"ir", "kernel", "lower", "backend", "cpu", "."} {
		if !present[must] {
			t.Errorf("the folder %s is gone: the layers are out of date", must)
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
