package divide

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Step is what may run at once: launches of a derived kernel, or tasks in Go. A
// step begins when the one before is done.
type Step struct {
	Kernel   int // number in [Form.Kernels]
	Launches []*kernel.Launch
	Tasks    int64
	Cost     int64 // of all tasks, in values that are folded
	Do       func(task int64)
}

// Scratch returns memory for so many bytes, aligned to 64, which nobody else uses
// until the steps are done. Its contents do not matter.
type Scratch func(bytes int64) unsafe.Pointer

// planner lays out the scratch memory of one launch.
type planner struct {
	f       *Form
	l       *kernel.Launch
	scratch Scratch
	outer   int64 // kept elements outside the reduced axes
	lanes   int64 // and inside
	before  int64 // reduced elements outside the axis of the shape
	inside  int64 // and inside
	per     int64 // chunks along the axis
	memory  map[source]unsafe.Pointer
	steps   []Step
}

// Plan returns the steps of a launch of the shape's kernel. What a launch's
// arguments point to and the scratch memory must stay until they are done.
func (f *Form) Plan(l *kernel.Launch, scratch Scratch) []Step {
	p := &planner{f: f, l: l, scratch: scratch, outer: 1, lanes: 1, before: 1, inside: 1, memory: map[source]unsafe.Pointer{}}
	for a, n := range l.Extents {
		switch {
		case a < f.from:
			p.outer *= n
		case a >= f.to:
			p.lanes *= n
		case a < f.shape.Axis:
			p.before *= n
		case a > f.shape.Axis:
			p.inside *= n
		}
	}
	p.per = (l.Extents[f.shape.Axis] + f.shape.Steps - 1) / f.shape.Steps
	for _, x := range f.passes {
		for _, s := range x.scans {
			p.kernel(s.kernel)
			p.carry(s)
		}
		p.kernel(x.kernel)
		p.fold(x.folds)
	}
	if f.rows >= 0 {
		p.kernel(f.rows)
	}
	return p.steps
}

func (p *planner) chunks() int64 { return p.before * p.per }

// total is the number of elements that are reduced.
func (p *planner) total() int64 { return p.before * p.l.Extents[p.f.shape.Axis] * p.inside }

// at returns the memory of a source, for a number of elements of a type.
func (p *planner) at(s source, t ir.DType, n int64) unsafe.Pointer {
	s.half = false // the halves of a record are one memory
	if m, ok := p.memory[s]; ok {
		return m
	}
	m := p.scratch(n * int64(t.Size()))
	p.memory[s] = m
	return m
}

// record is the number of values in a record.
func (p *planner) record(at kernel.Ref) int64 {
	in := p.f.k.Body[at]
	if in.Op == kernel.OpReduce && p.f.k.Reductions[in.Imm].Kind == kernel.M2 {
		return 2 * p.lanes
	}
	return p.lanes
}

// kernel appends the step that launches a derived kernel: over the whole chunks,
// and over the last one if it is shorter.
func (p *planner) kernel(number int) {
	d, s := p.f.derived[number], p.f.shape
	n := p.l.Extents[s.Axis]
	if !d.chunked {
		p.steps = append(p.steps, Step{Kernel: number, Launches: []*kernel.Launch{p.launch(d, 0, 0, 0)}})
		return
	}
	launches := []*kernel.Launch{p.launch(d, 0, n/s.Steps, s.Steps)}
	if rest := n % s.Steps; rest > 0 {
		launches = append(launches, p.launch(d, n/s.Steps, 1, rest))
	}
	p.steps = append(p.steps, Step{Kernel: number, Launches: launches})
}

// launch binds a derived kernel to chunks [from,from+count), of so many steps.
func (p *planner) launch(d *derived, from, count, steps int64) *kernel.Launch {
	l, f := p.l, p.f
	n := len(d.k.Axes)
	out := &kernel.Launch{Extents: make([]int64, 0, n), Start: make([]int64, 0, n), Args: make([]kernel.Operand, len(d.args))}
	strides := make([]int64, n*len(d.args))
	for a, extent := range l.Extents {
		if d.rows && a >= f.from && a < f.to {
			continue
		}
		start := int64(0)
		if l.Start != nil {
			start = l.Start[a]
		}
		if d.chunked && a == f.shape.Axis {
			out.Extents, out.Start = append(out.Extents, count), append(out.Start, from)
			extent = steps
		}
		out.Extents, out.Start = append(out.Extents, extent), append(out.Start, start)
	}
	full := l.Full
	if full == nil {
		full = l.Extents
	}
	out.Params = append(out.Params, l.Params...)
	for _, axis := range d.params {
		out.Params = append(out.Params, uint64(full[axis]))
	}
	for i, s := range d.args {
		o := p.operand(s, d, i)
		to := strides[i*n : i*n : (i+1)*n]
		for a, stride := range o.Strides {
			if d.rows && a >= f.from && a < f.to {
				continue
			}
			if d.chunked && a == f.shape.Axis {
				step := p.chunkStride(s, stride)
				o.Offset += from * step
				to = append(to, step)
			}
			to = append(to, stride)
		}
		o.Strides = to
		out.Args[i] = o
	}
	return out
}

// chunkStride is the stride from one chunk to the next of what has a stride along
// the axis of the shape.
func (p *planner) chunkStride(s source, stride int64) int64 {
	switch s.kind {
	case record, place, carried:
		return p.record(s.at)
	}
	return stride * p.f.shape.Steps
}

// operand returns the memory of a derived kernel's argument with its strides along
// the axes of the kernel.
func (p *planner) operand(s source, d *derived, arg int) kernel.Operand {
	if s.kind == original {
		return p.l.Args[s.arg]
	}
	// Row-major: kept axes outside, what is reduced, kept axes inside.
	t := d.k.Args[arg].Type
	reduced, unit := int64(1), p.record(s.at)
	switch s.kind {
	case record, place, carried:
		reduced = p.chunks()
	case scanned:
		reduced = p.total()
	}
	f := p.f
	strides := make([]int64, len(p.l.Extents))
	row := func(from, to int, unit int64) {
		for a := to - 1; a >= from; a-- {
			strides[a] = unit
			unit *= p.l.Extents[a]
		}
	}
	row(f.to, len(strides), 1)
	switch s.kind {
	case record, place, carried:
		row(f.from, f.shape.Axis, p.per*unit)
	case scanned:
		row(f.from, f.to, unit)
	}
	row(0, f.from, reduced*unit)
	n := p.outer * reduced * unit
	o := kernel.Operand{Base: p.at(s, t, n), Size: n * int64(t.Size()), Strides: strides}
	if s.half || s.kind == rowValue && unit > p.lanes {
		o.Offset = p.lanes
	}
	return o
}

// What folding a value, and moments, costs in instructions of generated code.
const (
	foldCost    = 32
	momentsCost = 512
)

// task folds a group of records of one reduction.
type task struct {
	chunks      kernel.Chunks
	dst, places unsafe.Pointer // places of extremes, nil otherwise
}

func (k *task) run() {
	if k.places != nil {
		k.chunks.FoldArg(k.dst, k.places)
	} else {
		k.chunks.Fold(k.dst)
	}
}

func (p *planner) tasks(list []task, cost int64) {
	p.steps = append(p.steps, Step{Tasks: int64(len(list)), Cost: cost, Do: func(i int64) { list[i].run() }})
}

// fold appends the steps that fold the results of the chunks of reductions: for
// striped trees of many chunks in groups first, again and again.
func (p *planner) fold(folds []fold) {
	var last []task
	cost := int64(0) // of the last
	for _, x := range folds {
		in := &p.f.k.Body[x.at]
		t := in.Type
		if x.red.Kind == kernel.ArgMax || x.red.Kind == kernel.ArgMin {
			t = p.f.k.Body[in.A].Type // of the extremes, beside their places
		}
		unit, n := p.record(x.at), p.chunks()
		each := unit * foldCost * p.outer
		if x.red.Kind == kernel.M2 {
			each = unit * momentsCost * p.outer
		}
		c := kernel.Chunks{Reduction: x.red, Type: t, Width: int(p.lanes), Size: p.f.shape.Steps * p.inside, Total: p.total(),
			Records: p.at(source{kind: record, at: x.at}, t, p.outer*n*unit)}
		group := n
		if x.red.Tree.Kind == kernel.Striped && !anyOrder(x.red.Kind) {
			group = int64(x.red.Tree.Chunk)
		}
		for ; n > group; n = (n + group - 1) / group {
			to := p.scratch(p.outer * ((n + group - 1) / group) * unit * int64(t.Size()))
			p.tasks(p.groups(nil, c, n, group, unit, to), n*each)
			c.Records, c.Size = to, c.Size*group
		}
		from := len(last)
		last = p.groups(last, c, n, n, unit, p.at(source{kind: rowValue, at: x.at}, in.Type, p.outer*unit))
		cost += n * each
		if x.red.Kind == kernel.ArgMax || x.red.Kind == kernel.ArgMin {
			places := p.at(source{kind: place, at: x.at}, ir.I64, p.outer*n*unit)
			for o := range p.outer {
				k := &last[from+int(o)]
				k.dst = unsafe.Add(p.at(source{kind: rowValue, at: x.at}, ir.I64, p.outer*unit), o*unit*8)
				k.places = unsafe.Add(places, o*n*unit*8)
			}
		}
	}
	if len(last) > 0 {
		p.tasks(last, cost)
	}
}

// groups appends the tasks that fold n records of each outer row in groups.
func (p *planner) groups(list []task, c kernel.Chunks, n, group, unit int64, to unsafe.Pointer) []task {
	bytes := unit * int64(c.Type.Size())
	records := c.Records
	for o := range p.outer {
		left := c.Total
		for i := int64(0); i < n; i += group {
			k := task{chunks: c, dst: to}
			k.chunks.Records, k.chunks.N = unsafe.Add(records, (o*n+i)*bytes), int(min(group, n-i))
			k.chunks.Total = min(left, int64(k.chunks.N)*c.Size)
			left -= k.chunks.Total
			list, to = append(list, k), unsafe.Add(to, bytes)
		}
	}
	return list
}

// carry appends the step that makes the carries of a scan out of its chunks' last
// elements.
func (p *planner) carry(s scan) {
	t := p.f.k.Body[s.at].Type
	size, n := int64(t.Size()), p.chunks()
	row := p.total() * p.lanes * size // bytes of an outer row
	chunk := p.f.shape.Steps * p.lanes * size
	alone := p.at(source{kind: scanned, at: s.at}, t, p.outer*p.total()*p.lanes)
	out := p.at(source{kind: carried, at: s.at}, t, p.outer*n*p.lanes)
	totals := p.scratch(p.outer * n * p.lanes * size)
	p.steps = append(p.steps, Step{Tasks: p.outer, Cost: p.outer * n * p.lanes * foldCost, Do: func(o int64) {
		to := unsafe.Add(totals, o*n*p.lanes*size)
		for i := range n - 1 { // of the last chunk nothing is carried
			last := unsafe.Add(alone, o*row+(i+1)*chunk-p.lanes*size)
			copy(unsafe.Slice((*byte)(unsafe.Add(to, i*p.lanes*size)), p.lanes*size), unsafe.Slice((*byte)(last), p.lanes*size))
		}
		c := kernel.Chunks{Reduction: s.red, Type: t, Records: to, N: int(n), Width: int(p.lanes)}
		c.Carry(unsafe.Add(out, o*n*p.lanes*size))
	}})
}
