package cpu

import (
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Whether a kernel has noted a fault, an index out of range say, an accelerator tells
// only to those who wait for it, and one that is waited for has nothing to do. So what
// such a run gives is taken for right and used, until somebody off the accelerator looks
// at anything: then the accelerator is asked, and if a run noted a fault, the errors that
// the results would have had are found and given to them, and to what was made of them.
//
// Invariants: nothing leaves the accelerator, and nothing of it is an operand of a
// routine or kernel of the host, while there are doubts. Which results have errors, and
// which errors, is as if every run had been asked at once.

// doubts are the runs that the accelerator was not asked about, and what was made since.
type doubts struct {
	deeds []deed
	open  int     // runs among them that were not asked about
	held  int64   // bytes that they hold
	first int     // errors that had been raised when the first one began
	told  []Noted // by the accelerator, while it was asked about others
}

// deed is something that made tensors of tensors: a launch, a node or an alias.
type deed struct {
	launch   *backend.Launch
	node     *ir.Node
	from, to ir.ID

	// failed is an operand that was known to have an error, which results got. If one
	// before it is in doubt, they may have that one's.
	failed ir.ID
	err    *ir.Error

	run  int // the accelerator's, 0 if there is no doubt
	held []heldOperand
}

// heldOperand is an operand on which it depends whether and where a run has a fault. It
// is kept for the case, whatever becomes of the tensor.
type heldOperand struct {
	id ir.ID
	e  *entry
}

// Bounds of what is in doubt: runs, as far as accelerators remember them, and all that
// was made since the first one. The operands that runs hold, indices mostly, may take a
// share of the memory.
const (
	maxDoubts = MaxUnasked
	maxDeeds  = 1024

	heldShare   = 64
	minHeldRoom = 16 << 20
)

func (d *Device) mayHold(bytes int64) bool {
	return bytes <= max(d.opt.Memory/heldShare, minHeldRoom)
}

// errInDoubt is returned by what may not run while there are doubts, before it has done
// anything. See [Device.again].
var errInDoubt = ir.Errorf(ir.ErrInternal, "an operand is in doubt")

// again reports whether what failed is to be tried once more, from its operands on: there
// were doubts, which stood in its way or held memory that it needs, and are settled now.
func (d *Device) again(err error) bool {
	if err == nil || err != error(errInDoubt) && ir.AsError(err).Kind != ir.ErrMemory {
		return false
	}
	return d.settleDoubts()
}

// doubt notes a run that may have noted a fault and was not asked about, with what it
// depends on. It reports false if the run is to be asked about at once.
func (d *Device) doubt(x deed, operands []ir.ID) bool {
	q := &d.doubts
	if d.retracing {
		return false
	}
	bytes := q.held
	for _, id := range operands {
		bytes += int64(cap(d.store[id].buf.data))
	}
	if !d.mayHold(bytes) {
		return false
	}
	for _, id := range operands {
		x.held = append(x.held, heldOperand{id, d.store[id].share()})
	}
	if q.open == 0 {
		q.first = len(d.errs)
	}
	q.held = bytes
	q.open++
	q.deeds = append(q.deeds, x)
	return true
}

// did notes what was made while there are doubts, and settles them when they are many. A
// run in doubt has been noted before.
func (d *Device) did(x deed) {
	q := &d.doubts
	if q.open == 0 {
		return
	}
	if last := &q.deeds[len(q.deeds)-1]; last.run == 0 || last.launch != x.launch || last.node != x.node {
		q.deeds = append(q.deeds, x)
	}
	if q.open >= maxDoubts || len(q.deeds) >= maxDeeds {
		d.settleDoubts()
	}
}

// settleDoubts asks the accelerator about all runs in doubt, and gives errors to what is
// not right. It reports whether there were doubts.
func (d *Device) settleDoubts() bool {
	q := d.doubts
	if q.open == 0 {
		return false
	}
	d.doubts = doubts{}
	d.retracing = true
	defer func() {
		d.retracing = false
		d.letGo(&q)
	}()
	told, err := d.accelerator().Faults()
	if err != nil { // a lost device, as everybody is told who waits for it
		return true
	}
	faults := map[int]Noted{}
	for _, n := range append(q.told, told...) {
		faults[n.Run] = n
	}
	for i := range q.deeds {
		if _, ok := faults[q.deeds[i].run]; ok {
			d.convict(&q, faults)
			break
		}
	}
	return true
}

// letGo gives up what runs in doubt hold.
func (d *Device) letGo(q *doubts) {
	for i := range q.deeds {
		for _, h := range q.deeds[i].held {
			d.pool.put(h.e.buf)
		}
	}
	*q = doubts{}
}

// convict gives errors to the results of runs that noted a fault, and to what was made of
// them.
func (d *Device) convict(q *doubts, faults map[int]Noted) {
	q.first = min(q.first, len(d.errs))
	later := append([]*ir.Error(nil), d.errs[q.first:]...)
	d.errs = d.errs[:q.first]
	bad := map[ir.ID]*ir.Error{}
	for i := range q.deeds {
		x := &q.deeds[i]
		nodes := x.nodes()
		fault, ok := faults[x.run]
		switch {
		case ok && x.run != 0 && len(nodes) > 0:
			d.retrace(x, nodes, fault, bad)
		case len(nodes) > 0:
			for j := range nodes {
				x.pass(bad, idsOf(nodes[j].In), idsOf(nodes[j].Out))
			}
		case x.launch != nil:
			in, out := tensorsOf(x.launch)
			if x.pass(bad, in, idsOf(out)); ok && x.run != 0 && bad[out[0].ID] == nil {
				d.accuse(out, faultError(fault.Code, fault.At, out[0].Shape), bad)
			}
		default:
			x.pass(bad, []ir.ID{x.from}, []ir.ID{x.to})
		}
	}
	for id, err := range bad {
		if e := d.store[id]; e != nil {
			d.setEntry(id, &entry{typ: e.typ, err: err})
		}
	}
	d.errs = append(d.errs, later...)
	d.errs = d.errs[:min(len(d.errs), maxErrors)]
}

// pass gives the first error among operands to what was made of them, and takes errors off
// what is right since.
func (x *deed) pass(bad map[ir.ID]*ir.Error, in, out []ir.ID) {
	var err *ir.Error
	for _, id := range in {
		if err = bad[id]; err == nil && id == x.failed {
			err = x.err
		}
		if err != nil {
			break
		}
	}
	for _, id := range out {
		if err == nil {
			delete(bad, id)
		} else {
			bad[id] = err
		}
	}
}

// accuse gives results an error that begins with them.
func (d *Device) accuse(out []ir.Tensor, err *ir.Error, bad map[ir.ID]*ir.Error) {
	err = d.raise(err)
	for _, t := range out {
		bad[t.ID] = err
	}
}

// retrace finds the errors of the results of a run that noted a fault: of its nodes those run
// once more that may have one, and what their indices are made of, one by one, in a store of
// their own. Operands that nobody held are memory with any contents: no fault depends on
// them. What the nodes compute is dropped, since results that do not depend on a fault are
// right as they are.
func (d *Device) retrace(x *deed, nodes []ir.Node, fault Noted, bad map[ir.ID]*ir.Error) {
	d.counters.reruns.Add(1)
	store := d.store
	among := d.among
	d.store, d.among = map[ir.ID]*entry{}, nil
	if len(nodes) > 1 {
		d.among = nodes
	}
	defer func() {
		for id := range d.store {
			d.drop(id)
		}
		d.store, d.among = store, among
	}()
	for _, h := range x.held {
		d.setEntry(h.id, h.e.share())
	}
	fresh, inherited := false, false
	run := deciding(nodes)
	for i := range nodes {
		n := &nodes[i]
		if !run[i] {
			x.pass(bad, idsOf(n.In), idsOf(n.Out))
			continue
		}
		right, raised := true, len(d.errs)
		for _, t := range n.In {
			switch err := bad[t.ID]; {
			case err != nil:
				d.mark([]ir.Tensor{t}, err)
			case d.store[t.ID] == nil:
				e, err := d.newEntry(t.Type)
				if err != nil {
					e = &entry{typ: t.Type, err: d.raise(describe(ir.AsError(err), n))}
				}
				d.store[t.ID] = e
			}
			right = right && d.store[t.ID].err == nil
		}
		d.node(n)
		if err := d.store[n.Out[0].ID].err; err != nil && err.Kind == ir.ErrMemory && mayFault(n) {
			// No room to find out more than the run has told.
			d.errs = d.errs[:raised]
			d.fail(n.Out, describe(faultError(fault.Code, fault.At, n.Out[0].Shape), n))
			right = true
		}
		for _, t := range n.Out {
			err := d.store[t.ID].err
			fresh = fresh || err != nil && right
			if err == nil {
				delete(bad, t.ID)
			} else {
				bad[t.ID] = err
			}
		}
		inherited = inherited || !right
	}
	if !fresh && !inherited { // the accelerator alone knows: nothing that it told is lost
		n := &nodes[len(nodes)-1]
		d.accuse(n.Out, describe(faultError(fault.Code, fault.At, n.Out[0].Shape), n), bad)
	}
}

// indicesOf lists the operands of a node that are whole numbers. Where an accelerator has a
// kernel for a row that takes such, and the data may fail it, it is by them.
func indicesOf(n *ir.Node) (ids []ir.ID) {
	for _, t := range n.In {
		if !t.DType.IsFloat() && t.DType != ir.Bool {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// mayFault reports whether the data may fail a node that is a kernel, or has one.
func mayFault(n *ir.Node) bool { return n.Row.Effects&ir.EffectFault != 0 && len(indicesOf(n)) > 0 }

// deciding reports which nodes decide whether and where there is a fault: all, if no row says
// that it may have one.
func deciding(nodes []ir.Node) []bool {
	run, needed := make([]bool, len(nodes)), map[ir.ID]bool{}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		operands := idsOf(n.In)
		if mayFault(n) {
			run[i], operands = true, indicesOf(n)
		}
		for _, t := range n.Out {
			if run[i] = run[i] || needed[t.ID]; needed[t.ID] {
				operands = idsOf(n.In) // its values are asked for, not its fault alone
			}
		}
		if run[i] {
			for _, id := range operands {
				needed[id] = true
			}
		}
	}
	if !slices.Contains(run, true) {
		for i := range run {
			run[i] = true
		}
	}
	return run
}

// ask waits for what a run noted, if there is one, beside what is known already. What has a
// fault while operands may be in doubt is to be tried again: see [Device.again].
func (d *Device) ask(f fault) (fault, error) {
	if f.run == 0 {
		return f, nil
	}
	told, err := d.accelerator().Faults()
	for _, n := range told {
		if n.Run == f.run {
			f.note(n.Code, n.At)
		} else if d.doubts.open > 0 {
			d.doubts.told = append(d.doubts.told, n)
		}
	}
	f.run = 0
	if err == nil && f.code != kernel.NoFault && d.doubts.open > 0 { // it may be one of what is in doubt
		return fault{}, errInDoubt
	}
	return f, err
}

// nodes are those of a launch or a node; nil if nobody knows them.
func (x *deed) nodes() []ir.Node {
	switch {
	case x.node != nil:
		return []ir.Node{*x.node}
	case x.launch != nil:
		return x.launch.Nodes.List()
	}
	return nil
}

// tensorsOf lists the operands of a launch that has no nodes, and its results, which may
// have been there before, and in part stay.
func tensorsOf(l *backend.Launch) (in []ir.ID, out []ir.Tensor) {
	for i := range l.Pieces {
		p := &l.Pieces[i]
		for j, a := range p.Kernel.(*compiledKernel).k.Args {
			t := p.Args[j].Tensor
			in = append(in, t.ID)
			if a.Dir == kernel.Out {
				out = append(out, t)
			}
		}
	}
	return append(in, l.Also...), out
}

func idsOf(tensors []ir.Tensor) []ir.ID {
	ids := make([]ir.ID, len(tensors))
	for i, t := range tensors {
		ids[i] = t.ID
	}
	return ids
}
