package cpu

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"

	"github.com/sinter-go/sinter/ir"
)

// Factorisations of matrices on gonum's LAPACK. What LAPACK leaves open, the
// signs of vectors, is settled here.

func init() {
	builtinRoutines["qr"] = batched(qr)
	builtinRoutines["svd"] = batched(svd)
	builtinRoutines["eigh"] = batched(eigh)
	builtinRoutines["pinv"] = batched(pinv)
}

// workspace asks a LAPACK routine for the length of its workspace, and makes one.
func workspace(ask func(work []float64)) []float64 {
	w := []float64{0}
	ask(w)
	return make([]float64, max(1, int(w[0])))
}

func qr(n *ir.Node, in, out []Host, i int) {
	x, q, r := stackOf(in[0], 2), stackOf(out[0], 2), stackOf(out[1], 2)
	rows, columns := x.rows, x.columns
	k := min(rows, columns)
	a, finite := x.get(i)
	if k == 0 {
		return
	}
	if !finite {
		q.put(i, nil)
		r.put(i, nil)
		return
	}
	tau := make([]float64, k)
	work := workspace(func(w []float64) { lapack64.Dgeqrf(rows, columns, a, columns, tau, w, -1) })
	lapack64.Dgeqrf(rows, columns, a, columns, tau, work, len(work))
	upper := make([]float64, k*columns)
	sign := make([]float64, k)
	for j := range sign {
		sign[j] = 1
		if a[j*columns+j] < 0 {
			sign[j] = -1
		}
		for c := j; c < columns; c++ {
			upper[j*columns+c] = sign[j] * a[j*columns+c]
		}
	}
	work = workspace(func(w []float64) { lapack64.Dorgqr(rows, k, k, a, columns, tau, w, -1) })
	lapack64.Dorgqr(rows, k, k, a, columns, tau, work, len(work))
	basis := make([]float64, rows*k)
	for j := 0; j < rows; j++ {
		for c := 0; c < k; c++ {
			basis[j*k+c] = sign[c] * a[j*columns+c]
		}
	}
	q.put(i, basis)
	r.put(i, upper)
}

// decomposed is the reduced singular value decomposition of a matrix, which it
// overwrites; ok is false if the iteration did not end.
func decomposed(a []float64, rows, columns int) (u, s, vt []float64, ok bool) {
	k := min(rows, columns)
	u, s, vt = make([]float64, rows*k), make([]float64, k), make([]float64, k*columns)
	call := func(w []float64, length int) bool {
		return lapack64.Dgesvd(lapack.SVDStore, lapack.SVDStore, rows, columns, a, columns, s, u, k, vt, columns, w, length)
	}
	work := workspace(func(w []float64) { call(w, -1) })
	if !call(work, len(work)) {
		return nil, nil, nil, false
	}
	for c := 0; c < k; c++ {
		if negative(u, c, rows, k) {
			for j := 0; j < rows; j++ {
				u[j*k+c] = -u[j*k+c]
			}
			for j := 0; j < columns; j++ {
				vt[c*columns+j] = -vt[c*columns+j]
			}
		}
	}
	return u, s, vt, true
}

// negative reports whether of column c the element greatest in magnitude, the
// first of such, is negative.
func negative(m []float64, c, rows, columns int) bool {
	most := 0.0
	for j := 0; j < rows; j++ {
		if v := m[j*columns+c]; math.Abs(v) > math.Abs(most) {
			most = v
		}
	}
	return most < 0
}

func svd(n *ir.Node, in, out []Host, i int) {
	x := stackOf(in[0], 2)
	a, finite := x.get(i)
	if len(a) == 0 {
		return
	}
	var parts [3][]float64 // nil is NaN
	if finite {
		if u, s, vt, ok := decomposed(a, x.rows, x.columns); ok {
			parts = [3][]float64{u, s, vt}
		}
	}
	for j, axes := range []int{2, 1, 2} {
		stackOf(out[j], axes).put(i, parts[j])
	}
}

func eigh(n *ir.Node, in, out []Host, i int) {
	x, w, v := stackOf(in[0], 2), stackOf(out[0], 1), stackOf(out[1], 2)
	size := x.rows
	a, finite := x.get(i)
	if size == 0 {
		return
	}
	values := make([]float64, size)
	if finite {
		symmetric(a, size)
		call := func(work []float64, length int) bool {
			return lapack64.Dsyev(lapack.EVCompute, blas.Lower, size, a, size, values, work, length)
		}
		work := workspace(func(work []float64) { call(work, -1) })
		finite = call(work, len(work))
	}
	if !finite {
		w.put(i, nil)
		v.put(i, nil)
		return
	}
	for c := 0; c < size; c++ {
		if negative(a, c, size, size) {
			for j := 0; j < size; j++ {
				a[j*size+c] = -a[j*size+c]
			}
		}
	}
	w.put(i, values)
	v.put(i, a)
}

func pinv(n *ir.Node, in, out []Host, i int) {
	x, y := stackOf(in[0], 2), stackOf(out[0], 2)
	a, finite := x.get(i)
	if len(a) == 0 {
		return
	}
	if !finite {
		y.put(i, nil)
		return
	}
	rows, columns := x.rows, x.columns
	k := min(rows, columns)
	u, s, vt, ok := decomposed(a, rows, columns)
	if !ok {
		y.put(i, nil)
		return
	}
	rcond := n.Attr("rcond").Float()
	if rcond < 0 {
		rcond = float64(max(rows, columns)) * 0x1p-52
		if in[0].Type.DType == ir.F32 {
			rcond = float64(max(rows, columns)) * 0x1p-23
		}
	}
	m := make([]float64, columns*rows)
	for l := 0; l < k; l++ {
		if s[l] == 0 || s[l] <= rcond*s[0] {
			continue
		}
		for r := 0; r < columns; r++ {
			f := vt[l*columns+r] / s[l]
			for c := 0; c < rows; c++ {
				m[r*rows+c] += float64(f * u[c*k+l])
			}
		}
	}
	y.put(i, m)
}
