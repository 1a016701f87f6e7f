package cpu

import (
	"github.com/sinter-go/sinter/kernel"
)

// ready is a kernel that can run, and what is known of its runs.
type ready struct {
	k         *kernel.Kernel
	exe       kernel.Executable
	generated bool    // it is machine code, or a program
	program   Program // of the accelerator; then there is no exe

	// Of the device goroutine.
	pace pace
	long longForms
}

func newReady(k *kernel.Kernel, exe kernel.Executable, generated bool) ready {
	r := ready{k: k, exe: exe, generated: generated, pace: pace{unit: interpretedPace}}
	if generated {
		r.pace.unit = generatedPace
	}
	return r
}

// ready makes a kernel ready, on the accelerator if there is one that takes it.
func (d *Device) ready(k *kernel.Kernel) (ready, error) {
	if d.accelerated() {
		if p, err := d.accelerator().Compile(k); err == nil {
			d.counters.compiled.Add(1)
			return ready{k: k, generated: true, program: p}, nil
		}
	}
	exe, generated, err := d.compile(k)
	return newReady(k, exe, generated && !d.accelerated()), err
}

// part is a kernel over its iteration space, bound to memory: what workers run.
type part struct {
	*ready
	l       *kernel.Launch
	buffers []*buffer // of the arguments, nil where nobody asks
}

// traffic returns the bytes that a run reads and writes, each argument once and
// no more of it than there is.
func (p *part) traffic() (read, written int64) {
	for i := range p.k.Args {
		a, o := &p.k.Args[i], &p.l.Args[i]
		n := int64(a.Type.Size())
		for axis, s := range o.Strides {
			if (s != 0 || a.Gather) && n <= o.Size {
				n *= p.l.Extents[axis]
			}
		}
		if a.Dir == kernel.Out {
			written += min(n, o.Size)
		} else {
			read += min(n, o.Size)
		}
	}
	return read, written
}

// fault is what the runs of a function have noted, at the lowest index; or, until an
// accelerator is asked, what it is to be asked about.
type fault struct {
	code kernel.FaultCode
	at   int64
	run  int // 0 if nothing is to be asked
}

// note keeps the fault at the lower index.
func (f *fault) note(code kernel.FaultCode, at int64) {
	if code != kernel.NoFault && (f.code == kernel.NoFault || at < f.at) {
		f.code, f.at = code, at
	}
}

// runParts runs the parts of one function, in any order or at once, and counts
// them as one kernel. The error is one of the accelerator, or [errInDoubt]. parts is the
// callee's to change.
func (d *Device) runParts(parts []part) (f fault, err error) {
	live := parts[:0]
	for _, p := range parts {
		empty := false
		for _, n := range p.l.Extents {
			empty = empty || n == 0
		}
		if empty {
			continue
		}
		for i := range p.k.Args {
			if p.k.Args[i].Gather && p.l.Args[i].GatherExtent <= 0 { // any index is out of range
				return fault{code: kernel.IndexOutOfRange}, nil
			}
		}
		if p.k.HasFault() {
			p.l.Fault = new(kernel.Fault)
		}
		live = append(live, p)
	}
	if len(live) == 0 {
		return f, nil
	}
	d.counters.kernels.Add(1)
	for i := range live {
		read, written := live[i].traffic()
		d.counters.read.Add(read)
		d.counters.written.Add(written)
	}
	if d.accelerated() {
		name := live[0].k.Name
		if e := engineOf(live[0].program); e != "" {
			name += " by " + e
		}
		d.clockKernel(name, func() { f, err = d.runAccelerated(live) })
		return f, err
	}
	for i := range live { // after this no memory is made before the run
		d.prepack(&live[i])
	}
	d.clockKernel(live[0].k.Name, func() { d.workers.run(live) })
	for i := range live {
		if noted := live[i].l.Fault; noted != nil {
			f.note(noted.First())
		}
	}
	return f, nil
}
