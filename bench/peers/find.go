package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Options say where peers are looked for. The zero value is ready to use.
type Options struct {
	Python   string // the interpreter; by default "python3", else "/usr/bin/python3"
	Compiler string // of C; "gcc" by default
	NodePath string // folder of node packages; by default what NODE_PATH says
	GPU      string // such as "cuda:0": peers on it, instead of those on the processor
}

// kind is a peer that may be started.
type kind struct {
	name  string
	start func(ctx context.Context, o Options, dir, name string, threads int) (*Peer, error)
}

// kinds has the peers on the processor by name, in the order of tables, and gpuKinds
// those on a GPU.
var kinds = []kind{
	{"c", startC("loops.c")},
	{"openblas", startC("openblas.c", "-lopenblas")},
	{"onednn", startC("onednn.c", "-ldnnl")},
	{"numpy", startPython},
	{"torch", startPython},
	{"onnxruntime", startORT},
	{"gonum", startGo},
}

var gpuKinds = []kind{
	{"torch", startTorch("eager")},
	{"torch.graph", startTorch("graph")},
	{"torch.compile", startTorch("compile")},
	{"jax", startJAX},
}

func (o Options) kinds() []kind {
	if o.GPU != "" {
		return gpuKinds
	}
	return kinds
}

// Names returns the names of the peers on the processor.
func Names() []string { return Options{}.Names() }

// Names returns the names of the peers where the options look for them.
func (o Options) Names() []string {
	var out []string
	for _, k := range o.kinds() {
		out = append(out, k.name)
	}
	return out
}

// Start starts a peer that uses so many threads; 0 leaves them to it. The error is a
// [*Skipped] if it is not installed. dir is a folder with the programs, see [Extract].
func Start(ctx context.Context, o Options, dir, name string, threads int) (*Peer, error) {
	for _, k := range o.kinds() {
		if k.name == name {
			return k.start(ctx, o, dir, name, threads)
		}
	}
	return nil, fmt.Errorf("peer %q, expected one of %s", name, strings.Join(o.Names(), ", "))
}

// startC compiles a program, unless the folder has it compiled, and starts it.
func startC(file string, libraries ...string) func(context.Context, Options, string, string, int) (*Peer, error) {
	return func(ctx context.Context, o Options, dir, name string, threads int) (*Peer, error) {
		compiler := o.Compiler
		if compiler == "" {
			compiler = "gcc"
		}
		path, err := exec.LookPath(compiler)
		if err != nil {
			return nil, &Skipped{name, "there is no " + compiler}
		}
		program := filepath.Join(dir, name+".bin")
		args := slices.Concat([]string{"-O3", "-march=native", "-ffast-math", "-fopenmp", "-o", program, filepath.Join(dir, "c", file)}, libraries, []string{"-lm"})
		if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
			if out, err := exec.CommandContext(ctx, path, args...).CombinedOutput(); err != nil {
				return nil, &Skipped{name, fmt.Sprintf("%s %s: %s", compiler, file, lastLine(out, err))}
			}
		}
		return start(ctx, name, threads, program)
	}
}

// startPython starts the program of a framework.
func startPython(ctx context.Context, o Options, dir, name string, threads int) (*Peer, error) {
	python, err := findPython(ctx, o, name, name)
	if err != nil {
		return nil, err
	}
	return start(ctx, name, threads, python, "-B", filepath.Join(dir, "python", name+"_peer.py"))
}

// startTorch starts PyTorch on a GPU, where calls are made in one of its ways.
func startTorch(mode string) func(context.Context, Options, string, string, int) (*Peer, error) {
	return func(ctx context.Context, o Options, dir, name string, threads int) (*Peer, error) {
		python, err := findPython(ctx, o, name, "torch")
		if err != nil {
			return nil, err
		}
		return start(ctx, name, threads, python, "-B", filepath.Join(dir, "python", "torch_cuda_peer.py"), name, mode, o.GPU)
	}
}

// startJAX starts JAX on a GPU.
func startJAX(ctx context.Context, o Options, dir, name string, threads int) (*Peer, error) {
	python, err := findPython(ctx, o, name, "jax")
	if err != nil {
		return nil, err
	}
	return start(ctx, name, threads, python, "-B", filepath.Join(dir, "python", "jax_cuda_peer.py"), name, o.GPU)
}

// findPython returns the first interpreter that has what a peer needs.
func findPython(ctx context.Context, o Options, name, module string) (string, error) {
	try := []string{"python3", "/usr/bin/python3", "python"}
	if o.Python != "" {
		try = []string{o.Python}
	}
	var why error
	for _, python := range try {
		path, err := exec.LookPath(python)
		if err == nil {
			var out []byte
			if out, err = exec.CommandContext(ctx, path, "-c", "import "+module).CombinedOutput(); err == nil {
				return path, nil
			}
			err = fmt.Errorf("%s: %s", path, lastLine(out, err))
		}
		if why == nil {
			why = err
		}
	}
	return "", &Skipped{name, why.Error()}
}

func startORT(ctx context.Context, o Options, dir, name string, threads int) (*Peer, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, &Skipped{name, "there is no node"}
	}
	args := []string{filepath.Join(dir, "ort", "workload.mjs")}
	if o.NodePath != "" {
		args = append(args, o.NodePath)
	}
	return start(ctx, name, threads, node, args...)
}

// startGo builds a program of this module, which go finds where the current folder
// is in a clone of it, and starts it.
func startGo(ctx context.Context, _ Options, dir, name string, threads int) (*Peer, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, &Skipped{name, "there is no go"}
	}
	program := filepath.Join(dir, name+".bin")
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		build := exec.CommandContext(ctx, tool, "build", "-o", program, "github.com/sinter-go/sinter/bench/peers/"+name)
		if out, err := build.CombinedOutput(); err != nil {
			return nil, &Skipped{name, "go build, which finds it in a clone of Sinter: " + lastLine(out, err)}
		}
	}
	return start(ctx, name, threads, program)
}

// lastLine is the end of what a program said, or how it ended.
func lastLine(out []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}

// Known reports whether a peer on the processor has a name.
func Known(name string) bool { return Options{}.Known(name) }

// Known reports whether a peer has a name, where the options look for it.
func (o Options) Known(name string) bool { return slices.Contains(o.Names(), name) }
