package cpu

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// crew runs every task of a routine on a goroutine of its own.
type crew int

func (c crew) Threads() int { return int(c) }

func (c crew) Parallel(tasks int, do func(int)) {
	var wg sync.WaitGroup
	for i := range tasks {
		if c == 1 {
			do(i)
			continue
		}
		wg.Add(1)
		go func() { defer wg.Done(); do(i) }()
	}
	wg.Wait()
}

func (crew) Scratch(n int) ([]byte, error) { return dirty(n), nil }

// dirty is memory that nobody zeroed.
func dirty(n int) []byte {
	w := make([]uint64, n/8+1)
	for i := range w {
		w[i] = 0xa5a5a5a5a5a5a5a5
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), n)
}

// called runs a routine with 1, 2 and 16 threads and returns the results, which
// must agree.
func called(t *testing.T, row string, attrs []ir.Named, in ...Host) ([]Host, error) {
	t.Helper()
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(attrs)
	if err != nil {
		t.Fatal(err)
	}
	n := &ir.Node{Row: r, Attrs: a}
	var types []ir.Type
	for i, h := range in {
		n.In = append(n.In, ir.Tensor{ID: ir.ID(i + 1), Type: h.Type})
		types = append(types, h.Type)
	}
	results, err := r.Infer(r, types, a)
	if err != nil {
		t.Fatal(err)
	}
	var first []Host
	var firstErr error
	for _, threads := range []crew{1, 2, 16} {
		c := &Call{Node: n, In: in, Helpers: threads}
		for _, typ := range results {
			c.Out = append(c.Out, Host{Type: typ, Data: dirty(typ.Shape.Size() * typ.DType.Size())})
		}
		err := builtinRoutines[row](c)
		if threads == 1 {
			first, firstErr = c.Out, err
			continue
		}
		if (err == nil) != (firstErr == nil) || err != nil && err.Error() != firstErr.Error() {
			t.Fatalf("%s%v: %v with 1 thread, %v with %d", row, types, firstErr, err, threads)
		}
		for i, h := range c.Out {
			if err == nil && !bytes.Equal(h.Data, first[i].Data) {
				t.Fatalf("%s%v: result %d differs with %d threads", row, types, i, threads)
			}
		}
	}
	return first, firstErr
}

func hostOf[T any](d ir.DType, v []T, shape ...int) Host {
	var zero T
	b := dirty(len(v) * int(unsafe.Sizeof(zero)))
	copy(view[T](b), v)
	return Host{Type: ir.Type{DType: d, Shape: shape}, Data: b}
}

// drawn is a tensor of random elements, of few values if few, with special values
// of floats among them.
func drawn(r *rand.Rand, d ir.DType, few bool, shape ...int) Host {
	n := ir.Shape(shape).Size()
	h := Host{Type: ir.Type{DType: d, Shape: shape}, Data: dirty(n * d.Size())}
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1, -1}
	for i := range n {
		bits := r.Uint64()
		if few {
			bits = r.Uint64N(7)
		}
		v := r.NormFloat64()
		if few || r.IntN(10) == 0 {
			v = special[r.IntN(len(special))]
		}
		switch d {
		case ir.F64:
			view[float64](h.Data)[i] = v
		case ir.F32:
			view[float32](h.Data)[i] = float32(v)
		case ir.F16:
			view[uint16](h.Data)[i] = kernel.F16FromF32(float32(v))
		case ir.BF16:
			view[uint16](h.Data)[i] = kernel.BF16FromF32(float32(v))
		case ir.Bool:
			h.Data[i] = byte(bits & 1)
		default:
			for j := range d.Size() {
				h.Data[i*d.Size()+j] = byte(bits >> (8 * j))
			}
		}
	}
	return h
}

// compare is the order of the rows, by definition.
func compare(h Host, a, b int) int {
	float := func(x, y float64) int {
		switch {
		case x != x || y != y:
			return cmp.Compare(boolInt(x != x), boolInt(y != y))
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	switch h.Type.DType {
	case ir.F64:
		v := view[float64](h.Data)
		return float(v[a], v[b])
	case ir.F32:
		v := view[float32](h.Data)
		return float(float64(v[a]), float64(v[b]))
	case ir.F16:
		v := view[uint16](h.Data)
		return float(float64(kernel.F16ToF32(v[a])), float64(kernel.F16ToF32(v[b])))
	case ir.BF16:
		v := view[uint16](h.Data)
		return float(float64(kernel.BF16ToF32(v[a])), float64(kernel.BF16ToF32(v[b])))
	case ir.I8:
		return cmp.Compare(view[int8](h.Data)[a], view[int8](h.Data)[b])
	case ir.I16:
		return cmp.Compare(view[int16](h.Data)[a], view[int16](h.Data)[b])
	case ir.I32:
		return cmp.Compare(view[int32](h.Data)[a], view[int32](h.Data)[b])
	case ir.I64:
		return cmp.Compare(view[int64](h.Data)[a], view[int64](h.Data)[b])
	case ir.U16:
		return cmp.Compare(view[uint16](h.Data)[a], view[uint16](h.Data)[b])
	case ir.U32:
		return cmp.Compare(view[uint32](h.Data)[a], view[uint32](h.Data)[b])
	case ir.U64:
		return cmp.Compare(view[uint64](h.Data)[a], view[uint64](h.Data)[b])
	}
	return cmp.Compare(h.Data[a], h.Data[b])
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// at is the bytes of an element.
func (h element) bytes(i int) []byte { n := h.Type.DType.Size(); return h.Data[i*n : (i+1)*n] }

type element struct{ Host }

func TestSortAndTopK(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	shapes := []struct {
		shape []int
		axis  int
	}{{[]int{0}, 0}, {[]int{1}, 0}, {[]int{7}, 0}, {[]int{3, 50}, 1}, {[]int{50, 19}, 0}, {[]int{2, 300, 9}, 1}, {[]int{2, 0, 3}, 1}, {[]int{0, 3}, 1},
		{[]int{9000}, 0}, {[]int{1 << 16}, 0}, {[]int{70000, 2}, 0}}
	for _, d := range ir.DTypes() {
		for k, s := range shapes {
			if k > 7 && d != ir.F32 && d != ir.I64 {
				continue
			}
			for _, down := range []bool{false, true} {
				x := drawn(r, d, k%2 == 1, s.shape...)
				out, err := called(t, "sort", ir.A("axis", s.axis, "descending", down), x)
				if err != nil {
					t.Fatal(err)
				}
				checkOrder(t, x, out, s.axis, down)
				n := s.shape[s.axis]
				for _, k := range []int{0, 1, n / 9, n / 2, n} {
					if k > n {
						continue
					}
					out, err := called(t, "topk", ir.A("k", k, "axis", s.axis, "largest", down), x)
					if err != nil {
						t.Fatal(err)
					}
					checkOrder(t, x, out, s.axis, down)
				}
			}
		}
	}
}

// checkOrder compares results of sort or topk with a stable sort of places.
func checkOrder(t *testing.T, x Host, out []Host, axis int, down bool) {
	t.Helper()
	outer, extent, inner := split(x.Type.Shape, axis, 1)
	room := out[0].Type.Shape[axis]
	at := make([]int, extent)
	for o := range outer {
		for j := range inner {
			for i := range at {
				at[i] = i
			}
			slices.SortStableFunc(at, func(a, b int) int {
				c := compare(x, (o*extent+a)*inner+j, (o*extent+b)*inner+j)
				if down {
					return -c
				}
				return c
			})
			for i := range room {
				p := (o*room+i)*inner + j
				if got := view[int64](out[1].Data)[p]; got != int64(at[i]) {
					t.Fatalf("%v axis %d down %v: place %d is %d, want %d", x.Type, axis, down, i, got, at[i])
				}
				if !bytes.Equal(element{out[0]}.bytes(p), element{x}.bytes((o*extent+at[i])*inner+j)) {
					t.Fatalf("%v axis %d down %v: element %d is not the one at its place", x.Type, axis, down, i)
				}
			}
		}
	}
}

func TestUniqueAndSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, d := range ir.DTypes() {
		for k, n := range []int{0, 1, 5, 100, 2*blockSize + 9} {
			x := drawn(r, d, k%2 == 1, n)
			at := make([]int, n)
			for i := range at {
				at[i] = i
			}
			slices.SortStableFunc(at, func(a, b int) int { return compare(x, a, b) })
			for _, most := range []int{0, 1, 3, n + 2} {
				out, err := called(t, "unique", ir.A("max", most), x)
				if err != nil {
					t.Fatal(err)
				}
				y, inverse, counts := element{out[0]}, view[int64](out[1].Data), view[int64](out[2].Data)
				group, seen := -1, make([]int64, most)
				for i, p := range at {
					if i == 0 || compare(x, at[i-1], p) != 0 {
						if group++; group < most && !bytes.Equal(y.bytes(group), element{x}.bytes(p)) {
							t.Fatalf("%v: distinct element %d", x.Type, group)
						}
					}
					if inverse[p] != int64(group) {
						t.Fatalf("%v: inverse of %d is %d, want %d", x.Type, p, inverse[p], group)
					}
					if group < most {
						seen[group]++
					}
				}
				if got := view[int64](out[3].Data)[0]; got != int64(group+1) || !slices.Equal(seen, counts) {
					t.Fatalf("%v: %d distinct, want %d; counts %v, want %v", x.Type, got, group+1, counts, seen)
				}
				for i := group + 1; i < most; i++ {
					if len(bytes.Trim(y.bytes(i), "\x00")) > 0 {
						t.Fatalf("%v: element %d beyond the last is not 0", x.Type, i)
					}
				}
			}
			if n > 100 {
				continue
			}
			sorted, z := Host{Type: x.Type, Data: dirty(len(x.Data))}, drawn(r, d, k%2 == 1, 3, 9)
			for i, p := range at {
				copy(element{sorted}.bytes(i), element{x}.bytes(p))
			}
			both := Host{Type: ir.Type{DType: d, Shape: ir.Shape{n + 27}}, Data: append(slices.Clone(sorted.Data), z.Data...)}
			for _, right := range []bool{false, true} {
				out, err := called(t, "searchsorted", ir.A("right", right), sorted, z)
				if err != nil {
					t.Fatal(err)
				}
				for i, got := range view[int64](out[0].Data) {
					want := int64(0)
					for j := range n {
						if c := compare(both, j, n+i); c < 0 || c == 0 && right {
							want++
						}
					}
					if got != want {
						t.Fatalf("searchsorted %v right %v: %d, want %d", x.Type, right, got, want)
					}
				}
			}
		}
	}
	rows := hostOf(ir.I32, []int32{1, 3, 5, 2, 2, 9}, 2, 3)
	out, err := called(t, "searchsorted", nil, rows, hostOf(ir.I32, []int32{3, 3, 2, 10}, 2, 2))
	if err != nil || !slices.Equal(view[int64](out[0].Data), []int64{1, 1, 0, 3}) {
		t.Fatal(fmt.Sprint(view[int64](out[0].Data), err))
	}
}

func TestNonZero(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, shape := range [][]int{{}, {0}, {1}, {7}, {40000}, {5, 0}, {300, 211}, {3, 1, 77, 130}} {
		for _, often := range []int{1, 2, 50} {
			n := ir.Shape(shape).Size()
			x := Host{Type: ir.Type{DType: ir.Bool, Shape: shape}, Data: dirty(n)}
			var want []int64
			count := 0
			for i := range n {
				if x.Data[i] = byte(boolInt(r.IntN(often) == 0)); x.Data[i] == 0 {
					continue
				}
				count++
				c, rest := make([]int64, len(shape)), i
				for j := len(shape) - 1; j >= 0; j-- {
					c[j], rest = int64(rest%shape[j]), rest/shape[j]
				}
				want = append(want, c...)
			}
			for _, most := range []int{0, count / 2, count, count + 3} {
				out, err := called(t, "nonzero", ir.A("max", most), x)
				if err != nil {
					t.Fatal(err)
				}
				expect := slices.Clone(want[:min(most, count)*len(shape)])
				for len(expect) < most*len(shape) {
					expect = append(expect, -1)
				}
				if !slices.Equal(view[int64](out[0].Data), expect) || view[int64](out[1].Data)[0] != int64(count) {
					t.Fatalf("%v, at most %d: wrong", x.Type, most)
				}
			}
		}
	}
}
