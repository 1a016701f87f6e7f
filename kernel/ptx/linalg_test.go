package ptx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// stackOfMatrices are matrices whose elements at places are what a function says.
func stackOfMatrices(t ir.DType, at func(matrix, i, j int) float64, matrices, rows, columns int) *array {
	a := newArray(t, matrices, rows, columns)
	for k := range a.typ.Shape.Size() {
		v := at(k/rows/columns, k/columns%rows, k%columns)
		writeSized(a.at(k), t.Size(), kernel.Convert(t, ir.F64, floatBits(v)))
	}
	return a
}

// hostile are matrices of which the first is ordinary: others have zeros, a column of
// nothing, huge and tiny elements, infinities and NaN.
func hostile(rng *rand.Rand) func(matrix, i, j int) float64 {
	return func(matrix, i, j int) float64 {
		v := rng.NormFloat64()
		switch matrix % 8 {
		case 1: // sparse
			if rng.IntN(2) == 0 {
				return math.Copysign(0, v)
			}
		case 2:
			if j == 1 {
				return 0
			}
		case 3: // overflows
			return v * 1e300
		case 4: // pivots without a reciprocal
			return v * 1e-310
		case 5:
			if i == 0 && j == 0 {
				return math.NaN()
			}
		case 6: // equal magnitudes
			return math.Copysign(1, v)
		case 7:
			if i == 0 && j == 0 {
				return math.Inf(1)
			}
		}
		return v
	}
}

var matrixOrders = []int{1, 2, 3, 5, 8, 12, 17, 64}

// eachMatrix runs over types, orders and layouts.
func eachMatrix(t *testing.T, f func(t *testing.T, rng *rand.Rand, dt ir.DType, n int, l layout)) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	rng := rand.New(rand.NewPCG(21, 1))
	for _, dt := range []ir.DType{ir.F32, ir.F64} {
		for _, n := range matrixOrders {
			if dt == ir.F32 && n > 17 { // widening and rounding are the same for any order
				continue
			}
			t.Run(fmt.Sprintf("%s %d", dt, n), func(t *testing.T) { f(t, rng, dt, n, rowMajor) })
		}
		for l := range numLayouts {
			t.Run(fmt.Sprintf("%s %s", dt, l), func(t *testing.T) { f(t, rng, dt, 6, l) })
		}
	}
	t.Run("panels", func(t *testing.T) { f(t, rng, ir.F64, 100, rowMajor) })
}

// TestSolve: the solution, or NaN, and the info of each matrix.
func TestSolve(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	eachMatrix(t, func(t *testing.T, rng *rand.Rand, dt ir.DType, n int, l layout) {
		for _, columns := range []int{1, 35} {
			matrices := 8
			if n >= 64 {
				matrices = 2
			}
			a := stackOfMatrices(dt, hostile(rng), matrices, n, n)
			z := stackOfMatrices(dt, func(m, i, j int) float64 {
				switch {
				case m == 6 && i == 0 && j == 0:
					return math.Inf(-1)
				case m == 1 && rng.IntN(4) > 0: // the signs of zeros say which products were added
					return math.Copysign(0, rng.NormFloat64())
				}
				return rng.NormFloat64()
			}, matrices, n, columns)
			a.layout, z.layout = l, l
			newNativeNode(t, "solve_info", nil, a, z).check(t, x)
		}
	})
}

// small is a target on which matrices of an order of some 110 do not fit into shared memory.
var small = Target{Major: 8, Minor: 6}

// TestFactorsInScratch: matrices that do not fit into shared memory, of ordinary numbers,
// with a column of nothing, with factors of 0 in the second panel and not finite.
func TestFactorsInScratch(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	rng := rand.New(rand.NewPCG(22, 1))
	x := NewNatives(small)
	a := stackOfMatrices(ir.F64, func(m, i, j int) float64 {
		switch {
		case m == 1 && j == 100, m == 2 && i == 110 && j < 80:
			return 0
		case m == 3 && i == 115 && j == 0:
			return math.NaN()
		}
		return rng.NormFloat64()
	}, 4, 116, 116)
	newNativeNode(t, "slogdet", nil, a).check(t, x)
	z := stackOfMatrices(ir.F64, func(m, i, j int) float64 {
		if m == 0 && i == 5 && j == 2 {
			return math.Inf(1)
		}
		return rng.NormFloat64()
	}, 4, 116, 3)
	newNativeNode(t, "solve_info", nil, a, z).check(t, x)
	wide := stackOfMatrices(ir.F32, func(m, i, j int) float64 { return rng.NormFloat64() }, 1, 9, 1500)
	square := stackOfMatrices(ir.F32, func(m, i, j int) float64 { return rng.NormFloat64() }, 1, 9, 9)
	newNativeNode(t, "solve_info", nil, square, wide).check(t, x)
}

// TestMatrixChunks: matrices that are not in scratch memory together.
func TestMatrixChunks(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	node := newNativeNode(t, "det", nil, &array{typ: ir.Type{DType: ir.F32, Shape: ir.Shape{40, 1000, 1000}}})
	var tensors []kernel.Tensor // a plan does not look at what is in memory
	for _, x := range []ir.Tensor{node.node.In[0], node.node.Out[0]} {
		tensors = append(tensors, kernel.Tensor{Type: x.Type, Operand: kernel.Operand{Strides: x.Shape.Strides()}})
	}
	plan, err := NewNatives(small).Plan(&node.node, tensors)
	if err != nil || plan == nil {
		t.Fatal(plan, err)
	}
	if plan.Scratch > linalgChunk {
		t.Errorf("%d bytes of scratch memory", plan.Scratch)
	}
	matrices := uint32(0)
	for _, s := range plan.Steps {
		if s.Entry == plan.Steps[0].Entry {
			matrices += s.GridX
		}
	}
	if matrices != 40 {
		t.Errorf("%d matrices, expected 40", matrices)
	}
}

func TestDet(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	eachMatrix(t, func(t *testing.T, rng *rand.Rand, dt ir.DType, n int, l layout) {
		a := stackOfMatrices(dt, hostile(rng), min(8, 192/n+1), n, n)
		a.layout = l
		newNativeNode(t, "det", nil, a).check(t, x)
		newNativeNode(t, "slogdet", nil, a).check(t, x)
	})
}

// TestLog: the logarithm of any number, by matrices of one element.
func TestLog(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	rng := rand.New(rand.NewPCG(26, 1))
	special := []float64{0, 1, math.Sqrt2, math.Sqrt2 / 2, 0.5, 2, math.MaxFloat64, 5e-324, 0x1p-1022, math.Nextafter(math.Sqrt2/2, 0), math.Nextafter(1, 2)}
	a := stackOfMatrices(ir.F64, func(m, _, _ int) float64 {
		switch {
		case m < len(special):
			return special[m]
		case m%2 == 0:
			return 1 + rng.NormFloat64()/16
		}
		return math.Ldexp(rng.Float64(), rng.IntN(2100)-1070)
	}, 4000, 1, 1)
	newNativeNode(t, "slogdet", nil, a).check(t, NewNatives(Target{Major: 9}))
}

// definite are matrices with a heavy diagonal, of which some are not definite, not
// symmetric or not finite.
func definite(rng *rand.Rand, n int) func(matrix, i, j int) float64 {
	return func(matrix, i, j int) float64 {
		v := rng.NormFloat64()
		switch {
		case matrix == 1 && i == 0 && j == n-1:
			return math.Inf(1)
		case matrix == 2 && i != j:
			return 0
		}
		if i == j {
			return math.Abs(v) + 2*float64(n)
		}
		return v
	}
}

func TestCholesky(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	eachMatrix(t, func(t *testing.T, rng *rand.Rand, dt ir.DType, n int, l layout) {
		a := stackOfMatrices(dt, definite(rng, n), 3, n, n)
		a.layout = l
		newNativeNode(t, "cholesky_info", nil, a).checkFactor(t, x)
	})
}

// checkFactor is check for a factorisation that the host makes where it does not exist.
func (n *nativeNode) checkFactor(t *testing.T, x *Natives) {
	t.Helper()
	got, want := n.simulated(t, x), n.onHost(t)
	for i := 0; i < len(want[1]); i += 8 {
		if readSized(want[1][i:], 8) != 0 {
			if got != nil {
				t.Error("no fault where a matrix is not positive definite")
			}
			return
		}
	}
	n.check(t, x)
}

// TestCholeskyPanels: sizes at which LAPACK turns from one way of adding to another.
func TestCholeskyPanels(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	rng := rand.New(rand.NewPCG(23, 1))
	for _, n := range []int{65, 129, 167} {
		newNativeNode(t, "cholesky_info", nil, stackOfMatrices(ir.F64, definite(rng, n), 1, n, n)).check(t, NewNatives(Target{Major: 9}))
	}
	// Products in parts, of a matrix in scratch memory.
	newNativeNode(t, "cholesky_info", nil, stackOfMatrices(ir.F64, definite(rng, 390), 1, 390, 390)).check(t, NewNatives(small))
	newNativeNode(t, "cholesky_info", nil, stackOfMatrices(ir.F32, definite(rng, 130), 3, 130, 130)).check(t, NewNatives(small))
}

// TestCholeskyFault: a matrix that is not positive definite, at any pivot.
func TestCholeskyFault(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	for _, pivot := range []int{0, 3, 69} {
		a := stackOfMatrices(ir.F32, func(m, i, j int) float64 {
			switch {
			case i != j:
				return 0
			case m == 1 && i == pivot:
				return -1
			}
			return 2
		}, 2, 115, 115)
		node := newNativeNode(t, "cholesky_info", nil, a)
		for _, x := range []*Natives{x, NewNatives(small)} {
			if hostRounds && node.simulated(t, x) != nil {
				t.Errorf("no fault at pivot %d", pivot)
			}
		}
	}
}

func triangleAttrs(i int) []ir.Named {
	return ir.A("left", i&1 == 0, "upper", i&2 != 0, "transpose", i&4 != 0, "unit", i&8 != 0)
}

// triangles are matrices for the attributes of a number. Of the second one what is not read
// is not finite, of the third the diagonal has a 0, of the fifth an infinity is read.
func triangles(rng *rand.Rand, i, n int) func(m, r, c int) float64 {
	return func(m, r, c int) float64 {
		v := rng.NormFloat64()
		switch {
		case m == 1 && (c > r && i&2 == 0 || c < r && i&2 != 0 || c == r && i&8 != 0):
			return math.NaN()
		case m == 2 && c == r && r >= n/2, m == 3 && rng.IntN(2) == 0:
			return 0
		case m == 4 && (r == n-1 && c == 0 || r == 0 && c == n-1):
			return math.Inf(1)
		case r == c:
			return v + math.Copysign(2, v)
		}
		return v
	}
}

// rightOf is a right-hand side of so many systems, with zeros of both signs.
func rightOf(rng *rand.Rand, dt ir.DType, i, matrices, n, others int) *array {
	rows, columns := n, others
	if i&1 != 0 {
		rows, columns = others, n
	}
	return stackOfMatrices(dt, func(m, i, j int) float64 {
		if rng.IntN(4) == 0 {
			return math.Copysign(0, rng.NormFloat64())
		}
		return rng.NormFloat64()
	}, matrices, rows, columns)
}

func TestTriangular(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	eachMatrix(t, func(t *testing.T, rng *rand.Rand, dt ir.DType, n int, l layout) {
		for i := range 16 {
			if n >= 17 && i >= 8 {
				break
			}
			matrices := min(5, 128/n+1)
			a := stackOfMatrices(dt, triangles(rng, i, n), matrices, n, n)
			for _, others := range []int{1, 5}[n/100:] {
				z := rightOf(rng, dt, i, matrices, n, others)
				a.layout, z.layout = l, l
				newNativeNode(t, "triangular_solve_info", triangleAttrs(i), a, z).check(t, x)
			}
		}
	})
}

// TestTriangularInScratch: matrices that do not fit into shared memory.
func TestTriangularInScratch(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	rng := rand.New(rand.NewPCG(25, 1))
	x := NewNatives(small)
	for _, i := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 13} {
		a := stackOfMatrices(ir.F64, triangles(rng, i, 90), 3, 90, 90)
		newNativeNode(t, "triangular_solve_info", triangleAttrs(i), a, rightOf(rng, ir.F64, i, 3, 90, 67)).check(t, x)
	}
}

// TestMatrixCheck: a copy, and a fault for any info above 0.
func TestMatrixCheck(t *testing.T) {
	x := NewNatives(Target{Major: 9})
	rng := rand.New(rand.NewPCG(24, 1))
	for _, dt := range []ir.DType{ir.F32, ir.F64, ir.BF16} {
		for l := range numLayouts {
			for _, bad := range []int{-1, 0, 11} {
				a := random(rng, dt, 3, 4, 5, 5)
				info := indices(ir.Shape{3, 4}, func(i int) int64 {
					if i == bad {
						return 2
					}
					return -int64(i % 2)
				})
				a.layout, info.layout = l, l
				newNativeNode(t, "matrix_check", ir.A("what", ir.SingularSolve), a, info).check(t, x)
			}
		}
	}
	newNativeNode(t, "matrix_check", nil, random(rng, ir.F32, 2, 2), indices(ir.Shape{}, func(int) int64 { return 1 })).check(t, x)
}

// TestFactorsOverflow: elements that become infinite tell which products LAPACK leaves out:
// those with factors of 0 behind a panel, and a column under an infinite pivot.
func TestFactorsOverflow(t *testing.T) {
	if !hostRounds {
		t.Skip("the host has bits of its own")
	}
	const huge = 1.7e308
	infinite := func(n int) func(m, i, j int) float64 {
		return func(_, i, j int) float64 {
			switch {
			case i == 0 && j == n-1:
				return -huge
			case i == 1 && j == n-1:
				return huge
			case i == j || i == 1 && j == 0:
				return 1
			}
			return 0
		}
	}
	column := func(_, i, j int) float64 {
		switch {
		case j == 0 || i == 2 && j == 2:
			return 1
		case j == 1 && i == 0:
			return -huge
		case j == 1:
			return huge
		}
		return 0
	}
	x := NewNatives(Target{Major: 9})
	for _, n := range []int{5, 64, 70} {
		newNativeNode(t, "det", nil, stackOfMatrices(ir.F64, infinite(n), 1, n, n)).check(t, x)
	}
	newNativeNode(t, "det", nil, stackOfMatrices(ir.F64, column, 1, 3, 3)).check(t, x)
}
