package cpu

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Host and Routine are the contract's.
type (
	Host    = backend.Host
	Routine = backend.Routine
)

var builtinRoutines = map[string]Routine{
	"nonzero":     nonzero,
	"scatter_add": scatterAdd,
}

// AddRoutine says how the device computes an opaque row.
func (d *Device) AddRoutine(row string, r Routine) error {
	if row == "" || r == nil {
		return ir.Errorf(ir.ErrArgument, "a routine needs a row and a function")
	}
	d.opaque.Store(row, nil)
	return d.q.add(task{run: func() { d.routines[row] = r }})
}

// Supports says that opaque rows need a routine, and all others run.
func (d *Device) Supports(n *ir.Node) error {
	if _, ok := d.opaque.Load(n.Row.Name); n.Row.Access == ir.Opaque && !ok {
		return &ir.Error{Kind: ir.ErrUnsupported, Op: n.Row.Name, Device: d.opt.ID, Msg: "the device has no routine for it"}
	}
	return nil
}

// routine runs a node through the routine of its row.
func (d *Device) routine(n *ir.Node) error {
	d.counters.routines.Add(1)
	r := d.routines[n.Row.Name]
	if r == nil {
		return ir.Errorf(ir.ErrUnsupported, "the device has no routine for it")
	}
	out, err := d.outputs(n)
	if err != nil {
		return err
	}
	in, outs := make([]Host, len(n.In)), make([]Host, len(n.Out))
	var copies []*entry
	for i, t := range n.In {
		e := d.store[t.ID]
		c, err := d.compact(t.ID, e)
		if err != nil {
			return d.settle(n, out, err)
		}
		if c != e {
			copies = append(copies, c)
		}
		in[i] = Host{Type: c.typ, Data: c.bytes()}
	}
	for i, e := range out {
		outs[i] = Host{Type: e.typ, Data: e.bytes()}
	}
	d.clockKernel(func() { err = r(n, in, outs) })
	for _, c := range copies {
		d.pool.put(c.buf)
	}
	return d.settle(n, out, err)
}

func nonzero(n *ir.Node, in, out []Host) error {
	shape := in[0].Type.Shape
	rows, rank := out[0].Type.Shape[0], len(shape)
	coords := view[int64](out[0].Data)
	count := 0
	at := make([]int64, rank)
	for _, v := range in[0].Data {
		if v != 0 {
			if count < rows {
				copy(coords[count*rank:], at)
			}
			count++
		}
		for i := rank - 1; i >= 0; i-- { // the next coordinates in row-major order
			if at[i]++; at[i] < int64(shape[i]) {
				break
			}
			at[i] = 0
		}
	}
	for i := min(count, rows) * rank; i < rows*rank; i++ {
		coords[i] = -1
	}
	view[int64](out[1].Data)[0] = int64(count)
	return nil
}

// scatterAdd adds the slices of z to those of x in ascending source order, each
// sum rounded to the dtype: a left fold, whatever the threads.
func scatterAdd(n *ir.Node, in, out []Host) error {
	copy(out[0].Data, in[0].Data)
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(in[0].Type.Shape))
	if err != nil {
		return err
	}
	shape := in[0].Type.Shape
	outer, inner := 1, 1
	for i, d := range shape {
		switch {
		case i < axis:
			outer *= d
		case i > axis:
			inner *= d
		}
	}
	g := scatter{outer: outer, inner: inner, extent: shape[axis], index: view[int64](in[1].Data)}
	switch in[0].Type.DType {
	case ir.F32:
		scatterInto(g, view[float32](out[0].Data), view[float32](in[2].Data))
	case ir.F64:
		scatterInto(g, view[float64](out[0].Data), view[float64](in[2].Data))
	case ir.I8, ir.U8:
		scatterInto(g, view[uint8](out[0].Data), view[uint8](in[2].Data))
	case ir.I16, ir.U16:
		scatterInto(g, view[uint16](out[0].Data), view[uint16](in[2].Data))
	case ir.I32, ir.U32:
		scatterInto(g, view[uint32](out[0].Data), view[uint32](in[2].Data))
	case ir.I64, ir.U64:
		scatterInto(g, view[uint64](out[0].Data), view[uint64](in[2].Data))
	case ir.F16:
		scatterHalf(g, view[uint16](out[0].Data), view[uint16](in[2].Data), kernel.F16ToF32, kernel.F16FromF32)
	case ir.BF16:
		scatterHalf(g, view[uint16](out[0].Data), view[uint16](in[2].Data), kernel.BF16ToF32, kernel.BF16FromF32)
	}
	return g.check()
}

type scatter struct {
	outer, inner, extent int
	index                []int64
}

// target returns the destination of source slice i, clamped into the axis.
func (g *scatter) target(i int) int {
	t := g.index[i]
	if t < 0 {
		t += int64(g.extent)
	}
	return int(min(max(t, 0), int64(g.extent)-1))
}

// check returns an error for the first index that was out of range.
func (g *scatter) check() error {
	for i, t := range g.index {
		if t < -int64(g.extent) || t >= int64(g.extent) {
			return ir.Errorf(ir.ErrData, "index out of range: index[%d] is %d, the axis has extent %d", i, t, g.extent)
		}
	}
	return nil
}

func scatterInto[T uint8 | uint16 | uint32 | uint64 | float32 | float64](g scatter, dst, src []T) {
	for o := 0; o < g.outer; o++ {
		for i := range g.index {
			d := dst[(o*g.extent+g.target(i))*g.inner:][:g.inner]
			s := src[(o*len(g.index)+i)*g.inner:][:g.inner]
			for j, v := range s {
				d[j] += v
			}
		}
	}
}

func scatterHalf(g scatter, dst, src []uint16, up func(uint16) float32, down func(float32) uint16) {
	for o := 0; o < g.outer; o++ {
		for i := range g.index {
			d := dst[(o*g.extent+g.target(i))*g.inner:][:g.inner]
			s := src[(o*len(g.index)+i)*g.inner:][:g.inner]
			for j, v := range s {
				d[j] = down(up(d[j]) + up(v))
			}
		}
	}
}
