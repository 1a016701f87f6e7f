package cpu

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// combined is what one element of a dtype becomes, by definition: in float64 for
// floats, whose sums and products of two are then rounded once.
func combined(d ir.DType, mode int, a, b uint64) uint64 {
	if mode == ir.PutReplace {
		return b
	}
	f := func(x, y float64) float64 {
		switch mode {
		case ir.PutAdd:
			return x + y
		case ir.PutMul:
			return x * y
		case ir.PutMax:
			return max(x, y)
		}
		return min(x, y)
	}
	half := func(up func(uint16) float32, down func(float32) uint16) uint64 {
		return uint64(down(float32(f(float64(up(uint16(a))), float64(up(uint16(b)))))))
	}
	switch d {
	case ir.F64:
		return math.Float64bits(f(math.Float64frombits(a), math.Float64frombits(b)))
	case ir.F32:
		return uint64(math.Float32bits(float32(f(float64(math.Float32frombits(uint32(a))), float64(math.Float32frombits(uint32(b)))))))
	case ir.F16:
		return half(kernel.F16ToF32, kernel.F16FromF32)
	case ir.BF16:
		return half(kernel.BF16ToF32, kernel.BF16FromF32)
	}
	width := uint(8 * d.Size())
	x, y := int64(a<<(64-width))>>(64-width), int64(b<<(64-width))>>(64-width)
	less := x < y
	if d.Kind() == ir.KindUint {
		less = a < b
	}
	switch {
	case mode == ir.PutAdd:
		a += b
	case mode == ir.PutMul:
		a *= b
	case (mode == ir.PutMax) == less:
		a = b
	}
	return a & (1<<(width-1)<<1 - 1)
}

func load(h Host, i int) uint64 {
	v := uint64(0)
	for j, b := range (element{h}).bytes(i) {
		v |= uint64(b) << (8 * j)
	}
	return v
}

func store(h Host, i int, v uint64) {
	for j := range (element{h}).bytes(i) {
		h.Data[i*h.Type.DType.Size()+j] = byte(v >> (8 * j))
	}
}

// same compares elements; a NaN is any other.
func same(d ir.DType, a, b uint64) bool {
	nan := func(v uint64) bool {
		switch d {
		case ir.F64:
			return v<<1 > 0x7ff<<53
		case ir.F32:
			return v<<33 > 0xff<<56
		case ir.F16:
			return v<<49 > 0x1f<<59
		case ir.BF16:
			return v<<49 > 0xff<<56
		}
		return false
	}
	return a == b || nan(a) && nan(b)
}

// TestScatter: every mode, dtype and way of dividing the work is the left fold in
// ascending source order.
func TestScatter(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	cases := []struct {
		outer, extent, inner, n int
	}{{1, 1, 1, 3}, {2, 3, 1, 9}, {1, 5, 70, 40}, {3, 4, 33, 10}, {1, 1000, 1, spreadRows + 5}, {2, 3, 1, spreadRows}, {40, 50, 1, 1000}, {1, 7, 1, 0}, {0, 2, 3, 4}, {1, 300, 200, 100}}
	for _, d := range ir.DTypes() {
		for mode := range 5 {
			if d == ir.Bool && mode != ir.PutReplace {
				continue
			}
			for k, c := range cases {
				if c.n >= spreadRows && (d != ir.F32 || mode > ir.PutAdd) && (d != ir.U8 || mode != ir.PutMax) {
					continue
				}
				x, z := drawn(r, d, k%2 == 0, c.outer, c.extent, c.inner), drawn(r, d, false, c.outer, c.n, c.inner)
				row := make([]int64, c.n)
				for i := range row {
					row[i] = r.Int64N(2*int64(c.extent)) - int64(c.extent)
				}
				want := Host{Type: x.Type, Data: append([]byte(nil), x.Data...)}
				own := make([]int64, c.outer*c.n*c.inner)
				for i := range own {
					own[i] = r.Int64N(2*int64(c.extent)) - int64(c.extent)
				}
				wantOwn := Host{Type: x.Type, Data: append([]byte(nil), x.Data...)}
				put := func(h Host, o, j int, at int64, s int) {
					to := (o*c.extent+int(at+int64(c.extent))%c.extent)*c.inner + j
					store(h, to, combined(d, mode, load(h, to), load(z, s)))
				}
				for o := range c.outer {
					for i := range c.n {
						for j := range c.inner {
							s := (o*c.n+i)*c.inner + j
							put(want, o, j, row[i], s)
							put(wantOwn, o, j, own[s], s)
						}
					}
				}
				check := func(row string, attrs []ir.Named, want, index Host) {
					out, err := called(t, row, attrs, x, index, z)
					if err != nil {
						t.Fatal(err)
					}
					for i := range x.Type.Shape.Size() {
						if got, want := load(out[0], i), load(want, i); !same(d, got, want) {
							t.Fatalf("%s %v %+v mode %d: element %d is %#x, want %#x", row, d, c, mode, i, got, want)
						}
					}
				}
				if mode == ir.PutAdd {
					check("scatter_add", ir.A("axis", 1), want, hostOf(ir.I64, row, c.n))
				}
				check("scatter_nd", ir.A("axis", 1, "mode", mode), want, hostOf(ir.I64, row, c.n, 1))
				check("scatter_along", ir.A("axis", 1, "mode", mode), wantOwn, hostOf(ir.I64, own, c.outer, c.n, c.inner))
				if c.inner > 1 && c.outer > 1 {
					for i := range own { // the same for all columns
						own[i] = row[i/c.inner%c.n]
					}
					check("scatter_along", ir.A("axis", 1, "mode", mode), want, hostOf(ir.I64, row, 1, c.n, 1))
				}
			}
		}
	}
}

func TestGatherND(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, d := range []ir.DType{ir.U8, ir.F16, ir.F32, ir.F64} {
		for _, inner := range []int{1, 2, 3, 8, 100, 0} {
			for _, n := range []int{0, 1, 40, 20000} {
				x := drawn(r, d, false, 3, 4, 5, inner)
				index := make([]int64, 2*n)
				for i := range n {
					index[2*i], index[2*i+1] = r.Int64N(8)-4, r.Int64N(10)-5
				}
				out, err := called(t, "gather_nd", ir.A("axis", 1), x, hostOf(ir.I64, index, n, 2))
				if err != nil {
					t.Fatal(err)
				}
				for o := range 3 {
					for i := range n {
						a, b := (index[2*i]+4)%4, (index[2*i+1]+5)%5
						for j := range inner {
							if load(out[0], (o*n+i)*inner+j) != load(x, ((o*4+int(a))*5+int(b))*inner+j) {
								t.Fatalf("%v inner %d: row %d of block %d", d, inner, i, o)
							}
						}
					}
				}
			}
		}
	}
}

// The first index that is out of range is told, whatever the threads.
func TestOutOfRange(t *testing.T) {
	index := make([]int64, 3*blockSize)
	index[2*blockSize+1], index[blockSize+4], index[blockSize+9] = -6, 5, 1<<40
	x, z := drawn(rand.New(rand.NewPCG(6, 6)), ir.F32, false, 5), drawn(rand.New(rand.NewPCG(6, 7)), ir.F32, false, len(index))
	for row, attrs := range map[string][]ir.Named{"scatter_add": ir.A("axis", 0), "scatter_along": ir.A("axis", 0), "scatter_nd": ir.A("axis", 0)} {
		i := hostOf(ir.I64, index, len(index))
		if row == "scatter_nd" {
			i.Type.Shape = ir.Shape{len(index), 1}
		}
		_, err := called(t, row, attrs, x, i, z)
		if err == nil || !strings.Contains(err.Error(), "index[16388") || !strings.Contains(err.Error(), "is 5") {
			t.Errorf("%s: %v", row, err)
		}
	}
	pairs := hostOf(ir.I64, index, len(index)/2, 2)
	_, err := called(t, "gather_nd", ir.A("axis", 0), drawn(rand.New(rand.NewPCG(6, 8)), ir.F32, false, 5, 5), pairs)
	if err == nil || !strings.Contains(err.Error(), "index[8194 0] is 5") {
		t.Error(err)
	}
}

func FuzzScatterAdd(f *testing.F) {
	f.Add([]byte{1, 2, 3, 250, 5}, uint8(7))
	f.Fuzz(func(t *testing.T, b []byte, extent uint8) {
		e := int(extent%9) + 1
		x := hostOf(ir.F32, make([]float32, e), e)
		want := make([]float32, e)
		var index []int64
		var z []float32
		for i, v := range b {
			at := int(v) % e
			index, z = append(index, int64(at-e*(i%2))), append(z, float32(v)*1.1)
			want[at] += z[i]
		}
		out, err := called(t, "scatter_add", ir.A("axis", 0), x, hostOf(ir.I64, index, len(b)), hostOf(ir.F32, z, len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range view[float32](out[0].Data) {
			if v != want[i] {
				t.Fatalf("element %d is %v, want %v", i, v, want[i])
			}
		}
	})
}
