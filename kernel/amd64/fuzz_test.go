package amd64

import (
	"flag"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var long = flag.Duration("long", 3*time.Second, "how long to compare random kernels")

// maker builds random kernels.
type maker struct {
	*rand.Rand
	b      *kernel.Builder
	values map[ir.DType][]kernel.Ref // by compute type
	types  []ir.DType
}

func (m *maker) access(axes []kernel.AxisKind, reducedToo, out bool) []kernel.Access {
	a := make([]kernel.Access, len(axes))
	unit := m.Intn(len(axes) + 1)
	for i, kind := range axes {
		switch {
		case kind == kernel.Reduced && !reducedToo:
			a[i] = kernel.Broadcast
		case i == unit:
			a[i] = kernel.Unit
		case out || m.Intn(2) == 0:
			a[i] = kernel.Strided
		default:
			a[i] = kernel.Broadcast
		}
	}
	return a
}

func (m *maker) pick(t ir.DType) kernel.Ref {
	v := m.values[t]
	if len(v) == 0 || m.Intn(8) == 0 {
		if t == ir.Bool {
			return m.b.Const(t, uint64(m.Intn(2)))
		}
		return m.b.Const(t, randomBits(m.Rand, t)&(^uint64(0)>>(64-t.Bits())))
	}
	// Prefer recent values, so that chains get deep.
	if m.Intn(2) == 0 {
		return v[len(v)-1-m.Intn(min(3, len(v)))]
	}
	return v[m.Intn(len(v))]
}

func (m *maker) add(r kernel.Ref) {
	t := m.b.Type(r)
	m.values[t] = append(m.values[t], r)
}

func (m *maker) instr() {
	t := m.types[m.Intn(len(m.types))]
	op := func(o kernel.Op, args ...kernel.Ref) { m.add(m.b.Op(o, t, args...)) }
	switch m.Intn(12) {
	case 0:
		c := []kernel.Op{kernel.OpEq, kernel.OpNe, kernel.OpLt, kernel.OpLe}[m.Intn(4)]
		m.add(m.b.Op(c, ir.Bool, m.pick(t), m.pick(t)))
	case 1:
		if x, y := m.pick(t), m.pick(t); m.Intn(2) == 0 { // of what is compared
			less := m.b.Op(kernel.OpLt, ir.Bool, x, y)
			if m.Intn(2) == 0 {
				x, y = y, x
			}
			op(kernel.OpSelect, less, x, y)
			return
		}
		op(kernel.OpSelect, m.pick(ir.Bool), m.pick(t), m.pick(t))
	case 2:
		u := m.types[m.Intn(len(m.types))]
		if u != t {
			op(kernel.OpCvt, m.pick(u))
		}
	case 3:
		c := []kernel.Op{kernel.OpAnd, kernel.OpOr, kernel.OpXor}[m.Intn(3)]
		m.add(m.b.Op(c, ir.Bool, m.pick(ir.Bool), m.pick(ir.Bool)))
	case 4:
		op([]kernel.Op{kernel.OpNeg, kernel.OpAbs}[m.Intn(2)], m.pick(t))
	case 5, 6:
		op([]kernel.Op{kernel.OpMin, kernel.OpMax}[m.Intn(2)], m.pick(t), m.pick(t))
	case 7, 8:
		op([]kernel.Op{kernel.OpAdd, kernel.OpSub, kernel.OpMul}[m.Intn(3)], m.pick(t), m.pick(t))
	default:
		if !t.IsFloat() {
			if m.Intn(4) == 0 {
				op([]kernel.Op{kernel.OpDiv, kernel.OpRem}[m.Intn(2)], m.pick(t), m.pick(t))
				return
			}
			op([]kernel.Op{kernel.OpAnd, kernel.OpOr, kernel.OpXor, kernel.OpShl, kernel.OpShr}[m.Intn(5)], m.pick(t), m.pick(t))
			return
		}
		switch m.Intn(4) {
		case 0:
			x := m.pick(t)
			if m.Intn(3) == 0 {
				x = m.b.Op(kernel.OpNeg, t, x)
			}
			op(kernel.OpFma, x, m.pick(t), m.pick(t))
		case 1:
			op(kernel.OpDiv, m.pick(t), m.pick(t))
		case 2:
			op(kernel.OpSqrt, m.pick(t))
		default:
			op([]kernel.Op{kernel.OpFloor, kernel.OpCeil, kernel.OpTrunc, kernel.OpRint}[m.Intn(4)], m.pick(t))
		}
	}
}

// store writes a value to a new output of a storage type that rounds no NaN
// payload into view.
func (m *maker) store(v kernel.Ref, axes []kernel.AxisKind, element bool) {
	t := m.b.Type(v)
	to := t
	switch {
	case t == ir.F32 && m.Intn(3) == 0:
		to = []ir.DType{ir.F16, ir.BF16}[m.Intn(2)]
	case t == ir.I32 && m.Intn(3) == 0:
		to = []ir.DType{ir.I8, ir.U8, ir.I16}[m.Intn(3)]
	}
	out := m.b.AddArg(kernel.Arg{Type: to, Dir: kernel.Out, Access: m.access(axes, element, true)})
	m.b.Store(out, m.b.Convert(v, to))
}

func randomKernel(r *rand.Rand, seed int64) (*kernel.Kernel, []kernel.AxisKind) {
	axes := make([]kernel.AxisKind, 1+r.Intn(3))
	reduced := r.Intn(3) > 0
	if reduced {
		at := r.Intn(len(axes))
		axes[at] = kernel.Reduced
		if at > 0 && r.Intn(4) == 0 {
			axes[at-1] = kernel.Reduced
		}
	}
	m := &maker{Rand: r, b: kernel.NewBuilder(fmt.Sprintf("random%d", seed), axes), values: map[ir.DType][]kernel.Ref{}}
	m.types = [][]ir.DType{
		{ir.F32}, {ir.F32, ir.I32}, {ir.F64}, {ir.F32, ir.F64}, {ir.F32, ir.I32, ir.U32}, {ir.F64, ir.I64}, {ir.I64, ir.U64, ir.I32},
	}[r.Intn(7)]
	storage := map[ir.DType][]ir.DType{
		ir.F32: {ir.F32, ir.F32, ir.F16, ir.BF16}, ir.I32: {ir.I32, ir.I8, ir.I16}, ir.U32: {ir.U32, ir.U8, ir.U16},
		ir.F64: {ir.F64}, ir.I64: {ir.I64}, ir.U64: {ir.U64},
	}
	for range 1 + r.Intn(5) {
		t := m.types[r.Intn(len(m.types))]
		s := storage[t][r.Intn(len(storage[t]))]
		a := m.b.AddArg(kernel.Arg{Type: s, Dir: kernel.In, Access: m.access(axes, r.Intn(4) > 0, false)})
		m.add(m.b.Convert(m.b.Load(a), t))
	}
	if r.Intn(3) == 0 {
		m.add(m.b.Load(m.b.AddArg(kernel.Arg{Type: ir.Bool, Dir: kernel.In, Access: m.access(axes, true, false)})))
	}
	if r.Intn(3) == 0 {
		m.add(m.b.AddParam(m.types[0]))
	}
	if m.types[len(m.types)-1] == ir.I64 {
		m.add(m.b.Index(r.Intn(len(axes))))
		m.add(m.b.Extent(r.Intn(len(axes))))
	}
	tree := []kernel.Tree{kernel.StripedTree, kernel.ColumnsTree, kernel.DotTree, {Kind: kernel.Striped, Chunk: 64, Lanes: 16}, {Kind: kernel.Columns, Chunk: 4, Lanes: 1}}[r.Intn(5)]
	for range 1 + r.Intn(3) {
		for range 1 + r.Intn(12) {
			m.instr()
		}
		if reduced && r.Intn(4) > 0 {
			t := m.types[r.Intn(len(m.types))]
			kind := []kernel.ReduceKind{kernel.Sum, kernel.Prod, kernel.Max, kernel.Min}[r.Intn(4)]
			if t.IsFloat() && tree.Kind != kernel.Striped && r.Intn(3) == 0 {
				m.add(m.b.Reduce(kernel.Dot, tree, m.pick(t), m.pick(t)))
			} else if t.IsFloat() && tree.Kind == kernel.Striped && r.Intn(3) == 0 {
				m.add(m.b.Reduce(kernel.M2, tree, m.pick(t)))
			} else {
				m.add(m.b.Reduce(kind, tree, m.pick(t)))
			}
		}
	}
	levels := m.b.K.Levels()
	for range 1 + r.Intn(2) {
		t := m.types[r.Intn(len(m.types))]
		if v := m.values[t]; len(v) > 0 {
			x := v[len(v)-1]
			m.store(x, axes, reduced && (levels[x] == kernel.ElementLevel || r.Intn(3) == 0))
		}
	}
	return m.b.K, axes
}

func TestRandomKernels(t *testing.T) {
	start := time.Now()
	compiled, refused := 0, map[string]int{}
	for seed := int64(0); time.Since(start) < *long; seed++ {
		r := rand.New(rand.NewSource(seed))
		k, axes := randomKernel(r, seed)
		if k.Verify() != nil {
			continue
		}
		codes, in := prepare(t, k, false)
		if len(codes) == 0 {
			_, err := Compile(k, AVX2)
			if un, ok := err.(*Unsupported); ok {
				refused[un.Reason]++
			}
			continue
		}
		compiled++
		for range 3 {
			extents := make([]int64, len(axes))
			for i := range extents {
				extents[i] = 1 + int64(r.Intn(4))
			}
			extents[r.Intn(len(extents))] = 1 + int64(r.Intn(150))
			if r.Intn(10) == 0 {
				extents[r.Intn(len(extents))] = 1 + int64(r.Intn(2200))
			}
			fill := randomBits
			if r.Intn(2) == 0 {
				fill = plainBits
			}
			agree(t, r, k, codes, in, extents, fill)
		}
	}
	t.Logf("%d kernels compared; refused: %v", compiled, refused)
}
