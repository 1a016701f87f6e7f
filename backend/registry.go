package backend

import (
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Driver opens the devices of one kind, such as the CUDA devices of a machine.
type Driver interface {
	// Count returns the number of devices, and why there are none.
	Count() (int, error)
	// Open opens device index.
	Open(index int) (Backend, error)
}

// NamedDriver is a driver whose devices have ids of their own, as those of a
// router: "name/cuda:0" is its device "cuda:0".
type NamedDriver interface {
	Driver
	OpenNamed(id string) (Backend, error)
}

// Registry maps names to drivers and opens each device at most once. Device ids
// are "name" for device 0, "name:index", and "name/id" where the driver is a
// [NamedDriver], which itself opens each of its devices once. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex
	drivers map[string]Driver
	open    map[string]Backend
}

// Add makes a driver known under a name, replacing an earlier one.
func (r *Registry) Add(name string, d Driver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drivers == nil {
		r.drivers, r.open = map[string]Driver{}, map[string]Backend{}
	}
	r.drivers[name] = d
}

// Names returns the names of the drivers, sorted.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.drivers))
	for n := range r.drivers {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Driver returns the driver of a name, nil if there is none.
func (r *Registry) Driver(name string) Driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drivers[name]
}

// Open returns the device with an id, opening it on first use.
func (r *Registry) Open(id string) (Backend, error) {
	if n, rest, ok := strings.Cut(id, "/"); ok {
		if d, ok := r.Driver(n).(NamedDriver); ok {
			return d.OpenNamed(rest)
		}
	}
	name, index := id, 0
	if n, i, ok := strings.Cut(id, ":"); ok {
		v, err := strconv.Atoi(i)
		if err != nil || v < 0 || strconv.Itoa(v) != i {
			return nil, ir.Errorf(ir.ErrDevice, "device %q: %q is not an index", id, i)
		}
		name, index = n, v
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.drivers[name]
	if d == nil {
		known := make([]string, 0, len(r.drivers))
		for n := range r.drivers {
			known = append(known, n)
		}
		sort.Strings(known)
		return nil, ir.Errorf(ir.ErrDevice, "there is no device %q (known: %s)", id, strings.Join(known, ", "))
	}
	key := name + ":" + strconv.Itoa(index)
	if b := r.open[key]; b != nil {
		return b, nil
	}
	n, err := d.Count()
	if err != nil {
		return nil, &ir.Error{Kind: ir.ErrDevice, Msg: "device " + id, Cause: err}
	}
	if index >= n {
		return nil, ir.Errorf(ir.ErrDevice, "device %q: there are %d devices of kind %s", id, n, name)
	}
	b, err := d.Open(index)
	if err != nil {
		return nil, &ir.Error{Kind: ir.ErrDevice, Msg: "device " + id, Cause: err}
	}
	r.open[key] = b
	return b, nil
}

// Forget makes the registry open a device anew that a client has closed.
func (r *Registry) Forget(b Backend) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, open := range r.open {
		if open == b {
			delete(r.open, id)
		}
	}
}
