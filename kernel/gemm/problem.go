package gemm

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Problem is a product as libraries are asked for it: for each element of a batch,
//
//	D = relu(op(A)·op(B) + bias)
//
// where op(A) is M×K, op(B) is K×N, and D is M×N. A matrix is its columns, one behind the
// other, and op turns one that is Turned. The bias has an element for each row of D.
type Problem struct {
	Type    ir.DType
	M, N, K int64
	Batch   int64
	A, B, D Matrix
	Bias    int // argument; -1 without one
	Relu    bool
}

// Matrix is one as it lies in memory.
type Matrix struct {
	Arg        int // of the kernel, whose first element is that of the matrix
	Rows, Cols int64
	Lead       int64 // elements from one column to the next
	Step       int64 // elements from one matrix of the batch to the next
	Turned     bool
}

// Problem says what to ask a library for, or that no such matrices are in memory.
func (f *Form) Problem(l *kernel.Launch) (p Problem, ok bool) {
	rows, cols, depth := l.Extents[f.row], l.Extents[f.col], l.Extents[f.reduced]
	p = Problem{Type: f.Type, K: depth, Batch: 1, Bias: f.bias, Relu: f.Relu}
	if f.batchN >= 0 {
		p.Batch = l.Extents[f.batchN]
	}
	if max(rows, cols, depth, p.Batch) > math.MaxInt32 {
		return p, false
	}
	// The columns of a library are our rows: it is asked for D turned, which is Z turned
	// times X turned. Where our columns lie one behind the other, it is asked for D.
	x, z, out := &l.Args[f.x], &l.Args[f.z], &l.Args[f.out]
	if d, ok := f.lies(f.out, out, f.col, f.row, l); ok && !d.Turned {
		p.M, p.N, p.D = cols, rows, d
		p.A, ok = f.lies(f.z, z, f.col, f.reduced, l)
		if !ok {
			return p, false
		}
		p.B, ok = f.lies(f.x, x, f.reduced, f.row, l)
		return p, ok && (f.bias < 0 || l.Args[f.bias].Strides[f.col] == 1 || cols == 1)
	}
	if d, ok := f.lies(f.out, out, f.row, f.col, l); ok && !d.Turned && f.bias < 0 {
		p.M, p.N, p.D = rows, cols, d
		p.A, ok = f.lies(f.x, x, f.row, f.reduced, l)
		if !ok {
			return p, false
		}
		p.B, ok = f.lies(f.z, z, f.reduced, f.col, l)
		return p, ok
	}
	return p, false
}

// lies describes an argument as the matrix, or the batch of matrices, op of which has rows
// along one axis and columns along another; ok is false if its elements do not lie so.
func (f *Form) lies(arg int, o *kernel.Operand, rows, cols int, l *kernel.Launch) (m Matrix, ok bool) {
	m.Arg = arg
	if f.batchN >= 0 && l.Extents[f.batchN] > 1 {
		if m.Step = o.Strides[f.batchN]; m.Step < 0 || m.Step == 0 && arg == f.out {
			return m, false
		}
	}
	for _, turned := range []bool{false, true} {
		m.Turned = turned
		if turned {
			rows, cols = cols, rows
		}
		m.Rows, m.Cols, m.Lead = l.Extents[rows], l.Extents[cols], o.Strides[cols]
		if m.Cols == 1 { // whatever its stride
			m.Lead = m.Rows
		}
		if (o.Strides[rows] == 1 || m.Rows == 1) && m.Lead >= m.Rows {
			return m, true
		}
	}
	return m, false
}

// String is the product in short: 3 of bf16[256,64]ᵀ·[64,100] + bias, relu.
func (p *Problem) String() string {
	s := ""
	if p.Batch > 1 {
		s = fmt.Sprintf("%d of ", p.Batch)
	}
	turned := func(m *Matrix) string {
		if m.Turned {
			return "ᵀ"
		}
		return ""
	}
	s += fmt.Sprintf("%v[%d,%d]%s·[%d,%d]%s", p.Type, p.A.Rows, p.A.Cols, turned(&p.A), p.B.Rows, p.B.Cols, turned(&p.B))
	if p.Bias >= 0 {
		s += " + bias"
	}
	if p.Relu {
		s += ", relu"
	}
	return s
}
