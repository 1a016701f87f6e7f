package ptx

import (
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

func init() {
	natives["attention"] = planAttention
	natives["attention_bias"] = planAttention
	natives["attention_grad_q"] = planGradQ
	natives["attention_grad_kv"] = planGradKV
}

// attention is a node of attention or a gradient of it, as kernels of whole nodes see it.
// The only queries of heads that share keys are the queries of one head: folded.
type attention struct {
	*nativeCall
	batch                        ir.Shape
	heads, group, length, source int64
	step, shift                  int64
	d, e                         int
	folded                       bool
	batches                      int64
	causal                       bool
	scale                        float64
	window                       int64
	numbers                      [flashNumbers]uint64
}

// flashLimit bounds extents, so that places of queries and keys are of 32 bits.
const flashLimit = 1 << 29

// newAttention returns nil if the node is too large for kernels of whole nodes. With fold,
// the only queries of heads that share keys are taken as those of one head.
func newAttention(c *nativeCall, fold bool) *attention {
	q, k, v := c.tensors[0].Type, c.tensors[1].Type, c.tensors[2].Type
	n := len(q.Shape)
	a := &attention{nativeCall: c, batch: q.Shape[:n-3], heads: int64(q.Shape[n-3]), length: int64(q.Shape[n-2]), source: int64(k.Shape[n-2]),
		d: q.Shape[n-1], e: v.Shape[n-1], causal: c.Attr("causal").Bool(), window: c.Attr("window").Int, step: 1,
		scale: ir.AttentionScale(c.Attr("scale").Float(), q.Shape[n-1])}
	a.group = a.heads / int64(k.Shape[n-3])
	a.shift = a.source - a.length
	a.batches = int64(a.batch.Size())
	t := float32(a.scale * math.Log2E)
	if a.length > flashLimit || a.source > flashLimit || a.batches*a.heads*(max(a.length, a.source)/64+1) > math.MaxInt32 {
		return nil
	}
	if fold && a.length == 1 && a.group > 1 {
		a.folded, a.causal = true, false // the last query sees all keys
		a.heads, a.length, a.group, a.step, a.shift = a.heads/a.group, a.group, 1, 0, a.source-1
	}
	a.numbers[flashLength], a.numbers[flashSource] = uint64(a.length), uint64(a.source)
	a.numbers[flashShift], a.numbers[flashStep] = uint64(uint32(int32(a.shift))), uint64(a.step)
	a.numbers[flashHeads], a.numbers[flashGroup] = uint64(a.heads), uint64(a.group)
	a.numbers[flashFactor], a.numbers[flashScale] = uint64(math.Float32bits(t)), uint64(math.Float32bits(float32(a.scale)))
	a.numbers[flashBack] = uint64(min(a.window, flashLimit))
	return a
}

// flashes reports whether flash kernels take the node.
func (a *attention) flashes() bool {
	t := float32(a.scale * math.Log2E)
	return a.target.hopper() && isHalf(a.tensors[0].Type.DType) && a.d <= flashWidth && a.e <= flashWidth && t >= 0x1p-100 && t <= 0x1p100
}

// form is what the variants for a node have in common.
func (a *attention) form() flashForm {
	return flashForm{f16: a.tensors[0].Type.DType == ir.F16, d: a.d, e: a.e, causal: a.causal, window: a.window > 0}
}

// tiles sets the number of tiles of so many queries or keys of a head, and returns that
// of blocks to launch.
func (a *attention) tiles(n, of, heads int64) int64 {
	per := (n + of - 1) / of
	all := per * heads * a.batches
	a.numbers[flashTiles], a.numbers[flashAll] = uint64(per), uint64(all)
	return min(all, a.target.sms())
}

// linesOf are the strides in elements of a tensor's batches, heads, lines and elements, a
// statistic having no elements. queries says that its lines are queries. ok is false if
// no stride expresses its batches.
func (a *attention) linesOf(arg int, queries bool) (s [4]int64, ok bool) {
	t := &a.tensors[arg]
	n := len(a.batch)
	own := t.Operand.Strides
	s[0], ok = collapsed(a.batch, own[:n])
	s[1], s[2] = own[n], own[n+1]
	if queries && a.folded {
		s[2] = own[n]
		s[1] = own[n] * a.length
	}
	if len(own) > n+2 {
		s[3] = own[n+2]
	}
	return s, ok
}

// collapsed is the stride of some axes taken as one.
func collapsed(shape ir.Shape, strides []int64) (stride int64, ok bool) {
	have := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		switch n := int64(shape[i]); {
		case n == 1:
		case have == 1:
			stride, have = strides[i], n
		case strides[i] != stride*have:
			return 0, false
		default:
			have *= n
		}
	}
	return stride, true
}

// matrix describes a tensor to the copy engine: lines of width elements, of which a box has
// so many. What the engine does not take is copied to scratch memory first.
func (a *attention) matrix(arg int, queries bool, box int32) (TensorMap, error) {
	t := &a.tensors[arg]
	width := int64(t.Type.Shape[len(t.Type.Shape)-1])
	lines, heads := a.source, a.heads/a.group
	if queries {
		lines, heads = a.length, a.heads
	}
	m := TensorMap{Arg: arg, Base: a.plan.first[arg], Extents: [4]int64{width, lines, heads, a.batches}, Box: [4]int32{boxLine / 2, box, 1, 1}}
	s, ok := a.linesOf(arg, queries)
	ok = ok && m.Base%16 == 0 && (s[3] == 1 || width == 1)
	for i, stride := range []int64{s[2], s[1], s[0]} {
		m.Strides[i] = 2 * stride
		if m.Extents[i+1] == 1 {
			m.Strides[i] = 16
		}
		ok = ok && m.Strides[i] > 0 && m.Strides[i]%16 == 0 && m.Strides[i] < 1<<40
	}
	if ok {
		return m, nil
	}
	line := (width + 7) &^ 7
	place, err := a.copied(arg, line)
	if err != nil {
		return m, err
	}
	m.Arg, m.Base, m.Offset = -1, uint64(place), uint64(place)
	m.Strides = [3]int64{2 * line, 2 * line * lines, 2 * line * lines * heads}
	return m, nil
}

// copied adds steps that copy a tensor to scratch memory, lines of so many elements apart.
func (c *nativeCall) copied(arg int, line int64) (place int64, err error) {
	t := &c.tensors[arg]
	n := len(t.Type.Shape)
	axes, from, to := make([]kernel.AxisKind, n), make([]kernel.Access, n), make([]kernel.Access, n)
	l := &kernel.Launch{Args: []kernel.Operand{t.Operand, {Strides: make([]int64, n)}}}
	step := int64(1)
	for i := n - 1; i >= 0; i-- {
		from[i], to[i] = kernel.Strided, kernel.Strided
		l.Args[1].Strides[i] = step
		if i == n-1 {
			to[i], step = kernel.Unit, line
			if t.Operand.Strides[i] == 1 {
				from[i] = kernel.Unit
			}
		} else {
			step *= int64(t.Type.Shape[i])
		}
	}
	for _, d := range t.Type.Shape {
		l.Extents = append(l.Extents, int64(d))
	}
	b := kernel.NewBuilder("lines", axes)
	x := b.Load(b.AddArg(kernel.Arg{Type: t.Type.DType, Dir: kernel.In, Access: from}))
	b.Store(b.AddArg(kernel.Arg{Type: t.Type.DType, Dir: kernel.Out, Access: to}), x)
	m, err := Generate(b.K, c.target)
	if err != nil {
		return 0, err
	}
	made, err := m.Plan(l, []uint64{uint64(uintptr(t.Operand.Base)), 0})
	if err != nil {
		return 0, err
	}
	place = c.room(step * int64(t.Type.DType.Size()))
	for _, s := range made.Steps {
		s.of, s.place = []int{arg, -1}, uint64(place)
		s.relative = append([]uint64(nil), s.Params...)
		c.plan.Steps = append(c.plan.Steps, s)
	}
	return place, nil
}

// biasStrides sets those of a bias, in bytes; false if no strides express its batches.
func (a *attention) biasStrides(arg int) bool {
	t := &a.tensors[arg]
	n := len(a.batch) + 3
	own := make([]int64, n) // of the scores' shape
	off := n - len(t.Type.Shape)
	for i, d := range t.Type.Shape {
		if d != 1 {
			own[off+i] = t.Operand.Strides[i]
		}
	}
	batch, ok := collapsed(a.batch, own[:n-3])
	if !ok {
		return false
	}
	s := [4]int64{batch, own[n-3], own[n-2], own[n-1]}
	if a.folded {
		s[2] = own[n-3]
		s[1] = own[n-3] * a.length
	}
	for i, v := range s {
		a.numbers[flashBiasAt+i] = uint64(v * int64(t.Type.DType.Size()))
	}
	return true
}

// planAttention plans the rows attention and attention_bias.
func planAttention(c *nativeCall) (*Plan, error) {
	a := newAttention(c, true)
	if a == nil {
		return nil, nil
	}
	if !a.flashes() {
		return a.planExact(), nil
	}
	f := a.form()
	f.groups = 2
	if a.d <= 64 && a.e <= 64 && a.length > 128 {
		f.groups = 3
	}
	result := len(c.In)
	if result > 3 {
		f.bias = flashFullBias
		if !a.biasStrides(3) {
			return nil, nil
		}
	}
	f.vector = a.e%8 == 0 && a.plan.first[result]%16 == 0
	blocks := a.tiles(a.length, int64(64*f.groups), a.heads)
	var maps [3]TensorMap
	var err error
	for i, box := range []int32{int32(64 * f.groups), flashKeys, flashKeys} {
		if maps[i], err = a.matrix(i, i == 0, box); err != nil {
			return nil, err
		}
	}
	s := a.add("attention_"+f.String(), f.threads(), func(w *asm) { writeFlashForward(w, f) }, blocks, 1, 0, a.numbers[:]...)
	s.Maps = maps[:]
	return a.plan, nil
}

// statistics sets where those of a gradient's queries are; false if they are not of f32, or
// no strides express their batches.
func (a *attention) statistics() bool {
	for i, at := range []int{flashLseAt, flashDeltaAt} {
		s, ok := a.linesOf(5+i, true)
		if !ok || a.tensors[5+i].Type.DType != ir.F32 {
			return false
		}
		for j, v := range s[:3] {
			a.numbers[at+j] = uint64(4 * v)
		}
	}
	return true
}

// gradient completes the form of a gradient; false if it is none for flash kernels.
func (a *attention) gradient(f *flashForm) bool {
	f.groups = 2
	if !a.statistics() || !a.biasStrides(3) {
		return false
	}
	f.bias = flashFullBias
	if a.numbers[flashBiasAt+2] == 0 && a.numbers[flashBiasAt+3] == 0 {
		f.bias = flashHeadBias
	}
	f.vector = true
	for i, t := range a.tensors[7:] {
		f.vector = f.vector && a.plan.first[7+i]%16 == 0 && t.Type.Shape[len(t.Type.Shape)-1]%8 == 0
	}
	return true
}

// matrices describes q, k, v and dy: boxes of so many queries and keys.
func (a *attention) matrices(queries, keys int32) (maps [4]TensorMap, err error) {
	for i, arg := range []int{0, 1, 2, 4} {
		of, box := i == 0 || i == 3, keys
		if of {
			box = queries
		}
		if maps[i], err = a.matrix(arg, of, box); err != nil {
			return maps, err
		}
	}
	return maps, nil
}

// newGradient is newAttention for a gradient, and the form of its kernels.
func newGradient(c *nativeCall) (*attention, flashForm) {
	a := newAttention(c, true)
	if a == nil || !a.flashes() {
		return nil, flashForm{}
	}
	f := a.form()
	if !a.gradient(&f) {
		return nil, f
	}
	return a, f
}

func planGradQ(c *nativeCall) (*Plan, error) {
	a, f := newGradient(c)
	if a == nil {
		return c.planExactGradient(false), nil
	}
	blocks := a.tiles(a.length, int64(64*f.groups), a.heads)
	maps, err := a.matrices(int32(64*f.groups), keysBack)
	if err != nil {
		return nil, err
	}
	s := a.add("attention_grad_q_"+f.String(), f.threads(), func(w *asm) { writeFlashGradQ(w, f) }, blocks, 1, 0, a.numbers[:]...)
	s.Maps = maps[:]
	return a.plan, nil
}

func planGradKV(c *nativeCall) (*Plan, error) {
	a, f := newGradient(c)
	if a == nil {
		return c.planExactGradient(true), nil
	}
	f.folded = a.folded
	per := (a.length + queriesBack - 1) / queriesBack
	lines := a.heads * a.batches
	if lines*per*queriesBack > flashLimit {
		return nil, nil
	}
	stats := a.room(lines * per * queriesBack * statBytes)
	stat := a.numbers
	stat[flashTiles], stat[flashAll] = uint64(per*queriesBack), uint64(lines*per*queriesBack)
	of := flashForm{f16: f.f16, bias: f.bias}
	a.add("attention_grad_kv_stats_"+of.String(), 256, func(w *asm) { writeFlashStats(w, of) }, (lines*per*queriesBack+255)/256, 1, stats, stat[:]...)
	maps, err := a.matrices(queriesBack, int32(64*f.groups))
	if err != nil {
		return nil, err
	}
	a.numbers[flashBlocks], a.numbers[flashQueries] = uint64(per), uint64(a.heads)
	shared := a.heads / a.group
	a.numbers[flashHeads] = uint64(shared)
	blocks := a.tiles(a.source, int64(64*f.groups), shared)
	s := a.add("attention_grad_kv_"+f.String(), f.threads(), func(w *asm) { writeFlashGradKV(w, f) }, blocks, 1, stats, a.numbers[:]...)
	s.Maps = maps[:]
	return a.plan, nil
}
