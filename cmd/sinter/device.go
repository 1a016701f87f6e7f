package main

import (
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
)

// deviceFlags choose where a command computes.
type deviceFlags struct {
	Device  string `name:"device" default:"cpu" placeholder:"ID" help:"Device to compute on; \"sinter devices\" lists them. (default ${default})"`
	Threads *int   `name:"threads" placeholder:"N" help:"Threads that a kernel may use, on cpu and interp. (default: one per processor)"`

	Products string `name:"products" placeholder:"WHO" help:"Who multiplies matrices on a GPU: own; own-tf32, which rounds those of f32 to tf32 for matrix units; cublaslt, NVIDIA's library, those of bf16 and f16, with bits of its own; cublaslt-f32, which adds those of f32. (default: own)"`
}

// maxThreads is what package cpu accepts.
const maxThreads = 1024

// open opens the device. The function returned closes it, if it is this
// command's own.
func (f *deviceFlags) open() (*sinter.Device, func(), error) {
	b, err := f.special()
	if err != nil {
		return nil, nil, err
	}
	if b == nil {
		d, err := sinter.OpenDevice(f.Device)
		if err != nil && !known(f.Device) {
			return nil, nil, usage("--device: %v", err)
		} else if err != nil {
			return nil, nil, err
		}
		return d, func() {}, nil
	}
	d := sinter.Default().Adopt(b)
	return d, func() { d.Close() }, nil
}

// special opens a device with what the flags ask for beside its id, nil if that is nothing.
func (f *deviceFlags) special() (backend.Backend, error) {
	if f.Threads != nil {
		d, err := f.threads()
		if err != nil { // not a typed nil in the interface
			return nil, err
		}
		if f.Products == "" {
			return d, nil
		}
		d.Close()
	}
	if f.Products == "" {
		return nil, nil
	}
	if openProducts == nil || !isGPU(f.Device) || !known(f.Device) {
		return nil, usage("--products applies to GPUs such as cuda:0, not to %q", f.Device)
	}
	return openProducts(f.Device, f.Products)
}

// openProducts opens a GPU on which somebody multiplies matrices; nil in a build without
// GPUs.
var openProducts func(id, who string) (backend.Backend, error)

// threads makes a processor's device with a number of threads.
func (f *deviceFlags) threads() (*cpu.Device, error) {
	if *f.Threads < 1 || *f.Threads > maxThreads {
		return nil, usage("--threads is %d, expected 1 to %d", *f.Threads, maxThreads)
	}
	opt := cpu.Options{ID: f.Device, Threads: *f.Threads}
	switch f.Device {
	case "cpu":
	case "interp":
		opt.Generator = cpu.Interpret
	default:
		return nil, usage("--threads applies to the devices cpu and interp, not to %q", f.Device)
	}
	return cpu.New(opt)
}

// known reports whether an id has the form of one, and its driver exists: then
// only the machine can be to blame.
func known(id string) bool {
	name, index, indexed := strings.Cut(id, ":")
	if _, err := strconv.ParseUint(index, 10, 31); indexed && err != nil {
		return false
	}
	return sinter.Default().Drivers.Driver(name) != nil
}
