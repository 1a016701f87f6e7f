package cpu

import (
	"context"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/internal/cputime"
	"github.com/sinter-go/sinter/ir"
)

// longRows are rows over one long row, or a few.
var longRows = []struct {
	row    string
	shape  ir.Shape
	dtype  ir.DType
	attrs  []ir.Named
	inputs int // further operands, each a row's length
}{
	{"sum", ir.Shape{300001}, ir.F32, nil, 0},
	{"sum", ir.Shape{2, 150000}, ir.F32, []ir.Named{{Name: "axes", Value: []int64{1}}}, 0},
	{"sum", ir.Shape{30000, 16}, ir.F32, []ir.Named{{Name: "axes", Value: []int64{0}}}, 0},
	{"sum", ir.Shape{100000, 3}, ir.F32, []ir.Named{{Name: "axes", Value: []int64{0}}}, 0},
	{"sum", ir.Shape{300, 1024}, ir.F32, nil, 0},
	{"sum", ir.Shape{300000}, ir.F16, nil, 0},
	{"sum", ir.Shape{300000}, ir.I8, nil, 0},
	{"mean", ir.Shape{2500000}, ir.F32, nil, 0}, // two levels of chunk results
	{"max", ir.Shape{300001}, ir.F32, nil, 0},
	{"min", ir.Shape{100000, 3}, ir.F64, []ir.Named{{Name: "axes", Value: []int64{0}}}, 0},
	{"argmax", ir.Shape{300001}, ir.F32, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
	{"argmin", ir.Shape{60000, 5}, ir.I16, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
	{"variance", ir.Shape{1200000}, ir.F32, nil, 0},
	{"variance", ir.Shape{3, 100000}, ir.F64, []ir.Named{{Name: "axes", Value: []int64{1}}}, 0},
	{"softmax", ir.Shape{2, 100001}, ir.F32, []ir.Named{{Name: "axis", Value: int64(1)}}, 0},
	{"log_softmax", ir.Shape{50000, 3}, ir.F32, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
	{"softmax", ir.Shape{100000}, ir.BF16, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
	{"layer_norm", ir.Shape{2, 100000}, ir.F32, nil, 2},
	{"cumsum", ir.Shape{300001}, ir.F32, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
	{"cumsum", ir.Shape{100000, 3}, ir.I32, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
	{"cummax", ir.Shape{3, 100000}, ir.F32, []ir.Named{{Name: "axis", Value: int64(1)}}, 0},
	{"cumprod", ir.Shape{200000}, ir.F64, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
	{"cummin", ir.Shape{200000}, ir.U32, []ir.Named{{Name: "axis", Value: int64(0)}}, 0},
}

// TestLongRows: rows that are divided along what they reduce have the bits of those
// that are not, interpreted and generated, on one goroutine and on several.
func TestLongRows(t *testing.T) {
	whole := newBench(t, Options{Threads: 1})
	whole.d.workers.compile = noCode
	devices := []*bench{newBench(t, Options{Threads: 1}), newBench(t, Options{Threads: 3}), newBench(t, Options{Threads: 2, Generator: Interpret})}
	for _, c := range longRows {
		x := longInput(c.shape, c.dtype, 0)
		want := whole.longRun(c.row, c.attrs, c.shape, c.dtype, c.inputs, x)
		for _, d := range devices {
			got := d.longRun(c.row, c.attrs, c.shape, c.dtype, c.inputs, x)
			if string(got) != string(want) {
				t.Errorf("%s of %s%v on %s: divided it differs from the whole", c.row, c.dtype, c.shape, d.d.opt)
			}
		}
	}
	for _, d := range devices {
		n := 0
		for _, c := range d.d.kernels.byKey {
			for _, f := range c.long {
				if f != nil {
					n++
				}
			}
		}
		want := len(longRows) * 3 / 4
		if d.d.opt.Threads == 1 { // only what would hold up the collector
			want = 1
		}
		if n < want {
			t.Errorf("%s: %d kernels were divided, expected %d at least", d.d.opt, n, want)
		}
		if u, err := d.d.MemoryUsage(context.Background()); err != nil || u.InUse != 0 {
			t.Errorf("%s: %d bytes are in use at the end, %v", d.d.opt, u.InUse, err)
		}
	}
}

// longInput makes contents with a few zeros of both signs, equal extremes, and
// values of several magnitudes.
func longInput(s ir.Shape, d ir.DType, seed int) []byte {
	n := s.Size()
	b := make([]byte, n*d.Size())
	for i := range n {
		v := math.Sin(float64(i*7+seed)) * math.Pow(2, float64(i%7))
		if i%1000 == 0 {
			v = math.Copysign(0, v)
		}
		switch p := unsafe.Pointer(&b[i*d.Size()]); d {
		case ir.F32:
			*(*float32)(p) = float32(v)
		case ir.F64:
			*(*float64)(p) = v
		case ir.I32, ir.U32:
			*(*int32)(p) = int32(v * 1000)
		case ir.I16, ir.F16, ir.BF16: // halves: finite and small
			*(*int16)(p) = int16(i * 37 % 16000)
		default:
			*(*int8)(p) = int8(v)
		}
	}
	return b
}

// longRun uploads operands, runs a row, reads the result and frees everything.
func (b *bench) longRun(row string, attrs []ir.Named, shape ir.Shape, dtype ir.DType, more int, x []byte) []byte {
	b.Helper()
	r := ir.Lookup(row)
	a, err := r.MakeAttrs(attrs)
	if err != nil {
		b.Fatal(err)
	}
	n := ir.Node{Row: r, Attrs: a}
	add := func(s ir.Shape, data []byte) {
		b.last++
		t := ir.Tensor{ID: b.last, Type: ir.Type{DType: dtype, Shape: s}}
		if err := b.d.Upload(t, data); err != nil {
			b.Fatal(err)
		}
		n.In = append(n.In, t)
	}
	add(shape, x)
	for i := range more {
		s := shape[len(shape)-1:]
		add(s, longInput(s, dtype, i+1))
	}
	out, err := ir.Infer(r, n.InTypes(), a)
	if err != nil {
		b.Fatal(err)
	}
	b.last++
	y := ir.Tensor{ID: b.last, Type: out[0]}
	n.Out = []ir.Tensor{y}
	if err := b.d.Submit(context.Background(), []ir.Node{n}); err != nil {
		b.Fatal(err)
	}
	data, errs, err := b.d.Read(context.Background(), y.ID)
	if err != nil || errs[0] != nil {
		b.Fatalf("%s: %v, %v", row, errs, err)
	}
	for _, t := range n.In {
		b.d.Free(t.ID)
	}
	b.d.Free(y.ID)
	return data[0].Bytes
}

// BenchmarkLongRows runs rows over one long row, divided and whole, in ns a row. The
// limit is the maximum of as much data in 64 rows, which any device reads at once.
func BenchmarkLongRows(b *testing.B) {
	for _, n := range []int{1 << 20, 1 << 24} {
		x := longInput(ir.Shape{n}, ir.F32, 0)
		for _, threads := range []int{1, 2} {
			run := func(name, row string, shape ir.Shape, compile bool, attrs ...ir.Named) {
				b.Run(fmt.Sprintf("%dM/%dT/%s", n>>20, threads, name), func(b *testing.B) {
					d, err := New(Options{Threads: threads})
					if err != nil {
						b.Fatal(err)
					}
					defer d.Close()
					if !compile {
						d.workers.compile = noCode
					}
					in := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: shape}}
					r := ir.Lookup(row)
					a, err := r.MakeAttrs(attrs)
					if err != nil {
						b.Fatal(err)
					}
					node := ir.Node{Row: r, Attrs: a, In: []ir.Tensor{in}}
					out, err := ir.Infer(r, node.InTypes(), a)
					if err == nil {
						err = d.Upload(in, x)
					}
					if err != nil {
						b.Fatal(err)
					}
					node.Out = []ir.Tensor{{ID: 2, Type: out[0]}}
					b.SetBytes(int64(len(x)))
					cputime.Report(b, cputime.Process, func() {
						if err := d.Submit(context.Background(), []ir.Node{node}); err != nil {
							b.Fatal(err)
						}
						if err := d.Sync(context.Background()); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
			axis := ir.Named{Name: "axis", Value: int64(0)}
			run("limit", "max", ir.Shape{64, n / 64}, false, ir.Named{Name: "axes", Value: []int64{1}})
			run("sum", "sum", ir.Shape{n}, true)
			run("max", "max", ir.Shape{n}, true)
			run("argmax", "argmax", ir.Shape{n}, true, axis)
			run("variance", "variance", ir.Shape{n}, true)
			run("softmax", "softmax", ir.Shape{n}, true, axis)
			run("cumsum", "cumsum", ir.Shape{n}, true, axis)
			if threads == 1 {
				run("whole/sum", "sum", ir.Shape{n}, false)
				run("whole/argmax", "argmax", ir.Shape{n}, false, axis)
				run("whole/variance", "variance", ir.Shape{n}, false)
				run("whole/softmax", "softmax", ir.Shape{n}, false, axis)
				run("whole/cumsum", "cumsum", ir.Shape{n}, false, axis)
			}
		}
	}
}
