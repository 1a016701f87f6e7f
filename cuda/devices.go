package cuda

import (
	"errors"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda/cublaslt"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/internal/drivers"
	"github.com/sinter-go/sinter/ir"
)

func init() { drivers.Imported["cuda"] = Devices{} }

// Devices opens the GPUs of the machine: "cuda:0" and so on.
type Devices struct{}

var _ backend.Driver = Devices{}

// Count returns the number of GPUs; the error says why there are none, as where no
// driver is installed.
func (Devices) Count() (int, error) {
	d, err := driver.Open()
	if err != nil {
		return 0, err
	}
	return d.DeviceCount()
}

// Open opens a GPU.
func (Devices) Open(index int) (backend.Backend, error) {
	d, err := New(Options{Index: index})
	if err != nil { // not a typed nil in the interface
		return nil, err
	}
	return d, nil
}

// Options configure a device. The zero value is ready to use.
type Options struct {
	Index    int                    // of the GPU
	ID       string                 // of the device, "cuda:" and the index by default
	QueueOps int                    // operations that may wait before Submit blocks; 4096 by default
	Memory   int64                  // bytes that tensors may take; by default what is free, but for 512 MiB
	Routines map[string]cpu.Routine // of opaque rows, which run on the host, beside the built-in ones
	// NoGraphs keeps segments that come again from being launched as graphs.
	NoGraphs bool
	// NoDependentLaunch keeps kernels of graphs from being launched while the one before them
	// runs, as they are on GPUs since compute capability 9.0 with drivers since CUDA 12.3. They
	// wait for its end before they touch memory, so that results are the same: this is for
	// comparing times.
	NoDependentLaunch bool
	// NoManyLaunch keeps kernels that do the same to many tensors, as an optimizer does, from
	// being one launch. That changes nothing but the time, and up to 64 MB of memory: this is for
	// comparing.
	NoManyLaunch bool
	// Products says who multiplies matrices; kernels of our own by default. A library that
	// is not installed is an error of New.
	Products Products
}

// Device is a GPU. See [backend.Backend] for the meaning of its methods.
type Device struct {
	*cpu.Device
	gpu *gpu
}

var _ backend.Decorator = (*Device)(nil)

// New opens a GPU. The error is of kind [ir.ErrDevice] if there is none of the index, or
// no driver, and wraps that of the driver.
func New(o Options) (*Device, error) {
	lib, err := driver.Open()
	if err != nil {
		return nil, &ir.Error{Kind: ir.ErrDevice, Cause: err}
	}
	return newDevice(lib, cublaslt.Open, o)
}

// newDevice opens a GPU of a driver.
func newDevice(lib *driver.Driver, openProducts func() (*cublaslt.Library, error), o Options) (*Device, error) {
	n, err := lib.DeviceCount()
	if err != nil {
		return nil, &ir.Error{Kind: ir.ErrDevice, Cause: err}
	}
	if o.Index < 0 || o.Index >= n {
		return nil, ir.Errorf(ir.ErrDevice, "GPU %d: there are %d", o.Index, n)
	}
	if int(o.Products) >= len(productNames) {
		return nil, ir.Errorf(ir.ErrArgument, "%v, expected one of the constants of that type", o.Products)
	}
	g, err := openGPU(lib, openProducts, o)
	if err != nil {
		return nil, &ir.Error{Kind: ir.ErrDevice, Cause: err}
	}
	d, err := cpu.New(cpu.Options{ID: g.id, QueueOps: o.QueueOps, Memory: g.memory, Routines: o.Routines, Accelerator: g})
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return &Device{d, g}, nil
}

// As offers what a device with an accelerator can.
func (d *Device) As(target any) bool { return d.AsAccelerated(target) }

// Stats are totals since the device was opened.
type Stats struct {
	Kernels   int64 // launched, those in graphs included
	Graphs    int64 // launches of graphs
	Captured  int64 // graphs made
	Changed   int64 // kernels of graphs that were given other addresses or scalars
	Dependent int64 // kernels of graphs launched while the one before them ran; see [Options]
	Shared    int64 // launches that were one with others; see [Options]
	Products  int64 // computed by a library; see [Products]
	Loaded    int64 // kernels compiled by the driver
	Images    int64 // kernels loaded from the machine code of a bundle instead
	BadImages int64 // of a bundle, which the driver did not take: it compiled the kernel
	Plans     int64 // made for launches of other shapes than before
	UpBytes   int64 // copied from the host
	DownBytes int64 // and to it
}

// Stats returns totals of what the device did.
func (d *Device) Stats() Stats {
	d.gpu.mu.Lock()
	defer d.gpu.mu.Unlock()
	return d.gpu.stats
}
