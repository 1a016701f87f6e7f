//go:build linux && (amd64 || arm64)

package cublaslt_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/cuda/cublaslt"
	"github.com/sinter-go/sinter/cuda/cublaslt/cublaslttest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/gemm"
)

func fake(t *testing.T) (*cublaslttest.Fake, *cublaslt.Handle) {
	t.Helper()
	f := cublaslttest.New()
	t.Cleanup(f.Close)
	f.Workspace = 128
	l, err := cublaslt.New("a fake", f.Find)
	if err != nil {
		t.Fatal(err)
	}
	if l.Version() != cublaslttest.Version || l.Name() != "a fake" {
		t.Errorf("%s, version %d", l.Name(), l.Version())
	}
	h, err := l.NewHandle()
	if err != nil {
		t.Fatal(err)
	}
	return f, h
}

func at(v []float32) uint64 { return uint64(uintptr(unsafe.Pointer(&v[0]))) }

// problem is a small one, as matrices lie in memory, and the memory.
func problem(rng *rand.Rand, turnA, turnB, bias, relu bool) (p gemm.Problem, a, b, d, c []float32) {
	const m, n, k, batch = 3, 4, 5, 2
	p = gemm.Problem{Type: ir.F32, M: m, N: n, K: k, Batch: batch, Bias: -1, Relu: relu}
	matrix := func(rows, cols int64, turned bool) (gemm.Matrix, []float32) {
		if turned {
			rows, cols = cols, rows
		}
		v := make([]float32, batch*(rows+2)*cols+1)
		for i := range v {
			v[i] = float32(rng.IntN(7) - 3)
		}
		return gemm.Matrix{Rows: rows, Cols: cols, Lead: rows + 2, Step: (rows + 2) * cols, Turned: turned}, v
	}
	p.A, a = matrix(m, k, turnA)
	p.B, b = matrix(k, n, turnB)
	p.D, d = matrix(m, n, false)
	if bias {
		p.Bias = 0
	}
	c = make([]float32, 64)
	copy(c, []float32{10, -20, 30})
	return p, a, b, d, c
}

// TestPlan: the descriptors that are made say what the problem says, whatever lies turned.
func TestPlan(t *testing.T) {
	f, h := fake(t)
	rng := rand.New(rand.NewPCG(7, 7))
	workspace := make([]float32, 64)
	for i := range 16 {
		turnA, turnB, bias, relu := i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0
		p, a, b, d, c := problem(rng, turnA, turnB, bias, relu)
		element := func(m *gemm.Matrix, v []float32, n, row, col int64) float32 {
			if m.Turned {
				row, col = col, row
			}
			return v[n*m.Step+row+col*m.Lead]
		}
		want := slices.Clone(d)
		for n := range p.Batch {
			for row := range p.M {
				for col := range p.N {
					sum := float32(0)
					for k := range p.K {
						sum += element(&p.A, a, n, row, k) * element(&p.B, b, n, k, col)
					}
					if bias {
						sum += c[row]
					}
					if relu {
						sum = max(sum, 0)
					}
					want[n*p.D.Step+row+col*p.D.Lead] = sum
				}
			}
		}
		where := cublaslt.Addresses{A: at(a), B: at(b), D: at(d), Bias: at(c)}
		plan, err := h.Plan(p, where, 256)
		if err != nil || plan == nil {
			t.Fatal(plan, err)
		}
		if bias { // it may lie elsewhere in each run
			where.Bias = at(slices.Clone(c))
		}
		if err := plan.Run(where, at(workspace), 256, 0x57); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d, want) {
			t.Errorf("%s: %v, want %v", p.String(), d, want)
		}
		if got := f.Products[len(f.Products)-1]; got != (cublaslttest.Product{Type: ir.F32, M: 3, N: 4, K: 5, Batch: 2, TransA: turnA, TransB: turnB, Stream: 0x57}) {
			t.Errorf("%+v", got)
		}
		if err := plan.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if f.Live() != 0 || len(f.Faults) > 0 {
		t.Errorf("%d objects left, %q", f.Live(), f.Faults)
	}
}

// TestPlanFails: whatever fails, everything is freed, and the error says what was asked for;
// a library without a way gives no plan.
func TestPlanFails(t *testing.T) {
	f, h := fake(t)
	rng := rand.New(rand.NewPCG(8, 8))
	p, a, b, d, c := problem(rng, true, false, true, true)
	where := cublaslt.Addresses{A: at(a), B: at(b), D: at(d), Bias: at(c)}
	const what = "2 of f32[5,3]ᵀ·[5,4] + bias, relu"
	for _, name := range []string{"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
		"cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic"} {
		f.Fail = map[string]int{name: 14}
		plan, err := h.Plan(p, where, 256)
		var e *cublaslt.Error
		if plan != nil || !errors.As(err, &e) || e.Status != 14 || e.Call != name {
			t.Errorf("%s: %v, %v", name, plan, err)
		} else if got, want := err.Error(), name+": CUBLAS_STATUS_INTERNAL_ERROR (14): "+what; got != want {
			t.Errorf("error %q, want %q", got, want)
		}
		if f.Live() != 1 {
			t.Errorf("%s: %d objects left beside the handle", name, f.Live()-1)
		}
	}
	for _, none := range []func(){
		func() { f.Fail = map[string]int{"cublasLtMatmulAlgoGetHeuristic": 15} },
		func() { f.Fail, f.None = nil, true },
		func() { f.None, f.Workspace = false, 1000 },
	} {
		none()
		if plan, err := h.Plan(p, where, 256); plan != nil || err != nil || f.Live() != 1 {
			t.Errorf("without a way: %v, %v, %d objects", plan, err, f.Live())
		}
	}
	f.Workspace = 0
	plan, err := h.Plan(p, where, 0)
	if err != nil || plan == nil {
		t.Fatal(plan, err)
	}
	f.Fail = map[string]int{"cublasLtMatmul": 99}
	if err := plan.Run(where, 0, 0, 0); err == nil || !strings.Contains(err.Error(), "cublasLtMatmul: unknown status (99): "+what) {
		t.Error(err)
	}
	f.Fail = map[string]int{"cublasLtCreate": 1}
	l, err := cublaslt.New("a fake", f.Find)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.NewHandle(); err == nil || !strings.Contains(err.Error(), "CUBLAS_STATUS_NOT_INITIALIZED (1)") {
		t.Error(err)
	}
	if _, err := cublaslt.New("half of one", func(name string) (uintptr, error) {
		if name == "cublasLtMatmul" {
			return 0, errors.New("no such symbol")
		}
		return f.Find(name)
	}); err == nil || !strings.Contains(err.Error(), "no cuBLASLt: half of one lacks cublasLtMatmul: no such symbol") {
		t.Error(err)
	}
	if len(f.Faults) > 0 {
		t.Errorf("%q", f.Faults)
	}
}

func TestAlignment(t *testing.T) {
	for address, want := range map[uint64]uint32{0: 64, 64: 64, 512: 64, 32: 32, 258: 2, 4 + 1<<40: 4, 7: 1} {
		if got := cublaslt.Alignment(address); got != want {
			t.Errorf("%d: %d, want %d", address, got, want)
		}
	}
}

// TestOpen: without the library there is a clear error.
func TestOpen(t *testing.T) {
	l, err := cublaslt.Open()
	if err != nil {
		var none *cublaslt.Unavailable
		if !errors.As(err, &none) || !strings.HasPrefix(err.Error(), "no cuBLASLt: none of libcublasLt.so.13, ") {
			t.Errorf("%v", err)
		}
		t.Skipf("skipped: %v", err)
	}
	t.Log(l.Name(), l.Version())
}
