package divide_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/divide"
)

// want is what a random kernel is made of.
type want struct {
	before, reduced, after int // axes
	t                      ir.DType
	tree                   kernel.Tree
}

func access(w want, rng *rand.Rand, rowOnly bool) []kernel.Access {
	n := w.before + w.reduced + w.after
	a := make([]kernel.Access, n)
	for i := range a {
		isReduced := i >= w.before && i < w.before+w.reduced
		switch {
		case rowOnly && isReduced, rng.IntN(6) == 0:
			a[i] = kernel.Broadcast
		case i == n-1 && rng.IntN(2) == 0:
			a[i] = kernel.Unit
		}
	}
	return a
}

// random makes a kernel of some passes over its reduced axes.
func random(w want, rng *rand.Rand) *kernel.Kernel {
	var axes []kernel.AxisKind
	for range w.before {
		axes = append(axes, kernel.Parallel)
	}
	for range w.reduced {
		axes = append(axes, kernel.Reduced)
	}
	for range w.after {
		axes = append(axes, kernel.Parallel)
	}
	b := kernel.NewBuilder("random", axes)
	in := func(rowOnly bool) kernel.Ref {
		return b.Load(b.AddArg(kernel.Arg{Type: w.t, Access: access(w, rng, rowOnly)}))
	}
	elems := []kernel.Ref{in(false)}
	if rng.IntN(2) == 0 {
		elems = append(elems, in(false))
	}
	if rng.IntN(3) == 0 {
		axis := rng.IntN(len(axes))
		elems = append(elems, b.Convert(b.Index(axis), w.t))
	}
	rows := []kernel.Ref{}
	if rng.IntN(2) == 0 {
		rows = append(rows, in(true))
	}
	if rng.IntN(3) == 0 {
		rows = append(rows, b.Convert(b.Extent(w.before), w.t))
	}
	one := func() kernel.Ref { return elems[rng.IntN(len(elems))] }
	mix := func() kernel.Ref {
		op := []kernel.Op{kernel.OpAdd, kernel.OpSub, kernel.OpMul, kernel.OpMax}[rng.IntN(4)]
		x, y := one(), one()
		if len(rows) > 0 && rng.IntN(2) == 0 {
			y = rows[rng.IntN(len(rows))]
		}
		return b.Op(op, w.t, x, y)
	}
	store := func(v kernel.Ref, row bool) {
		a := make([]kernel.Access, len(axes))
		for i := range a {
			if row && i >= w.before && i < w.before+w.reduced {
				a[i] = kernel.Broadcast
			}
		}
		b.Store(b.AddArg(kernel.Arg{Type: b.Type(v), Dir: kernel.Out, Access: a}), v)
	}
	for range 1 + rng.IntN(3) {
		elems = append(elems, mix())
		if rng.IntN(4) == 0 && w.reduced == 1 && w.tree.Kind == kernel.Striped {
			kind := []kernel.ReduceKind{kernel.Sum, kernel.Max, kernel.Min, kernel.Prod}[rng.IntN(4)]
			elems = append(elems, b.Scan(kind, kernel.ScanTree, one()))
			continue
		}
		kind := []kernel.ReduceKind{kernel.Sum, kernel.Sum, kernel.Max, kernel.Min, kernel.ArgMax, kernel.ArgMin, kernel.Dot, kernel.M2, kernel.Prod}[rng.IntN(9)]
		if kind == kernel.M2 && !w.t.IsFloat() {
			kind = kernel.Max
		}
		tree := w.tree
		args := []kernel.Ref{one()}
		if kind == kernel.Dot {
			if w.tree.Kind != kernel.Striped {
				continue
			}
			tree, args = kernel.DotTree, append(args, one())
		}
		v := b.Convert(b.Reduce(kind, tree, args...), w.t)
		rows = append(rows, v)
	}
	stored := false
	for _, v := range rows {
		if rng.IntN(2) == 0 {
			store(v, true)
			stored = true
		}
	}
	if rng.IntN(2) == 0 || !stored {
		store(mix(), false)
	}
	return b.K
}

// bind makes memory for a launch: operands filled by the generator, results with a
// pattern, strides sometimes negative.
func bind(k *kernel.Kernel, extents []int64, rng *rand.Rand) (*kernel.Launch, [][]byte) {
	l := &kernel.Launch{Extents: extents}
	if rng.IntN(3) == 0 { // a part of something larger
		l.Start, l.Full = make([]int64, len(extents)), append([]int64(nil), extents...)
		for a := range extents {
			if k.Axes[a] == kernel.Parallel {
				l.Start[a] = rng.Int64N(5)
				l.Full[a] += l.Start[a] + rng.Int64N(3)
			}
		}
	}
	var memory [][]byte
	for _, a := range k.Args {
		o := kernel.Operand{Strides: make([]int64, len(extents))}
		n := int64(1)
		for d := len(extents) - 1; d >= 0; d-- {
			if a.Access[d] == kernel.Broadcast {
				continue
			}
			o.Strides[d] = n
			if a.Access[d] == kernel.Strided && rng.IntN(4) == 0 {
				o.Strides[d] = -n
				o.Offset += n * (extents[d] - 1)
			}
			n *= extents[d]
			if rng.IntN(8) == 0 {
				n += 3
			}
		}
		m := make([]byte, n*int64(a.Type.Size()))
		fill(m, a.Type, rng)
		o.Base, o.Size = unsafe.Pointer(unsafe.SliceData(m)), int64(len(m))
		l.Args, memory = append(l.Args, o), append(memory, m)
	}
	return l, memory
}

func fill(m []byte, t ir.DType, rng *rand.Rand) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-40, 3e38}
	some := rng.IntN(3) == 0
	for i := 0; i < len(m); i += t.Size() {
		v := rng.NormFloat64()
		if some && rng.IntN(2000) == 0 {
			v = special[rng.IntN(len(special))]
		}
		switch p := unsafe.Pointer(&m[i]); t {
		case ir.F32:
			*(*float32)(p) = float32(v)
		case ir.F64:
			*(*float64)(p) = v
		case ir.I32:
			*(*int32)(p) = int32(rng.IntN(200) - 100)
		case ir.I64:
			*(*int64)(p) = rng.Int64N(200) - 100
		}
	}
}

// run runs the plan of a launch with an executable of each derived kernel.
func run(t *testing.T, f *divide.Form, l *kernel.Launch) {
	var exes []kernel.Executable
	for _, k := range f.Kernels {
		x, err := kernel.NewInterpreter(k)
		if err != nil {
			t.Fatalf("%v\n%s", err, k)
		}
		exes = append(exes, x)
	}
	scratch := func(n int64) unsafe.Pointer {
		b := make([]byte, n+64)
		for i := range b {
			b[i] = 0xee
		}
		return unsafe.Pointer(unsafe.SliceData(b))
	}
	for _, s := range f.Plan(l, scratch) {
		for _, x := range s.Launches {
			exes[s.Kernel].Run(x)
		}
		for i := s.Tasks - 1; i >= 0; i-- {
			s.Do(i)
		}
	}
}

// same compares results; a NaN is a NaN.
func same(t ir.DType, a, b []byte) int {
	for i := 0; i < len(a); i += t.Size() {
		equal := string(a[i:i+t.Size()]) == string(b[i:i+t.Size()])
		switch p, q := unsafe.Pointer(&a[i]), unsafe.Pointer(&b[i]); {
		case equal:
			continue
		case t == ir.F32 && *(*float32)(p) != *(*float32)(p) && *(*float32)(q) != *(*float32)(q):
			continue
		case t == ir.F64 && *(*float64)(p) != *(*float64)(p) && *(*float64)(q) != *(*float64)(q):
			continue
		}
		return i / t.Size()
	}
	return -1
}

// TestEqualBits: divided kernels give the bits of undivided ones, for random
// kernels, shapes and layouts.
func TestEqualBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	divided := 0
	for round := range 600 {
		w := want{rng.IntN(2), 1 + rng.IntN(2), rng.IntN(2), []ir.DType{ir.F32, ir.F32, ir.F64, ir.I32, ir.I64}[rng.IntN(5)], kernel.StripedTree}
		if rng.IntN(3) == 0 {
			w.tree = kernel.ColumnsTree
		}
		if rng.IntN(4) == 0 { // many levels
			w.tree = kernel.Tree{Kind: kernel.Striped, Chunk: 8, Lanes: 4}
		}
		k := random(w, rng)
		if err := k.Verify(); err != nil {
			t.Fatalf("%v\n%s", err, k)
		}
		var extents []int64
		for a := range k.Axes {
			n := 1 + rng.Int64N(3)
			if k.Axes[a] == kernel.Reduced {
				n = 1 + rng.Int64N([]int64{3, 20, 6000, 6000}[rng.IntN(4)])
				if rng.IntN(3) == 0 {
					n = []int64{1024, 2048, 64, 16384, 512, 8, 128}[rng.IntN(7)]
				}
				if len(extents) > w.before && extents[len(extents)-1]*n > 50000 {
					n = 2
				}
			}
			extents = append(extents, n)
		}
		l, memory := bind(k, extents, rng)
		shape, ok := divide.Find(k, l)
		if !ok {
			continue
		}
		f := divide.New(k, shape)
		if f == nil {
			continue
		}
		divided++
		x, err := kernel.NewInterpreter(k)
		if err != nil {
			t.Fatal(err)
		}
		x.Run(l)
		var expected [][]byte
		for i := range k.Args {
			expected = append(expected, append([]byte(nil), memory[i]...))
			if k.Args[i].Dir == kernel.Out {
				for j := range memory[i] {
					memory[i][j] = 0
				}
			}
		}
		run(t, f, l)
		for i := range k.Args {
			if k.Args[i].Dir != kernel.Out {
				continue
			}
			if at := compareWritten(k, l, i, memory[i], expected[i]); at != "" {
				t.Fatalf("round %d: argument %d, %s, extents %v, shape %+v\n%s\n%s", round, i, at, extents, shape, k, f.Kernels)
			}
		}
	}
	if divided < 120 {
		t.Errorf("only %d kernels were divided", divided)
	}
}

// compareWritten compares the elements that a launch writes.
func compareWritten(k *kernel.Kernel, l *kernel.Launch, arg int, got, want []byte) string {
	o, t := l.Args[arg], k.Args[arg].Type
	at := make([]int64, len(l.Extents))
	size := int64(t.Size())
	for {
		off := o.Offset
		for a, i := range at {
			off += i * o.Strides[a]
		}
		g, w := got[off*size:(off+1)*size], want[off*size:(off+1)*size]
		if same(t, g, w) >= 0 {
			return fmt.Sprintf("element %v is %x, expected %x", at, g, w)
		}
		a := len(at) - 1
		for ; a >= 0; a-- {
			if at[a]++; at[a] < l.Extents[a] && o.Strides[a] != 0 {
				break
			}
			at[a] = 0
		}
		if a < 0 {
			return ""
		}
	}
}

// TestNarrowDots: sums of products of bf16 pairs, and of f16, are divided like other sums.
func TestNarrowDots(t *testing.T) {
	for kind, typ := range map[kernel.ReduceKind]ir.DType{kernel.PairDot: ir.BF16, kernel.HalfDot: ir.F16} {
		testNarrowDot(t, kind, typ)
	}
}

func testNarrowDot(t *testing.T, kind kernel.ReduceKind, typ ir.DType) {
	rng := rand.New(rand.NewPCG(9, 10))
	narrow := map[ir.DType]func(float32) uint16{ir.BF16: kernel.BF16FromF32, ir.F16: kernel.F16FromF32}[typ]
	for _, n := range []int64{1025, 1030, 2048, 5001} {
		b := kernel.NewBuilder("pairs", []kernel.AxisKind{kernel.Parallel, kernel.Reduced})
		row := []kernel.Access{kernel.Strided, kernel.Unit}
		x, z := b.AddArg(kernel.Arg{Type: typ, Access: row}), b.AddArg(kernel.Arg{Type: typ, Access: row})
		y := b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: []kernel.Access{kernel.Unit, kernel.Broadcast}})
		b.Store(y, b.Reduce(kind, kernel.DotTree, b.Load(x), b.Load(z)))
		if err := b.K.Verify(); err != nil {
			t.Fatal(err)
		}
		l, memory := bind(b.K, []int64{3, n}, rng)
		for i := range 2 {
			for j := 0; j < len(memory[i]); j += 2 {
				*(*uint16)(unsafe.Pointer(&memory[i][j])) = narrow(float32(rng.NormFloat64()))
			}
		}
		shape, ok := divide.Find(b.K, l)
		f := divide.New(b.K, shape)
		if !ok || f == nil {
			t.Fatalf("%s: %d elements are not divided", typ, n)
		}
		whole, err := kernel.NewInterpreter(b.K)
		if err != nil {
			t.Fatal(err)
		}
		whole.Run(l)
		want := append([]byte(nil), memory[y]...)
		clear(memory[y])
		run(t, f, l)
		if at := compareWritten(b.K, l, y, memory[y], want); at != "" {
			t.Errorf("%s: %d elements: %s", typ, n, at)
		}
	}
}
