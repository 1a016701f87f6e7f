package sinter

import (
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/router"
)

// routerDriver opens devices of a router over a cpu and an interpreter of its
// own, "router/cpu" and "router/interp": a routed stack for trying out. Nothing
// is opened before it is asked for.
type routerDriver struct {
	open func() (*router.Router, error)
}

var _ backend.NamedDriver = routerDriver{}

func newRouterDriver() routerDriver {
	return routerDriver{sync.OnceValues(func() (*router.Router, error) {
		var members []router.Member
		for _, o := range []cpu.Options{{ID: "cpu"}, {ID: "interp", Generator: cpu.Interpret}} {
			b, err := cpuDriver{o}.Open(0)
			if err != nil {
				return nil, err
			}
			members = append(members, router.Member{Backend: b})
		}
		return router.Options{Name: "router", Own: true}.New(members...)
	})}
}

// Count is 1, the default device: a list of devices does not open the others,
// which repeat the processors.
func (d routerDriver) Count() (int, error) { return 1, nil }

func (d routerDriver) Open(index int) (backend.Backend, error) {
	r, err := d.open()
	if err != nil {
		return nil, err
	}
	return r.Open(index)
}

func (d routerDriver) OpenNamed(id string) (backend.Backend, error) {
	r, err := d.open()
	if err != nil {
		return nil, err
	}
	return r.OpenNamed(id)
}
