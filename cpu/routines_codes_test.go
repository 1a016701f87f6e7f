package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/amd64"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// inline runs tasks on the caller's goroutine.
type inline struct{}

func (inline) Threads() int { return 1 }
func (inline) Parallel(tasks int, do func(int)) {
	for i := range tasks {
		do(i)
	}
}
func (inline) Scratch(bytes int) ([]byte, error) { return make([]byte, bytes), nil }

// codeCall makes a call of dot_codes with random operands.
func codeCall(t testing.TB, rng *rand.Rand, rows, k, n, bits, block int, signed bool, scale ir.DType, perRow, zeros bool) *Call {
	t.Helper()
	bytes, blocks := (k*bits+7)/8, 1
	if block > 0 {
		blocks = (k + block - 1) / block
		bytes = blocks * block * bits / 8
	}
	outer := 1
	if perRow {
		outer = n
	}
	codes := ir.U8
	if signed {
		codes = ir.I8
	}
	zero := ir.Shape{1, 1}
	if zeros {
		zero = ir.Shape{outer, blocks}
	}
	types := []ir.Type{{DType: ir.I8, Shape: ir.Shape{rows, k}}, {DType: codes, Shape: ir.Shape{n, bytes}}, {DType: scale, Shape: ir.Shape{outer, blocks}}, {DType: codes, Shape: zero}}
	r := ir.Lookup("dot_codes")
	attrs, err := r.MakeAttrs(ir.A("bits", bits, "block", block))
	if err != nil {
		t.Fatal(err)
	}
	out, err := ir.Infer(r, types, attrs)
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{Node: &ir.Node{Row: r, Attrs: attrs}, Helpers: inline{}}
	for i, typ := range types {
		data := make([]byte, typ.Bytes())
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		if i == 2 {
			for j := range typ.Shape.Size() {
				v := ir.MakeScalar(scale, rng.NormFloat64()).Bits
				if rng.IntN(50) == 0 {
					v = ir.MakeScalar(scale, []float64{0, math.Inf(1), math.NaN(), 1e-40, 6e4}[rng.IntN(5)]).Bits
				}
				switch scale.Size() {
				case 4:
					view[uint32](data)[j] = uint32(v)
				default:
					view[uint16](data)[j] = uint16(v)
				}
			}
		}
		c.In = append(c.In, Host{Type: typ, Data: data})
		c.Node.In = append(c.Node.In, ir.Tensor{ID: ir.ID(i + 1), Type: typ})
	}
	c.Out = []Host{{Type: out[0], Data: make([]byte, out[0].Bytes())}}
	return c
}

// TestDotCodes: generated code has the bits of Go, for every format, at sizes
// around its vectors and spans.
func TestDotCodes(t *testing.T) {
	if _, err := amd64.CodeDotterOf(amd64.CodeFormat{Bits: 8, Scale: ir.F32}); err != nil {
		t.Skip(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range []struct {
		bits   int
		signed bool
	}{{8, true}, {8, false}, {4, false}} {
		for _, block := range []int{0, 8, 16, 32, 64, 128, 256, 384} {
			for _, scale := range []ir.DType{ir.F32, ir.F16, ir.BF16} {
				for _, zeros := range []bool{false, true} {
					if zeros && f.signed {
						continue
					}
					for range 3 {
						words := []int{1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 256, 259}[rng.IntN(12)]
						k := words*32/f.bits - rng.IntN(4)*rng.IntN(2)
						n := []int{1, 2, 3, 4, 5, 7, 66, 129}[rng.IntN(8)]
						c := codeCall(t, rng, 1+rng.IntN(3), k, n, f.bits, block, f.signed, scale, rng.IntN(4) > 0, zeros)
						if err := dotCodes(c); err != nil {
							t.Fatal(err)
						}
						p := newCodeProduct(c)
						for i, got := range view[float32](c.Out[0].Data) {
							r, j := i/n, i%n
							want := p.dot(p.x[r*k:(r+1)*k], j)
							if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
								t.Fatalf("%+v block %d, scales %s, zeros %v, k %d, n %d: element %d is %v, want %v", f, block, scale, zeros, k, n, i, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// BenchmarkDotCodes measures a row of x times matrices of 4096 by 4096, on one
// thread. share is that of the bandwidth with which a loop of loads reads the same
// bytes, by turns in the same run: the least times of each task, summed, so that
// other work of the machine counts little. Several matrices in turn come from memory,
// one may stay in a cache.
func BenchmarkDotCodes(b *testing.B) {
	const size = 4096
	reader := readLoop(b)
	for _, f := range []struct {
		name        string
		bits, block int
		signed      bool
		scale       ir.DType
		zeros       bool
	}{{"8 bits per row", 8, 0, true, ir.F32, false}, {"8 bits blocks of 32", 8, 32, true, ir.F16, false}, {"4 bits blocks of 32", 4, 32, false, ir.F16, false},
		{"4 bits affine blocks of 32", 4, 32, false, ir.F16, true}, {"4 bits blocks of 128", 4, 128, false, ir.F16, false}} {
		for _, matrices := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/matrices=%d", f.name, matrices), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				var calls []*Call
				for range matrices {
					calls = append(calls, codeCall(b, rng, 1, size, size, f.bits, f.block, f.signed, f.scale, true, f.zeros))
				}
				h := &timed{}
				for range max(b.N, 20) {
					h.at, h.codes = 0, true
					for _, c := range calls {
						c.Helpers = h
						if err := dotCodes(c); err != nil {
							b.Fatal(err)
						}
					}
					h.at, h.codes = 0, false
					for _, c := range calls {
						tasks := len(c.In[1].Data) / (codeRows * size * f.bits / 8)
						h.Parallel(tasks, func(i int) {
							for j, n := range []int{1, 2, 3} {
								if j > 0 && c.In[n].Type.Shape[1] < 2 && c.In[n].Type.Shape[0] < 2 {
									continue
								}
								part := len(c.In[n].Data) / tasks
								reader(c.In[n].Data[i*part : (i+1)*part])
							}
						})
					}
				}
				dot, read := h.least(true), h.least(false)
				bytes := 0
				for _, c := range calls {
					bytes += len(c.In[1].Data) + len(c.In[2].Data) + len(c.In[3].Data)
				}
				b.ReportMetric(float64(bytes)/float64(dot.Nanoseconds()), "GB/s")
				b.ReportMetric(float64(read)/float64(dot), "share")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// timed runs tasks inline and keeps the least time that each one took.
type timed struct {
	inline
	at    int
	codes bool
	times [2][]time.Duration
}

func (h *timed) Parallel(tasks int, do func(int)) {
	list := &h.times[0]
	if h.codes {
		list = &h.times[1]
	}
	for i := range tasks {
		start := time.Now()
		do(i)
		d := time.Since(start)
		if h.at == len(*list) {
			*list = append(*list, d)
		}
		(*list)[h.at] = min((*list)[h.at], d)
		h.at++
	}
}

func (h *timed) least(codes bool) (sum time.Duration) {
	list := h.times[0]
	if codes {
		list = h.times[1]
	}
	for _, d := range list {
		sum += d
	}
	return sum
}

// readLoop returns a loop that loads memory and does nothing else.
func readLoop(tb testing.TB) func([]byte) {
	if !amd64.Available(amd64.AVX512) {
		tb.Skip("no AVX-512")
	}
	a := asm.New()
	a.Load(asm.AX, asm.Ptr(asm.DI, 0))
	a.Load(asm.CX, asm.Ptr(asm.DI, 8))
	loop := a.Here()
	for i := range 4 {
		a.RM(asm.VMOVUPS, asm.L512, asm.Vec(i), asm.M(asm.Ptr(asm.AX, int32(64*i))))
	}
	a.AluImm(asm.ADD, asm.AX, 256)
	a.Dec(asm.CX)
	a.Jcc(asm.NotEq, loop)
	a.VZeroUpper()
	a.Ret()
	r, err := amd64.Assemble(a)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Free)
	return func(data []byte) {
		if len(data) >= 256 {
			c := struct {
				at unsafe.Pointer
				n  int
			}{unsafe.Pointer(&data[0]), len(data) / 256}
			r.Call(unsafe.Pointer(&c))
		}
	}
}
