package cpu

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"github.com/sinter-go/sinter/ir"
)

func init() { builtinRoutines["expm"] = batched(expm) }

// The coefficients of the Padé approximant of degree 13, and the norm up to which
// it is exact in f64 (Higham, "The scaling and squaring method for the matrix
// exponential revisited", 2005).
var pade = [14]float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
	670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}

const padeNorm = 5.371920351148152

func expm(n *ir.Node, in, out []Host, i int) {
	x, y := stackOf(in[0], 2), stackOf(out[0], 2)
	a, finite := x.get(i)
	if len(a) == 0 {
		return
	}
	size := x.rows
	norm := 0.0 // the greatest sum of magnitudes of a row
	for r := 0; r < size; r++ {
		sum := 0.0
		for _, v := range a[r*size:][:size] {
			sum += math.Abs(v)
		}
		norm = max(norm, sum)
	}
	if !finite || math.IsInf(norm, 0) {
		y.put(i, nil)
		return
	}
	squarings := 0
	if norm > padeNorm {
		_, squarings = math.Frexp(norm / padeNorm)
		for j := range a {
			a[j] = math.Ldexp(a[j], -squarings)
		}
	}
	times := func(p, q []float64) []float64 {
		c := make([]float64, size*size)
		blas64.Dgemm(blas.NoTrans, blas.NoTrans, size, size, size, 1, p, size, q, size, 0, c, size)
		return c
	}
	a2 := times(a, a)
	a4 := times(a2, a2)
	a6 := times(a4, a2)
	// poly is b[k]·1 + b[k+2]·a2 + b[k+4]·a4 + b[k+6]·a6 + a6·(b[k+8]·a2 + b[k+10]·a4 + b[k+12]·a6).
	poly := func(k int) []float64 {
		high := make([]float64, size*size)
		for j := range high {
			high[j] = float64(pade[k+8]*a2[j]) + float64(pade[k+10]*a4[j]) + float64(pade[k+12]*a6[j])
		}
		p := times(a6, high)
		for j := range p {
			p[j] += float64(pade[k+2]*a2[j]) + float64(pade[k+4]*a4[j]) + float64(pade[k+6]*a6[j])
			if j%(size+1) == 0 {
				p[j] += pade[k]
			}
		}
		return p
	}
	u, v := times(a, poly(1)), poly(0)
	for j := range u {
		u[j], v[j] = v[j]-u[j], v[j]+u[j]
	}
	pivots, zero := factored(u, size)
	if zero >= 0 { // only by overflow
		y.put(i, nil)
		return
	}
	lapack64.Dgetrs(blas.NoTrans, size, size, u, size, pivots, v, size)
	for ; squarings > 0; squarings-- {
		v = times(v, v)
	}
	y.put(i, v)
}
