package router

import "github.com/sinter-go/sinter/backend"

var _ backend.NamedDriver = (*Router)(nil)

// Count returns the number of devices: a router is a driver of them, so that a
// registry opens "name:0" or "name/cuda:0" when the router was added under name.
func (r *Router) Count() (int, error) { return len(r.members), nil }

// Open returns the client of device index.
func (r *Router) Open(index int) (backend.Backend, error) {
	return r.OpenNamed(r.members[index].id.String())
}

// OpenNamed returns the client of a device by its id.
func (r *Router) OpenNamed(id string) (backend.Backend, error) {
	c, err := r.Device(id)
	if err != nil { // not a typed nil in the interface
		return nil, err
	}
	return c, nil
}
