// Package callsite finds the user's line: the first frame of the caller's stack
// that is not part of the library.
package callsite

import (
	"runtime"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

const module = "github.com/sinter-go/sinter"

// library are the packages whose frames are skipped. Commands, examples and
// external tests are users.
var library = []string{"", "/nn", "/nn/fn", "/nn/loss", "/optim", "/autodiff", "/autodiff/gradcheck", "/data", "/train", "/safetensors", "/onnx", "/ir", "/fusion", "/internal/callsite"}

// known caches the verdict per program counter: true for library frames.
var known sync.Map // uintptr -> bool

// Find returns the nearest frame outside the library, or the zero Site. Unwinding
// costs by the frame, so it looks at a few first: most callers are near.
func Find() ir.Site {
	var near [6]uintptr
	n := runtime.Callers(2, near[:])
	if s, ok := first(near[:n]); ok || n < len(near) {
		return s
	}
	var far [40]uintptr
	n = runtime.Callers(2+len(near), far[:])
	s, _ := first(far[:n])
	return s
}

func first(pcs []uintptr) (ir.Site, bool) {
	for _, pc := range pcs {
		inside, ok := known.Load(pc)
		if !ok {
			inside = isLibrary(pc)
			known.Store(pc, inside)
		}
		if !inside.(bool) {
			return ir.Site{PC: pc}, true
		}
	}
	return ir.Site{}, false
}

// isLibrary looks at the function that a program counter belongs to; inlined
// frames count as the outermost one that is outside the library.
func isLibrary(pc uintptr) bool {
	frames := runtime.CallersFrames([]uintptr{pc})
	for {
		f, more := frames.Next()
		if !libraryFunc(f.Function) {
			return false
		}
		if !more {
			return true
		}
	}
}

func libraryFunc(name string) bool {
	rest, ok := strings.CutPrefix(name, module)
	if !ok {
		return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "fmt.") // which prints tensors
	}
	for _, p := range library {
		if r, ok := strings.CutPrefix(rest, p); ok && strings.HasPrefix(r, ".") {
			return true
		}
	}
	return false
}
