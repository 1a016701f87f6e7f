package gemm_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/gemm"
)

// library is an accelerator that runs kernels on the interpreter, then computes those
// that are products once more as a library of linear algebra would, and compares. Values
// are small whole numbers, so that nothing is ever rounded.
type library struct {
	t     *testing.T
	mu    sync.Mutex
	forms int // kernels that are products
	asked []gemm.Problem
}

type program struct {
	form *gemm.Form
	exe  kernel.Executable
}

func (*library) Describe(i *backend.Info) { i.Detail = "a library" }
func (*library) Map(n int64) ([]byte, error) {
	b := make([]byte, n+255)
	return b[-int(uintptr(unsafe.Pointer(&b[0])))&255:][:n], nil
}
func (*library) Unmap([]byte)                     {}
func (*library) CopyIn(dst, src []byte) error     { copy(dst, src); return nil }
func (*library) CopyOut(dst, src []byte) error    { copy(dst, src); return nil }
func (*library) Faults() ([]cpu.Noted, error)     { return nil, nil }
func (*library) Flush() error                     { return nil }
func (*library) Sync() error                      { return nil }
func (*library) Close() error                     { return nil }
func (*library) Clock(func(time.Duration)) func() { return func() {} }
func (x *library) Compile(k *kernel.Kernel) (cpu.Program, error) {
	exe, err := kernel.NewInterpreter(k)
	if err != nil {
		return nil, err
	}
	p := &program{gemm.Of(k), exe}
	if p.form != nil {
		x.mu.Lock()
		x.forms++
		x.mu.Unlock()
	}
	return p, nil
}

func (x *library) Run(parts []cpu.Bound) (run int, err error) {
	for i := range parts {
		b := &parts[i]
		p := b.Program.(*program)
		p.exe.Run(b.Launch)
		if p.form == nil {
			continue
		}
		if problem, ok := p.form.Problem(b.Launch); ok {
			x.check(&problem, b)
		}
	}
	return 0, nil
}

// element reads an argument.
func element(t ir.DType, o *kernel.Operand, i int64) float64 {
	size := int64(t.Size())
	if at := (o.Offset + i) * size; at < 0 || at+size > o.Size {
		panic("outside of the memory")
	}
	b := unsafe.Slice((*byte)(unsafe.Add(o.Base, (o.Offset+i)*size)), size)
	switch t {
	case ir.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case ir.BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	}
	h := binary.LittleEndian.Uint16(b) // f16: the whole numbers in use are normal, or 0
	if h&0x7fff == 0 {
		return 0
	}
	v := math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10&31)-15)
	if h>>15 != 0 {
		v = -v
	}
	return v
}

// at is an element of op of a matrix: a matrix is its columns, Lead apart.
func at(m *gemm.Matrix, b *cpu.Bound, t ir.DType, batch, row, col int64) float64 {
	if m.Turned {
		row, col = col, row
	}
	if row >= m.Rows || col >= m.Cols {
		panic("outside of the matrix")
	}
	return element(t, &b.Launch.Args[m.Arg], batch*m.Step+row+col*m.Lead)
}

func (x *library) check(p *gemm.Problem, b *cpu.Bound) {
	x.asked = append(x.asked, *p)
	shape := func(m *gemm.Matrix, rows, cols int64) bool {
		if m.Turned {
			rows, cols = cols, rows
		}
		return m.Rows == rows && m.Cols == cols && m.Lead >= rows
	}
	if !shape(&p.A, p.M, p.K) || !shape(&p.B, p.K, p.N) || !shape(&p.D, p.M, p.N) || p.D.Turned {
		x.t.Errorf("the matrices do not fit: %+v", *p)
		return
	}
	for batch := range p.Batch {
		for i := range p.M {
			for j := range p.N {
				want := 0.0
				for k := range p.K {
					want += at(&p.A, b, p.Type, batch, i, k) * at(&p.B, b, p.Type, batch, k, j)
				}
				if p.Bias >= 0 {
					want += element(p.Type, &b.Launch.Args[p.Bias], i)
				}
				if p.Relu {
					want = max(want, 0)
				}
				if got := at(&p.D, b, p.Type, batch, i, j); got != want {
					x.t.Errorf("%s: matrix %d, element %d,%d: %v, a library gives %v; %+v", b.Kernel.Name, batch, i, j, got, want, *p)
					return
				}
			}
		}
	}
}

func open(t *testing.T) (*library, *sinter.Device) {
	x := &library{t: t}
	d, err := cpu.New(cpu.Options{Accelerator: x, ID: "library"})
	if err != nil {
		t.Fatal(err)
	}
	dev := sinter.NewRuntime().Adopt(d)
	t.Cleanup(func() { dev.Close() })
	return x, dev
}

// whole is a tensor of small whole numbers.
func whole(rng *rand.Rand, on sinter.Of, d sinter.DType, shape ...int) *sinter.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.IntN(5) - 2)
	}
	return sinter.FromSliceOn(on, v, shape...).Cast(d)
}

// TestProblems: products with what may be behind them, of matrices that lie in every way,
// are asked for as what the kernel computes.
func TestProblems(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []sinter.DType{sinter.F32, sinter.BF16, sinter.F16} {
		x, dev := open(t)
		on := sinter.On(dev)
		for round := range 64 {
			m, n, k, batch := 1+rng.IntN(9), 1+rng.IntN(9), 1+rng.IntN(12), 1+rng.IntN(3)
			// A matrix as it is, turned, a part of a wider one, or one for the whole batch.
			matrix := func(rows, cols int) *sinter.Tensor {
				turned, wide, one := rng.IntN(2) == 1, rng.IntN(3), rng.IntN(4) == 0
				shape := []int{batch, rows, cols}
				if one {
					shape[0] = 1
				}
				if turned {
					shape[1], shape[2] = cols, rows
				}
				shape[2] += wide
				v := whole(rng, on, d, shape...)
				if wide > 0 {
					v = v.Slice(sinter.All(), sinter.All(), sinter.From(wide))
				}
				if turned {
					v = v.Permute(0, 2, 1)
				}
				return v
			}
			a, b, bias := matrix(m, k), matrix(k, n), whole(rng, on, d, n)
			if err := dev.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := len(x.asked)
			s := sinter.NewScope("product")
			y := s.In(a).MatMul(b)
			if round&1 != 0 {
				y = y.Add(bias)
			}
			if round&2 != 0 {
				y = y.Relu()
			}
			s.Keep(y)
			s.End()
			if err := dev.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, p := range x.asked[before:] {
				if (p.Bias >= 0) != (round&1 != 0) || p.Relu != (round&2 != 0) {
					t.Errorf("round %d: %+v", round, p)
				}
			}
		}
		turned := map[[2]bool]int{}
		for _, p := range x.asked {
			turned[[2]bool{p.A.Turned, p.B.Turned}]++
		}
		if len(x.asked) < 30 || len(turned) < 4 || x.forms < 8 {
			t.Errorf("%v: %d products asked for, %d kernels, turned %v", d, len(x.asked), x.forms, turned)
		}
	}
}

// TestOthers: what a library does not compute is left.
func TestOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, dev := open(t)
	on := sinter.On(dev)
	a, b := whole(rng, on, sinter.F32, 6, 8), whole(rng, on, sinter.F32, 8, 6)
	full, column := whole(rng, on, sinter.F32, 6, 6), whole(rng, on, sinter.F32, 6, 1)
	ints := on.Zeros(sinter.I32, 6, 6)
	want := map[string]int{"a matrix with itself": 1} // a product as any other
	for name, f := range map[string]func(s *sinter.Scope) *sinter.Tensor{
		"a sum":            func(s *sinter.Scope) *sinter.Tensor { return s.In(a).Sum(sinter.Over(1)) },
		"whole numbers":    func(s *sinter.Scope) *sinter.Tensor { return s.In(ints).MatMul(ints) },
		"a matrix added":   func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(b).Add(full) },
		"a column added":   func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(b).Add(column) },
		"a maximum with 1": func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(b).Maximum(1) },
		"gelu":             func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(b).Gelu() },
		"a scaled operand": func(s *sinter.Scope) *sinter.Tensor { return s.In(a).Mul(2).MatMul(b) },
		"a result scaled":  func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(b).Mul(2) },
		"another type":     func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(b).Cast(sinter.BF16) },
		"a cast operand": func(s *sinter.Scope) *sinter.Tensor {
			return s.In(a).Cast(sinter.BF16).MatMul(s.In(b).Cast(sinter.BF16))
		},
		"a vector":             func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(s.In(b).At(1, 0)) },
		"a matrix with itself": func(s *sinter.Scope) *sinter.Tensor { return s.In(a).MatMul(s.In(a).Transpose()) },
	} {
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := len(x.asked)
		s := sinter.NewScope("other")
		s.Keep(f(s))
		s.End()
		if err := dev.Sync(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := len(x.asked) - before; n != want[name] {
			t.Errorf("%s: %d products asked for, want %d", name, n, want[name])
		}
	}
}
