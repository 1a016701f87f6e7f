package cpu

import (
	"context"
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Launch appends launches to the queue. An error means that nothing was queued: a
// kernel is another device's, or a piece does not fit its kernel and tensors.
func (d *Device) Launch(ctx context.Context, launches []backend.Launch) error {
	for i := range launches {
		for j := range launches[i].Pieces {
			p := &launches[i].Pieces[j]
			c, ok := p.Kernel.(*compiledKernel)
			if !ok || c.d != d {
				return ir.Errorf(ir.ErrDevice, "launch %d: the kernel of piece %d was compiled by another device", i, j)
			}
			if err := p.Check(); err != nil {
				e := *ir.AsError(err)
				e.Msg = "launch does not fit its kernel: piece " + c.k.Name + ": " + e.Msg
				e.Device = d.opt.ID
				return &e
			}
		}
	}
	return d.q.push(ctx, task{ops: len(launches), run: func() {
		d.prepare(launches)
		d.clockNodes(func() {
			for i := range launches {
				d.runLaunch(&launches[i])
			}
		})
	}})
}

// launched is a launch on its way through the device. Results become known only
// once they are computed: until then what ids name is as before. Its memory serves
// one launch after the other.
type launched struct {
	d       *Device
	l       *backend.Launch
	results []result
	copies  []*entry // of operands that do not lie row-major

	parts    []part
	launches []kernel.Launch
	args     []kernel.Operand
	buffers  []*buffer // of args
}

// reset makes r the launch l.
func (r *launched) reset(d *Device, l *backend.Launch) {
	clear(r.results)
	clear(r.parts)
	clear(r.launches)
	clear(r.args)
	clear(r.buffers)
	r.d, r.l, r.results, r.copies = d, l, r.results[:0], nil
	r.parts, r.launches, r.args, r.buffers = r.parts[:0], r.launches[:0], r.args[:0], r.buffers[:0]
}

// result is a tensor that the launch writes.
type result struct {
	t     ir.Tensor
	over  ir.ID
	e     *entry // its memory while the launch runs
	known bool   // e is the entry in the store
	took  bool   // e has the memory of an operand
}

// runLaunch runs a launch. Whatever happens, its results are known afterwards, as
// tensors or as errors, and what it consumes is freed.
func (d *Device) runLaunch(l *backend.Launch) {
	if len(l.Pieces) > 0 {
		r := &d.current
		r.reset(d, l)
		runTask(&task{run: r.run, fail: r.fail})
		r.reset(d, nil)
	}
	for _, id := range l.Consumes {
		d.drop(id)
	}
}

func (r *launched) run() {
	for again := true; again; {
		r.reset(r.d, r.l)
		again = r.attempt()
	}
}

// attempt runs the launch, or tells that it is to be tried again.
func (r *launched) attempt() (again bool) {
	d := r.d
	r.collect()
	for i := range r.l.Pieces {
		if r.l.Pieces[i].Kernel.(*compiledKernel).released { // Release was queued before
			r.fail(ir.Errorf(ir.ErrClosed, "the kernel was released"))
			return false
		}
	}
	if err := r.operands(); err != nil {
		switch {
		case len(r.l.Nodes.List()) > 0:
			r.oneByOne()
		case err.unknown:
			r.fail(err.Error)
		default: // passed on as it is
			d.mark(r.tensors(), err.Error)
			d.did(deed{launch: r.l, failed: err.id, err: err.Error})
		}
		return false
	}
	parts, err := r.bind()
	if d.again(err) {
		r.discard()
		return true
	}
	switch {
	case err != nil && len(r.l.Nodes.List()) > 1: // some results may have room
		r.oneByOne()
		return false
	case err != nil:
		r.fail(err)
		return false
	}
	f, err := d.runParts(parts)
	if err == nil && f.run != 0 && (f.code != kernel.NoFault || !d.doubt(deed{launch: r.l, run: f.run}, r.decisive())) {
		f, err = d.ask(f)
	}
	if d.again(err) {
		r.discard()
		return true
	}
	d.counters.launches.Add(1)
	switch {
	case err != nil:
		r.fail(err)
	case f.code == kernel.NoFault:
		r.settle()
		d.did(deed{launch: r.l})
	case len(r.l.Nodes.List()) > 0:
		r.oneByOne()
	default:
		r.fail(faultError(f.code, f.at, r.results[0].t.Shape))
	}
	return false
}

// decisive lists the operands on which it depends whether the launch notes a fault.
func (r *launched) decisive() (ids []ir.ID) {
	for i := range r.l.Pieces {
		p := &r.l.Pieces[i]
		for j, decides := range p.Kernel.(*compiledKernel).decisive {
			if id := p.Args[j].Tensor.ID; decides && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// collect lists the distinct results.
func (r *launched) collect() {
	for i := range r.l.Pieces {
		p := &r.l.Pieces[i]
		args := p.Kernel.(*compiledKernel).k.Args
		for j := range p.Args {
			a := &p.Args[j]
			if args[j].Dir != kernel.Out {
				continue
			}
			if x := r.result(a.Tensor.ID); x == nil {
				r.results = append(r.results, result{t: a.Tensor, over: a.Over})
			} else if x.over != a.Over {
				x.over = 0
			}
		}
	}
}

func (r *launched) result(id ir.ID) *result {
	for i := range r.results {
		if r.results[i].t.ID == id {
			return &r.results[i]
		}
	}
	return nil
}

func (r *launched) tensors() []ir.Tensor {
	out := make([]ir.Tensor, len(r.results))
	for i := range out {
		out[i] = r.results[i].t
	}
	return out
}

// operandError is an error of an operand: its own, or that nobody knows it.
type operandError struct {
	*ir.Error
	id      ir.ID
	unknown bool
}

// operands returns the first error among the operands: those of the kernels, and
// those of the nodes that no kernel reads, which the unfused results depend on too.
func (r *launched) operands() *operandError {
	d := r.d
	for i := range r.l.Pieces {
		p := &r.l.Pieces[i]
		args := p.Kernel.(*compiledKernel).k.Args
		for j := range p.Args {
			id := p.Args[j].Tensor.ID
			switch e := d.store[id]; {
			case e != nil && e.err != nil:
				return &operandError{e.err, id, false}
			case e == nil && args[j].Dir == kernel.In:
				return &operandError{unknown(id), id, true}
			}
		}
	}
	for _, id := range r.l.Also {
		switch e := d.store[id]; {
		case e != nil && e.err != nil:
			return &operandError{e.err, id, false}
		case e == nil:
			return &operandError{unknown(id), id, true}
		}
	}
	return nil
}

func definedBefore(nodes []ir.Node, id ir.ID) bool {
	for i := len(nodes) - 1; i >= 0; i-- {
		for _, t := range nodes[i].Out {
			if t.ID == id {
				return true
			}
		}
	}
	return false
}

// bind finds or makes the memory of every argument.
func (r *launched) bind() ([]part, error) {
	if err := r.allocate(); err != nil {
		return nil, err
	}
	n := 0
	for i := range r.l.Pieces {
		n += len(r.l.Pieces[i].Args)
	}
	r.buffers = slices.Grow(r.buffers, n)
	r.args = slices.Grow(r.args, n) // launches and parts point into what is grown
	r.launches = slices.Grow(r.launches, len(r.l.Pieces))
	for i := range r.l.Pieces {
		p := &r.l.Pieces[i]
		c := p.Kernel.(*compiledKernel)
		from := len(r.args)
		for j := range p.Args {
			a := &p.Args[j]
			e, err := r.memory(a, c.k.Args[j].Dir)
			if err != nil {
				return nil, err
			}
			r.buffers = append(r.buffers, e.buf)
			r.args = append(r.args, operand(e.buf, e.layout.Offset+a.Offset, a.Strides, a.GatherStride, a.GatherExtent))
		}
		r.launches = append(r.launches, kernel.Launch{Extents: p.Extents, Start: p.Start, Full: p.Full, Params: p.Params,
			Args: r.args[from:len(r.args):len(r.args)]})
		r.parts = append(r.parts, part{&c.ready, &r.launches[i], r.buffers[from:len(r.buffers):len(r.buffers)]})
	}
	return r.parts, nil
}

// allocate makes the entries of the results. One that is known already is written
// where it lies if nobody else can see that: it has one owner, and no fault can
// make its old elements be needed again.
func (r *launched) allocate() error {
	d := r.d
	fault := false
	for i := range r.l.Pieces {
		fault = fault || r.l.Pieces[i].Kernel.(*compiledKernel).fault
	}
	for i := range r.results {
		x := &r.results[i]
		old := d.store[x.t.ID]
		if old == nil {
			if x.e = d.takeOver(r.l, x.t, x.over); x.e != nil {
				x.took = true
				continue
			}
			e, err := d.newEntry(x.t.Type)
			if err != nil {
				return err
			}
			x.e = e
			continue
		}
		if err := fits(old, x.t); err != nil {
			return err
		}
		if old.contiguous() && old.buf.refs == 1 && old.buf.release == nil && !fault {
			d.pool.forget(old.buf) // its contents change
			x.e, x.known = old, true
			continue
		}
		e, err := d.newEntry(old.typ)
		if err != nil {
			return err
		}
		x.e = e
		if err := d.copyInto(x.t.ID, old, e.buf, e.layout); err != nil {
			return err
		}
	}
	return nil
}

// memory returns the entry that an argument names, row-major.
func (r *launched) memory(a *backend.LaunchArg, dir kernel.Direction) (*entry, error) {
	if dir == kernel.Out {
		return r.result(a.Tensor.ID).e, nil
	}
	e := r.d.store[a.Tensor.ID]
	if x := r.result(a.Tensor.ID); x != nil { // read and written: the same memory
		e = x.e
	}
	if err := fits(e, a.Tensor); err != nil {
		return nil, err
	}
	c, err := r.d.compact(a.Tensor.ID, e)
	if err != nil {
		return nil, err
	}
	if c != e {
		r.copies = append(r.copies, c)
	}
	return c, nil
}

// fits returns an error unless an entry is as large as a launch says.
func fits(e *entry, t ir.Tensor) error {
	if e.typ.DType != t.DType || e.typ.Shape.Size() != t.Shape.Size() {
		return ir.Errorf(ir.ErrArgument, "tensor %d is %v, the launch takes it for %v", t.ID, e.typ, t.Type)
	}
	return nil
}

// settle makes the results known.
func (r *launched) settle() {
	r.giveCopies()
	for i := range r.results {
		x := &r.results[i]
		if !x.known {
			r.d.setEntry(x.t.ID, x.e)
		}
		if x.took {
			r.d.counters.inPlace.Add(1)
		}
		x.e = nil
	}
}

// discard gives back the memory of results that were not computed.
func (r *launched) discard() {
	r.giveCopies()
	for i := range r.results {
		x := &r.results[i]
		if x.e != nil && !x.known {
			r.d.pool.put(x.e.buf)
		}
		x.e = nil
	}
}

func (r *launched) giveCopies() {
	for _, c := range r.copies {
		r.d.pool.put(c.buf)
	}
	r.copies = nil
}

// fail makes the results errors, as the last node would describe it.
func (r *launched) fail(err error) {
	r.discard()
	e := ir.AsError(err)
	if n := len(r.l.Nodes.List()); n > 0 {
		e = describe(e, &r.l.Nodes.List()[n-1])
	}
	r.d.fail(r.tensors(), e)
}

// oneByOne runs the nodes of the launch as if it had not been fused: each result
// is what it would be, or has the error that it would have. Intermediates are
// known meanwhile.
func (r *launched) oneByOne() {
	r.discard()
	d := r.d
	d.counters.reruns.Add(1)
	d.among = r.l.Nodes.List()
	defer func() { d.among = nil }()
	var made []ir.ID
	for i := range r.l.Nodes.List() {
		n := &r.l.Nodes.List()[i]
		for _, t := range n.Out {
			if r.result(t.ID) == nil && d.store[t.ID] == nil {
				made = append(made, t.ID)
			}
		}
		d.node(n)
	}
	for _, id := range made {
		d.drop(id)
	}
	for i := range r.results {
		t := r.results[i].t
		if !slices.ContainsFunc(r.l.Nodes.List(), func(n ir.Node) bool { return definedBefore([]ir.Node{n}, t.ID) }) {
			d.fail([]ir.Tensor{t}, ir.Errorf(ir.ErrInternal, "no node of the launch gives its result %d", t.ID))
		}
	}
}
