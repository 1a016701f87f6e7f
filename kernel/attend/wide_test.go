package attend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var wideKernels Wide

// applyWide runs a row as steps over all queries; false if it is one for the host.
func applyWide(t *testing.T, row string, attrs []ir.Named, in ...*array) ([]*array, bool) {
	t.Helper()
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(attrs)
	if err != nil {
		t.Fatal(err)
	}
	n := &ir.Node{Row: r, Attrs: a}
	var ins, outs []Tensor
	var memory [][]float64
	for _, x := range in {
		ins, memory = append(ins, x.tensor()), append(memory, x.data)
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
		out, outs, memory = append(out, x), append(outs, x.tensor()), append(memory, x.data)
	}
	steps, scratch, err := wideKernels.Plan(n, ins, outs)
	if err != nil {
		t.Fatal(err)
	}
	if steps == nil {
		return nil, false
	}
	for _, size := range scratch {
		room := make([]float64, size/8)
		for i := range room {
			room[i] = math.NaN()
		}
		memory = append(memory, room)
	}
	for i := range steps {
		s := &steps[i]
		x, err := kernel.NewInterpreter(s.Kernel)
		if err != nil {
			t.Fatalf("%v\n%v", err, s.Kernel)
		}
		l := &kernel.Launch{Extents: s.Extents, Params: s.Params}
		for j, a := range s.Args {
			m := memory[a.Memory]
			layout := ir.Layout{Offset: a.Offset, Strides: a.Strides}
			if !layout.Inside(s.Extents, int64(len(m))) {
				t.Fatalf("step %d, argument %d of %v: extents %v from %d with strides %v leave %d elements", i, j, s.Kernel, s.Extents, a.Offset, a.Strides, len(m))
			}
			l.Args = append(l.Args, kernel.Operand{Base: unsafe.Pointer(&m[0]), Size: int64(8 * len(m)), Offset: a.Offset, Strides: a.Strides})
		}
		x.Run(l)
	}
	return out, true
}

// TestWide: for all queries at once the recurrence has the bits that it has tile by tile.
func TestWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	wide := 0
	for range 60 {
		shared, group := 1+rng.IntN(2), 1+rng.IntN(3)
		heads := shared * group
		l, s := pick(1, 5, 63, 64, 65, 130), pick(1, 7, 64, 65, 129, 150)
		d, e := 1+rng.IntN(9), 1+rng.IntN(9)
		lead := []int{[]int{2, 1}[rng.IntN(2)]}
		if rng.IntN(4) == 0 {
			lead = append(lead, 2)
		}
		shape := func(more ...int) []int { return append(append([]int(nil), lead...), more...) }
		q, k, v := random(rng, shape(heads, l, d)...), random(rng, shape(shared, s, d)...), random(rng, shape(shared, s, e)...)
		if rng.IntN(3) == 0 { // queries and heads turned
			q = random(rng, shape(l, heads, d)...)
			n := len(q.shape)
			q.shape, q.strides = q.shape.Clone(), append([]int64(nil), q.strides...)
			q.shape[n-3], q.shape[n-2] = q.shape[n-2], q.shape[n-3]
			q.strides[n-3], q.strides[n-2] = q.strides[n-2], q.strides[n-3]
		}
		attrs := []ir.Named{{Name: "causal", Value: rng.IntN(2) == 0}}
		if rng.IntN(3) == 0 {
			attrs = append(attrs, ir.Named{Name: "window", Value: int64(1 + rng.IntN(70))})
		}
		if rng.IntN(3) == 0 { // of keys that hardly anybody sees
			v.data[rng.IntN(len(v.data))] = []float64{math.NaN(), math.Inf(1)}[rng.IntN(2)]
		}
		bias := random(rng, []int{pick(1, heads), pick(1, l), pick(1, s)}...)
		for i := range bias.data {
			if rng.IntN(5) == 0 {
				bias.data[i] = math.Inf(-1)
			}
		}
		check := func(row string, in ...*array) {
			t.Helper()
			got, ok := applyWide(t, row, attrs, in...)
			if !ok {
				return
			}
			wide++
			for i, want := range apply(t, row, attrs, in...) {
				for j, w := range want.data {
					if g := got[i].data[j]; math.Float64bits(g) != math.Float64bits(w) && (g == g || w == w) {
						t.Fatalf("%s of q%v k%v v%v bias%v %v: result %d, element %d: %v, tile by tile %v", row, q.shape, k.shape, v.shape, bias.shape, attrs, i, j, g, w)
					}
				}
			}
		}
		check("attention", q, k, v)
		check("attention_bias", q, k, v, bias)
		lse := apply(t, "attention_bias", attrs, q, k, v, bias)[1]
		dy, delta := random(rng, shape(heads, l, e)...), random(rng, lse.shape...)
		check("attention_grad_q", q, k, v, bias, dy, lse, delta)
		check("attention_grad_kv", q, k, v, bias, dy, lse, delta)
	}
	if wide < 200 {
		t.Errorf("%d calls ran for all queries at once", wide)
	}
	t.Log(fmt.Sprint(wide, " calls"))
}
