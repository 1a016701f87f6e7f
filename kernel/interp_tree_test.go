package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

var testTrees = []Tree{StripedTree, ColumnsTree, DotTree, {Striped, 8, 4}, {Striped, 3, 4}, {Columns, 2, 1}, {Sequential, 3, 1}}

func treeSizes() []int {
	var n []int
	for i := 1; i <= 300; i++ {
		n = append(n, i)
	}
	return append(n, 1023, 1024, 1025, 2047, 2048, 2049, 5000, 131072+5)
}

// reference values of the reductions of one row, from the scalar functions.
func refFold[T number](kind ReduceKind, tree Tree, x, y []T, fma func(a, b, c T) T) T {
	switch kind {
	case Sum:
		return TreeFold(tree, x, 0, func(a, b T) T { return a + b })
	case Prod:
		return TreeFold(tree, x, 1, func(a, b T) T { return a * b })
	}
	// Dot: the chunks by fma, then added.
	type pair struct {
		v    T
		a, b T
		leaf bool
	}
	p := make([]pair, len(x))
	for i := range p {
		p[i] = pair{a: x[i], b: y[i], leaf: true}
	}
	return TreeFold(tree, p, pair{}, func(a, b pair) pair {
		if b.leaf {
			return pair{v: fma(b.a, b.b, a.v)}
		}
		return pair{v: a.v + b.v}
	}).v
}

type reduceCase struct {
	outer, red, inner int64
}

// runReduce reduces x[outer][red][inner] to out[outer][inner].
func runReduce[T, U any](t testing.TB, typ, out ir.DType, kind ReduceKind, tree Tree, c reduceCase, x, y []T) []U {
	t.Helper()
	b := newKB(pp, rr, pp)
	refs := []Ref{b.load(typ, Strided, Strided, Unit)}
	if kind.Binary() {
		refs = append(refs, b.load(typ, Strided, Strided, Unit))
	}
	b.store(b.reduce(OpReduce, kind, tree, out, refs...), Strided, Broadcast, Unit)
	res := make([]U, c.outer*c.inner)
	l := &Launch{Extents: []int64{c.outer, c.red, c.inner}}
	l.Args = append(l.Args, op(x, 0, c.red*c.inner, c.inner, 1))
	if kind.Binary() {
		l.Args = append(l.Args, op(y, 0, c.red*c.inner, c.inner, 1))
	}
	l.Args = append(l.Args, op(res, 0, c.inner, 0, 1))
	b.build(t).Run(l)
	return res
}

func column[T any](x []T, c reduceCase, o, i int64) []T {
	out := make([]T, c.red)
	for r := range out {
		out[r] = x[(o*c.red+int64(r))*c.inner+i]
	}
	return out
}

func testTreeKinds[T float](t *testing.T, typ ir.DType, value func() T, fma func(a, b, c T) T) {
	for _, tree := range testTrees {
		for _, n := range treeSizes() {
			if tree.Chunk < 64 && n > 64 && n != 1025 || testing.Short() && n%5 != 1 {
				continue
			}
			shapes := []reduceCase{{1, int64(n), 1}, {40, int64(n), 1}, {1, int64(n), 17}, {2, int64(n), 3}}
			if n > 5000 {
				shapes = shapes[:1]
				if tree == ColumnsTree || tree == StripedTree {
					shapes = append(shapes, reduceCase{1, int64(n), 17})
				}
			} else if n > 300 || n%7 != 0 && n > 40 {
				shapes = []reduceCase{shapes[0], shapes[2]}
			}
			for _, c := range shapes {
				size := c.outer * c.red * c.inner
				x, y := make([]T, size), make([]T, size)
				for i := range x {
					x[i], y[i] = value(), value()
				}
				for _, kind := range []ReduceKind{Sum, Prod, Dot, M2} {
					got := runReduce[T, T](t, typ, typ, kind, tree, c, x, y)
					for o := range c.outer {
						for i := range c.inner {
							cx, cy := column(x, c, o, i), column(y, c, o, i)
							var want T
							if kind == M2 {
								want = TreeMoments(tree, cx).M2
							} else {
								want = refFold(kind, tree, cx, cy, fma)
							}
							if g := got[o*c.inner+i]; !sameF(g, want) {
								t.Fatalf("%s %s %s %+v at (%d,%d): got %x, want %x", kind, typ, tree, c, o, i, g, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestTreesF32(t *testing.T) {
	r := newRand(1)
	testTreeKinds(t, ir.F32, func() float32 {
		if r.IntN(50) == 0 {
			return 0
		}
		return float32(r.NormFloat64())
	}, FMA32)
}

func TestTreesF64(t *testing.T) {
	if testing.Short() {
		t.Skip("the same code as for f32")
	}
	r := newRand(2)
	testTreeKinds(t, ir.F64, r.NormFloat64, fma64)
}

// TestTreeByHand checks the reference itself on values where order shows.
func TestTreeByHand(t *testing.T) {
	big := float32(1 << 24)
	// Sequential: (big+1)+1 loses both; the halves of Columns with chunk 1 pair
	// element 0 with 2 and 1 with 3.
	if got := TreeSum(Tree{Sequential, 1024, 1}, []float32{big, 1, 1, 0}); got != big {
		t.Errorf("sequential: %v", got)
	}
	if got := TreeSum(Tree{Columns, 1, 1}, []float32{big, 1, 0, 1}); got != big+2 {
		t.Errorf("columns: %v", got)
	}
	// Five chunk results: 4 joins 0 first, then 0+2, 1+3, then 0+1.
	if got := TreeFold(Tree{Columns, 1, 1}, []string{"a", "b", "c", "d", "e"}, "", func(a, b string) string {
		if a == "" {
			return b
		}
		return "(" + a + b + ")"
	}); got != "(((ae)c)(bd))" {
		t.Errorf("columns: %s", got)
	}
	// Lanes 2, chunk 4: partials (a c), (b d); then the two chunk results.
	if got := TreeFold(Tree{Striped, 4, 2}, []string{"a", "b", "c", "d", "e", "f"}, "", func(a, b string) string {
		if a == "" || b == "" {
			return a + b
		}
		return "(" + a + b + ")"
	}); got != "(((ac)(bd))(ef))" {
		t.Errorf("striped: %s", got)
	}
	m := TreeMoments(StripedTree, []float64{1, 2, 3, 4})
	if m.N != 4 || m.Mean != 2.5 || m.M2 != 5 {
		t.Errorf("moments: %+v", m)
	}
}

func TestReduceIntegers(t *testing.T) {
	r := newRand(3)
	for _, c := range []reduceCase{{3, 1030, 1}, {2, 70, 20}, {300, 5, 1}} {
		x := make([]int32, c.outer*c.red*c.inner)
		y, u, w := make([]int32, len(x)), make([]uint64, len(x)), make([]int64, len(x))
		for i := range x {
			x[i], y[i], u[i], w[i] = int32(r.Uint32()), int32(r.Uint32()), r.Uint64(), int64(r.Uint64())
		}
		sum := runReduce[int32, int32](t, ir.I32, ir.I32, Sum, StripedTree, c, x, nil)
		dot := runReduce[int32, int32](t, ir.I32, ir.I32, Dot, DotTree, c, x, y)
		prod := runReduce[uint64, uint64](t, ir.U64, ir.U64, Prod, ColumnsTree, c, u, nil)
		hi := runReduce[int64, int64](t, ir.I64, ir.I64, Max, Tree{}, c, w, nil)
		lo := runReduce[uint64, uint64](t, ir.U64, ir.U64, Min, Tree{}, c, u, nil)
		for o := range c.outer {
			for i := range c.inner {
				var s, d int32
				p := uint64(1)
				cx, cy, cu := column(x, c, o, i), column(y, c, o, i), column(u, c, o, i)
				for j := range cx {
					s += cx[j]
					d += cx[j] * cy[j]
					p *= cu[j]
				}
				at := o*c.inner + i
				if sum[at] != s || dot[at] != d || prod[at] != p || hi[at] != slices.Max(column(w, c, o, i)) || lo[at] != slices.Min(cu) {
					t.Fatalf("%+v at %d", c, at)
				}
			}
		}
	}
}

// TestExtrema checks max, min and their positions against a scalar statement
// of the rules.
func TestExtrema(t *testing.T) {
	r := newRand(4)
	better := func(v, b float32, max bool) bool { // v beats an earlier b
		if b != b {
			return false
		}
		return v != v || max && v > b || !max && v < b
	}
	for round := range 300 {
		c := []reduceCase{{4, 600, 1}, {1, 9, 20}, {70, 4, 1}, {3, 40, 2}}[round%4]
		x := make([]float32, c.outer*c.red*c.inner)
		few := []float32{0, negZero32, 1, -1, float32(posInf), float32(negInf), nan32}
		for i := range x {
			x[i] = few[r.IntN(len(few)-min(1, round%3))] // NaN in a third of the rounds only
		}
		hi := runReduce[float32, float32](t, ir.F32, ir.F32, Max, Tree{}, c, x, nil)
		lo := runReduce[float32, float32](t, ir.F32, ir.F32, Min, Tree{}, c, x, nil)
		ahi := runReduce[float32, int64](t, ir.F32, ir.I64, ArgMax, Tree{}, c, x, nil)
		alo := runReduce[float32, int64](t, ir.F32, ir.I64, ArgMin, Tree{}, c, x, nil)
		for o := range c.outer {
			for i := range c.inner {
				col := column(x, c, o, i)
				at, most, least := o*c.inner+i, int64(0), int64(0)
				wantHi, wantLo := col[0], col[0]
				for j, v := range col {
					if better(v, col[most], true) {
						most = int64(j)
					}
					if better(v, col[least], false) {
						least = int64(j)
					}
					if better(v, wantHi, true) || v == wantHi && isNegZero(wantHi) {
						wantHi = v
					}
					if better(v, wantLo, false) || v == wantLo && isNegZero(v) {
						wantLo = v
					}
				}
				if !sameF(hi[at], wantHi) || !sameF(lo[at], wantLo) || ahi[at] != most || alo[at] != least {
					t.Fatalf("%v: max %v min %v argmax %d argmin %d, want %v %v %d %d", col, hi[at], lo[at], ahi[at], alo[at], wantHi, wantLo, most, least)
				}
			}
		}
	}
}

func TestReduceBool(t *testing.T) {
	c := reduceCase{2, 3, 1}
	x := []uint8{0, 1, 0, 0, 0, 0}
	anyOf := runReduce[uint8, uint8](t, ir.Bool, ir.Bool, Max, Tree{}, c, x, nil)
	first := runReduce[uint8, int64](t, ir.Bool, ir.I64, ArgMax, Tree{}, c, x, nil)
	if !slices.Equal(anyOf, []uint8{1, 0}) || !slices.Equal(first, []int64{1, 0}) {
		t.Fatal(anyOf, first)
	}
}

// TestScan compares with the definition: the carry is the left fold of the
// totals of the chunks before, and joins the running fold of the chunk.
func TestScan(t *testing.T) {
	r := newRand(5)
	folds := map[ReduceKind]func(a, b float32) float32{
		Sum:  func(a, b float32) float32 { return a + b },
		Prod: func(a, b float32) float32 { return a * b },
		Max:  func(a, b float32) float32 { return max(a, b) },
		Min:  func(a, b float32) float32 { return min(a, b) },
	}
	zeros := map[ReduceKind]float32{Sum: 0, Prod: 1, Max: float32(negInf), Min: float32(posInf)}
	for _, tree := range []Tree{ScanTree, {Sequential, 5, 1}} {
		for _, c := range []reduceCase{{2, 2500, 1}, {1, 1, 1}, {2, 1100, 16}, {50, 7, 1}, {2, 12, 300}} {
			x := make([]float32, c.outer*c.red*c.inner)
			for i := range x {
				x[i] = awkward(r)
			}
			for kind, fold := range folds {
				b := newKB(pp, rr, pp)
				s := b.reduce(OpScan, kind, tree, ir.F32, b.load(ir.F32, Strided, Strided, Unit))
				b.store(s, Strided, Strided, Unit)
				got := make([]float32, len(x))
				st := []int64{c.red * c.inner, c.inner, 1}
				b.build(t).Run(&Launch{Extents: []int64{c.outer, c.red, c.inner}, Args: []Operand{op(x, 0, st...), op(got, 0, st...)}})
				for o := range c.outer {
					for i := range c.inner {
						col, res := column(x, c, o, i), column(got, c, o, i)
						var carry float32
						for from := 0; from < len(col); from += tree.Chunk {
							run := zeros[kind]
							for j := from; j < min(len(col), from+tree.Chunk); j++ {
								run = fold(run, col[j])
								want := run
								if from > 0 {
									want = fold(carry, run)
								}
								if !sameF(res[j], want) {
									t.Fatalf("%s %s %+v at %d: got %x, want %x", kind, tree, c, j, res[j], want)
								}
							}
							if from == 0 {
								carry = run
							} else {
								carry = fold(carry, run)
							}
						}
					}
				}
			}
		}
	}
}

// TestStages runs a softmax and a normalisation of a scan, whose later passes
// evaluate element-level values again.
func TestStages(t *testing.T) {
	for _, c := range []reduceCase{{5, 1000, 1}, {3, 20, 33}, {400, 6, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			b := newKB(pp, rr, pp)
			acc := []Access{Strided, Strided, Unit}
			x := b.load(ir.F32, acc...)
			two := b.emit(OpConst, ir.F32, uint64(0x40000000))
			y := b.emit(OpMul, ir.F32, 0, x, two)
			m := b.reduce(OpReduce, Max, Tree{}, ir.F32, y)
			d := b.emit(OpSub, ir.F32, 0, y, m)
			e := b.emit(OpMul, ir.F32, 0, d, d)
			sc := b.reduce(OpScan, Sum, ScanTree, ir.F32, e)
			s := b.reduce(OpReduce, Sum, StripedTree, ir.F32, sc)
			b.store(b.emit(OpDiv, ir.F32, 0, sc, s), acc...)
			b.store(m, Strided, Broadcast, Unit)
			r := newRand(6)
			in := make([]float32, c.outer*c.red*c.inner)
			for i := range in {
				in[i] = float32(r.NormFloat64())
			}
			out, top := make([]float32, len(in)), make([]float32, c.outer*c.inner)
			st := []int64{c.red * c.inner, c.inner, 1}
			b.build(t).Run(&Launch{Extents: []int64{c.outer, c.red, c.inner}, Args: []Operand{op(in, 0, st...), op(out, 0, st...), op(top, 0, c.inner, 0, 1)}})
			for o := range c.outer {
				for i := range c.inner {
					col := column(in, c, o, i)
					for j := range col {
						col[j] *= 2
					}
					big := slices.Max(col)
					run := float32(0)
					for j := range col {
						dd := col[j] - big
						run += float32(dd * dd)
						col[j] = run
					}
					sum := TreeSum(StripedTree, col)
					res := column(out, c, o, i)
					for j := range col {
						if !sameF(res[j], col[j]/sum) {
							t.Fatalf("at %d: got %x, want %x", j, res[j], col[j]/sum)
						}
					}
					if top[o*c.inner+i] != big {
						t.Fatal("max")
					}
				}
			}
		})
	}
}

// TestHalfDot: a sum of products of f16 is one of the operands as f32, by fma; other
// operands, results and trees are refused, and the wire form keeps it.
func TestHalfDot(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 3, 1024, 1025, 2051} {
		x, y := make([]uint16, n), make([]uint16, n)
		total := float32(0)
		for from := 0; from < n; from += 1024 {
			sum := float32(0)
			for i := from; i < min(from+1024, n); i++ {
				x[i], y[i] = F16FromF32(float32(r.NormFloat64())), F16FromF32(float32(r.NormFloat64()))
				sum = FMA32(F16ToF32(x[i]), F16ToF32(y[i]), sum)
			}
			if total += sum; from == 0 {
				total = sum
			}
		}
		b := newKB(pp, rr)
		access := []Access{Broadcast, Unit}
		b.store(b.reduce(OpReduce, HalfDot, DotTree, ir.F32, b.load(ir.F16, access...), b.load(ir.F16, access...)), Broadcast, Broadcast)
		out := make([]float32, 1)
		b.build(t).Run(&Launch{Extents: []int64{1, int64(n)}, Args: []Operand{op(x, 0, 0, 1), op(y, 0, 0, 1), op(out, 0, 0, 0)}})
		if out[0] != total {
			t.Errorf("%d elements: %v, want %v", n, out[0], total)
		}
		if w := b.k.Widened(PairDot); w != b.k {
			t.Errorf("another kind is widened:\n%v", w)
		}
		back, err := DecodeWire(b.k.AppendWire(nil))
		if err != nil || back.String() != b.k.String() {
			t.Errorf("on the wire: %v, %v", back, err)
		}
	}
	for _, c := range []struct {
		typ  ir.DType
		tree Tree
	}{{ir.BF16, DotTree}, {ir.F32, DotTree}, {ir.F16, StripedTree}} {
		b := newKB(pp, rr)
		access := []Access{Broadcast, Unit}
		b.store(b.reduce(OpReduce, HalfDot, c.tree, ir.F32, b.load(c.typ, access...), b.load(c.typ, access...)), Broadcast, Broadcast)
		if err := b.k.Verify(); err == nil {
			t.Errorf("of %s along %s: no error", c.typ, c.tree)
		}
	}
}

// TestPairDot: pairs in order, odd elements first, a missing one as zero; chunks added
// in order; and as a sum of products where nothing is rounded.
func TestPairDot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 1023, 1024, 1025, 2051} {
		x, y := make([]uint16, n), make([]uint16, n)
		for i := range x {
			x[i], y[i] = BF16FromF32(float32(r.NormFloat64())), BF16FromF32(float32(r.NormFloat64()))
		}
		want := float32(0)
		for from := 0; from < n; from += 1024 {
			sum, to := float32(0), min(from+1024, n)
			for i := from; i < to; i += 2 {
				odd := [2]uint16{}
				if i+1 < to {
					odd = [2]uint16{x[i+1], y[i+1]}
				}
				sum = PairFMA(sum, x[i], odd[0], y[i], odd[1])
			}
			if from == 0 {
				want = sum
			} else {
				want += sum
			}
		}
		for _, axes := range [][]AxisKind{{pp, rr}, {rr, pp}} {
			b := newKB(axes...)
			access := []Access{Broadcast, Unit}
			if axes[0] == rr {
				access = []Access{Unit, Broadcast}
			}
			v := b.reduce(OpReduce, PairDot, DotTree, ir.F32, b.load(ir.BF16, access...), b.load(ir.BF16, access...))
			b.store(v, Broadcast, Broadcast)
			if err := b.k.Verify(); err != nil {
				t.Fatal(err)
			}
			out := make([]float32, 1)
			extents, strides := []int64{1, int64(n)}, []int64{0, 1}
			if axes[0] == rr {
				extents, strides = []int64{int64(n), 1}, []int64{1, 0}
			}
			b.build(t).Run(&Launch{Extents: extents, Args: []Operand{op(x, 0, strides...), op(y, 0, strides...), op(out, 0, 0, 0)}})
			if out[0] != want {
				t.Errorf("%v, %d elements: %v, want %v", axes, n, out[0], want)
			}
			if w := b.k.Widened(PairDot); w.Verify() != nil || w.Body[len(w.Body)-2].Op != OpReduce || w.Reductions[0].Kind != Dot {
				t.Errorf("widened:\n%v", w)
			}
		}
	}
	exact := func(v float32) uint16 { return BF16FromF32(v) }
	if got := PairFMA(1, exact(2), exact(3), exact(4), exact(5)); got != 24 {
		t.Errorf("1 + 2*4 + 3*5 = %v", got)
	}
	if got := PairFMA(0x1p-140, exact(0x1p-130), 0, exact(1), 0); got != 0 {
		t.Errorf("subnormals give %v", got)
	}
}
