package attend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

func engine() *Engine {
	return New(func(k *kernel.Kernel) (kernel.Executable, error) { return kernel.NewInterpreter(k) })
}

// array is a tensor of f64 with any layout over its data.
type array struct {
	shape   ir.Shape
	strides []int64
	offset  int64
	data    []float64
}

func newArray(shape ...int) *array {
	s := ir.Shape(shape)
	return &array{shape: s, strides: s.Strides(), data: make([]float64, max(1, s.Size()))}
}

func random(rng *rand.Rand, shape ...int) *array {
	a := newArray(shape...)
	for i := range a.data {
		a.data[i] = rng.NormFloat64() * 2
	}
	return a
}

func (a *array) tensor() Tensor {
	return Tensor{Type: ir.Type{DType: ir.F64, Shape: a.shape},
		Operand: kernel.Operand{Base: unsafe.Pointer(&a.data[0]), Size: int64(8 * len(a.data)), Offset: a.offset, Strides: a.strides}}
}

func (a *array) at(index ...int) *float64 {
	o := a.offset
	for i, x := range index {
		o += int64(x) * a.strides[i]
	}
	return &a.data[o]
}

// slice is a view of a range of an axis.
func (a *array) slice(axis, from, to int) *array {
	b := *a
	b.shape = a.shape.Clone()
	b.shape[axis] = to - from
	b.offset += int64(from) * a.strides[axis]
	return &b
}

// apply runs a row, each task on a goroutine of its own.
func apply(t *testing.T, row string, attrs []ir.Named, in ...*array) []*array {
	t.Helper()
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(attrs)
	if err != nil {
		t.Fatal(err)
	}
	n := &ir.Node{Row: r, Attrs: a}
	var ins, outs []Tensor
	for _, x := range in {
		ins = append(ins, x.tensor())
		n.In = append(n.In, ir.Tensor{Type: ir.Type{DType: ir.F64, Shape: x.shape}})
	}
	types, err := ir.Infer(r, n.InTypes(), a)
	if err != nil {
		t.Fatal(err)
	}
	var out []*array
	for _, typ := range types {
		x := newArray(typ.Shape...)
		for i := range x.data {
			x.data[i] = math.NaN()
		}
		out, outs = append(out, x), append(outs, x.tensor())
	}
	w, err := shared.Work(n, ins, outs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range w.Phases {
		done := make(chan any)
		for i := range p.Tasks {
			go func() {
				defer func() { done <- recover() }()
				p.Do(i)
			}()
		}
		for range p.Tasks {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// shared is the engine under test.
var shared = engine()

// everywhere runs a test with the interpreter and with generated code.
func everywhere(t *testing.T, test func(t *testing.T)) {
	defer func(e *Engine) { shared = e }(shared)
	t.Run("interpreter", test)
	for _, level := range []amd64.Level{amd64.AVX2, amd64.AVX512} {
		if amd64.Available(level) {
			shared = native(level)
			t.Run(level.String(), test)
		}
	}
}

// scalar evaluates a function of one number by its row.
func scalar(row string) func(float64) float64 {
	b := build(row, ir.F64, par)
	b.out(b.scalar(ir.Lookup(row).Program(ir.F64), map[string]kernel.Ref{"x": b.in(ir.F64, unit)}), ir.F64, unit)
	x, err := kernel.NewInterpreter(b.K)
	if err != nil {
		panic(err)
	}
	return func(v float64) float64 {
		in, out := newArray(1), newArray(1)
		in.data[0] = v
		x.Run(&kernel.Launch{Extents: []int64{1}, Args: []kernel.Operand{in.tensor().Operand, out.tensor().Operand}})
		return out.data[0]
	}
}

var exp2, log = scalar("exp2"), scalar("log")

// recurrence is the package comment, for one query; hidden says which keys are. The
// widths are below a chunk of the products' tree.
func recurrence(q []float64, k, v func(j int) []float64, s, e int, scale float64, bias func(j int) (float64, bool), hidden func(j int) bool) (y []float64, lse float64) {
	m, l, acc := math.Inf(-1), 0.0, make([]float64, e)
	for first := 0; first < s; first += 64 {
		n := min(64, s-first)
		x, m1 := make([]float64, n), m
		for j := range x {
			dot := 0.0
			for c := range q {
				dot = math.FMA(q[c], k(first + j)[c], dot)
			}
			x[j] = dot * (scale * math.Log2E)
			if b, ok := bias(first + j); ok {
				if x[j] = math.FMA(b, math.Log2E, x[j]); math.IsInf(b, -1) {
					x[j] = b
				}
			}
			if hidden(first + j) {
				x[j] = math.Inf(-1)
			}
			m1 = max(m1, x[j]) // of NaN it is NaN
		}
		safe := m1
		if math.IsInf(m1, -1) {
			safe = 0
		}
		a, sum, dots := exp2(m-safe), 0.0, make([]float64, e)
		for j := range x {
			p := exp2(x[j] - safe)
			sum += p
			for c := range dots {
				if p != 0 {
					dots[c] = math.FMA(p, v(first + j)[c], dots[c])
				}
			}
		}
		l = math.FMA(l, a, sum)
		for c := range acc {
			acc[c] = math.FMA(acc[c], a, dots[c])
		}
		m = m1
	}
	if l == 0 {
		return make([]float64, e), math.Inf(-1)
	}
	for c := range acc {
		acc[c] = acc[c]/l + 0
	}
	return acc, math.FMA(m, math.Ln2, log(l))
}

func (a *array) row(index ...int) []float64 {
	n := a.shape[len(a.shape)-1]
	out := make([]float64, n)
	for c := range out {
		out[c] = *a.at(append(index[:len(index):len(index)], c)...)
	}
	return out
}

func equalBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// TestRecurrence compares with the definition bit for bit, over lengths around the
// edges of blocks, shared heads, masks and special values.
func TestRecurrence(t *testing.T) { everywhere(t, testRecurrence) }

func testRecurrence(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for try := range 60 {
		heads, group := 1+rng.IntN(2), 1+rng.IntN(3)
		pick := []int{1, 2, 5, 63, 64, 65, 100, 129}
		l, s := pick[rng.IntN(6)], pick[rng.IntN(len(pick))]
		if try%4 == 0 {
			l = 1
		}
		d, e := 1+rng.IntN(9), 1+rng.IntN(9)
		q, k, v := random(rng, 1, heads*group, l, d), random(rng, 1, heads, s, d), random(rng, 1, heads, s, e)
		bias := random(rng, 1, 1+(heads*group-1)*rng.IntN(2), 1+(l-1)*rng.IntN(2), 1+(s-1)*rng.IntN(2))
		causal, window, scale := rng.IntN(2) == 0, rng.IntN(3)*rng.IntN(80), 0.25*float64(1+rng.IntN(4))
		for _, a := range []*array{q, k, v, bias} {
			for i := range a.data {
				if try%3 == 0 && rng.IntN(40) == 0 {
					a.data[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e300, -1e300, 5e-324}[rng.IntN(8)]
				}
				if a == bias && rng.IntN(4) == 0 {
					a.data[i] = math.Inf(-1)
				}
			}
		}
		row, in := "attention", []*array{q, k, v}
		if try%2 == 0 {
			row, in = "attention_bias", append(in, bias)
		}
		name := fmt.Sprintf("try %d: %s of q %v, k %v, v %v, bias %v, causal %v, window %d", try, row, q.shape, k.shape, v.shape, bias.shape, causal, window)
		out := apply(t, row, ir.A("causal", causal, "window", window, "scale", scale), in...)
		for h := range heads * group {
			for i := range l {
				y, lse := recurrence(q.row(0, h, i), func(j int) []float64 { return k.row(0, h/group, j) }, func(j int) []float64 { return v.row(0, h/group, j) },
					s, e, scale, func(j int) (float64, bool) {
						return *bias.at(0, h%bias.shape[1], i%bias.shape[2], j%bias.shape[3]), len(in) > 3
					}, func(j int) bool {
						at := i + s - l
						return causal && j > at || window > 0 && j <= at-window
					})
				for c, want := range append(y, lse) {
					got := *out[1].at(0, h, i)
					if c < e {
						got = *out[0].at(0, h, i, c)
					}
					if !equalBits(got, want) {
						t.Fatalf("%s: head %d, query %d, element %d: got %v, want %v", name, h, i, c, got, want)
					}
				}
			}
		}
	}
}

// TestEqualBits: a head alone, a range of queries, a step of decoding over a cache
// with room after its end, keys that are cut instead of hidden, and views give the
// bits of the whole.
func TestEqualBits(t *testing.T) { everywhere(t, testEqualBits) }

func testEqualBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const l, room = 150, 190
	packed := random(rng, 2, l, 3, 4, 8) // [batch, length, q k v, heads, width]
	part := func(i int) *array {
		a := *packed
		a.offset = int64(i) * packed.strides[2]
		a.shape = ir.Shape{2, 4, l, 8}
		a.strides = []int64{packed.strides[0], packed.strides[3], packed.strides[1], packed.strides[4]}
		return &a
	}
	q, k, v := part(0), part(1), part(2)
	attrs := ir.A("causal", true)
	whole := apply(t, "attention", attrs, q, k, v)
	check := func(what string, got []*array, b, h, i int) {
		t.Helper()
		for x := range got[0].shape[1] {
			for r := range got[0].shape[2] {
				for c := range 8 {
					if w, g := *whole[0].at(b, h+x, i+r, c), *got[0].at(0, x, r, c); !equalBits(w, g) {
						t.Fatalf("%s: head %d, query %d, element %d: got %v, of the whole %v", what, h+x, i+r, c, g, w)
					}
				}
				if w, g := *whole[1].at(b, h+x, i+r), *got[1].at(0, x, r); !equalBits(w, g) {
					t.Fatalf("%s: head %d, query %d: lse %v, of the whole %v", what, h+x, i+r, g, w)
				}
			}
		}
	}
	of := func(a *array, b, h0, h1, i0, i1 int) *array {
		return a.slice(0, b, b+1).slice(1, h0, h1).slice(2, i0, i1)
	}
	check("a head", apply(t, "attention", attrs, of(q, 1, 2, 3, 0, l), of(k, 1, 2, 3, 0, l), of(v, 1, 2, 3, 0, l)), 1, 2, 0)
	cacheK, cacheV := newArray(1, 4, room, 8), newArray(1, 4, room, 8)
	for i := range cacheK.data { // what lies after the end is never read
		cacheK.data[i], cacheV.data[i] = math.NaN(), math.NaN()
	}
	for i := range l {
		for h := range 4 {
			for c := range 8 {
				*cacheK.at(0, h, i, c), *cacheV.at(0, h, i, c) = *k.at(1, h, i, c), *v.at(1, h, i, c)
			}
		}
		if i%7 == 0 || i > 120 {
			check("a step", apply(t, "attention", attrs, of(q, 1, 0, 4, i, i+1), cacheK.slice(2, 0, i+1), cacheV.slice(2, 0, i+1)), 1, 0, i)
			// Later keys there, hidden by a bias.
			bias := newArray(1, room)
			for j := i + 1; j < room; j++ {
				bias.data[j] = math.Inf(-1)
			}
			check("a step over the whole cache", apply(t, "attention_bias", nil, of(q, 1, 0, 4, i, i+1), cacheK, cacheV, bias), 1, 0, i)
		}
	}
	check("some queries", apply(t, "attention", attrs, of(q, 0, 0, 4, 60, 100), of(k, 0, 0, 4, 0, 100), of(v, 0, 0, 4, 0, 100)), 0, 0, 60)
	// Queries of neighbouring heads that share keys, taken together and alone.
	few := apply(t, "attention", attrs, of(q, 0, 0, 4, l-1, l), of(k, 0, 0, 1, 0, l), of(v, 0, 0, 1, 0, l))
	for h := range 4 {
		whole = apply(t, "attention", attrs, of(q, 0, h, h+1, 0, l), of(k, 0, 0, 1, 0, l), of(v, 0, 0, 1, 0, l))
		one := []*array{few[0].slice(1, h, h+1), few[1].slice(1, h, h+1)}
		check("shared keys", one, 0, 0, l-1)
	}
}

// TestHidden: what is hidden takes no part, even if it is not a number.
func TestHidden(t *testing.T) { everywhere(t, testHidden) }

func testHidden(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	q, k, v := random(rng, 1, 1, 70, 4), random(rng, 1, 1, 70, 4), random(rng, 1, 1, 70, 4)
	dy, lse, delta := random(rng, 1, 1, 70, 4), random(rng, 1, 1, 70), random(rng, 1, 1, 70)
	attrs := ir.A("causal", true)
	clean := apply(t, "attention", attrs, q, k, v)
	grad := func(row string) []*array { return apply(t, row, attrs, q, k, v, newArray(), dy, lse, delta) }
	cleanQ, cleanKV := grad("attention_grad_q")[0], grad("attention_grad_kv")
	for c := range 4 {
		*k.at(0, 0, 50, c), *v.at(0, 0, 50, c) = math.NaN(), math.Inf(1)
	}
	got, gotQ := apply(t, "attention", attrs, q, k, v), grad("attention_grad_q")[0]
	for i := range 70 {
		for c := range 4 {
			w, g := *clean[0].at(0, 0, i, c), *got[0].at(0, 0, i, c)
			wq, gq := *cleanQ.at(0, 0, i, c), *gotQ.at(0, 0, i, c)
			if i < 50 && (!equalBits(w, g) || !equalBits(wq, gq)) || i >= 50 && g == g {
				t.Fatalf("query %d, element %d: got %v and the gradient %v, without the key %v and %v", i, c, g, gq, w, wq)
			}
		}
	}
	for c := range 4 { // a query before them all
		*k.at(0, 0, 50, c), *v.at(0, 0, 50, c) = 1, 1
		*q.at(0, 0, 20, c), *dy.at(0, 0, 20, c) = math.NaN(), math.Inf(1)
	}
	gotKV := grad("attention_grad_kv")
	for c := range 4 {
		if w, g := *cleanKV[1].at(0, 0, 60, c), *gotKV[1].at(0, 0, 60, c); !equalBits(w, g) {
			t.Fatalf("the gradient of a value that query 20 does not see: got %v, want %v", g, w)
		}
	}
}
