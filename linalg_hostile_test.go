package sinter_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// factorised are the results of all rows that do not fail for their data.
func factorised(x *sinter.Tensor) []*sinter.Tensor {
	var out []*sinter.Tensor
	for _, row := range []string{"qr", "svd", "pinv", "cholesky_info", "slogdet", "det", "eigh", "expm"} {
		r := ir.Lookup(row)
		if _, err := ir.Infer(r, []ir.Type{{DType: x.DType(), Shape: x.Shape()}}, must(r.MakeAttrs(nil))); err == nil {
			out = append(out, sinter.Apply(row, []*sinter.Tensor{x})...)
		}
	}
	if s := x.Shape(); s[len(s)-1] == s[len(s)-2] {
		out = append(out, sinter.Apply("solve_info", []*sinter.Tensor{x, x})...)
		for _, form := range [][]ir.Named{nil, ir.A("left", false, "upper", true), ir.A("transpose", true, "unit", true)} {
			out = append(out, sinter.Apply("triangular_solve_info", []*sinter.Tensor{x, x}, form...)...)
		}
	}
	return out
}

func must(a ir.Attrs, err error) ir.Attrs {
	if err != nil {
		panic(err)
	}
	return a
}

// TestExtremes: matrices of extreme magnitudes, of many zeros and of equal rows
// end, with numbers or without, and never as a fault of the library.
func TestExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	list := []float64{0, 0, 1, -1, 2, 1e300, -1e300, math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e-308, -1e-160, 1e160, 0.1, math.Inf(1), math.NaN()}
	for i := 0; i < 250; i++ {
		m, n := 1+rng.IntN(6), 1+rng.IntN(6)
		if rng.IntN(2) == 0 {
			n = m
		}
		v := make([]float64, m*n)
		kinds := 1 + rng.IntN(len(list))
		for j := range v {
			if v[j] = list[rng.IntN(kinds)]; rng.IntN(3) == 0 {
				v[j] = rng.NormFloat64() * math.Exp2(float64(rng.IntN(2000)-1000))
			}
			if j >= n && rng.IntN(3) == 0 {
				v[j] = v[j-n]
			}
		}
		x := sinter.FromSlice(v, m, n)
		if rng.IntN(4) == 0 {
			x = x.Cast(sinter.F32)
		}
		if _, err := sinter.Read(context.Background(), factorised(x)...); err != nil {
			t.Fatalf("%v %v: %v", v, x.Shape(), err)
		}
	}
}

// TestAlone: a matrix in a batch has the bits that it has alone.
func TestAlone(t *testing.T) {
	ctx := context.Background()
	for _, shape := range [][]int{{3, 5, 5}, {2, 7, 4}, {2, 65, 65}, {2, 130, 130}} {
		x := normal(uint64(shape[1]), shape...)
		all, err := sinter.Read(ctx, factorised(x)...)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < shape[0]; i++ {
			alone, err := sinter.Read(ctx, factorised(x.At(0, i))...)
			if err != nil {
				t.Fatal(err)
			}
			for j, y := range alone {
				n := len(y.Bytes)
				if !bytes.Equal(y.Bytes, all[j].Bytes[i*n:][:n]) {
					t.Errorf("%v: result %d of matrix %d differs", shape, j, i)
				}
			}
		}
	}
}

// TestHugeMatrices: extents that no memory holds are errors.
func TestHugeMatrices(t *testing.T) {
	row := sinter.Ones(sinter.F64, 1, 1<<20).Expand(1<<20, 1<<20)
	for i, y := range []*sinter.Tensor{sinter.Ones(sinter.F64, 1<<40).Outer(sinter.Ones(sinter.F64, 1<<40)), row.Kron(row),
		sinter.Einsum("i,j,k->ijk", row.At(0, 0), row.At(0, 0), row.At(0, 0)), row.MatMul(row).Inverse()} {
		if _, err := sinter.Read(context.Background(), y); err == nil {
			t.Errorf("case %d: no error", i)
		} else {
			t.Log(fmt.Sprint(err)[:min(150, len(err.Error()))])
		}
	}
}
