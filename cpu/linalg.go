package cpu

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// stack reads and writes the matrices of a tensor, its last two axes, or, with
// one axis of a matrix, its rows, as f64.
type stack struct {
	rows, columns int
	f32           []float32
	f64           []float64
}

func stackOf(h Host, axes int) stack {
	s := h.Type.Shape
	k := stack{rows: 1, columns: 1}
	if axes > 0 {
		k.columns = s[len(s)-1]
	}
	if axes > 1 {
		k.rows = s[len(s)-2]
	}
	if h.Type.DType == ir.F32 {
		k.f32 = view[float32](h.Data)
	} else {
		k.f64 = view[float64](h.Data)
	}
	return k
}

func (k stack) size() int { return k.rows * k.columns }

// get returns a copy of matrix i, and whether all of its elements are finite.
func (k stack) get(i int) (m []float64, finite bool) {
	n := k.size()
	m = make([]float64, n)
	finite = true
	for j := range m {
		if k.f32 != nil {
			m[j] = float64(k.f32[i*n+j])
		} else {
			m[j] = k.f64[i*n+j]
		}
		finite = finite && !math.IsNaN(m[j]) && !math.IsInf(m[j], 0)
	}
	return m, finite
}

// put writes matrix i, rounding once; nil is a matrix of NaN.
func (k stack) put(i int, m []float64) {
	n := k.size()
	for j := 0; j < n; j++ {
		v := math.NaN()
		if m != nil {
			v = m[j]
		}
		if k.f32 != nil {
			k.f32[i*n+j] = float32(v)
		} else {
			k.f64[i*n+j] = v
		}
	}
}

// count is the number of elements of the leading axes.
func count(s ir.Shape, axes int) int { return s[:len(s)-axes].Size() }

// guarded makes an error of a panic of the library.
func guarded(f Routine) Routine {
	return func(c *Call) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = ir.Errorf(ir.ErrInternal, "the routine failed: %v", p)
			}
		}()
		return f(c)
	}
}

// batched runs f for each matrix of the first operand, some at the same time.
func batched(f func(n *ir.Node, in, out []Host, i int)) Routine {
	return guarded(func(c *Call) error {
		c.Parallel(count(c.In[0].Type.Shape, 2), func(i int) { f(c.Node, c.In, c.Out, i) })
		return nil
	})
}

// matrixFault names the first matrix whose info is not 0.
func matrixFault(c *Call) error {
	copy(c.Out[0].Data, c.In[0].Data)
	shape := c.In[1].Type.Shape
	for i, v := range view[int64](c.In[1].Data) {
		if v <= 0 {
			continue
		}
		which := "the matrix"
		if len(shape) > 0 {
			at := make([]int, len(shape))
			for j, rest := len(shape)-1, i; j >= 0; j-- {
				at[j], rest = rest%shape[j], rest/shape[j]
			}
			which = fmt.Sprintf("matrix %v of the batch", at)
		}
		switch c.Node.Attr("what").Int {
		case ir.NotPositive:
			return ir.Errorf(ir.ErrData, "cholesky: %s is not positive definite: pivot %d is not positive", which, v-1)
		case ir.ZeroDiagonal:
			return ir.Errorf(ir.ErrData, "triangular_solve: %s is singular: element %d of its diagonal is 0", which, v-1)
		case ir.SingularInverse:
			return ir.Errorf(ir.ErrData, "inverse: %s is singular: pivot %d is 0", which, v-1)
		}
		return ir.Errorf(ir.ErrData, "solve: %s is singular: pivot %d is 0", which, v-1)
	}
	return nil
}
