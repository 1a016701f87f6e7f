package contract

import (
	"flag"
	"math/rand"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var long = flag.Bool("long", false, "many more random kernels")

// shape is a random contraction: which axes there are, and who varies along them.
type shape struct {
	kinds []kernel.AxisKind
	x, z  []bool // what varies
	order string // m, n, b or k of each axis
}

func (s *shape) add(kind kernel.AxisKind, x, z bool, name byte) {
	s.kinds = append(s.kinds, kind)
	s.x, s.z = append(s.x, x), append(s.z, z)
	s.order += string(name)
}

// randomShape has zero to two axes of each class, in any order, with the reduced
// ones adjacent.
func randomShape(r *rand.Rand) *shape {
	var names []byte
	count := func(name byte, of ...int) {
		for range of[r.Intn(len(of))] {
			names = append(names, name)
		}
	}
	count('m', 0, 1, 1, 1, 2)
	count('n', 0, 1, 1, 1, 2)
	if len(names) == 0 && r.Intn(4) > 0 {
		names = append(names, "mn"[r.Intn(2)])
	}
	count('b', 0, 0, 1, 2)
	if len(names) == 0 {
		names = append(names, 'b')
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	at, ks := r.Intn(len(names)+1), 1+r.Intn(3)/2
	names = slices.Insert(names, at, slices.Repeat([]byte{'k'}, ks)...)
	s := &shape{}
	for _, n := range names {
		kind := kernel.Parallel
		if n == 'k' {
			kind = kernel.Reduced
		}
		s.add(kind, n != 'n', n != 'm', n)
	}
	return s
}

// access gives the axes that vary classes, one of them perhaps of stride 1.
func access(r *rand.Rand, varies []bool) []kernel.Access {
	out := make([]kernel.Access, len(varies))
	var on []int
	for i, v := range varies {
		out[i] = kernel.Broadcast
		if v {
			out[i] = kernel.Strided
			on = append(on, i)
		}
	}
	if len(on) > 0 && r.Intn(5) > 0 {
		i := on[len(on)-1]
		if r.Intn(2) == 0 {
			i = on[r.Intn(len(on))]
		}
		out[i] = kernel.Unit
	}
	return out
}

func parallel(s *shape) []bool {
	out := make([]bool, len(s.kinds))
	for i, k := range s.kinds {
		out[i] = k == kernel.Parallel
	}
	return out
}

// some returns a random part of what varies.
func some(r *rand.Rand, varies []bool) []bool {
	out := slices.Clone(varies)
	for i := range out {
		out[i] = out[i] && r.Intn(2) == 0
	}
	return out
}

// randomKernel makes a contraction with random surroundings.
func randomKernel(r *rand.Rand, s *shape) *kernel.Kernel {
	b := kernel.NewBuilder("random", s.kinds)
	f := []ir.DType{ir.F32, ir.F32, ir.F32, ir.F64, ir.I32, ir.I32, ir.I32}[r.Intn(7)]
	load := func(t ir.DType, varies []bool) kernel.Ref {
		v := b.Load(b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: access(r, varies)}))
		return b.Convert(v, f)
	}
	types := []ir.DType{ir.F32, ir.F64, ir.F16, ir.BF16, ir.I8, ir.U8}
	if f == ir.I32 {
		types = []ir.DType{ir.I32, ir.U8, ir.I8, ir.U8, ir.I8}
	}
	operand := func(varies []bool) kernel.Ref {
		if r.Intn(2) == 0 {
			if f == ir.I32 && r.Intn(4) > 0 {
				return load(types[1+r.Intn(2)], varies)
			}
			return load(f, varies)
		}
		v := load(types[r.Intn(len(types))], varies)
		if r.Intn(6) == 0 {
			t := types[r.Intn(len(types))]
			arg := b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: access(r, some(r, varies)), Gather: true})
			index := b.Convert(b.Load(b.AddArg(kernel.Arg{Type: ir.U8, Dir: kernel.In, Access: access(r, some(r, varies))})), ir.I64)
			if r.Intn(2) == 0 {
				index = b.Const(ir.I64, 0)
			}
			v = b.Op(kernel.OpAdd, f, v, b.Convert(b.Gather(arg, index), f))
		}
		for range r.Intn(3) {
			switch r.Intn(5) {
			case 0:
				v = b.Op(kernel.OpMul, f, v, load(f, some(r, varies)))
			case 1:
				v = b.Op(kernel.OpMax, f, v, b.AddParam(f))
			case 2:
				for i, on := range varies {
					if on && r.Intn(2) == 0 {
						v = b.Op(kernel.OpAdd, f, v, b.Convert(b.Index(i), f))
						break
					}
				}
			case 3:
				v = b.Op(kernel.OpMul, f, v, b.Convert(b.Extent(r.Intn(len(s.kinds))), f))
			default:
				small := b.Op(kernel.OpLt, ir.Bool, v, b.Const(f, 0))
				v = b.Op(kernel.OpSelect, f, small, b.Op(kernel.OpNeg, f, v), v)
			}
		}
		return v
	}
	x, z := operand(s.x), operand(s.z)
	out := parallel(s)
	early := load(f, some(r, out)) // before the product, used after it
	kind := kernel.Dot
	if f == ir.F32 && r.Intn(3) == 0 {
		kind, x, z = kernel.PairDot, b.Convert(x, ir.BF16), b.Convert(z, ir.BF16)
		if x, z = widenedFrom(b, x), widenedFrom(b, z); r.Intn(2) == 0 {
			x, z = b.Load(b.AddArg(kernel.Arg{Type: ir.BF16, Dir: kernel.In, Access: access(r, s.x)})), b.Load(b.AddArg(kernel.Arg{Type: ir.BF16, Dir: kernel.In, Access: access(r, s.z)}))
		}
	}
	v := b.Reduce(kind, kernel.DotTree, x, z)
	store := func(t ir.DType, v kernel.Ref) {
		b.Store(b.AddArg(kernel.Arg{Type: t, Dir: kernel.Out, Access: access(r, out)}), b.Convert(v, t))
	}
	if r.Intn(3) == 0 {
		store(f, v)
		return b.K
	}
	product := v
	for range 1 + r.Intn(3) {
		switch r.Intn(5) {
		case 0:
			v = b.Op(kernel.OpAdd, f, v, early)
		case 1:
			v = b.Op(kernel.OpAdd, f, v, load(types[r.Intn(len(types))], some(r, out)))
		case 2:
			v = b.Op(kernel.OpMax, f, v, b.Const(f, 0))
		case 3:
			v = b.Op(kernel.OpMul, f, v, b.AddParam(f))
		default:
			if i := slices.Index(out, true); i >= 0 {
				v = b.Op(kernel.OpAdd, f, v, b.Convert(b.Index(i), f))
			}
		}
	}
	if r.Intn(4) == 0 {
		store(f, product)
	}
	store(types[r.Intn(4)], v)
	return b.K
}

// widenedFrom returns what a conversion to bf16 of a widened bf16 value is.
func widenedFrom(b *kernel.Builder, v kernel.Ref) kernel.Ref {
	if in := &b.K.Body[b.K.Body[v].A]; in.Op == kernel.OpCvt && b.Type(in.A) == ir.BF16 {
		return in.A
	}
	return v
}

// randomExtents are around the edges of tiles and chunks, of bounded work.
func randomExtents(r *rand.Rand, s *shape) []int64 {
	edges := map[byte][]int64{
		'm': {1, 1, 1, 2, 5, 6, 7, 13, 14, 15, 28, 29, 43, 170},
		'n': {1, 3, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 300, 1025},
		'b': {1, 2, 3},
		'k': {1, 2, 3, 4, 7, 16, 31, 64, 100, 257, 1023, 1024, 1025, 2048, 2050},
	}
	for {
		out := make([]int64, len(s.kinds))
		work := int64(1)
		for i := range out {
			e := edges[s.order[i]]
			out[i] = e[r.Intn(len(e))]
			work *= out[i]
		}
		if work <= 1<<20 {
			return out
		}
	}
}

// TestRandom: random contractions, on both levels, whole, divided and sliced.
func TestRandom(t *testing.T) {
	n := 120
	if *long {
		n = 3000
	}
	r := rand.New(rand.NewSource(3))
	compiled, divided := 0, 0
	for i := range n {
		s := randomShape(r)
		k := randomKernel(r, s)
		if err := k.Verify(); err != nil {
			t.Fatalf("%v\n%v", err, k)
		}
		for _, level := range levels(t) {
			c, err := Compile(k, level)
			if err != nil {
				if _, why := formOf(k, level); why == "" {
					t.Logf("%v", err)
				}
				continue
			}
			compiled++
			for range 2 {
				l := launch(values{r, i%3 == 0}, k, randomExtents(r, s))
				if c.bind(l) != nil {
					divided++
				}
				agree(t, r, c, l)
			}
		}
	}
	t.Logf("%d compiled, %d launches divided", compiled, divided)
	if compiled < n {
		t.Errorf("only %d of %d kernels were compiled", compiled, n)
	}
}
