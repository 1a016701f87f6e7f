package fusion

import (
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Registry holds fusers by device, for those who open devices: a process keeps one,
// or several, and asks for the fusers of each device that it opens. The zero value
// is empty and ready to use, by any goroutine.
type Registry struct {
	mu     sync.Mutex
	fusers []registered
}

type registered struct {
	device string
	fuser  Fuser
}

// Register adds a fuser for the device of a name, for all devices if it is "". It
// is an error of kind [ir.ErrArgument] if a fuser of that name is there for the
// device. Clients that are open keep the fusers that they have.
func (r *Registry) Register(device string, f Fuser) error {
	if f == nil || f.Name() == "" {
		return ir.Errorf(ir.ErrArgument, "a fuser needs a name")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.fusers {
		if x.fuser.Name() == f.Name() && (x.device == device || x.device == "" || device == "") {
			return ir.Errorf(ir.ErrArgument, "fuser %q is registered for device %q already", f.Name(), x.device)
		}
	}
	r.fusers = append(r.fusers, registered{device, f})
	return nil
}

// Remove takes a fuser away and reports whether it was there.
func (r *Registry) Remove(device, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.fusers)
	r.fusers = slices.DeleteFunc(r.fusers, func(x registered) bool { return x.device == device && x.fuser.Name() == name })
	return len(r.fusers) < n
}

// Fusers returns those of a device, in the order in which they were registered.
func (r *Registry) Fusers(device string) []Fuser {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Fuser
	for _, x := range r.fusers {
		if x.device == device || x.device == "" {
			out = append(out, x.fuser)
		}
	}
	return out
}

// Restore makes an optimization again from what it was saved as: the name of its
// fuser and its state.
func (r *Registry) Restore(device, fuser string, state []byte) (Optimization, error) {
	for _, f := range r.Fusers(device) {
		if f.Name() == fuser {
			return f.Restore(state)
		}
	}
	return nil, ir.Errorf(ir.ErrArgument, "device %q has no fuser %q", device, fuser)
}
