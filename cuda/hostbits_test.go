package cuda_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// hostCases are nodes whose native kernels follow routines of the host that stand on gonum:
// Fourier transforms and linear algebra. There are none where those have other bits.
func hostCases() []nativeCase {
	typ := func(d ir.DType, shape ...int) ir.Type { return ir.Type{DType: d, Shape: shape} }
	var out []nativeCase
	add := func(name, row string, attrs []ir.Named, diagonal float64, in ...ir.Type) {
		out = append(out, nativeCase{name: name, row: row, attrs: attrs, in: in, below: 1, diagonal: diagonal})
	}
	for _, c := range []struct {
		d       ir.DType
		rows, n int
	}{{ir.F32, 65536, 64}, {ir.F32, 4096, 1024}, {ir.F64, 4096, 1024}, {ir.F32, 1024, 1000}, {ir.F32, 256, 1009}, {ir.F32, 512, 8192}, {ir.F32, 1, 1 << 20}} {
		name := fmt.Sprintf(" %dx%d %s", c.rows, c.n, c.d)
		add("fft"+name, "fft", nil, 0, typ(c.d, c.rows, c.n, 2))
		add("rfft"+name, "rfft", nil, 0, typ(c.d, c.rows, c.n))
		add("irfft"+name, "irfft", ir.A("n", c.n), 0, typ(c.d, c.rows, c.n/2+1, 2))
	}
	add("inverse fft 1024x4096 f32 axis 0", "fft", ir.A("axis", 0, "inverse", true), 0, typ(ir.F32, 1024, 4096, 2))
	for _, c := range []struct {
		d           ir.DType
		matrices, n int
	}{{ir.F32, 4096, 16}, {ir.F32, 1024, 64}, {ir.F64, 256, 100}, {ir.F32, 4, 500}, {ir.F32, 1, 1500}} {
		name := fmt.Sprintf(" %dx%dx%d %s", c.matrices, c.n, c.n, c.d)
		square, column, heavy := typ(c.d, c.matrices, c.n, c.n), typ(c.d, c.matrices, c.n, 1), float64(2*c.n)
		add("cholesky"+name, "cholesky_info", nil, heavy, square)
		add("solve of one"+name, "solve_info", nil, 0, square, column)
		add("solve of all"+name, "solve_info", nil, 0, square, square)
		add("det"+name, "det", nil, 0, square)
		add("slogdet"+name, "slogdet", nil, 0, square)
		for _, upper := range []bool{false, true} {
			add(fmt.Sprintf("triangular upper=%v", upper)+name, "triangular_solve_info", ir.A("upper", upper), heavy, square, column)
		}
		add("triangular right"+name, "triangular_solve_info", ir.A("left", false, "transpose", true), heavy, square, square)
		add("matrix_check"+name, "matrix_check", nil, 0, square, typ(ir.I64, c.matrices))
	}
	natives := ptx.NewNatives(ptx.Target{Major: 9})
	return slices.DeleteFunc(out, func(c nativeCase) bool { return !natives.Covers(c.row) })
}

// onDiagonal adds to the diagonals of square matrices.
func onDiagonal(t ir.Type, data []byte, more float64) {
	size, n := t.DType.Size(), t.Shape[len(t.Shape)-1]
	for i := 0; i < t.Shape.Size(); i += n * n {
		for j := range n {
			var word [8]byte
			at := data[(i+j*(n+1))*size:][:size]
			copy(word[:], at)
			v := math.Float64frombits(kernel.Convert(ir.F64, t.DType, binary.LittleEndian.Uint64(word[:])))
			binary.LittleEndian.PutUint64(word[:], kernel.Convert(t.DType, ir.F64, math.Float64bits(v+more)))
			copy(at, word[:])
		}
	}
}

// TestHostCasesArePlanned: each case has native kernels, in few launches and within the
// memory of a card. It needs none.
func TestHostCasesArePlanned(t *testing.T) {
	natives := ptx.NewNatives(ptx.Target{Major: 9})
	for _, c := range hostCases() {
		n, types, err := c.node()
		if err != nil {
			t.Fatal(err)
		}
		var tensors []kernel.Tensor
		for _, typ := range types {
			tensors = append(tensors, kernel.Tensor{Type: typ, Operand: kernel.Operand{Size: typ.Bytes(), Strides: typ.Shape.Strides()}})
		}
		plan, err := natives.Plan(&n, tensors)
		if err != nil || plan == nil {
			t.Errorf("%s: plan %v, %v", c.name, plan, err)
			continue
		}
		if len(plan.Steps) > 600 || plan.Scratch > 1<<30 {
			t.Errorf("%s: %d launches, %d bytes of scratch memory", c.name, len(plan.Steps), plan.Scratch)
		}
	}
}
