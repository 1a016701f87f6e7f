package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/metamorphic"
	"github.com/sinter-go/sinter/kernel"
)

const softmaxProgram = `program softmax
  in %1 f32[64,100]
  %2 = max %1 {axes=[1], keepdims=true}
  %3 = sub %1 %2
  %4 = exp %3
  %5 = sum %4 {axes=[1], keepdims=true}
  %6 = div %4 %5
  out %6
`

// A composed softmax is one kernel, and five unfused; the figures follow from the
// shapes.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "plan.html")
	r := invoke(t, softmaxProgram, "explain", "-", "--html", page)
	r.want(t, "explain", exitOK, "total: 1 kernels, 1 launches, 25600 bytes read, 25600 written", "")
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "softmax") && !strings.Contains(string(b), "exp") {
		t.Errorf("the page: %v, %d bytes", err, len(b))
	}
	invoke(t, softmaxProgram, "explain", "-", "--unfused").want(t, "explain --unfused", exitOK, "total: 5 kernels, 5 launches", "")
	invoke(t, softmaxProgram, "explain", "-", "--unfused", "--times").want(t, "explain --times", exitOK, " in kernels\n", "")
	times := invoke(t, softmaxProgram, "explain", "-", "--unfused", "--times", "--json").objects(t)
	if list, ok := times[len(times)-1]["kernels"].([]any); !ok || len(list) != 5 {
		t.Errorf("explain --times --json: %v", times[len(times)-1])
	}
	o := invoke(t, softmaxProgram, "explain", "-", "--json", "--device", "interp").objects(t)
	if len(o) != 1 || o[0]["kernels"] != 1.0 || o[0]["bytes_read"] != 25600.0 {
		t.Errorf("explain --json: %v", o)
	}
	invoke(t, "program p\n", "explain", "-").want(t, "explain of nothing", exitFailure, "", "")
	invoke(t, "hello", "explain", "-").want(t, "explain of no program", exitFailure, "", "neither a capsule nor a program")
	invoke(t, "", "explain", "-", "--device", "router/cpu").want(t, "explain on a router", exitFailure, "", "")
	invoke(t, softmaxProgram, "explain", "-", "--device", "router/cpu").want(t, "explain on a router", exitUsage, "", "--device")
	invoke(t, "", "explain", filepath.Join(dir, "none")).want(t, "explain of a missing file", exitFailure, "", "none")
}

// Every way to run a program agrees; a capsule that is cut off is refused.
func TestReplay(t *testing.T) {
	r := invoke(t, softmaxProgram, "replay", "-")
	r.want(t, "replay", exitOK, "interp, 1 threads, fused     equal", "")
	if strings.Count(r.stdout, "equal\n") != strings.Count(r.stdout, "\n") {
		t.Errorf("replay:\n%s", r.stdout)
	}
	for _, o := range invoke(t, softmaxProgram, "replay", "-", "--json").objects(t) {
		if o["differs"] != nil {
			t.Errorf("replay --json: %v", o)
		}
	}
	invoke(t, "sinter capsule v1 x\ndevice \"c", "replay", "-").want(t, "replay of a broken capsule", exitFailure, "", "capsule")
}

// wrongDevice is a device whose kernels subtract where they should add.
type wrongDevice struct{ *cpu.Device }

func (w wrongDevice) As(target any) bool {
	t, ok := target.(*backend.Compiler)
	return ok && backend.Pass(t, w.Device, func(c backend.Compiler) backend.Compiler { return wrongCompiler{c} })
}

type wrongCompiler struct{ backend.Compiler }

func (w wrongCompiler) Compile(k *kernel.Kernel) (backend.Compiled, error) {
	c := *k
	c.Body = append([]kernel.Instr(nil), k.Body...)
	for i := range c.Body {
		if c.Body[i].Op == kernel.OpAdd {
			c.Body[i].Op = kernel.OpSub
		}
	}
	return w.Compiler.Compile(&c)
}

// A program that one way gets wrong is reduced to the operation at fault and what it
// needs, and the capsule that is written still fails.
func TestReplayShrink(t *testing.T) {
	ways := replayWays
	defer func() { replayWays = ways }()
	replayWays = func() []metamorphic.Way {
		return []metamorphic.Way{{Name: "wrong", Open: func() (backend.Backend, error) {
			d, err := cpu.New(cpu.Options{Generator: cpu.Interpret})
			if err != nil {
				return nil, err
			}
			return fusion.New(wrongDevice{d}), nil
		}}}
	}
	const program = `sinter capsule v1 here
device "cpu"
error ""
data 0 0000803f00000040
program p
  in %1 f32[2]
  %2 = neg %1
  %3 = exp %2
  %4 = add %3 %1
  %5 = relu %4
  out %5 %3
`
	small := filepath.Join(t.TempDir(), "small.capsule")
	invoke(t, program, "replay", "-", "--shrink", small).want(t, "replay --shrink", exitFailure, "wrong", "3 of 4 operations are left")
	b, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); !strings.Contains(text, "= add ") || strings.Contains(text, "relu") || strings.Count(text, " out %4") != 1 || !strings.Contains(text, "data 0 0000803f00000040") {
		t.Errorf("the small capsule is\n%s", text)
	}
	invoke(t, "", "replay", small).want(t, "replay of the small capsule", exitFailure, "wrong", "do not agree")
	replayWays = ways
	invoke(t, "", "replay", small).want(t, "replay where nothing is wrong", exitOK, "equal", "")
}
