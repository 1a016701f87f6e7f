//go:build linux && (amd64 || arm64)

package nvtx

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// profiler is one that asks as NVIDIA's do: for the version, then for the functions.
type profiler struct {
	wants   uint32 // the module whose functions it sets
	refuse  bool
	version uint32
	sizes   []uint32
	said    []string
}

func (p *profiler) initialize() uintptr {
	push := purego.NewCallback(func(name uintptr) uintptr {
		n := uintptr(0)
		for *at[byte](name + n) != 0 {
			n++
		}
		p.said = append(p.said, "push "+string(unsafe.Slice(at[byte](name), n)))
		return 0
	})
	pop := purego.NewCallback(func() uintptr { p.said = append(p.said, "pop"); return 0 })
	return purego.NewCallback(func(export uintptr) uintptr {
		type info struct {
			size          uintptr
			version, zero uint32
			set           uintptr
		}
		v := at[info](call(export, 3))
		if v.size != unsafe.Sizeof(*v) || v.zero != 0 {
			return 0
		}
		p.version = v.version
		call(v.set, 3)
		for _, none := range []uintptr{0, 2, 4} {
			if call(export, none) != 0 {
				return 0
			}
		}
		callbacks := at[[2]uintptr](call(export, 1))
		if callbacks[0] != unsafe.Sizeof(*callbacks) {
			return 0
		}
		for m := uintptr(0); m <= 7; m++ {
			n, places := new(uint32), new(uintptr)
			if r := call(callbacks[1], m, uintptr(unsafe.Pointer(places)), uintptr(unsafe.Pointer(n))); (r == 0) != (m == 0 || m == 7) {
				return 0
			}
			p.sizes = append(p.sizes, *n)
			if *n > 0 {
				list := unsafe.Slice(at[uintptr](*places), *n+1)
				if list[0] != 0 || list[*n] != 0 {
					return 0
				}
				for _, slot := range list[1:*n] {
					*at[uintptr](slot) = 0
				}
			}
			if uint32(m) == p.wants {
				list := unsafe.Slice(at[uintptr](*places), 12)
				*at[uintptr](list[9]), *at[uintptr](list[11]) = push, pop
			}
		}
		call(callbacks[1], 1, 0, 0) // asks for nothing
		if p.refuse {
			return 0
		}
		return 1
	})
}

func TestAttach(t *testing.T) {
	p := &profiler{wants: 1}
	tool, err := attach(p.initialize())
	if err != nil {
		t.Fatal(err)
	}
	tool.Push("softmax")
	tool.Push("")
	tool.Pop()
	tool.Pop()
	if got, want := strings.Join(p.said, ", "), "push softmax, push , pop, pop"; got != want {
		t.Errorf("the profiler heard %q, want %q", got, want)
	}
	if want := []uint32{0, 16, 9, 15, 7, 16, 7, 0}; p.version != 3 || len(p.sizes) != len(want) {
		t.Errorf("version %d, sizes %v", p.version, p.sizes)
	} else {
		for i := range want {
			if p.sizes[i] != want[i] {
				t.Errorf("module %d has %d functions, want %d", i, p.sizes[i], want[i])
			}
		}
	}
}

func TestAttachRefused(t *testing.T) {
	if _, err := attach((&profiler{wants: 1, refuse: true}).initialize()); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("a profiler that refuses: %v", err)
	}
	if _, err := attach((&profiler{wants: 5}).initialize()); err == nil || !strings.Contains(err.Error(), "no ranges") {
		t.Errorf("a profiler without ranges: %v", err)
	}
	if _, err := Attach(filepath.Join(t.TempDir(), "none.so")); err == nil || !strings.Contains(err.Error(), "none.so") {
		t.Errorf("no library: %v", err)
	}
}

var compiler = flag.String("cc", "", "a C compiler, to test with a profiler's library")

// library is a profiler's library that writes what it hears into a file.
const library = `
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void (*function)(void);
struct callbacks { size_t size; int (*module)(int, function ***, unsigned *); };
static void say(const char *what, const char *name) {
	FILE *f = fopen(getenv("HEARD"), "a");
	fprintf(f, "%s %s\n", what, name);
	fclose(f);
}
static int push(const char *name) { say("push", name); return 0; }
static int pop(void) { say("pop", ""); return 0; }
int InitializeInjectionNvtx2(const void *(*table)(uint32_t)) {
	const struct callbacks *c = table(1);
	function **places;
	unsigned n;
	if (!c->module(1, &places, &n) || n <= 11) return 0;
	*places[9] = (function)push;
	*places[11] = (function)pop;
	return 1;
}
`

// TestLibrary attaches a library in C, as a profiler's is.
func TestLibrary(t *testing.T) {
	if *compiler == "" {
		t.Skip("skipped: -cc names no C compiler")
	}
	dir := t.TempDir()
	source, lib, heard := filepath.Join(dir, "tool.c"), filepath.Join(dir, "tool.so"), filepath.Join(dir, "heard")
	if err := os.WriteFile(source, []byte(library), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(*compiler, "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The environment of the library is that with which a process began.
	if os.Getenv("HEARD") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestLibrary$", "-cc="+*compiler)
		c.Env = append(os.Environ(), "HEARD="+heard, "TOOL="+lib)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got, err := os.ReadFile(heard); err != nil || string(got) != "push a kernel\npop \n" {
			t.Errorf("the library heard %q, %v", got, err)
		}
		return
	}
	tool, err := Attach(os.Getenv("TOOL"))
	if err != nil {
		t.Fatal(err)
	}
	tool.Push("a kernel")
	tool.Pop()
}
