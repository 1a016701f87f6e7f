package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// layout returns strides and an offset that place a tensor of the extents in
// memory in a random axis order, directions and gaps; and the elements needed.
func layout(r *rand.Rand, extents []int64) (offset int64, strides []int64, size int64) {
	strides = make([]int64, len(extents))
	size = 1
	for _, d := range r.Perm(len(extents)) {
		st := size
		if r.IntN(3) == 0 {
			st += int64(r.IntN(3))
		}
		switch {
		case r.IntN(5) == 0:
			st = 0
		case r.IntN(3) == 0:
			offset += st * (extents[d] - 1)
			strides[d] = -st
			size += st * (extents[d] - 1)
			continue
		}
		strides[d] = st
		size += st * (extents[d] - 1)
	}
	return offset, strides, size
}

// contiguous are the strides of a row-major tensor; axes left out have stride 0.
func contiguous(extents []int64, in func(int) bool) ([]int64, int64) {
	st, n := make([]int64, len(extents)), int64(1)
	for d := len(extents) - 1; d >= 0; d-- {
		if in(d) {
			st[d] = n
			n *= extents[d]
		}
	}
	return st, n
}

func each(extents []int64, f func(idx []int64)) {
	idx := make([]int64, len(extents))
	for {
		f(idx)
		d := len(idx) - 1
		for ; d >= 0; d-- {
			idx[d]++
			if idx[d] < extents[d] {
				break
			}
			idx[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// TestLayouts runs sums with a prologue and a store per element over random
// layouts, several axes on each side of a reduced group of several axes, whole
// and in slices, and compares with the definition.
func TestLayouts(t *testing.T) {
	r := newRand(21)
	for round := range 150 {
		outer, red, inner := r.IntN(3), r.IntN(3), r.IntN(3)
		var axes []AxisKind
		var ext []int64
		for i := range outer + red + inner {
			kind := Parallel
			if i >= outer && i < outer+red {
				kind = Reduced
			}
			axes = append(axes, kind)
			ext = append(ext, []int64{1, 2, 3, 5, 8, 20, 37}[r.IntN(7)])
		}
		isKept := func(d int) bool { return axes[d] == Parallel }
		all := func(int) bool { return true }
		strided := make([]Access, len(axes))
		rowAccess := make([]Access, len(axes))
		for d := range axes {
			if !isKept(d) {
				rowAccess[d] = Broadcast
			}
		}
		tree := []Tree{StripedTree, ColumnsTree, {Striped, 8, 4}, {Columns, 3, 1}}[round%4]
		b := newKB(axes...)
		x, y := b.load(ir.F32, strided...), b.load(ir.F32, strided...)
		v := b.emit(OpSub, ir.F32, 0, x, y)
		for d := range axes {
			if round%3 == 0 || d == round%5 {
				idx := b.emit(OpCvt, ir.F32, 0, b.emit(OpIndex, ir.I64, uint64(d)))
				v = b.emit(OpMul, ir.F32, 0, v, idx)
			}
		}
		b.store(v, strided...)
		if red > 0 {
			b.store(b.reduce(OpReduce, Sum, tree, ir.F32, v), rowAccess...)
		}
		k := b.build(t)

		ox, sx, nx := layout(r, ext)
		oy, sy, ny := layout(r, ext)
		xs, ys := make([]float32, nx), make([]float32, ny)
		for _, m := range [][]float32{xs, ys} {
			for i := range m {
				m[i] = float32(r.NormFloat64())
			}
		}
		se, ne := contiguous(ext, all)
		sr, nr := contiguous(ext, isKept)
		elems, rows := make([]float32, ne), make([]float32, nr)
		l := &Launch{Extents: ext, Args: []Operand{op(xs, ox, sx...), op(ys, oy, sy...), op(elems, 0, se...)}}
		if red > 0 {
			l.Args = append(l.Args, op(rows, 0, sr...))
		}
		k.Run(l)

		wantE, groups := make([]float32, ne), make([][]float32, nr)
		each(ext, func(idx []int64) {
			px, py, pe, pr := ox, oy, int64(0), int64(0)
			for d, i := range idx {
				px, py, pe, pr = px+i*sx[d], py+i*sy[d], pe+i*se[d], pr+i*sr[d]
			}
			v := xs[px] - ys[py]
			for d := range axes {
				if round%3 == 0 || d == round%5 {
					v *= float32(idx[d])
				}
			}
			wantE[pe] = v
			groups[pr] = append(groups[pr], v)
		})
		check := func(what string) {
			t.Helper()
			for i := range wantE {
				if !sameF(elems[i], wantE[i]) {
					t.Fatalf("round %d %s: extents %v strides %v: element %d is %v, want %v\n%s", round, what, ext, sx, i, elems[i], wantE[i], b.k)
				}
			}
			for i := range groups {
				if red > 0 && !sameF(rows[i], TreeSum(tree, groups[i])) {
					t.Fatalf("round %d %s: extents %v: row %d\n%s", round, what, ext, i, b.k)
				}
			}
		}
		check("whole")
		for d := range axes {
			if !isKept(d) || ext[d] < 2 {
				continue
			}
			clear(elems)
			clear(rows)
			for from := int64(0); from < ext[d]; {
				to := min(ext[d], from+1+r.Int64N(ext[d]))
				part := l.Slice(d, from, to)
				if d2 := r.IntN(len(axes)); isKept(d2) && d2 != d && ext[d2] > 1 { // sliced twice
					k.Run(part.Slice(d2, 0, 1))
					part = part.Slice(d2, 1, ext[d2])
				}
				k.Run(part)
				from = to
			}
			check(fmt.Sprintf("sliced along %d", d))
		}
	}
}

// TestSizes stores and loads every storage type through unit, strided and
// broadcast accesses.
func TestSizes(t *testing.T) {
	r := newRand(22)
	for _, ty := range ir.DTypes() {
		for _, st := range []int64{1, 0, 3, -1, -2} {
			for _, outSt := range []int64{1, 2, -1} {
				const n = 600
				b := newKB(pp)
				b.store(b.load(ty, Strided), Strided)
				in, out := make([]uint64, 3*n), make([]byte, 8*2*n)
				for i := range in {
					in[i] = r.Uint64() & (^uint64(0) >> (64 - ty.Bits()))
				}
				mem := packed(ty, in)
				ox, oo := int64(0), int64(0)
				if st < 0 {
					ox = -st * (n - 1)
				}
				if outSt < 0 {
					oo = -outSt * (n - 1)
				}
				b.build(t).Run(&Launch{Extents: []int64{n}, Args: []Operand{op(mem, ox, st), op(out, oo, outSt)}})
				for i := range int64(n) {
					at := int(oo+i*outSt) * ty.Size()
					if got := getBits(ptrAt(out, at), ty.Size()); got != in[ox+i*st] {
						t.Fatalf("%s strides %d %d: element %d", ty, st, outSt, i)
					}
				}
			}
		}
	}
}

// TestInPlace writes over an operand whose loaded value is still needed.
func TestInPlace(t *testing.T) {
	b := newKB(pp)
	x := b.load(ir.I32, Unit)
	b.store(b.emit(OpNeg, ir.I32, 0, x), Unit)
	b.store(x, Unit)
	const n = 1000
	a, c := make([]int32, n), make([]int32, n)
	for i := range a {
		a[i] = int32(i)
	}
	b.build(t).Run(&Launch{Extents: []int64{n}, Args: []Operand{op(a, 0, 1), op(a, 0, 1), op(c, 0, 1)}})
	for i := range a {
		if a[i] != int32(-i) || c[i] != int32(i) {
			t.Fatal(i, a[i], c[i])
		}
	}
}

// TestLeaves covers parameters, constants, extents and a kernel of no axes.
func TestLeaves(t *testing.T) {
	b := newKB()
	b.k.Params = []ir.DType{ir.F16, ir.I64}
	p := b.emit(OpCvt, ir.F32, 0, b.emit(OpParam, ir.F16, 0))
	b.store(b.emit(OpAdd, ir.F32, 0, p, b.emit(OpConst, ir.F32, 0x40000000)))
	b.store(b.emit(OpParam, ir.I64, 1))
	f, i := make([]float32, 1), make([]int64, 1)
	b.build(t).Run(&Launch{Params: []uint64{0x3c00, ^uint64(6)}, Args: []Operand{op(f, 0), op(i, 0)}})
	if f[0] != 3 || i[0] != -7 {
		t.Fatal(f, i)
	}
	b = newKB(pp, rr)
	e := b.emit(OpMul, ir.I64, 0, b.emit(OpExtent, ir.I64, 0), b.emit(OpExtent, ir.I64, 1))
	s := b.reduce(OpReduce, Sum, StripedTree, ir.I64, b.emit(OpAdd, ir.I64, 0, e, b.emit(OpIndex, ir.I64, 0)))
	b.store(s, Unit, Broadcast)
	out := make([]int64, 5)
	l := &Launch{Extents: []int64{5, 700}, Args: []Operand{op(out, 0, 1, 0)}}
	k := b.build(t)
	k.Run(l.Slice(0, 0, 2))
	k.Run(l.Slice(0, 2, 5))
	for i, v := range out {
		if v != 700*(3500+int64(i)) {
			t.Fatal(out)
		}
	}
}

// TestFaults checks values and the lowest index, whole and in slices in any
// order, in each form.
func TestFaults(t *testing.T) {
	for _, ext := range [][]int64{{7, 600, 1}, {3, 5, 40}, {90, 3, 2}} {
		n := ext[0] * ext[1] * ext[2]
		for _, bad := range []int64{0, 1, n / 2, n - 1} {
			b := newKB(pp, rr, pp)
			acc := []Access{Strided, Strided, Strided}
			x, y := b.load(ir.I32, acc...), b.load(ir.I32, acc...)
			q := b.emit(OpDiv, ir.I32, 0, x, y)
			b.store(q, acc...)
			b.store(b.reduce(OpReduce, Sum, StripedTree, ir.I32, q), Strided, Broadcast, Strided)
			a, d, out, sum := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, ext[0]*ext[2])
			for i := range a {
				a[i], d[i] = 6, 3
				if int64(i) >= bad && (int64(i)-bad)%11 == 0 {
					d[i] = 0
				}
			}
			st := []int64{ext[1] * ext[2], ext[2], 1}
			l := &Launch{Extents: ext, Args: []Operand{op(a, 0, st...), op(d, 0, st...), op(out, 0, st...), op(sum, 0, ext[2], 0, 1)}, Fault: new(Fault)}
			k := b.build(t)
			k.Run(l)
			check := func() {
				t.Helper()
				if code, at := l.Fault.First(); code != DivisionByZero || at != bad {
					t.Fatalf("%v: %v at %d, want %d", ext, code, at, bad)
				}
				for i := range out {
					if want := int32(2); d[i] != 0 && out[i] != want || d[i] == 0 && out[i] != 0 {
						t.Fatal(i, out[i])
					}
				}
			}
			check()
			l.Fault = new(Fault)
			k.Run(l.Slice(0, 1, ext[0]))
			k.Run(l.Slice(0, 0, 1).Slice(2, ext[2]/2, ext[2]))
			if ext[2] > 1 {
				k.Run(l.Slice(0, 0, 1).Slice(2, 0, ext[2]/2))
			}
			check()
		}
	}
}

func TestFaultsOutsideElements(t *testing.T) {
	// A row-level and a uniform remainder by zero, and a division nobody uses.
	b := newKB(pp, rr)
	row := b.load(ir.I64, Unit, Broadcast)
	one := b.emit(OpConst, ir.I64, 1)
	b.store(b.emit(OpRem, ir.I64, 0, one, row), Unit, Broadcast)
	out, in := make([]int64, 4), []int64{1, 2, 0, 0}
	l := &Launch{Extents: []int64{4, 100}, Args: []Operand{op(in, 0, 1, 0), op(out, 0, 1, 0)}, Fault: new(Fault)}
	b.build(t).Run(l)
	if code, at := l.Fault.First(); code != DivisionByZero || at != 200 || !slices.Equal(out, []int64{0, 1, 0, 0}) {
		t.Fatal(code, at, out)
	}
	b = newKB(pp, rr)
	x := b.load(ir.I64, Broadcast, Unit)
	b.emit(OpDiv, ir.I64, 0, x, x)
	l = &Launch{Extents: []int64{2, 3}, Args: []Operand{op([]int64{5, 0, 0}, 0, 0, 1)}, Fault: new(Fault)}
	b.build(t).Run(l)
	if code, at := l.Fault.First(); code != DivisionByZero || at != 1 {
		t.Fatal(code, at)
	}
	b = newKB(pp)
	zero := b.emit(OpConst, ir.I64, 0)
	b.store(b.emit(OpDiv, ir.I64, 0, zero, zero), Unit)
	l = &Launch{Extents: []int64{9}, Args: []Operand{op(make([]int64, 9), 0, 1)}, Fault: new(Fault)}
	b.build(t).Run(l.Slice(0, 4, 9))
	if code, at := l.Fault.First(); code != DivisionByZero || at != 4 {
		t.Fatal(code, at)
	}
}

func TestGather(t *testing.T) {
	const rows, width, picks = 10, 33, 50
	table := make([]uint16, rows*width)
	for i := range table {
		table[i] = uint16(i)
	}
	idx := make([]int64, picks)
	for i := range idx {
		idx[i] = int64(i*7) % rows
	}
	idx[20], idx[30], idx[40] = -3, rows, 1<<62
	b := newKB(pp, pp)
	i := b.load(ir.I64, Unit, Broadcast)
	a := b.arg(ir.U16, In, Broadcast, Unit)
	b.k.Args[a].Gather = true
	b.store(b.emit(OpGather, ir.U16, uint64(a), i), Strided, Unit)
	out := make([]uint16, picks*width)
	from := op(table, 0, 0, 1)
	from.GatherStride, from.GatherExtent = width, rows
	l := &Launch{Extents: []int64{picks, width}, Args: []Operand{op(idx, 0, 1, 0), from, op(out, 0, width, 1)}, Fault: new(Fault)}
	b.build(t).Run(l)
	for p := range picks {
		at := max(0, min(rows-1, idx[p]))
		if !slices.Equal(out[p*width:(p+1)*width], table[at*width:(at+1)*width]) {
			t.Fatal(p)
		}
	}
	if code, at := l.Fault.First(); code != IndexOutOfRange || at != 20*width {
		t.Fatal(code, at)
	}
}

func TestBounds(t *testing.T) {
	b := newKB(pp, pp)
	b.store(b.load(ir.F32, Strided, Unit), Strided, Strided)
	k := b.build(t)
	in, out := make([]float32, 12), make([]float32, 12)
	good := func() *Launch {
		return &Launch{Extents: []int64{3, 4}, Args: []Operand{op(in, 0, 4, 1), op(out, 0, 4, 1)}}
	}
	k.Run(good())
	for name, spoil := range map[string]func(l *Launch){
		"past the end":     func(l *Launch) { l.Args[1].Offset = 1 },
		"before the start": func(l *Launch) { l.Args[1].Strides = []int64{-4, 1} },
		"size":             func(l *Launch) { l.Args[0].Size -= 1 },
		"class":            func(l *Launch) { l.Args[0].Strides = []int64{1, 2} },
		"arguments":        func(l *Launch) { l.Args = l.Args[:1] },
		"axes":             func(l *Launch) { l.Extents = l.Extents[:1] },
		"parameters":       func(l *Launch) { l.Params = []uint64{1} },
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "sinter/kernel: BUG:") {
					t.Errorf("%s: %q", name, s)
				}
			}()
			l := good()
			spoil(l)
			k.Run(l)
		}()
	}
	// Nothing to do: no memory is touched, nor need there be any.
	k.Run(&Launch{Extents: []int64{0, 4}, Args: []Operand{{Strides: []int64{4, 1}}, {Strides: []int64{4, 1}}}})
}

// TestConcurrent runs one executable on slices from many goroutines.
func TestConcurrent(t *testing.T) {
	c := reduceCase{64, 300, 3}
	b := newKB(pp, rr, pp)
	b.store(b.reduce(OpReduce, M2, StripedTree, ir.F32, b.load(ir.F32, Strided, Strided, Unit)), Strided, Broadcast, Unit)
	k := b.build(t)
	r := newRand(23)
	x := make([]float32, c.outer*c.red*c.inner)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	out := make([]float32, c.outer*c.inner)
	l := &Launch{Extents: []int64{c.outer, c.red, c.inner}, Args: []Operand{op(x, 0, c.red*c.inner, c.inner, 1), op(out, 0, c.inner, 0, 1)}}
	var wg sync.WaitGroup
	for g := range int64(8) {
		wg.Go(func() {
			for i := g * 8; i < g*8+8; i++ {
				k.Run(l.Slice(0, i, i+1))
			}
		})
	}
	wg.Wait()
	for o := range c.outer {
		for i := range c.inner {
			if want := TreeMoments(StripedTree, column(x, c, o, i)).M2; !sameF(out[o*c.inner+i], want) {
				t.Fatal(o, i)
			}
		}
	}
}

func ptrAt(b []byte, at int) unsafe.Pointer { return unsafe.Pointer(&b[at]) }
