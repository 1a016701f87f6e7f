package metamorphic

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/faulty"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// routedDevice is a device of a router that goes with it.
type routedDevice struct {
	*router.Client
	r *router.Router
}

func (d routedDevice) Close() error { return d.r.Close() }

// routed opens a device whose nodes run on one of three members each, by a hash of
// the node and a salt, so that programs are cut at random.
func routed(salt uint64, script string) func() (backend.Backend, error) {
	return func() (backend.Backend, error) {
		names := []string{"auto", "interp", "faulty"}
		var members []router.Member
		for i, g := range []cpu.Generator{cpu.Auto, cpu.Interpret, cpu.Auto} {
			d, err := cpu.New(cpu.Options{Generator: g, Threads: 1 + i})
			if err != nil {
				return nil, err
			}
			var b backend.Backend = d
			if names[i] == "faulty" {
				b = faulty.New(d, faulty.MustParse(script))
			}
			members = append(members, router.Member{Name: names[i], Backend: b})
		}
		r, err := router.Options{Own: true, Chunk: 1024, Place: place(names, salt)}.New(members...)
		if err != nil {
			return nil, err
		}
		c, err := r.Device("auto")
		if err != nil {
			return nil, err
		}
		return routedDevice{c, r}, nil
	}
}

// place runs a node on one of the members by a hash of the node and a salt.
func place(names []string, salt uint64) func(*ir.Node, string) string {
	return func(n *ir.Node, _ string) string {
		h := salt
		for _, t := range append(n.In[:len(n.In):len(n.In)], n.Out...) {
			h = h*0x9e3779b97f4a7c15 + uint64(n.Row.Number)<<32 + uint64(t.Shape.Size())<<8 + uint64(t.DType)
		}
		return names[(h>>32)%uint64(len(names))]
	}
}
