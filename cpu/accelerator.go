package cpu

import (
	"slices"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Accelerator is another processor than the host's, such as a GPU: its memory, and what
// runs kernels on it. A device with one keeps its tensors there. Everything else that
// makes a device is as without one: the queue, the store and its errors, liveness,
// launches that fall back to their nodes, pools. Rows that have a routine, gradients of
// a bias of attention, and kernels that the accelerator refuses, run on the host over
// copies, unless it is a [NodeRunner] that has kernels for them.
//
// All methods may be called from any goroutine. What CopyIn, Run and Unmap ask for
// happens in the order of the calls.
type Accelerator interface {
	// Describe completes the description of the device: detail, kind, facts.
	Describe(i *backend.Info)

	// Map returns memory at a multiple of 256 bytes, which nobody but the accelerator
	// may touch: the slice stands for addresses.
	Map(bytes int64) ([]byte, error)
	// Unmap returns memory that Map gave. Work that was asked for may still use it.
	Unmap(mem []byte)

	// CopyIn copies from the host, dst and src having one length, which may be 0. src
	// may change once it returns.
	CopyIn(dst, src []byte) error
	// CopyOut copies to the host behind everything asked for before, and waits.
	CopyOut(dst, src []byte) error

	// Compile makes a kernel ready. An error means that the host runs it.
	Compile(k *kernel.Kernel) (Program, error)
	// Run runs programs, which write disjoint parts of their results, in any order, and
	// waits for none. If one of them may note a fault (its launch has a place for it), run
	// is the number by which Faults tells of it, else 0. After an error nothing has run;
	// after one of kind ir.ErrUnsupported the host runs them.
	Run(parts []Bound) (run int, err error)
	// Faults waits for all runs that have a number and that it was not asked about yet, of
	// which there are at most MaxUnasked and one, and returns those that noted a fault.
	Faults() ([]Noted, error)

	// Flush begins what Run has put off; what fails then, all later calls return. Sync
	// waits for everything that was asked for before.
	Flush() error
	Sync() error

	// Clock has the time that is spent between this and the call of what it returns
	// measured, as far as the accelerator works. The time is told when known.
	Clock(tell func(time.Duration)) (stop func())

	// Close ends everything, and returns memory that is still mapped, as by a reader
	// that outlives the device. Calls afterwards fail, but for Unmap, which does nothing.
	Close() error
}

// MaxUnasked bounds the runs, but for one, that an accelerator is not asked about at a
// time.
const MaxUnasked = 32

// Noted is the fault that a run of an [Accelerator] noted, the one at the lowest index.
type Noted struct {
	Run  int
	Code kernel.FaultCode
	At   int64
}

// NodeRunner is an [Accelerator] with kernels of its own for some nodes: recurrences, and
// those that have a routine.
type NodeRunner interface {
	// RunNode runs a node whose operands and results lie on the accelerator, results
	// row-major and not yet set, and waits for nothing. done is false if it has no kernel
	// for the node. If the kernel may meet data that the node refuses, such as an index out
	// of range, run is a number as of Run; where Faults tells of it, the node runs, or
	// fails, as if there were no kernel, and what was written to results does not matter.
	RunNode(n *ir.Node, in, out []kernel.Tensor) (done bool, run int, err error)
}

// runNode runs a node on an accelerator that has kernels for it.
func (d *Device) runNode(n *ir.Node, out []*entry) (done bool, err error) {
	a, ok := d.opt.Accelerator.(NodeRunner)
	if !ok {
		return false, nil
	}
	in, results := d.locate(n, out)
	number := 0
	run := func() { done, number, err = a.RunNode(n, in, results) }
	d.clockKernel(n.Row.Name, run)
	if err != nil && ir.AsError(err).Kind == ir.ErrMemory { // beside the operands
		d.pool.forgetAll()
		d.pool.cleanUp()
		d.clockKernel(n.Row.Name, run)
	}
	if done && number != 0 {
		indices := indicesOf(n)
		if len(indices) == 0 || !d.doubt(deed{node: n, run: number}, indices) {
			var f fault
			f, err = d.ask(fault{run: number})
			done = err == nil && f.code == kernel.NoFault
		}
	}
	if done {
		d.counters.kernels.Add(1)
	}
	return done, err
}

// Preparer is an [Accelerator] that makes what programs need many at a time, for one that
// takes long over it.
type Preparer interface {
	// Prepare is told of launches with programs that are about to run for the first time,
	// and of the parts of each. Arguments of which it is not known yet where they lie have
	// no base: they will lie at a multiple of 256 bytes. What cannot be made is told when
	// it runs.
	Prepare(launches [][]Bound)
}

// prepare tells an accelerator of the programs of launches that it was not told of.
func (d *Device) prepare(launches []backend.Launch) {
	a, ok := d.opt.Accelerator.(Preparer)
	if !ok {
		return
	}
	var news [][]Bound
	for i := range launches {
		fresh, parts := false, []Bound(nil)
		for j := range launches[i].Pieces {
			c := launches[i].Pieces[j].Kernel.(*compiledKernel)
			fresh = fresh || !c.prepared && c.program != nil
			c.prepared = true
		}
		if !fresh {
			continue
		}
		for j := range launches[i].Pieces {
			p := &launches[i].Pieces[j]
			c := p.Kernel.(*compiledKernel)
			if c.program == nil {
				continue
			}
			l := &kernel.Launch{Extents: p.Extents, Start: p.Start, Full: p.Full, Params: p.Params}
			if slices.Contains(l.Extents, 0) {
				continue
			}
			for k := range p.Args {
				x := &p.Args[k]
				o := kernel.Operand{Offset: x.Offset, Strides: x.Strides, GatherStride: x.GatherStride, GatherExtent: x.GatherExtent}
				if e := d.store[x.Tensor.ID]; e != nil && e.err == nil {
					o = operand(e.buf, e.layout.Offset+x.Offset, x.Strides, x.GatherStride, x.GatherExtent)
				}
				l.Args = append(l.Args, o)
			}
			parts = append(parts, Bound{c.program, c.k, l})
		}
		if len(parts) > 0 {
			news = append(news, parts)
		}
	}
	if len(news) > 0 {
		a.Prepare(news)
	}
}

// Program is a kernel that an accelerator made ready.
type Program any

// Tiler is an [Accelerator] that answers for [backend.Tiler].
type Tiler interface {
	Tiles(k *kernel.Kernel, extents []int64) bool
	Apart(k *kernel.Kernel, results int64) bool
}

// engineOf is who computes a program that is not code of the accelerator's own, as one
// with a method Engine() string says: "" of all others.
func engineOf(p Program) string {
	if e, ok := p.(interface{ Engine() string }); ok {
		return e.Engine()
	}
	return ""
}

// Bound is a program bound to memory, which is the accelerator's: the bases of the
// arguments are addresses there.
type Bound struct {
	Program Program
	Kernel  *kernel.Kernel
	Launch  *kernel.Launch
}

// runAccelerated runs parts on the accelerator, those that it does not know on the host.
func (d *Device) runAccelerated(parts []part) (f fault, err error) {
	d.bound = d.bound[:0]
	for i := range parts {
		if p := &parts[i]; p.program != nil {
			d.bound = append(d.bound, Bound{p.program, p.k, p.l})
		} else if d.doubts.open > 0 {
			return f, errInDoubt
		}
	}
	for i := range parts {
		if parts[i].program == nil {
			if err := d.runOnHost(&parts[i], &f); err != nil {
				return f, err
			}
		}
	}
	if len(d.bound) == 0 {
		return f, nil
	}
	f.run, err = d.accelerator().Run(d.bound)
	if err != nil && ir.AsError(err).Kind == ir.ErrMemory { // beside the operands
		d.pool.forgetAll()
		d.pool.cleanUp()
		f.run, err = d.accelerator().Run(d.bound)
	}
	clear(d.bound)
	if err != nil && ir.AsError(err).Kind == ir.ErrUnsupported {
		err = d.runRefused(parts, &f)
	}
	return f, err
}

// runRefused runs the parts on the host that the accelerator has turned out not to take.
func (d *Device) runRefused(parts []part, f *fault) error {
	if d.doubts.open > 0 {
		return errInDoubt
	}
	for i := range parts {
		p := parts[i]
		if p.program == nil {
			continue
		}
		exe, _, err := d.compile(p.k)
		if err != nil {
			return err
		}
		made := newReady(p.k, exe, false)
		p.ready = &made
		if err := d.runOnHost(&p, f); err != nil {
			return err
		}
	}
	return nil
}

// hostCopy is a part of a buffer on the host.
type hostCopy struct {
	from, to int64 // bytes of the buffer
	data     []byte
}

// runOnHost runs a part over copies of the memory that it touches, and notes its fault.
func (d *Device) runOnHost(p *part, f *fault) error {
	l := *p.l
	l.Args = append([]kernel.Operand(nil), p.l.Args...)
	copies := map[*buffer]*hostCopy{}
	for i := range l.Args {
		from, to := touched(&l.Args[i], &p.k.Args[i], l.Extents)
		from &^= alignment - 1
		if c := copies[p.buffers[i]]; c != nil {
			c.from, c.to = min(c.from, from), max(c.to, to)
		} else {
			copies[p.buffers[i]] = &hostCopy{from: from, to: to}
		}
	}
	for b, c := range copies { // results too: what is not written stays
		c.data = alignedBytes(int(c.to - c.from))
		if err := d.accelerator().CopyOut(c.data, b.data[c.from:c.to]); err != nil {
			return err
		}
	}
	for i := range l.Args {
		c := copies[p.buffers[i]]
		o := &l.Args[i]
		o.Base, o.Size = addressIn(c.data), int64(len(c.data))
		o.Offset -= c.from / int64(p.k.Args[i].Type.Size())
	}
	d.workers.run([]part{{ready: p.ready, l: &l}})
	for i := range p.k.Args {
		b := p.buffers[i]
		c := copies[b]
		if p.k.Args[i].Dir != kernel.Out || c == nil {
			continue
		}
		if err := d.accelerator().CopyIn(b.data[c.from:c.to], c.data); err != nil {
			return err
		}
		delete(copies, b)
	}
	if l.Fault != nil {
		f.note(l.Fault.First())
	}
	return nil
}

// touched is the range of bytes of its buffer that an argument walks over. No extent is 0.
func touched(o *kernel.Operand, a *kernel.Arg, extents []int64) (from, to int64) {
	from, to = o.Offset, o.Offset
	reach := func(stride, n int64) {
		from, to = from+min(0, stride*(n-1)), to+max(0, stride*(n-1))
	}
	for axis, s := range o.Strides {
		reach(s, extents[axis])
	}
	if a.Gather {
		reach(o.GatherStride, o.GatherExtent)
	}
	size := int64(a.Type.Size())
	return from * size, (to + 1) * size
}

// accelerator is that of the options.
func (d *Device) accelerator() Accelerator { return d.opt.Accelerator }

// accelerated reports whether tensors lie in other memory than the host's.
func (d *Device) accelerated() bool { return d.opt.Accelerator != nil }

// onHost calls f with contiguous tensors on the host, operands and results, and returns
// its error. Where tensors lie there anyway, f has their memory.
func (d *Device) onHost(n *ir.Node, out []*entry, f func(in, out []Host) error) error {
	if d.doubts.open > 0 {
		return errInDoubt
	}
	in, results := make([]Host, len(n.In)), make([]Host, len(out))
	for i, t := range n.In {
		e := d.store[t.ID]
		compact, err := d.compact(t.ID, e)
		if err != nil {
			return err
		}
		if compact != e {
			defer d.pool.put(compact.buf)
		}
		in[i] = Host{Type: compact.typ, Data: compact.bytes()}
		if !d.accelerated() || len(in[i].Data) == 0 {
			continue
		}
		in[i].Data = alignedBytes(len(in[i].Data))
		if err := d.accelerator().CopyOut(in[i].Data, compact.bytes()); err != nil {
			return err
		}
	}
	for i, e := range out {
		results[i] = Host{Type: e.typ, Data: e.bytes()}
		if d.accelerated() {
			results[i].Data = alignedBytes(len(results[i].Data))
		}
	}
	if err := f(in, results); err != nil || !d.accelerated() {
		return err
	}
	for i, e := range out {
		if err := d.accelerator().CopyIn(e.bytes(), results[i].Data); err != nil {
			return err
		}
	}
	return nil
}

// alignedBytes returns memory of the host's that begins at a cache line.
func alignedBytes(n int) []byte {
	b := make([]byte, n+alignment-1)
	return b[-addressOfBytes(b)&(alignment-1):][:n:n]
}

// AsAccelerated is [backend.Decorator]'s As for a type that embeds a device with an
// accelerator: such a device lacks host memory to lend, and code of kernels to keep; it
// keeps images if the accelerator is a [backend.ImageKeeper].
func (d *Device) AsAccelerated(target any) bool {
	switch t := target.(type) {
	case *backend.Compiler:
		*t = d
	case *backend.Tiler:
		*t = d
	case *backend.Memory:
		*t = d
	case *backend.Pools:
		*t = d
	case *backend.Counting:
		*t = d
	case *backend.Routines:
		*t = d
	case *backend.Supporter:
		*t = d
	case *backend.Profiler:
		*t = d
	case *backend.Streams:
		*t = d
	case *backend.Warmer:
		*t = d
	case *backend.ImageKeeper:
		a, ok := d.accelerator().(backend.ImageKeeper)
		*t = imageKeeper{d, a}
		return ok
	default:
		return false
	}
	return true
}
