package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// reduction is one reduce instruction of the kernel with the form of its
// running state: one register for most kinds, value and index for the arg
// kinds, count, mean and squares for M2.
type reduction struct {
	ref   kernel.Ref
	a, b  kernel.Ref // b of Dot only
	kind  kernel.ReduceKind
	t     ir.DType // of the values folded
	state []class
	at    int // bytes of the states of the reductions before this one
	bytes int // of the state in memory
}

// reductions lists the reduce instructions with the bytes that the states of
// all of them take, and refuses those not covered.
func (e *emitter) reductions() ([]*reduction, int, error) {
	var out []*reduction
	for i := range e.k.Body {
		in := &e.k.Body[i]
		if in.Op != kernel.OpReduce {
			continue
		}
		r := &reduction{ref: kernel.Ref(i), a: in.A, b: in.B, kind: e.k.Reductions[in.Imm].Kind, t: e.k.Body[in.A].Type}
		if r.t != ir.Bool && r.t.Compute() != r.t {
			return nil, 0, fmt.Errorf("reduction of %s values", r.t)
		}
		c := classOf(r.t)
		if r.t == ir.Bool {
			c = b32
		}
		switch r.kind {
		case kernel.Sum, kernel.Prod, kernel.Dot:
			if r.t == ir.Bool {
				return nil, 0, fmt.Errorf("%s of bool values", r.kind)
			}
			r.state = []class{c}
		case kernel.Max, kernel.Min:
			r.state = []class{c}
		case kernel.ArgMax, kernel.ArgMin:
			r.state = []class{c, b64}
		case kernel.M2:
			if !r.t.IsFloat() {
				return nil, 0, fmt.Errorf("%s of %s values", r.kind, r.t)
			}
			r.state = []class{b64, c, c}
		default:
			return nil, 0, fmt.Errorf("reductions of kind %s", r.kind)
		}
		out = append(out, r)
	}
	return out, e.layOut(out), nil
}

// layOut gives every state its place. One word size for all keeps states of
// 8-byte registers aligned wherever the arrays of states begin.
func (e *emitter) layOut(reds []*reduction) int {
	e.word = 4
	for _, r := range reds {
		for _, c := range r.state {
			if c == b64 {
				e.word = 8
			}
		}
	}
	total := 0
	for _, r := range reds {
		r.at, r.bytes = total, len(r.state)*e.word
		total += r.bytes
	}
	return total
}

// plain reports whether the state is just a value and elements fold into it
// one by one.
func (r *reduction) plain() bool { return r.kind <= kernel.Min }

// identityBits is the value that folds to nothing.
func (r *reduction) identityBits() uint64 {
	greatest := r.kind == kernel.Max || r.kind == kernel.ArgMax
	switch r.kind {
	case kernel.Sum, kernel.M2, kernel.Dot:
		return 0
	case kernel.Prod:
		switch r.t {
		case ir.F32:
			return uint64(math.Float32bits(1))
		case ir.F64:
			return math.Float64bits(1)
		}
		return 1
	}
	switch r.t {
	case ir.F32:
		if greatest {
			return 0xff800000
		}
		return 0x7f800000
	case ir.F64:
		if greatest {
			return 0xfff0000000000000
		}
		return 0x7ff0000000000000
	case ir.I32:
		if greatest {
			return 0x80000000
		}
		return 0x7fffffff
	case ir.I64:
		if greatest {
			return 1 << 63
		}
		return 1<<63 - 1
	case ir.Bool:
		if greatest {
			return 0
		}
		return 1
	}
	switch {
	case greatest:
		return 0
	case r.t == ir.U32:
		return math.MaxUint32
	}
	return math.MaxUint64
}

// noIndex marks the state of an arg kind that has seen nothing: as unsigned it
// is behind every index.
const noIndex = math.MaxInt64

// identity returns constant registers; a fold never writes into them.
func (e *emitter) identity(r *reduction) []reg {
	switch r.kind {
	case kernel.ArgMax, kernel.ArgMin:
		return []reg{e.constant(r.state[0], r.identityBits()), e.constant(b64, noIndex)}
	case kernel.M2:
		z := e.constant(r.state[1], 0)
		return []reg{e.constant(b64, 0), z, z}
	}
	return []reg{e.constant(r.state[0], r.identityBits())}
}

// enter turns a value of the body into the form in which states keep it.
func (e *emitter) enter(r *reduction, v reg) reg {
	if r.t == ir.Bool {
		return e.to(b32, "selp.b32", "1", "0", v)
	}
	return v
}

// leave is the result of a finished state, as the body's type.
func (e *emitter) leave(r *reduction, s []reg) reg {
	switch {
	case r.kind == kernel.ArgMax || r.kind == kernel.ArgMin:
		return s[1]
	case r.kind == kernel.M2:
		return s[2]
	case r.t == ir.Bool:
		return e.to(pred, "setp.ne.u32", s[0], "0")
	}
	return s[0]
}

// masked is v where the guard holds, else the identity.
func (e *emitter) masked(r *reduction, v, guard reg) reg {
	if guard == "" {
		return v
	}
	c := r.state[0]
	if r.kind == kernel.M2 {
		c = r.state[1] // the first word is the count
	}
	return e.to(c, "selp"+classType[c], v, e.constant(c, r.identityBits()), guard)
}

// combine folds two states, the left one first.
func (e *emitter) combine(r *reduction, x, y []reg) []reg {
	t := r.t
	if t == ir.Bool {
		t = ir.U32
	}
	switch r.kind {
	case kernel.Sum, kernel.Dot:
		v, _ := e.arith(kernel.OpAdd, t, x[0], y[0])
		return []reg{v}
	case kernel.Prod:
		v, _ := e.arith(kernel.OpMul, t, x[0], y[0])
		return []reg{v}
	case kernel.Max, kernel.Min:
		return []reg{e.minmax(r.kind == kernel.Max, t, x[0], y[0])}
	case kernel.M2:
		return e.combineMoments(r, x, y)
	default:
		return e.combineArg(r, t, x, y)
	}
}

// combineArg picks y if it is better: a NaN before any number, then the
// greater (or lesser) value, then the lower index. The order is total, so any
// grouping gives the same answer.
func (e *emitter) combineArg(r *reduction, t ir.DType, x, y []reg) []reg {
	s := suffix(t)
	cmp := "gt"
	if r.kind == kernel.ArgMin {
		cmp = "lt"
	}
	better := e.to(pred, "setp."+cmp+s, y[0], x[0])
	tie := e.to(pred, "setp.eq"+s, y[0], x[0])
	if t.IsFloat() {
		nx := e.to(pred, "setp.nan"+s, x[0], x[0])
		ny := e.to(pred, "setp.nan"+s, y[0], y[0])
		better = e.to(pred, "or.pred", better, e.to(pred, "and.pred", ny, e.to(pred, "not.pred", nx)))
		tie = e.to(pred, "or.pred", tie, e.to(pred, "and.pred", nx, ny))
	}
	lower := e.to(pred, "setp.lt.s64", y[1], x[1])
	better = e.to(pred, "or.pred", better, e.to(pred, "and.pred", tie, lower))
	return []reg{
		e.to(r.state[0], "selp"+classType[r.state[0]], y[0], x[0], better),
		e.to(b64, "selp.b64", y[1], x[1], better),
	}
}

// combineMoments is Chan's formula, each operation rounded; an empty side is
// skipped.
func (e *emitter) combineMoments(r *reduction, x, y []reg) []reg {
	c, s := r.state[1], suffix(r.t)
	b := classType[c]
	n := e.to(b64, "add.s64", x[0], y[0])
	fx, fy, fn := e.toFloat(r, x[0]), e.toFloat(r, y[0]), e.toFloat(r, n)
	d := e.to(c, "sub.rn"+s, y[1], x[1])
	mean := e.to(c, "add.rn"+s, x[1], e.to(c, "mul.rn"+s, d, e.to(c, "div.rn"+s, fy, fn)))
	scale := e.to(c, "div.rn"+s, e.to(c, "mul.rn"+s, fx, fy), fn)
	m2 := e.to(c, "add.rn"+s, e.to(c, "add.rn"+s, x[2], y[2]),
		e.to(c, "mul.rn"+s, e.to(c, "mul.rn"+s, d, d), scale))
	xEmpty := e.to(pred, "setp.eq.s64", x[0], "0")
	yEmpty := e.to(pred, "setp.eq.s64", y[0], "0")
	pick := func(v, left, right reg) reg {
		v = e.to(c, "selp"+b, right, v, xEmpty)
		return e.to(c, "selp"+b, left, v, yEmpty)
	}
	return []reg{n, pick(mean, x[1], y[1]), pick(m2, x[2], y[2])}
}

func (e *emitter) toFloat(r *reduction, n reg) reg {
	return e.to(r.state[1], "cvt.rn"+suffix(r.t)+".s64", n)
}

// shuffle returns the state of the lane whose number differs in one bit.
func (e *emitter) shuffle(r *reduction, s []reg, distance int) []reg {
	out := make([]reg, len(s))
	for i, v := range s {
		if r.state[i] == b32 {
			out[i] = e.shuffle32(v, distance)
			continue
		}
		lo, hi := e.reg(b32), e.reg(b32)
		e.op("mov.b64", group([]reg{lo, hi}), v)
		out[i] = e.to(b64, "mov.b64", group([]reg{e.shuffle32(lo, distance), e.shuffle32(hi, distance)}))
	}
	return out
}

func (a *asm) shuffle32(v reg, distance int) reg {
	return a.to(b32, "shfl.sync.bfly.b32", v, distance, "31", "0xffffffff")
}

// foldHalves folds a power-of-two list of states by halves.
func (e *emitter) foldHalves(r *reduction, p [][]reg) []reg {
	for h := len(p) / 2; h > 0; h /= 2 {
		next := make([][]reg, h)
		for i := range next {
			next[i] = e.combine(r, p[i], p[i+h])
		}
		p = next
	}
	return p[0]
}

// foldWarp folds the partials of a warp: lane l holds, for every block of
// 32*width partials, those at l*width to l*width+width-1. Blocks first, then
// lanes, then within the lane: that is by halves of the whole. Addition
// commutes, so the butterfly leaves the same bits in every lane; for the other
// kinds the lower half stands left, which a select sees to where it matters.
func (e *emitter) foldWarp(r *reduction, p [][]reg, width int) []reg {
	blocks := len(p) / width
	for h := blocks / 2; h > 0; h /= 2 {
		for i := range h * width {
			p[i] = e.combine(r, p[i], p[i+h*width])
		}
	}
	p = p[:width]
	for distance := 16; distance > 0; distance /= 2 {
		for i := range p {
			other := e.shuffle(r, p[i], distance)
			if r.kind != kernel.M2 {
				p[i] = e.combine(r, p[i], other)
				continue
			}
			// Chan's formula is not symmetric in its roundings.
			upper := e.upperLane(distance)
			left, right := make([]reg, len(other)), make([]reg, len(other))
			for j := range other {
				b := "selp" + classType[r.state[j]]
				left[j] = e.to(r.state[j], b, other[j], p[i][j], upper)
				right[j] = e.to(r.state[j], b, p[i][j], other[j], upper)
			}
			p[i] = e.combine(r, left, right)
		}
	}
	return e.foldHalves(r, p)
}

// upperLane says whether this lane is the right one of its pair.
func (e *emitter) upperLane(distance int) reg {
	return e.once(fmt.Sprintf("upper %d", distance), func() reg {
		return e.def(pred, "setp.ne.u32", e.def(b32, "and.b32", e.laneHead(), fmt.Sprint(distance)), "0")
	})
}

// laneHead is the lane number, computed in the head.
func (a *asm) laneHead() reg {
	return a.once("lane", func() reg { return a.def(b32, "and.b32", a.tidHead(), "31") })
}

func (a *asm) tidHead() reg {
	return a.once("tid", func() reg { return a.def(b32, "mov.u32", "%tid.x") })
}

// loadState reads a state at a generic address; where the guard is false it is
// the identity.
func (e *emitter) loadState(r *reduction, addr, guard reg) []reg {
	out := make([]reg, len(r.state))
	id := e.identity(r)
	for i, c := range r.state {
		out[i] = e.reg(c)
		if guard != "" {
			e.op("mov"+classType[c], out[i], id[i])
		}
		e.opIf(guard, "ld"+classType[c], out[i], mem(addr, int64(i*e.word)))
	}
	return out
}

func (e *emitter) storeState(r *reduction, s []reg, addr, guard reg) {
	for i, c := range r.state {
		e.opIf(guard, "st"+classType[c], mem(addr, int64(i*e.word)), s[i])
	}
}

// assign copies a state into fixed registers that a loop carries.
func (e *emitter) assign(r *reduction, dst, src []reg) {
	for i, c := range r.state {
		e.op("mov"+classType[c], dst[i], src[i])
	}
}

// fresh makes registers for a loop-carried state, set to the identity.
func (e *emitter) fresh(r *reduction) []reg {
	out := make([]reg, len(r.state))
	for i, c := range r.state {
		out[i] = e.reg(c)
	}
	e.assign(r, out, e.identity(r))
	return out
}

// associative reports whether any order of folding gives the same result.
func (r *reduction) associative() bool {
	switch r.kind {
	case kernel.Max, kernel.Min, kernel.ArgMax, kernel.ArgMin:
		return true
	}
	return false
}
