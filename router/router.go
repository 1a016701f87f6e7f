package router

import (
	"strings"
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Router is any number of backends as one. It is safe for concurrent use.
type Router struct {
	opt     Options
	members []*member
	byID    map[ID]*member
	routes  bool // a node may run elsewhere than at home
	order   []*member
	host    *Budget

	// mu guards values, replicas, items and what clients and lanes say it
	// guards. It is taken after a client's lock and never held in a call to a
	// member or a bridge.
	mu      sync.Mutex
	garbage map[*lane]struct{}
	// released are kernels that nothing holds any more, which unlock gives back.
	released []*compiled

	clientsMu sync.Mutex
	clients   []*Client // by member; nil until asked for
	closed    bool
	closeOnce sync.Once
	closeErr  error
}

// New makes a router with the default options; see [Options.New].
func New(members ...Member) (*Router, error) { return Options{}.New(members...) }

// New makes a router of members, which may be of any kind and any stack: other
// routers' devices, decorators, devices. The first is the default device. Ids
// must be unique.
func (o Options) New(members ...Member) (*Router, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, ir.Errorf(ir.ErrArgument, "router: it has no members")
	}
	r := &Router{opt: o, byID: map[ID]*member{}, garbage: map[*lane]struct{}{}, host: NewBudget(o.HostBytes)}
	r.routes = o.Place != nil || o.Fallback
	seen := map[backend.Backend]ID{}
	for i, m := range members {
		if m.Backend == nil {
			return nil, ir.Errorf(ir.ErrArgument, "router: member %d has no backend", i)
		}
		id, err := m.id()
		if err != nil {
			return nil, ir.Errorf(ir.ErrArgument, "router: member %d (%s): %v", i, m.Backend.Name(), err)
		}
		if r.byID[id.canonical()] != nil {
			return nil, ir.Errorf(ir.ErrArgument, "router: two members are named %s", id)
		}
		if other, twice := seen[m.Backend]; twice {
			return nil, ir.Errorf(ir.ErrArgument, "router: members %s and %s are one backend", other, id)
		}
		seen[m.Backend] = id
		mem := newMember(id, id.In(o.Name).String(), m.Backend)
		r.members = append(r.members, mem)
		r.byID[id.canonical()] = mem
	}
	r.order = r.members
	if len(o.FallbackOrder) > 0 {
		r.order = nil
		for _, text := range o.FallbackOrder {
			m, err := r.find(text)
			if err != nil {
				return nil, err
			}
			r.order = append(r.order, m)
		}
	}
	r.clients = make([]*Client, len(r.members))
	return r, nil
}

// id returns the id of a member: its name, or that of its device behind its name
// where the member is a device of another router.
func (m Member) id() (ID, error) {
	own := m.Backend.Info().ID
	if c, ok := m.Backend.(*Client); ok {
		id := c.ID()
		if m.Name == "" {
			return id, nil
		}
		if !isName(m.Name) {
			return ID{}, ir.Errorf(ir.ErrArgument, "%q is not a name", m.Name)
		}
		return id.In(m.Name), nil
	}
	if m.Name == "" {
		return ParseID(own)
	}
	id, err := ParseID(m.Name)
	if err == nil && id.Path != "" {
		err = ir.Errorf(ir.ErrArgument, "the name %q has a path", m.Name)
	}
	return id, err
}

// Name returns the names of the members, as in "direct<(cpu, interp)>".
func (r *Router) Name() string {
	names := make([]string, len(r.members))
	for i, m := range r.members {
		names[i] = m.b.Name()
	}
	return "direct<(" + strings.Join(names, ", ") + ")>"
}

// Devices returns the ids of the devices, the default one first.
func (r *Router) Devices() []ID {
	ids := make([]ID, len(r.members))
	for i, m := range r.members {
		ids[i] = m.id
	}
	return ids
}

// find returns the member with an id.
func (r *Router) find(text string) (*member, error) {
	id, err := ParseID(text)
	if err != nil {
		return nil, err
	}
	if m := r.byID[id.canonical()]; m != nil {
		return m, nil
	}
	known := make([]string, len(r.members))
	for i, m := range r.members {
		known[i] = m.id.String()
	}
	return nil, ir.Errorf(ir.ErrDevice, "the router has no device %q (known: %s)", text, strings.Join(known, ", "))
}

// Device returns the client of a device; "" is the default device. There is one
// client per device.
func (r *Router) Device(id string) (*Client, error) {
	m := r.members[0]
	if id != "" {
		var err error
		if m, err = r.find(id); err != nil {
			return nil, err
		}
	}
	r.clientsMu.Lock()
	defer r.clientsMu.Unlock()
	for i, x := range r.members {
		if x != m {
			continue
		}
		if r.clients[i] != nil {
			return r.clients[i], nil
		}
		if r.closed {
			return nil, ir.Errorf(ir.ErrClosed, "the router is closed")
		}
		c, err := newClient(r, m)
		if err != nil {
			return nil, err
		}
		r.clients[i] = c
		return c, nil
	}
	return nil, ir.Errorf(ir.ErrInternal, "member %s is not listed", m.id)
}

// Members returns the devices as members of another router, under a name of
// their own: its ids are name/cpu and so on.
func (r *Router) Members(name string) ([]Member, error) {
	out := make([]Member, len(r.members))
	for i, id := range r.Devices() {
		c, err := r.Device(id.String())
		if err != nil {
			return nil, err
		}
		out[i] = Member{Name: name, Backend: c}
	}
	return out, nil
}

// Close closes the clients in the order of the members, then, if the router owns
// them, the members. Closing twice is harmless.
func (r *Router) Close() error {
	r.closeOnce.Do(func() {
		r.clientsMu.Lock()
		r.closed = true
		clients := append([]*Client(nil), r.clients...)
		r.clientsMu.Unlock()
		note := func(err error) {
			if r.closeErr == nil {
				r.closeErr = err
			}
		}
		for _, c := range clients {
			if c != nil {
				note(c.Close())
			}
		}
		if !r.opt.Own {
			return
		}
		for _, m := range r.members {
			note(m.close())
		}
	})
	return r.closeErr
}

// unlock gives the router's lock back and gives back what became garbage under it.
func (r *Router) unlock() {
	if len(r.garbage) == 0 && len(r.released) == 0 {
		r.mu.Unlock()
		return
	}
	released := r.released
	r.released = nil
	type load struct {
		l   *lane
		ids []ir.ID
	}
	var loads []load
	for l := range r.garbage {
		loads = append(loads, load{l, l.garbage})
		l.garbage = nil
		delete(r.garbage, l)
	}
	r.mu.Unlock()
	for _, x := range loads {
		x.l.free(x.ids)
	}
	for _, k := range released {
		k.release()
	}
}
