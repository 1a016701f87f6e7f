package cpu

import (
	"math"

	"gonum.org/v1/gonum/blas"
	blasgo "gonum.org/v1/gonum/blas/gonum"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"

	"github.com/sinter-go/sinter/ir"
)

// Systems of linear equations on gonum's BLAS and LAPACK, called by their
// implementations, so that nobody who registers another changes a bit. The native kernels
// of package ptx follow them operation by operation.

var (
	blas64   blasgo.Implementation
	lapack64 lapackgo.Implementation
)

func init() {
	builtinRoutines["matrix_check"] = matrixFault
	builtinRoutines["cholesky_info"] = batched(choleskyInfo)
	builtinRoutines["solve_info"] = batched(solveInfo)
	builtinRoutines["triangular_solve_info"] = batched(triangularInfo)
	builtinRoutines["slogdet"] = batched(slogdet)
	builtinRoutines["det"] = batched(det)
}

// symmetric replaces a matrix by its symmetric part, which is itself, bit for
// bit, if it is symmetric.
func symmetric(a []float64, n int) {
	for i := 0; i < n; i++ {
		for j := 0; j < i; j++ {
			if x, y := a[i*n+j], a[j*n+i]; x != y {
				a[i*n+j] = x/2 + y/2
				a[j*n+i] = a[i*n+j]
			}
		}
	}
}

func choleskyInfo(n *ir.Node, in, out []Host, i int) {
	x, y := stackOf(in[0], 2), stackOf(out[0], 2)
	info := view[int64](out[1].Data)
	info[i] = 0
	a, finite := x.get(i)
	size := x.rows
	if size == 0 {
		return
	}
	if !finite {
		y.put(i, nil)
		return
	}
	symmetric(a, size)
	upper := n.Attr("upper").Bool()
	f := append([]float64(nil), a...)
	uplo := blas.Lower
	if upper {
		uplo = blas.Upper
	}
	if !lapack64.Dpotrf(uplo, size, f, size) {
		info[i] = int64(failedPivot(a, size)) + 1
		y.put(i, nil)
		return
	}
	for r := 0; r < size; r++ {
		for c := 0; c < size; c++ {
			if upper && c < r || !upper && c > r {
				f[r*size+c] = 0
			}
		}
	}
	y.put(i, f)
}

// failedPivot is the first pivot of Cholesky's factorisation that is not
// positive; the last one if rounding differs from the blocked algorithm's.
func failedPivot(a []float64, n int) int {
	for j := 0; j < n; j++ {
		d := a[j*n+j]
		for k := 0; k < j; k++ {
			d -= a[j*n+k] * a[j*n+k]
		}
		if !(d > 0) {
			return j
		}
		d = math.Sqrt(d)
		a[j*n+j] = d
		for i := j + 1; i < n; i++ {
			s := a[i*n+j]
			for k := 0; k < j; k++ {
				s -= a[i*n+k] * a[j*n+k]
			}
			a[i*n+j] = s / d
		}
	}
	return n - 1
}

// factored are the LU factors of a matrix; zero is the first pivot that is 0, or -1.
func factored(a []float64, n int) (pivots []int, zero int) {
	pivots = make([]int, n)
	if !lapack64.Dgetrf(n, n, a, n, pivots) {
		for i := 0; i < n; i++ {
			if a[i*n+i] == 0 {
				return pivots, i
			}
		}
	}
	return pivots, -1
}

func solveInfo(n *ir.Node, in, out []Host, i int) {
	x, z, y := stackOf(in[0], 2), stackOf(in[1], 2), stackOf(out[0], 2)
	info := view[int64](out[1].Data)
	info[i] = 0
	a, finite := x.get(i)
	b, finiteB := z.get(i)
	if x.rows == 0 {
		return
	}
	if !finite {
		y.put(i, nil)
		return
	}
	pivots, zero := factored(a, x.rows)
	switch {
	case zero >= 0:
		info[i] = int64(zero) + 1
		b = nil
	case !finiteB:
		b = nil
	case z.columns > 0:
		lapack64.Dgetrs(blas.NoTrans, x.rows, z.columns, a, x.rows, pivots, b, z.columns)
	}
	y.put(i, b)
}

func triangularInfo(n *ir.Node, in, out []Host, i int) {
	x, z, y := stackOf(in[0], 2), stackOf(in[1], 2), stackOf(out[0], 2)
	info := view[int64](out[1].Data)
	info[i] = 0
	size := x.rows
	a, _ := x.get(i)
	b, finite := z.get(i)
	if size == 0 {
		return
	}
	side, uplo, trans, diag := blas.Right, blas.Lower, blas.NoTrans, blas.NonUnit
	if n.Attr("left").Bool() {
		side = blas.Left
	}
	if n.Attr("upper").Bool() {
		uplo = blas.Upper
	}
	if n.Attr("transpose").Bool() {
		trans = blas.Trans
	}
	if n.Attr("unit").Bool() {
		diag = blas.Unit
	}
	for r := 0; r < size; r++ {
		for c := 0; c < size; c++ {
			v := a[r*size+c]
			switch { // elements that are not read may be anything
			case c > r && uplo == blas.Lower, c < r && uplo == blas.Upper, c == r && diag == blas.Unit:
			case c == r && v == 0 && info[i] == 0:
				info[i] = int64(r) + 1
			default:
				finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
			}
		}
	}
	if !finite || info[i] > 0 {
		y.put(i, nil)
		return
	}
	if len(b) > 0 {
		blas64.Dtrsm(side, uplo, trans, diag, z.rows, z.columns, 1, a, size, b, z.columns)
	}
	y.put(i, b)
}

func det(n *ir.Node, in, out []Host, i int) {
	x, y := stackOf(in[0], 2), stackOf(out[0], 0)
	a, finite := x.get(i)
	if !finite {
		y.put(i, nil)
		return
	}
	d := 1.0
	if x.rows > 0 {
		pivots, _ := factored(a, x.rows)
		for j, p := range pivots {
			if d *= a[j*x.rows+j]; p != j {
				d = -d
			}
		}
	}
	y.put(i, []float64{d})
}

func slogdet(n *ir.Node, in, out []Host, i int) {
	x, sign, y := stackOf(in[0], 2), stackOf(out[0], 0), stackOf(out[1], 0)
	a, finite := x.get(i)
	if !finite {
		sign.put(i, nil)
		y.put(i, nil)
		return
	}
	s, log := 1.0, 0.0
	if x.rows > 0 {
		pivots, zero := factored(a, x.rows)
		if zero >= 0 {
			sign.put(i, []float64{0})
			y.put(i, []float64{math.Inf(-1)})
			return
		}
		for j, p := range pivots {
			d := a[j*x.rows+j]
			if (d < 0) != (p != j) {
				s = -s
			}
			log += math.Log(math.Abs(d))
		}
	}
	sign.put(i, []float64{s})
	y.put(i, []float64{log})
}
