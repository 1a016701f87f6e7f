package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/kernel"
)

// Plan is what to launch, in order, on one stream. Before launching, [Plan.Bind]
// it to scratch memory and a fault word.
type Plan struct {
	Steps []Step
	// Scratch is the number of bytes of scratch memory the steps share. Its
	// content need not be set and means nothing afterwards.
	Scratch int64
	// Fault says that the steps note faults in an 8-byte word, which must be
	// zero before; see [DecodeFault].
	Fault bool

	module *Module  // nil if the kernels are natives
	first  []uint64 // address of each argument
	moved  []uint64 // by Rebind
}

// Step is one kernel launch. Block is Entry.Threads, 1, 1.
type Step struct {
	Entry  *Entry
	GridX  uint32
	GridY  uint32
	Params []uint64
	Maps   []TensorMap // Entry.Maps of them

	operands []lying // of a product whose warps copy them

	at uint64 // place of the step's scratch memory

	// Of a step that computes an operand into scratch memory: the arguments of the whole
	// that its own are, -1 for the operand, its place there, and the parameters as if
	// scratch memory began at 0. nil of all other steps.
	of       []int
	place    uint64
	relative []uint64
}

// maxBlocks is the limit of a grid's first dimension.
const maxBlocks = math.MaxInt32

// Bind fills in the addresses of scratch memory and of the fault word.
func (p *Plan) Bind(scratch, fault uint64) {
	for n := range p.Steps {
		s := &p.Steps[n]
		for i := range s.Maps {
			if m := &s.Maps[i]; m.Arg < 0 {
				m.Base = scratch + m.Offset
			}
		}
		for i := range s.operands {
			if o := &s.operands[i]; o.arg < 0 {
				o.base = scratch + o.place
			}
		}
		for i, sl := range s.Entry.slots {
			switch sl.kind {
			case slotScratch:
				s.Params[i] = scratch + s.at
			case slotOperand:
				s.Params[i] = s.operands[sl.i].base
			case slotFault:
				s.Params[i] = fault
			case slotPointer:
				if s.of != nil && s.of[sl.i] < 0 {
					s.Params[i] = scratch + s.place + s.relative[i]
				}
			}
		}
	}
}

// DecodeFault reads a fault word that a plan left.
func DecodeFault(word uint64) (code kernel.FaultCode, linear int64) {
	if word == 0 {
		return kernel.NoFault, 0
	}
	w := ^word
	return kernel.FaultCode(w & 0xff), int64(w>>8) - 1
}

// sizes are the derived numbers of one launch.
type sizes struct {
	items, group, chunks, inner int64
	rows, cols                  int64
	operands                    []lying // of a product whose warps copy them
}

// Plan decides how to run one launch whose argument i lies in device memory
// that begins at base[i]; the Base fields of the launch are not looked at.
func (m *Module) Plan(l *kernel.Launch, base []uint64) (*Plan, error) {
	p := &Plan{Fault: m.k.HasFault(), module: m, first: make([]uint64, len(base)), moved: make([]uint64, len(base))}
	for i := range base {
		p.first[i] = m.first(l, base, i)
	}
	var err error
	switch m.shape {
	case elementwise:
		err = m.planElementwise(p, l, base)
	case rows:
		err = m.planRows(p, l, base)
	case sequential:
		err = m.planSequential(p, l, base)
	case tiled:
		err = m.planTiled(p, l, base)
	case matrix:
		err = m.planMatrix(p, l, base)
	default:
		err = m.planColumns(p, l, base)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// halve plans the two halves of a launch along its longest parallel axis, for
// launches too large for one grid.
func (m *Module) halve(p *Plan, l *kernel.Launch, base []uint64, plan func(*Plan, *kernel.Launch, []uint64) error) error {
	axis := -1
	for i, kind := range m.k.Axes {
		if kind == kernel.Parallel && (axis < 0 || l.Extents[i] > l.Extents[axis]) {
			axis = i
		}
	}
	if axis < 0 || l.Extents[axis] < 2 {
		return m.refuse("extents %v do not fit a grid", l.Extents)
	}
	return m.halveAlong(axis, p, l, base, plan)
}

// halveAlong is halve along an axis of more than one.
func (m *Module) halveAlong(axis int, p *Plan, l *kernel.Launch, base []uint64, plan func(*Plan, *kernel.Launch, []uint64) error) error {
	n := l.Extents[axis]
	// An even split keeps the first elements of both halves aligned.
	h := (n/2 + 63) / 64 * 64
	if h >= n {
		h = n / 2
	}
	if err := plan(p, l.Slice(axis, 0, h), base); err != nil {
		return err
	}
	return plan(p, l.Slice(axis, h, n), base)
}

func (m *Module) planElementwise(p *Plan, l *kernel.Launch, base []uint64) error {
	k := m.k
	inner := len(k.Axes) - 1
	width, loose := 1, argSet(0)
	if inner >= 0 {
		width, loose = m.elementwiseWidth(l, base)
	}
	z := sizes{items: 1, inner: 1}
	for axis, n := range l.Extents {
		if axis == inner {
			n = (n + int64(width) - 1) / int64(width)
			z.inner = n
		}
		z.items *= n
	}
	blocks := (z.items + elementwiseThreads - 1) / elementwiseThreads
	if inner > 0 && z.items > math.MaxUint32 || blocks > maxBlocks {
		return m.halve(p, l, base, m.planElementwise)
	}
	if inner >= 0 && loose == 0 && l.Extents[inner]%int64(width) == 0 && m.inItsPlace(l, base) {
		e, err := m.maskedEntry(width)
		if err != nil {
			return err
		}
		p.add(m, e, l, base, z, blocks, 1)
		return nil
	}
	if m.lookup != nil && width%2 == 0 && loose == 0 && z.items*int64(width) >= m.lookupFrom {
		return m.planLookedUp(p, l, base, z, width)
	}
	e, err := m.elementwiseEntry(width, loose)
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, blocks, 1)
	return nil
}

// planLookedUp makes the table of a function of one number, then runs as many blocks as
// the device has room for tables.
func (m *Module) planLookedUp(p *Plan, l *kernel.Launch, base []uint64, z sizes, width int) error {
	p.scratch(lookupBytes)
	e, err := m.entry("table", elementwiseThreads, func() (*emitter, error) { return emitTable(m.k, m.lookup) })
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, lookupEntries/2/elementwiseThreads, 1)
	if e, err = m.entry(fmt.Sprintf("v%d_looked_up", width), lookupThreads, func() (*emitter, error) {
		return emitLookedUp(m.k, m.target, width, m.lookup)
	}); err != nil {
		return err
	}
	const turn = lookupTurn * lookupThreads
	z.chunks = (z.items + turn - 1) / turn
	p.add(m, e, l, base, z, min(z.chunks, m.target.sms()), 1)
	return nil
}

// argSet is a set of arguments, of the first 64.
type argSet uint64

func (s argSet) has(arg int) bool { return arg < 64 && s>>arg&1 != 0 }

// elementwiseWidth is the widest access that all arguments allow: 16 bytes of
// the largest type if everything is contiguous and aligned, else 1. Of types of one
// or two bytes operands that are not aligned are loose: a thread reads them one by one,
// which is better than a thread for each element.
func (m *Module) elementwiseWidth(l *kernel.Launch, base []uint64) (width int, loose argSet) {
	k := m.k
	inner := len(k.Axes) - 1
	largest := 1
	for _, a := range k.Args {
		if a.Access[inner] == kernel.Strided || a.Dir == kernel.Out && a.Access[inner] != kernel.Unit {
			return 1, 0
		}
		if a.Access[inner] == kernel.Unit {
			largest = max(largest, a.Type.Size())
		}
	}
	width = 16 / largest
	// Long bodies gain nothing from being repeated more often.
	for width > 4 && width*len(k.Body) > 1500 {
		width /= 2
	}
	if l.Extents[inner] < int64(width) {
		return 1, 0
	}
	for arg, a := range k.Args {
		if a.Access[inner] != kernel.Unit || aligned(k, l, base, arg, inner, width) {
			continue
		}
		if largest > 2 || a.Dir == kernel.Out || a.Gather || arg >= 64 {
			return 1, 0
		}
		loose |= 1 << arg
	}
	return width, loose
}

// aligned reports whether vectors of the given width along an axis are aligned,
// or start at multiples of 16 bytes if they are longer.
func aligned(k *kernel.Kernel, l *kernel.Launch, base []uint64, arg, axis, width int) bool {
	a := &k.Args[arg]
	size := int64(a.Type.Size())
	unit := min(16, int64(width)*size)
	op := &l.Args[arg]
	if (int64(base[arg])+op.Offset*size)%unit != 0 || a.Gather && op.GatherStride*size%unit != 0 {
		return false
	}
	for i, s := range op.Strides {
		if i != axis && a.Access[i] != kernel.Broadcast && l.Extents[i] > 1 && s*size%unit != 0 {
			return false
		}
	}
	return true
}

// add appends a launch of an entry.
func (p *Plan) add(m *Module, e *Entry, l *kernel.Launch, base []uint64, z sizes, x, y int64) {
	params := make([]uint64, len(e.slots))
	for i, s := range e.slots {
		params[i] = m.slotValue(s, l, base, z)
	}
	p.Steps = append(p.Steps, Step{Entry: e, GridX: uint32(x), GridY: uint32(y), Params: params, operands: z.operands})
}

func (m *Module) slotValue(s slot, l *kernel.Launch, base []uint64, z sizes) uint64 {
	size := func() int64 { return int64(m.k.Args[s.i].Type.Size()) }
	switch s.kind {
	case slotExtent:
		return uint64(l.Extents[s.i])
	case slotStart:
		if l.Start == nil {
			return 0
		}
		return uint64(l.Start[s.i])
	case slotFull:
		if l.Full == nil {
			return uint64(l.Extents[s.i])
		}
		return uint64(l.Full[s.i])
	case slotPointer:
		return base[s.i] + uint64(l.Args[s.i].Offset*size())
	case slotStride:
		return uint64(l.Args[s.i].Strides[s.j] * size())
	case slotGatherStride:
		return uint64(l.Args[s.i].GatherStride * size())
	case slotGatherExtent:
		return uint64(l.Args[s.i].GatherExtent)
	case slotScalar:
		return l.Params[s.i]
	case slotItems:
		return uint64(z.items)
	case slotGroup:
		return uint64(z.group)
	case slotChunks:
		return uint64(z.chunks)
	case slotInner:
		return uint64(z.inner)
	case slotRows:
		return uint64(z.rows)
	case slotColumns:
		return uint64(z.cols)
	case slotOperandStride:
		return uint64(z.operands[s.i].strides[s.j])
	}
	return 0 // scratch, fault word and operands of a product, bound later
}
