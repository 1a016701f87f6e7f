package amd64

import (
	"bytes"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// class says how often a value must be computed.
type class uint8

const (
	uniform class = iota // once per call
	scalar               // once per row; the same in all lanes
	vector               // once per vector of kept elements
	element              // once per step along the reduced axis
)

// val names a value in a program: an instruction and, where each unrolled copy
// has its own, the copy.
type val int32

const shared = 15

func mkVal(r kernel.Ref, copy int) val { return val(r)<<4 | val(copy) }

func (v val) ref() kernel.Ref { return kernel.Ref(v >> 4) }

// maxArgs is the number of arguments that a kernel may have.
const maxArgs = 64

// gen is the state of one translation.
type gen struct {
	*alloc
	a      *asm.Asm
	k      *kernel.Kernel
	p      *program
	wide   bool // AVX-512
	stream bool // store past the caches
	n      int  // lanes
	byRows bool // lanes run along the reduced axis
	class  []class
	stage  []int
	alias  []kernel.Ref // of conversions that do nothing
	last   int          // the last stage
	ctx    int32        // bytes of the context block so far

	need         []bool // instructions that contribute to a store or a fault
	passes       []pass
	splats       map[splat]asm.Mem
	turns        map[int]asm.Mem // buffers of turned arguments
	turning      map[int]bool    // those of the current pass
	scanning     map[val]*scanState
	hits         asm.Vec                   // lanes that were hit in a pass for the first, AVX2
	tracked      map[kernel.Ref][]asm.Mask // extremes of the current pass that are NaN-free where these are set
	launchExtent map[kernel.Ref]bool       // extents of the launch, not of the whole
	attempt      int                       // the first that ran out of registers is followed by others
	saved        map[kernel.Ref]rowValue
	kept         map[kernel.Ref]asm.Mem // row buffers of what M2 reductions read twice

	ptr     map[int]asm.Reg // arguments whose pointer sits in a register
	running bool            // pointers that do not, are in argCur rather than argPtr
	masked  bool
	lane    asm.Mem // buffer for element-wise copies
	laneB   asm.Mem // another, for operands
	maskD   asm.Mem // lane masks of the masked step, AVX2 only
	maskQ   asm.Mem
}

// generate translates a kernel. With stream, whole vectors are stored past the
// caches.
func generate(k *kernel.Kernel, level Level, stream bool) (p *program, err error) {
	for attempt := range attempts {
		p, err = try(k, level, stream, attempt)
		if un, ok := err.(*Unsupported); !ok || un.Reason != shortage {
			break
		}
	}
	return p, err
}

// attempts is how often a kernel is tried: each time with fewer registers that
// hold one value over a whole loop.
const attempts = 3

// shortage is the refusal of an instruction that finds no register.
const shortage = "an instruction needs more registers than there are"

func try(k *kernel.Kernel, level Level, stream bool, attempt int) (p *program, err error) {
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			p, err = nil, &Unsupported{k.Name, string(why)}
		}
	}()
	return translate(k, level, stream, attempt, true), nil
}

// translate tries once. With first, indices of extremes are found by [firstHit] where
// lanes run along the reduced axis.
func translate(k *kernel.Kernel, level Level, stream bool, attempt int, first bool) *program {
	lowered, own := lower(k, first)
	lowered = idioms(lowered, level == AVX512)
	g := &gen{alloc: &alloc{}, a: asm.New(), k: lowered, launchExtent: own, wide: level == AVX512, stream: stream, attempt: attempt, p: &program{k: k, level: level}}
	g.turns = map[int]asm.Mem{}
	g.scanning, g.splats = map[val]*scanState{}, map[splat]asm.Mem{}
	g.saved, g.kept = map[kernel.Ref]rowValue{}, map[kernel.Ref]asm.Mem{}
	g.check()
	g.shape()
	if first && !g.byRows && g.findsFirst() {
		return translate(k, level, stream, attempt, false)
	}
	g.classify()
	g.plan()
	g.entry()
	g.p.code = bytes.Clone(g.a.Finish()) // the program outlives the assembler's buffer, which has room for large ones
	g.p.ctxSize = int(g.ctx)
	return g.p
}

// check refuses what no plan covers and sets the number of lanes.
func (g *gen) check() {
	total := 64
	if !g.wide {
		total = 32
	}
	lane := 4
	for i := range g.k.Body {
		in := &g.k.Body[i]
		if in.Op != kernel.OpStore && in.Type.Size() == 8 {
			lane = 8
		}
		g.p.faults = g.p.faults || g.faulty(in)
		if in.Op == kernel.OpReduce {
			switch g.k.Reductions[in.Imm].Kind {
			case kernel.PairDot:
				refuse("dot products of pairs: package contract has them")
			case kernel.HalfDot:
				refuse("dot products of f16: they are to be widened")
			}
		}
	}
	g.n = total / lane
	g.p.lanes = g.n
	if len(g.k.Args) > maxArgs {
		refuse("%d arguments", len(g.k.Args))
	}
}

// faulty reports whether an instruction may note a fault.
func (g *gen) faulty(in *kernel.Instr) bool {
	return in.Op == kernel.OpGather || (in.Op == kernel.OpDiv || in.Op == kernel.OpRem) && !in.Type.IsFloat()
}

// anyOrder reports whether every order of combination gives the same bits.
func (g *gen) anyOrder(in *kernel.Instr) bool {
	switch g.k.Reductions[in.Imm].Kind {
	case kernel.Max, kernel.Min:
		return true
	}
	return !in.Type.IsFloat()
}

// shape chooses the vector axis, the row axis and the place of the lanes.
func (g *gen) shape() {
	k, p := g.k, g.p
	p.vAxis, p.uAxis, p.rAxis = -1, -1, -1
	from, to := k.ReducedAxes()
	// Lanes run along the reduced axis where all trees are striped over enough
	// of them, or along a kept one; columns says that this suits every tree.
	rows, columns := to-from == 1, true
	for i := range k.Body {
		in := &k.Body[i]
		if in.Op != kernel.OpReduce || g.anyOrder(in) {
			continue
		}
		r := k.Reductions[in.Imm]
		t := r.Tree
		if t.Chunk < 1 || t.Kind == kernel.Striped && (t.Lanes < 1 || t.Lanes&(t.Lanes-1) != 0 || t.Lanes > 1024) {
			refuse("the tree %s", t)
		}
		rows = rows && t.Kind == kernel.Striped && t.Lanes >= g.n && t.Chunk%t.Lanes == 0 && r.Kind != kernel.Dot
		columns = columns && t.Kind != kernel.Striped
	}
	strided := func(axis int) (n int) {
		for _, a := range k.Args {
			if a.Access[axis] == kernel.Strided {
				n++
			}
		}
		return n
	}
	best, cost := -1, 1<<30
	for axis := len(k.Axes) - 1; axis >= 0; axis-- {
		if k.Axes[axis] == kernel.Parallel {
			if c := strided(axis); c < cost {
				best, cost = axis, c
			}
		}
	}
	if to > from && rows && (!columns || strided(from) <= cost) {
		g.byRows = true
		best = from
	} else if to > from {
		p.rAxis, p.rFrom = to-1, from
	}
	p.vAxis, p.byRows = best, g.byRows
	for axis := len(k.Axes) - 1; axis >= 0; axis-- {
		if k.Axes[axis] == kernel.Parallel && axis != p.vAxis {
			p.uAxis = axis
			break
		}
	}
}

// along reports how an argument moves along an axis that may be missing.
func (g *gen) along(arg, axis int) kernel.Access {
	if axis < 0 {
		return kernel.Broadcast
	}
	return g.k.Args[arg].Access[axis]
}

// varies says for every value whether it changes along an axis.
func (g *gen) varies(axis int) []bool {
	v := make([]bool, len(g.k.Body))
	for i := range g.k.Body {
		in := &g.k.Body[i]
		switch in.Op {
		case kernel.OpLoad, kernel.OpStore, kernel.OpGather:
			v[i] = g.along(int(in.Imm), axis) != kernel.Broadcast
		case kernel.OpIndex:
			v[i] = int(in.Imm) == axis
		}
		in.Operands(func(r kernel.Ref) { v[i] = v[i] || v[r] })
		if in.Op == kernel.OpReduce && axis >= 0 && g.k.Axes[axis] == kernel.Reduced {
			v[i] = false
		}
	}
	return v
}

func (g *gen) classify() {
	k := g.k
	g.stage = k.Stages()
	levels := k.Levels()
	along := g.varies(g.p.vAxis)
	g.class = make([]class, len(k.Body))
	g.alias = make([]kernel.Ref, len(k.Body))
	for i := range k.Body {
		in := &k.Body[i]
		g.last = max(g.last, g.stage[i])
		switch {
		case levels[i] == kernel.ElementLevel:
			g.class[i] = element
		case in.Op == kernel.OpReduce && !g.byRows:
			g.class[i] = vector
		case levels[i] == kernel.UniformLevel && in.Op != kernel.OpLoad && in.Op != kernel.OpStore && in.Op != kernel.OpGather:
			g.class[i] = uniform
		case g.byRows || !along[i]:
			g.class[i] = scalar
		default:
			g.class[i] = vector
		}
		if in.Op != kernel.OpStore || g.class[i] == element {
			in.Operands(func(r kernel.Ref) {
				if in.Op != kernel.OpReduce {
					g.class[i] = max(g.class[i], g.class[r])
				}
			})
		} else {
			g.class[i] = max(g.class[i], g.class[in.A])
			if g.class[i] == uniform {
				g.class[i] = scalar
			}
		}
		g.alias[i] = kernel.Ref(i)
		if g.trivial(in) {
			g.alias[i] = g.alias[in.A]
			g.class[i] = g.class[g.alias[i]]
		}
	}
	g.own = make([]bool, len(k.Body))
	for i := range k.Body {
		switch g.class[i] {
		case vector:
			g.own[i] = true
		case element:
			g.own[i] = g.byRows || along[i]
			// What depends on a reduction along lanes differs per copy.
			k.Body[i].Operands(func(r kernel.Ref) { g.own[i] = g.own[i] || g.own[r] })
		}
	}
}

// trivial reports whether an instruction leaves the lanes as they are.
func (g *gen) trivial(in *kernel.Instr) bool {
	switch in.Op {
	case kernel.OpBitcast:
		from, to := g.k.Body[in.A].Type, in.Type
		if from.Size() < 4 {
			refuse("bitcast of %s to %s", from, to)
		}
		return true
	case kernel.OpCvt:
		return sameLanes(g.k.Body[in.A].Type, in.Type)
	}
	return false
}

// sameLanes reports whether a conversion by value leaves the lanes as they are.
func sameLanes(from, to ir.DType) bool {
	switch to {
	case ir.I32, ir.U32:
		return from.IsInt() && from.Size() <= 4
	case ir.I64, ir.U64:
		return from.IsInt() && from.Size() == 8
	case ir.F32:
		return from == ir.F16 || from == ir.BF16
	case ir.I16:
		return from == ir.I8 || from == ir.U8
	case ir.U16:
		return from == ir.U8
	}
	return false
}

// value returns the name under which copy sees a value.
func (g *gen) value(r kernel.Ref, copy int) val {
	r = g.alias[r]
	if g.own[r] {
		return mkVal(r, copy)
	}
	return mkVal(r, shared)
}

func laneSize(t ir.DType) int {
	if t.Size() == 8 {
		return 8
	}
	return 4
}

// length returns the vector length of a value of the type.
func (g *gen) length(t ir.DType) asm.Len { return g.lengthOf(laneSize(t)) }

func (g *gen) lengthOf(lane int) asm.Len {
	switch g.n * lane {
	case 64:
		return asm.L512
	case 32:
		return asm.L256
	}
	return asm.L128
}

// bits is a vector constant of equal lanes.
func (g *gen) bits(lane int, v uint64) asm.Mem {
	key := splat{lane, v}
	m, ok := g.splats[key]
	if !ok {
		m = g.splat(lane, v)
		g.splats[key] = m
	}
	return m
}

// splat is the key of a vector constant of equal lanes.
type splat struct {
	lane int
	bits uint64
}

func (g *gen) splat(lane int, v uint64) asm.Mem {
	b := make([]byte, g.n*lane)
	for i := range b {
		b[i] = byte(v >> (8 * (i % lane)))
	}
	return g.a.Const(b)
}

// constant returns the lanes of a value of type t given by its bits.
func (g *gen) constant(t ir.DType, v uint64) asm.Mem { return g.bits(laneSize(t), laneBits(t, v)) }

// laneBits returns what a lane holds for a value given by its bits.
func laneBits(t ir.DType, v uint64) uint64 {
	switch t {
	case ir.Bool:
		if v&0xff != 0 {
			return 0xffffffff
		}
		return 0
	case ir.F16, ir.BF16:
		return kernel.Convert(ir.F32, t, v)
	case ir.I8, ir.I16, ir.U8, ir.U16:
		return kernel.Convert(ir.I32, t, v)
	}
	return v
}

// ones is a vector of all ones for values of the type.
func (g *gen) ones(t ir.DType) asm.Mem { return g.bits(laneSize(t), ^uint64(0)) }
