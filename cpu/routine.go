package cpu

import (
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/attend"
)

// Host, Call and Routine are the contract's.
type (
	Host    = backend.Host
	Call    = backend.Call
	Routine = backend.Routine
)

// builtinRoutines are those of every device, by row. The files that have them add
// them.
var builtinRoutines = map[string]Routine{}

// AddRoutine says how the device computes an opaque row.
func (d *Device) AddRoutine(row string, r Routine) error {
	if row == "" || r == nil {
		return ir.Errorf(ir.ErrArgument, "a routine needs a row and a function")
	}
	d.opaque.Store(row, nil)
	return d.q.add(task{run: func() { d.routines[row] = r }})
}

// Supports says that opaque rows need a routine, recurrences one of package
// attend, and all others run.
func (d *Device) Supports(n *ir.Node) error {
	_, ok := d.opaque.Load(n.Row.Name)
	if n.Row.Access == ir.Opaque && !ok || n.Row.Access == ir.Recurrence && !attend.Supports(n.Row) {
		return &ir.Error{Kind: ir.ErrUnsupported, Op: n.Row.Name, Device: d.opt.ID, Msg: "the device has no routine for it"}
	}
	return nil
}

var errPanicked = ir.Errorf(ir.ErrInternal, "a routine panicked")

// helpers are what one call of a routine uses of the device.
type helpers struct {
	d       *Device
	scratch []*buffer
}

func (h *helpers) Threads() int { return h.d.workers.threads() }

func (h *helpers) Parallel(tasks int, do func(task int)) {
	// What a task costs is not known: routines make them as long as a claim.
	h.d.workers.team.run(int64(tasks), time.Duration(tasks)*claimTime, func(n int64, _ int) { do(int(n)) })
}

func (h *helpers) Scratch(bytes int) ([]byte, error) {
	if h.d.accelerated() {
		return alignedBytes(bytes), nil
	}
	e, err := h.d.newEntry(ir.Type{DType: ir.U8, Shape: ir.Shape{bytes}})
	if err != nil {
		return nil, err
	}
	h.scratch = append(h.scratch, e.buf)
	return e.buf.data, nil
}

func (h *helpers) release() {
	for _, b := range h.scratch {
		h.d.pool.put(b)
	}
}

// routine runs a node through the routine of its row.
func (d *Device) routine(n *ir.Node) error {
	r := d.routines[n.Row.Name]
	if r == nil {
		return ir.Errorf(ir.ErrUnsupported, "the device has no routine for it")
	}
	out, err := d.outputs(n)
	if err != nil {
		return err
	}
	h := &helpers{d: d}
	defer h.release()
	panicked := true
	defer func() {
		if panicked { // which the caller tells
			_ = d.settle(n, out, errPanicked)
		}
	}()
	if done, err := d.runNode(n, out); done || err != nil {
		panicked = false
		return d.settle(n, out, err)
	}
	d.counters.routines.Add(1)
	err = d.onHost(n, out, func(in, out []Host) (err error) {
		c := &Call{Node: n, In: in, Out: out, Helpers: h}
		d.clockKernel(n.Row.Name, func() { err = r(c) })
		return err
	})
	panicked = false
	return d.settle(n, out, err)
}
