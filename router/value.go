package router

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// value is a tensor that a plain entry does not describe: one that is awaited,
// lies on another member than its client's, has copies, has several owners, or
// carries an error that no member knows of. The router's lock guards values,
// replicas and items.
//
// Invariants: replicas[0] is where the tensor was made, and the others are copies
// of it; a value is freed on its members when nothing holds it, and not before;
// once err is set it stays.
type value struct {
	typ      ir.Type
	err      *ir.Error
	replicas []*replica
	names    int // ids of clients
	holds    int // items and calls that use it
	idle     []*item
	settled  chan struct{} // made by those who wait; closed when replicas[0] is ready or err is set
}

// replica is the tensor on one member.
type replica struct {
	v       *value
	l       *lane // by which it is freed
	id      ir.ID // on the member
	ready   bool  // known to the member, as a tensor or as an error of the member's own
	was     bool  // the member may know the id, though it is not ready
	given   bool  // the id is that of a later value's replica, which frees it
	sending *submission
	waiters []*item
}

// item is work that waits: a node or launch to deliver, or a move to begin.
type item struct {
	c       *Client
	l       *lane
	seq     uint64
	epoch   uint64
	running bool // begun, so that only what runs it ends it
	missing int  // replicas that are not ready
	in      []*value
	out     []*replica
	bytes   int64

	node   ir.Node // as recorded, for errors
	inner  ir.Node // with the member's ids
	launch *backend.Launch
	inIDs  []ir.ID   // of a launch: the member's ids of in
	sound  []ir.Node // what is left of a launch whose operand failed

	kernels []*compiled // of the launch, held by it
	move    *move
}

// primary returns the replica that the others are copies of, nil for a value that
// has only an error.
func (v *value) primary() *replica {
	if len(v.replicas) == 0 {
		return nil
	}
	return v.replicas[0]
}

// on returns the replica on a member, nil if there is none.
func (v *value) on(m *member) *replica {
	for _, r := range v.replicas {
		if r.l.m == m {
			return r
		}
	}
	return nil
}

// readyReplica returns one to read from: on the member, if it has one, else the
// first on a member that lives. nil if none is ready.
func (v *value) readyReplica(m *member) *replica {
	var found *replica
	for _, r := range v.replicas {
		switch {
		case !r.ready:
		case r.l.m == m:
			return r
		case found == nil || found.l.m.down() != nil && r.l.m.down() == nil:
			found = r
		}
	}
	return found
}

// isSettled reports whether it is known what the value is: an error, or a tensor
// that a member has.
func (v *value) isSettled() bool { return v.err != nil || len(v.replicas) > 0 && v.replicas[0].ready }

// done returns a channel that is closed when the value is settled.
func (v *value) done() <-chan struct{} {
	if v.settled == nil {
		v.settled = make(chan struct{})
		if v.isSettled() {
			close(v.settled)
		}
	}
	return v.settled
}

// settle wakes those who wait for the value.
func (v *value) settle() {
	if v.settled == nil {
		return
	}
	select {
	case <-v.settled:
	default:
		close(v.settled)
	}
}

// release gives up a hold. Replicas that nothing uses any more are listed for
// freeing; one that is still on its way is freed when it arrives.
func (r *Router) release(v *value) {
	v.holds--
	if v.holds == 0 {
		for _, it := range v.idle {
			r.step(it)
		}
		v.idle = nil
	}
	r.collect(v)
}

// collect lists the replicas of a value that nothing uses for freeing.
func (r *Router) collect(v *value) {
	if v.names > 0 || v.holds > 0 {
		return
	}
	kept := v.replicas[:0]
	for _, p := range v.replicas {
		if !p.ready {
			kept = append(kept, p) // it is collected when it arrives
			continue
		}
		if !p.given {
			r.discard(p)
		}
	}
	v.replicas = kept
}

// discard lists an id of a member for freeing, which sweep does.
func (r *Router) discard(p *replica) {
	p.l.garbage = append(p.l.garbage, p.id)
	r.garbage[p.l] = struct{}{}
}

// arrived marks a replica as known to its member and goes on with what waited
// for it.
func (r *Router) arrived(p *replica) {
	p.ready, p.was, p.sending = true, true, nil
	v := p.v
	if p == v.primary() {
		v.settle()
	}
	p.l.c.wake()
	waiters := p.waiters
	p.waiters = nil
	for _, it := range waiters {
		r.step(it)
	}
	r.collect(v)
}

// lost takes a replica that did not arrive out of its value. Without its first
// replica the value is an error.
func (r *Router) lost(p *replica, err *ir.Error) {
	v, waiters := p.v, p.waiters
	p.waiters, p.sending = nil, nil
	if p == v.primary() && v.err == nil {
		v.err = err
	}
	for i, q := range v.replicas {
		if q == p {
			v.replicas = append(v.replicas[:i:i], v.replicas[i+1:]...)
			break
		}
	}
	if p.was && !p.given {
		r.discard(p)
	}
	if v.err != nil {
		v.settle()
	}
	p.l.c.wake()
	for _, it := range waiters {
		if r.spare(it, p.id, err) {
			r.step(it)
		} else {
			r.fail(it, err)
		}
	}
	r.collect(v)
}

// step counts one thing that an item waited for, and starts it with the last.
func (r *Router) step(it *item) {
	if it.missing--; it.missing > 0 || it.c == nil {
		return
	}
	r.start(it)
}

// start hands an item that waits for nothing to its lane, or begins its move.
func (r *Router) start(it *item) {
	it.running = true
	if it.move != nil {
		go it.move.run()
		return
	}
	it.l.runnable = append(it.l.runnable, it)
	if !it.l.pumping {
		it.l.pumping = true
		go it.l.pump()
	}
}

// fail ends an item: its results carry the error. An item may be found through
// several operands; it fails once.
func (r *Router) fail(it *item, err *ir.Error) {
	if it.c == nil {
		return
	}
	if it.move != nil {
		err = it.move.noted(err)
	}
	for _, p := range r.finish(it) {
		r.lost(p, err)
	}
}

// finish takes an item off its client's books and returns its results.
func (r *Router) finish(it *item) []*replica {
	c, in, out := it.c, it.in, it.out
	it.c, it.in, it.out = nil, nil, nil
	for _, v := range in {
		r.release(v)
	}
	for _, k := range it.kernels {
		if k.holds.Add(-1) == 0 {
			r.released = append(r.released, k)
		}
	}
	it.kernels = nil
	if it.move != nil && it.move.from != nil {
		it.move.from.outgoing--
		it.move.from.wake()
	}
	delete(c.items, it)
	c.parked.Store(int64(len(c.items)))
	c.parkedBytes -= it.bytes
	if c.epochs[it.epoch]--; c.epochs[it.epoch] == 0 {
		delete(c.epochs, it.epoch)
	}
	c.wake()
	return out
}

// park puts an item on its client's books. It waits for the replicas given.
func (r *Router) park(c *Client, it *item, await []*replica) {
	c.seq++
	it.c, it.seq, it.epoch, it.missing = c, c.seq, c.epoch, it.missing+len(await)
	for _, p := range it.out {
		it.bytes += p.v.typ.Bytes()
	}
	for _, v := range it.in {
		v.holds++
	}
	for _, p := range await {
		p.waiters = append(p.waiters, it)
	}
	c.items[it] = struct{}{}
	c.epochs[it.epoch]++
	c.parked.Store(int64(len(c.items)))
	c.parkedBytes += it.bytes
	c.everParked++
	if it.missing == 0 {
		r.start(it)
	}
}
