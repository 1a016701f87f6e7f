package sinter

import (
	"context"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/debug"
	"github.com/sinter-go/sinter/internal/drivers"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// Runtime holds drivers, open devices and custom operations. Most programs use
// the default one through the functions of the package.
type Runtime struct {
	Drivers backend.Registry
	Table   ir.Table

	fusion  fusion.Options
	broken  error // what is wrong with the switches of the environment
	mu      sync.Mutex
	devices map[backend.Backend]*Device // by the backend, and by the client around it
	host    *router.Budget              // of tensors that move between devices without a router
}

// RuntimeOption configures a runtime.
type RuntimeOption func(*Runtime)

// WithFusion says whether the devices of the runtime fuse what is recorded; they
// do by default. Without fusion each operation runs by itself, with the same bits.
// The environment variable SINTER_FUSION=off does so for a whole process, and
// [WithoutFusion] for a scope.
func WithFusion(on bool) RuntimeOption { return func(r *Runtime) { r.fusion.Off = !on } }

// WithFusionOptions sets all options of the runtime's devices. See [fusion.Options].
func WithFusionOptions(o fusion.Options) RuntimeOption {
	return func(r *Runtime) { r.fusion = o }
}

// NewRuntime returns a runtime with the devices "cpu" (generated code where the
// processor has a generator) and "interp" (the reference interpreter), and both
// behind a router as "router/cpu" and "router/interp". A program that imports package
// cuda has "cuda:0" and further GPUs as well.
func NewRuntime(opts ...RuntimeOption) *Runtime {
	r := &Runtime{devices: map[backend.Backend]*Device{}, host: router.NewBudget(256 << 20)}
	for _, o := range opts {
		o(r)
	}
	r.broken = r.applySwitches(debug.Fusion())
	r.Drivers.Add("cpu", cpuDriver{cpu.Options{}})
	r.Drivers.Add("interp", cpuDriver{cpu.Options{ID: "interp", Generator: cpu.Interpret}})
	r.Drivers.Add("router", newRouterDriver())
	for name, d := range drivers.Imported {
		r.Drivers.Add(name, d)
	}
	return r
}

// applySwitches takes over the switches of the process. An error is that of the
// devices that are opened: a misspelt switch must not pass for a result.
func (r *Runtime) applySwitches(s debug.Switches) error {
	o := &r.fusion
	o.Off = o.Off || s.Off
	o.Oracle = o.Oracle || s.Oracle
	if o.Capsules == "" {
		o.Capsules = s.Capsules
	}
	if s.Unknown != "" {
		return ir.Errorf(ir.ErrArgument, "SINTER_FUSION is %q, expected on, off, oracle or bisect:PATTERN", s.Unknown)
	}
	if s.Bisect != "" {
		b, err := fusion.ParseBisect(s.Bisect, nil)
		if err != nil {
			return err
		}
		o.Bisect = b
	}
	return nil
}

type cpuDriver struct{ opt cpu.Options }

func (cpuDriver) Count() (int, error) { return 1, nil }
func (d cpuDriver) Open(int) (backend.Backend, error) {
	b, err := cpu.New(d.opt)
	if err != nil { // not a typed nil in the interface
		return nil, err
	}
	return b, nil
}

// Default is the runtime that the functions of the package forward to.
var Default = sync.OnceValue(func() *Runtime { return NewRuntime() })

// Device opens the device with an id, such as "cpu" or "cuda:0"; opening it
// again returns the same one.
func (r *Runtime) Device(id string) (*Device, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	b, err := r.Drivers.Open(id)
	if err != nil {
		if name, _, _ := strings.Cut(id, ":"); name == "cuda" && r.Drivers.Driver(name) == nil {
			err = &ir.Error{Kind: ir.ErrDevice, Msg: `GPUs need the import of "github.com/sinter-go/sinter/cuda", which the command has unless it is built with the tag nocuda`, Cause: err}
		}
		return nil, err
	}
	return r.Adopt(b), nil
}

// Adopt makes a device of a backend that the caller opened or composed. It puts a
// [fusion.Client] around it, unless it is one.
func (r *Runtime) Adopt(b backend.Backend) *Device {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.devices[b]
	if d == nil {
		d = &Device{opened: b, runtime: r, info: b.Info()}
		var ok bool
		if d.client, ok = b.(*fusion.Client); !ok {
			d.client = fusion.New(b, r.fusion)
		}
		d.stream = newStream(d, context.Background())
		r.devices[b], r.devices[d.client] = d, d
	}
	return d
}

// OpenDevice opens a device of the default runtime.
func OpenDevice(id string) (*Device, error) { return Default().Device(id) }

// DefaultDevice returns the device on which tensors are made when none is
// named: "cpu" of the default runtime.
func DefaultDevice() *Device {
	d, err := Default().Device("cpu")
	if err != nil {
		panic("sinter: BUG: the cpu device does not open: " + err.Error())
	}
	return d
}

// Device is where tensors live and operations run. It is safe for concurrent use.
type Device struct {
	opened  backend.Backend
	client  *fusion.Client
	runtime *Runtime
	info    backend.Info
	stream  *Stream // the default one
	steps   deviceSteps
}

// ID returns the id of the device, such as "cpu".
func (d *Device) ID() string { return d.info.ID }

// Info describes the device.
func (d *Device) Info() backend.Info { return d.info }

// Backend returns what runs the device's operations: a [fusion.Client], which
// offers what the backend inside does ([backend.As]).
func (d *Device) Backend() backend.Backend { return d.client }

// String returns the id.
func (d *Device) String() string { return d.info.ID }

// Stream returns the device's default stream.
func (d *Device) Stream() *Stream { return d.stream }

// NewStream makes another stream. Operations recorded on it wait for its own
// flushes; cancelling ctx ends waits for room in the device's queue and makes
// what was not yet submitted errors of kind ErrCancelled.
func (d *Device) NewStream(ctx context.Context) *Stream { return newStream(d, ctx) }

// Sync waits until everything recorded on the device is done and returns the
// first error that nobody has seen yet.
func (d *Device) Sync(ctx context.Context) error { return d.client.Sync(ctx) }

// Close finishes the device's work and returns its memory. Its tensors become
// errors of kind ErrClosed when read. Opening its id again gives a new device.
func (d *Device) Close() error {
	err := d.client.Close()
	d.runtime.mu.Lock()
	delete(d.runtime.devices, d.opened)
	delete(d.runtime.devices, d.client)
	d.runtime.mu.Unlock()
	d.runtime.Drivers.Forget(d.opened)
	return err
}
