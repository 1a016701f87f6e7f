package kernel

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// tileWidth is the number of elements a value has in one tile: small enough that
// the values of a long body stay in the first-level cache.
const tileWidth = 256

type (
	float   interface{ float32 | float64 }
	integer interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	number interface{ float | integer }
	raw    interface {
		uint8 | uint16 | uint32 | uint64
	}
)

// stepFn executes one instruction on n elements.
type stepFn func(f *frame, s *step, n int)

// step is an instruction bound to its loop and to the place of its result.
type step struct {
	fn           stepFn
	dst, a, b, c Ref
	slot         int    // byte offset of the result in the arena
	size         int    // bytes of one element of the result
	arg          int    // argument, axis, parameter, reduction or scan
	imm          uint64 // of a constant
	fill         bool   // a single value used by steps that run on whole tiles
}

// pass is what runs for one stage: the row-level steps, then the element-level
// ones over the whole reduced group.
type pass struct {
	row, elem []step
	reduces   []int // accumulators fed by elem
	scans     []int
}

// interp is the schedule of a kernel, immutable once built.
type interp struct {
	k        *Kernel
	uniform  []step
	passes   []pass
	arena    int // bytes of all value slots
	accs     []accSpec
	scans    []accSpec
	indexed  [MaxAxes]bool
	from, to int // reduced axes
	pool     sync.Pool
}

// accSpec describes the state of a reduction or scan.
type accSpec struct {
	at   int // the instruction
	red  Reduction
	typ  ir.DType // of the operands
	size int      // bytes of one element of the result
	slot int      // of the result
	fill bool
}

// NewInterpreter returns the reference implementation of the kernel, whose
// results define the bits. The kernel must not change afterwards.
func NewInterpreter(k *Kernel) (Executable, error) {
	if err := k.Verify(); err != nil {
		return nil, err
	}
	k = k.Widened(HalfDot)
	x := &interp{k: k}
	x.from, x.to = k.ReducedAxes()
	if err := x.schedule(); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return x, nil
}

// planner builds the schedule.
type planner struct {
	x      *interp
	k      *Kernel
	levels []Level
	stages []int
	steps  []step   // one per instruction, slots not yet final
	free   [4][]int // free transient slots by log2 of the element size
	acc    []int    // instruction to accumulator or scan number
}

func (x *interp) schedule() error {
	k := x.k
	p := &planner{x: x, k: k, levels: k.Levels(), stages: k.Stages(), steps: make([]step, len(k.Body)), acc: make([]int, len(k.Body))}
	last := 0
	for i := range k.Body {
		if err := p.bind(i); err != nil {
			return fmt.Errorf("%%%d %s: %w", i, k.Body[i].Op, err)
		}
		last = max(last, p.stages[i])
	}
	// Which steps each part runs, by instruction number.
	var uniform []int
	rows, elems := make([][]int, last+1), make([][]int, last+1)
	needed := make([]bool, len(k.Body))
	for s := range elems {
		elems[s] = p.closure(s, needed)
	}
	for i := range k.Body {
		s := p.stages[i]
		switch {
		case p.levels[i] == UniformLevel:
			uniform = append(uniform, i)
		case p.levels[i] == RowLevel && k.Body[i].Op != OpReduce:
			rows[s] = append(rows[s], i)
		case p.levels[i] == ElementLevel && !needed[i] && p.faults(i):
			// Nothing uses it, but its fault counts.
			elems[s] = p.add(elems[s], i)
		}
	}
	// A value used outside its own part keeps its slot for the whole run.
	part := make([]int, len(k.Body)) // number of the part that defines a value
	for _, i := range uniform {
		part[i] = 1
	}
	for s := range rows {
		for _, i := range rows[s] {
			part[i] = 2 + 2*s
		}
	}
	escapes, wide := make([]bool, len(k.Body)), make([]bool, len(k.Body))
	use := func(list []int, number int, elem bool) {
		for _, i := range list {
			k.Body[i].Operands(func(r Ref) {
				if p.levels[r] == ElementLevel {
					return
				}
				escapes[r] = escapes[r] || part[r] != number
				// Row-level steps may run on tiles too, where the rows are the lanes.
				wide[r] = wide[r] || elem || part[r] == 1 && number != 1
			})
		}
	}
	use(uniform, 1, false)
	for s := range rows {
		use(rows[s], 2+2*s, false)
		use(elems[s], 3+2*s, true)
	}
	for i := range k.Body {
		p.steps[i].fill = wide[i]
		if p.levels[i] != ElementLevel && escapes[i] || k.Body[i].Op == OpReduce {
			p.steps[i].slot = p.alloc(p.steps[i].size)
		}
	}
	x.uniform = p.place(uniform, escapes)
	for s := range rows {
		ps := pass{row: p.place(rows[s], escapes), elem: p.place(elems[s], nil)}
		for _, i := range elems[s] {
			switch k.Body[i].Op {
			case OpReduce:
				ps.reduces = append(ps.reduces, p.acc[i])
			case OpScan:
				ps.scans = append(ps.scans, p.acc[i])
			}
		}
		x.passes = append(x.passes, ps)
	}
	for i := range x.accs {
		a := &x.accs[i]
		a.slot, a.fill = p.steps[a.at].slot, p.steps[a.at].fill
	}
	return nil
}

func (p *planner) faults(i int) bool {
	in := &p.k.Body[i]
	return in.Op == OpGather || (in.Op == OpDiv || in.Op == OpRem) && !in.Type.IsFloat()
}

// closure returns the steps of the element-level part of a stage in order: the
// stores of the stage, the reductions of the next, and all they need.
func (p *planner) closure(stage int, needed []bool) []int {
	var list []int
	in := make([]bool, len(p.k.Body))
	for i := len(p.k.Body) - 1; i >= 0; i-- {
		root := false
		switch p.k.Body[i].Op {
		case OpReduce:
			root = p.stages[i] == stage+1
		case OpStore:
			root = p.levels[i] == ElementLevel && p.stages[i] == stage
		}
		if !root && !in[i] {
			continue
		}
		list = append(list, i)
		needed[i] = true
		p.k.Body[i].Operands(func(r Ref) {
			if p.levels[r] == ElementLevel {
				in[r] = true
			}
		})
	}
	for a, b := 0, len(list)-1; a < b; a, b = a+1, b-1 {
		list[a], list[b] = list[b], list[a]
	}
	return list
}

// add puts an instruction and what it needs into a part.
func (p *planner) add(list []int, i int) []int {
	in := make([]bool, len(p.k.Body))
	for _, j := range list {
		in[j] = true
	}
	in[i] = true
	list = list[:0:0]
	for j := len(in) - 1; j >= 0; j-- {
		if in[j] {
			p.k.Body[j].Operands(func(r Ref) {
				if p.levels[r] == ElementLevel {
					in[r] = true
				}
			})
		}
	}
	for j := range in {
		if in[j] {
			list = append(list, j)
		}
	}
	return list
}

// place copies the steps of one part and gives their results slots; slots of
// values that stay inside the part are used again after their last use.
func (p *planner) place(list []int, escapes []bool) []step {
	lastUse := map[Ref]int{}
	inside := map[Ref]bool{}
	for _, i := range list {
		in := &p.k.Body[i]
		in.Operands(func(r Ref) { lastUse[r] = i })
		if in.Op != OpStore && in.Op != OpReduce && (escapes == nil || !escapes[i]) {
			inside[Ref(i)] = true
		}
	}
	out := make([]step, 0, len(list))
	for _, i := range list {
		in := &p.k.Body[i]
		var done Ref = None
		in.Operands(func(r Ref) {
			// Freed before the result is placed: every loop reads an element
			// before it writes one, and sizes never share slots.
			if inside[r] && lastUse[r] == i && r != done {
				p.release(r)
				inside[r] = false
				done = r
			}
		})
		if inside[Ref(i)] {
			p.steps[i].slot = p.alloc(p.steps[i].size)
		}
		out = append(out, p.steps[i])
		if _, used := lastUse[Ref(i)]; inside[Ref(i)] && !used {
			p.release(Ref(i))
			inside[Ref(i)] = false
		}
	}
	return out
}

func sizeClass(size int) int {
	c := 0
	for 1<<c < size {
		c++
	}
	return c
}

func (p *planner) alloc(size int) int {
	c := sizeClass(size)
	if n := len(p.free[c]); n > 0 {
		slot := p.free[c][n-1]
		p.free[c] = p.free[c][:n-1]
		return slot
	}
	slot := p.x.arena
	p.x.arena += tileWidth * size
	return slot
}

func (p *planner) release(r Ref) {
	c := sizeClass(p.steps[r].size)
	p.free[c] = append(p.free[c], p.steps[r].slot)
}

// bind chooses the loop of an instruction.
func (p *planner) bind(i int) error {
	in := &p.k.Body[i]
	s := &p.steps[i]
	*s = step{dst: Ref(i), a: in.A, b: in.B, c: in.C, size: in.Type.Size(), imm: in.Imm}
	var from ir.DType
	if in.A != None {
		from = p.k.Body[in.A].Type
	}
	s.arg = int(in.Imm)
	switch in.Op {
	case OpConst:
		s.fn = constStep
	case OpParam:
		s.fn = paramStep
	case OpIndex:
		s.fn = indexStep
		p.x.indexed[in.Imm] = true
	case OpExtent:
		s.fn = extentStep
	case OpLoad:
		s.fn = bySize(in.Type, loadStep[uint8], loadStep[uint16], loadStep[uint32], loadStep[uint64])
	case OpGather:
		s.fn = bySize(in.Type, gatherStep[uint8], gatherStep[uint16], gatherStep[uint32], gatherStep[uint64])
	case OpStore:
		s.fn = bySize(in.Type, storeStep[uint8], storeStep[uint16], storeStep[uint32], storeStep[uint64])
	case OpSelect:
		s.fn = bySize(in.Type, selectStep[uint8], selectStep[uint16], selectStep[uint32], selectStep[uint64])
	case OpBitcast:
		s.fn = bySize(in.Type, copyStep[uint8], copyStep[uint16], copyStep[uint32], copyStep[uint64])
	case OpCvt:
		s.fn = cvtFn(in.Type, from)
	case OpReduce:
		spec := accSpec{at: i, red: p.k.Reductions[in.Imm], typ: from, size: s.size}
		if newAccumulator(spec) == nil {
			return fmt.Errorf("no %s of %s along %s", spec.red.Kind, from, spec.red.Tree)
		}
		s.fn, s.arg = reduceStep, len(p.x.accs)
		p.acc[i] = s.arg
		p.x.accs = append(p.x.accs, spec)
	case OpScan:
		spec := accSpec{at: i, red: p.k.Reductions[in.Imm], typ: from, size: s.size}
		if newScanner(spec) == nil {
			return fmt.Errorf("no scan %s of %s along %s", spec.red.Kind, from, spec.red.Tree)
		}
		s.fn, s.arg = scanStep, len(p.x.scans)
		p.acc[i] = s.arg
		p.x.scans = append(p.x.scans, spec)
	default:
		t := in.Type
		if in.Op == OpEq || in.Op == OpNe || in.Op == OpLt || in.Op == OpLe {
			t = from
		}
		s.fn = arithFn(in.Op, t)
	}
	if s.fn == nil {
		return fmt.Errorf("no such instruction on %s", in.Type)
	}
	return nil
}

func bySize(t ir.DType, f1, f2, f4, f8 stepFn) stepFn {
	switch t.Size() {
	case 1:
		return f1
	case 2:
		return f2
	case 4:
		return f4
	case 8:
		return f8
	}
	return nil
}

// vec is the tile of a value.
func vec[T number](f *frame, r Ref, n int) []T {
	return unsafe.Slice((*T)(f.ptr[r]), n)
}

// as views a slice whose element type is known to be T.
func as[T, S number](x []S, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(x))), n)[:n:n]
}
