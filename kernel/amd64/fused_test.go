package amd64

import (
	"fmt"
	"math/rand"
	"sort"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// fusedMaker builds kernels of the kinds that fusing operations gives: chains of
// nodes, each rounded to its dtype, over several stages, with results at every
// level.
type fusedMaker struct {
	maker
	axes    []kernel.AxisKind
	reduced bool
	half    ir.DType // dtype of the nodes that compute in f32
	trees   []kernel.Tree
	dots    bool
	scans   bool
	gathers bool
}

// fusedKinds are the families of kernels; the name leads failure reports.
var fusedKinds = []string{"elementwise", "rows", "columns", "nest", "mixed", "dot", "gather", "scan", "many"}

var otherTrees = []kernel.Tree{
	{Kind: kernel.Striped, Chunk: 64, Lanes: 16}, {Kind: kernel.Striped, Chunk: 8, Lanes: 2},
	{Kind: kernel.Columns, Chunk: 4, Lanes: 1}, {Kind: kernel.Sequential, Chunk: 7, Lanes: 1},
}

// fusedKernel returns a random kernel of a kind.
func fusedKernel(r *rand.Rand, kind string, seed int64) (*kernel.Kernel, []kernel.AxisKind) {
	p, x := kernel.Parallel, kernel.Reduced
	choose := func(options ...[]kernel.AxisKind) []kernel.AxisKind { return options[r.Intn(len(options))] }
	var axes []kernel.AxisKind
	m := &fusedMaker{}
	switch kind {
	case "elementwise":
		axes = choose([]kernel.AxisKind{p}, []kernel.AxisKind{p, p}, []kernel.AxisKind{p, p, p})
	case "rows", "many":
		axes, m.trees = choose([]kernel.AxisKind{p, x}, []kernel.AxisKind{p, p, x}, []kernel.AxisKind{x}), []kernel.Tree{kernel.StripedTree}
	case "columns":
		axes, m.trees = choose([]kernel.AxisKind{x, p}, []kernel.AxisKind{p, x, p}), []kernel.Tree{kernel.ColumnsTree}
	case "nest":
		axes = choose([]kernel.AxisKind{p, x, x}, []kernel.AxisKind{x, x, p}, []kernel.AxisKind{x, x}, []kernel.AxisKind{p, x, x, p}, []kernel.AxisKind{x, x, x})
		m.trees = []kernel.Tree{[]kernel.Tree{kernel.StripedTree, kernel.ColumnsTree}[r.Intn(2)]}
	case "dot":
		axes, m.trees, m.dots = choose([]kernel.AxisKind{p, x, p}, []kernel.AxisKind{p, p, x, p}, []kernel.AxisKind{p, x}), []kernel.Tree{kernel.DotTree}, true
	case "gather":
		axes = choose([]kernel.AxisKind{p}, []kernel.AxisKind{p, p}, []kernel.AxisKind{p, x}, []kernel.AxisKind{x, p})
		m.trees, m.gathers = []kernel.Tree{kernel.StripedTree}, true
	default:
		axes = choose([]kernel.AxisKind{p, x}, []kernel.AxisKind{x, p}, []kernel.AxisKind{p, x, p}, []kernel.AxisKind{x}, []kernel.AxisKind{p, x, x})
		m.trees, m.scans = append([]kernel.Tree{kernel.StripedTree, kernel.ColumnsTree, kernel.DotTree}, otherTrees...), kind == "scan"
		if m.scans {
			m.trees = m.trees[:1+r.Intn(len(m.trees))]
		}
		m.dots = r.Intn(3) == 0
	}
	m.axes = axes
	for _, a := range axes {
		m.reduced = m.reduced || a == x
	}
	m.maker = maker{Rand: r, b: kernel.NewBuilder(fmt.Sprintf("%s%d", kind, seed), axes), values: map[ir.DType][]kernel.Ref{}}
	m.types = [][]ir.DType{{ir.F32}, {ir.F32}, {ir.F32, ir.I32}, {ir.F64}, {ir.F32, ir.F64, ir.I64}, {ir.F32, ir.I64, ir.U32}, {ir.I32, ir.I64, ir.U64}}[r.Intn(7)]
	m.half = []ir.DType{ir.F32, ir.F32, ir.F16, ir.BF16}[r.Intn(4)]
	inputs, outputs, stages, length := 1+r.Intn(4), 1+r.Intn(3), 1, 1+r.Intn(20)
	if m.reduced {
		stages = 1 + r.Intn(4)
	}
	if kind == "many" {
		inputs, outputs, stages = 8, 1+r.Intn(16), 3
	}
	if kind == "elementwise" {
		length = 1 + r.Intn(60)
	}
	for range inputs {
		m.input()
	}
	for range stages {
		for range length {
			m.node()
		}
		if m.reduced {
			reduces := 1 + r.Intn(2)
			if kind == "many" {
				reduces = 1 + r.Intn(7)
			}
			for range reduces {
				m.reduction()
			}
		}
	}
	for range 1 + r.Intn(3) {
		m.node()
	}
	m.outputs(outputs)
	return m.b.K, axes
}

// input loads an argument that varies over a random choice of axes.
func (m *fusedMaker) input() {
	t := m.types[m.Intn(len(m.types))]
	s := t
	if t == ir.F32 {
		s = m.half
	}
	if t == ir.I32 && m.Intn(2) == 0 {
		s = ir.I8
	}
	m.add(m.b.Convert(m.b.Load(m.b.AddArg(kernel.Arg{Type: s, Dir: kernel.In, Access: m.access(m.axes, m.Intn(4) > 0, false)})), t))
}

// node emits some instructions and rounds the last one's value.
func (m *fusedMaker) node() {
	if m.Intn(20) == 0 {
		m.rare()
	} else {
		m.instr()
	}
	if m.gathers && m.Intn(6) == 0 {
		m.gather()
	}
	if len(m.types) > 1 && m.Intn(12) == 0 {
		m.values[ir.I64] = append(m.values[ir.I64], m.b.Index(m.Intn(len(m.axes))))
	}
	m.round()
}

// round rounds the last f32 value to the dtype of the nodes.
func (m *fusedMaker) round() {
	v := m.values[ir.F32]
	if m.half == ir.F32 || len(v) == 0 {
		return
	}
	v[len(v)-1] = m.b.Convert(m.b.Convert(v[len(v)-1], m.half), ir.F32)
}

// rare emits instructions that only a select on their mask uses.
func (m *fusedMaker) rare() {
	t := m.types[m.Intn(len(m.types))]
	x, y := m.pick(t), m.pick(t)
	mask := m.b.Op(kernel.OpLt, ir.Bool, x, y)
	from := len(m.b.K.Body)
	emit := func(op kernel.Op, a, b kernel.Ref) kernel.Ref { // never one that is there already
		m.b.K.Body = append(m.b.K.Body, kernel.Instr{Op: op, Type: t, A: a, B: b, C: kernel.None})
		return kernel.Ref(len(m.b.K.Body) - 1)
	}
	v := x
	for range 1 + m.Intn(4)*m.Intn(8) { // short and long enough to be branched around
		v = emit([]kernel.Op{kernel.OpAdd, kernel.OpMul, kernel.OpSub}[m.Intn(3)], v, y)
	}
	m.b.K.Rares = append(m.b.K.Rares, kernel.Rare{Mask: mask, From: kernel.Ref(from), To: kernel.Ref(len(m.b.K.Body))})
	m.add(m.b.Op(kernel.OpSelect, t, mask, v, x))
}

// gather reads a table at a computed index, which is sometimes out of range.
func (m *fusedMaker) gather() {
	t := m.types[m.Intn(len(m.types))]
	from := m.types[m.Intn(len(m.types))]
	idx := m.b.Convert(m.pick(from), ir.I64)
	idx = m.b.Op(kernel.OpAnd, ir.I64, idx, m.b.Const(ir.I64, []uint64{3, 3, 3, 15}[m.Intn(4)]))
	access := m.access(m.axes, m.Intn(3) == 0, false)
	a := m.b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: access, Gather: true})
	m.add(m.b.Gather(a, idx))
}

// reduction emits a reduction of any kind that the interpreter has, or a scan.
func (m *fusedMaker) reduction() {
	t := m.types[m.Intn(len(m.types))]
	tree := m.trees[m.Intn(len(m.trees))]
	kinds := []kernel.ReduceKind{kernel.Sum, kernel.Sum, kernel.Prod, kernel.Max, kernel.Min}
	if m.scans && m.Intn(2) == 0 {
		chunk := kernel.ScanTree
		chunk.Chunk = []int{1024, 5}[m.Intn(2)]
		m.add(m.b.Scan(kinds[m.Intn(len(kinds))], chunk, m.pick(t)))
		m.round()
		return
	}
	switch n := m.Intn(12); {
	case n == 0 && len(m.types) > 1:
		v := m.b.Reduce([]kernel.ReduceKind{kernel.ArgMax, kernel.ArgMin}[m.Intn(2)], kernel.StripedTree, m.pick(t))
		m.values[ir.I64] = append(m.values[ir.I64], v)
	case n == 1 && len(m.values[ir.Bool]) > 0:
		m.add(m.b.Reduce([]kernel.ReduceKind{kernel.Max, kernel.Min}[m.Intn(2)], kernel.StripedTree, m.pick(ir.Bool)))
	case n < 4 && m.dots || m.dots && len(m.trees) == 1:
		m.add(m.b.Reduce(kernel.Dot, tree, m.pick(t), m.pick(t)))
	case n < 5 && t.IsFloat():
		m.add(m.b.Reduce(kernel.M2, tree, m.pick(t)))
	default:
		m.add(m.b.Reduce(kinds[m.Intn(len(kinds))], tree, m.pick(t)))
	}
	m.round()
}

// outputs stores the latest values of all types, at the level they have or
// spread over the axes.
func (m *fusedMaker) outputs(n int) {
	levels := m.b.K.Levels()
	for i := range n {
		t := m.types[m.Intn(len(m.types))]
		v := m.values[t]
		if len(v) == 0 {
			continue
		}
		x := v[len(v)-1-min(len(v)-1, i/2+m.Intn(2))]
		element := m.reduced && (levels[x] == kernel.ElementLevel || m.Intn(4) == 0)
		to := t
		if t == ir.F32 {
			to = m.half
		}
		out := m.b.AddArg(kernel.Arg{Type: to, Dir: kernel.Out, Access: m.access(m.axes, element, true)})
		m.b.Store(out, m.b.Convert(x, to))
	}
}

// fusedExtents returns extents around the sizes where something changes.
func fusedExtents(r *rand.Rand, axes []kernel.AxisKind) []int64 {
	extents := make([]int64, len(axes))
	for i := range extents {
		extents[i] = 1 + int64(r.Intn(4))
	}
	extents[r.Intn(len(extents))] = 1 + int64(r.Intn(70))
	if from, to := reducedAxes(axes); to-from > 1 && r.Intn(2) == 0 { // groups long enough for a row each
		for i := from; i < to; i++ {
			extents[i] = 10 + int64(r.Intn(30))
		}
		return extents
	}
	if i := r.Intn(len(extents)); r.Intn(6) == 0 {
		extents[i] = 1 + int64(r.Intn(2500))
	}
	return extents
}

func reducedAxes(axes []kernel.AxisKind) (from, to int) {
	return (&kernel.Kernel{Axes: axes}).ReducedAxes()
}

// TestFusedKernels compares kernels as fusion makes them with the interpreter:
// values and faults. None may be refused.
func TestFusedKernels(t *testing.T) {
	start := time.Now()
	compiled, refused := map[string]int{}, map[string]int{}
	for seed := int64(0); time.Since(start) < *long; seed++ {
		r := rand.New(rand.NewSource(seed))
		kind := fusedKinds[int(seed)%len(fusedKinds)]
		k, axes := fusedKernel(r, kind, seed)
		if k.Verify() != nil || len(k.Args) > maxArgs {
			continue
		}
		if _, err := kernel.NewInterpreter(k); err != nil {
			continue // no such reduction
		}
		codes, in := prepare(t, k, false)
		for _, level := range levels {
			if !Available(level) {
				continue
			}
			if _, err := Compile(k, level); err != nil {
				refused[kind+": "+err.(*Unsupported).Reason]++
			}
		}
		compiled[kind] += len(codes)
		for range 2 {
			fill := randomBits
			if r.Intn(3) > 0 {
				fill = plainBits
			}
			agreeFault(t, k, codes, in, launch(r, k, fusedExtents(r, axes), fill))
		}
	}
	t.Logf("compiled: %v; AVX-512 runs here: %v", compiled, Available(AVX512))
	var why []string
	for w := range refused {
		why = append(why, w)
	}
	sort.Slice(why, func(i, j int) bool { return refused[why[i]] > refused[why[j]] })
	for _, w := range why {
		t.Errorf("refused %4d  %s", refused[w], w)
	}
}
