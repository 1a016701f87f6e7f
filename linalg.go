package sinter

import "github.com/sinter-go/sinter/ir"

// Linear algebra works on matrices, the last two axes of a tensor of f32 or f64;
// those before them are a batch. It computes in f64; f32 results are rounded
// once. A matrix with NaN or an infinity gives NaN. What has no result, as the
// inverse of a singular matrix, is an error when it is read, which names the
// matrix of the batch and the pivot.

// Cholesky returns the lower triangular matrix y with y·yᵀ = t, or with upper
// the upper one with yᵀ·y = t. Of t the symmetric part counts, which must be
// positive definite.
func (t *Tensor) Cholesky(upper bool) *Tensor { return t.with("cholesky", "upper", upper) }

// Solve returns the solution of t·y = z. z holds columns, or is one vector.
func (t *Tensor) Solve(z *Tensor) *Tensor {
	if z.isVector() {
		return t.Solve(z.Unsqueeze(1)).Squeeze(-1)
	}
	return apply1("solve", []*Tensor{t, z})
}

// isVector reports whether the tensor has one axis. (A closure here, inlined into
// the user's function, would be taken for the user's line.)
func (t *Tensor) isVector() bool { return t.failure() == nil && t.Rank() == 1 }

// Triangle says which triangular system [Tensor.SolveTriangular] solves.
type Triangle struct {
	Upper     bool // read the upper triangle of the matrix, not the lower one
	Transpose bool // take its transpose
	Unit      bool // take its diagonal to be 1
	Right     bool // the unknown stands before the matrix: y·t = z
}

// SolveTriangular returns the solution of t·y = z, where of t one triangle is
// read. z holds columns, or rows if the unknown stands before the matrix.
func (t *Tensor) SolveTriangular(z *Tensor, form Triangle) *Tensor {
	return apply1("triangular_solve", []*Tensor{t, z},
		ir.A("left", !form.Right, "upper", form.Upper, "transpose", form.Transpose, "unit", form.Unit)...)
}

// Inverse returns the inverse of square matrices.
func (t *Tensor) Inverse() *Tensor { return t.with("inverse") }

// Det returns the determinant of square matrices. Its gradient needs their inverse.
func (t *Tensor) Det() *Tensor { return t.with("det") }

// SLogDet returns the sign of the determinant, and the logarithm of its absolute
// value: 0 and -inf for a singular matrix.
func (t *Tensor) SLogDet() (sign, log *Tensor) {
	return two(apply(ir.Lookup("slogdet"), nil, []*Tensor{t}, nil))
}

// QR returns q, of min(m, n) orthonormal columns, and the upper triangular r with
// q·r = t. No element of r's diagonal is negative, so that they are unique where
// t has full rank.
func (t *Tensor) QR() (q, r *Tensor) { return two(apply(ir.Lookup("qr"), nil, []*Tensor{t}, nil)) }

// SVD returns u, s and vh with u·diag(s)·vh = t: min(m, n) singular values in
// descending order, and their vectors in the columns of u and the rows of vh. Of
// each column of u the element greatest in magnitude is positive. Gradients of
// vectors leave out what equal or zero singular values contribute, which is not
// defined.
func (t *Tensor) SVD() (u, s, vh *Tensor) {
	out := apply(ir.Lookup("svd"), nil, []*Tensor{t}, nil)
	return out[0], out[1], out[2]
}

// Eigh returns the eigenvalues, ascending, and in columns the eigenvectors of the
// symmetric part of square matrices. Of each vector the element greatest in
// magnitude is positive. Gradients of vectors leave out what equal eigenvalues
// contribute, which is not defined.
func (t *Tensor) Eigh() (values, vectors *Tensor) {
	return two(apply(ir.Lookup("eigh"), nil, []*Tensor{t}, nil))
}

// PInv returns the pseudo-inverse. Singular values up to rcond times the greatest
// count as 0; a negative rcond means max(m, n) times the distance of 1 to the next
// number of the dtype.
func (t *Tensor) PInv(rcond float64) *Tensor { return t.with("pinv", "rcond", rcond) }

// LstSq returns the y of least norm among those that make the norm of t·y - z
// least. z holds columns, or is one vector; rcond is that of PInv.
func (t *Tensor) LstSq(z *Tensor, rcond float64) *Tensor {
	if z.isVector() {
		return t.LstSq(z.Unsqueeze(1), rcond).Squeeze(-1)
	}
	if t.DType() != F32 || z.DType() != F32 {
		return t.PInv(rcond).MatMul(z)
	}
	if rcond < 0 && t.Rank() >= 2 {
		rcond = epsilon(F32) * float64(max(t.Dim(-1), t.Dim(-2)))
	}
	return t.Cast(F64).PInv(rcond).MatMul(z.Cast(F64)).Cast(F32)
}

// epsilon is the distance of 1 to the next number.
func epsilon(d DType) float64 {
	if d == F32 {
		return 0x1p-23
	}
	return 0x1p-52
}

// MatrixRank counts as i64 the singular values above rtol times the greatest; a
// negative rtol means that of PInv.
func (t *Tensor) MatrixRank(rtol float64) *Tensor {
	_, s, _ := t.Detach().SVD()
	if s.failure() != nil {
		return s
	}
	if rtol < 0 {
		rtol = epsilon(t.DType()) * float64(max(t.Dim(-1), t.Dim(-2)))
	}
	least := s.Mul(rtol)
	if s.Dim(-1) > 0 {
		least = s.Slice(along(s.Rank()-1, Until(1))...).Mul(rtol)
	}
	return s.Gt(least).Cast(I64).Sum(Over(-1))
}

// MatrixNormKind is a norm of matrices.
type MatrixNormKind int

// The norms of [Tensor.MatrixNorm].
const (
	Frobenius     MatrixNormKind = iota // the square root of the sum of squares
	Nuclear                             // the sum of the singular values
	Spectral                            // the greatest singular value
	LeastSingular                       // the least singular value
	MaxColumn                           // the greatest sum of magnitudes of a column
	MaxRow                              // the greatest sum of magnitudes of a row
)

// MatrixNorm returns a norm of matrices. Frobenius takes empty ones too, whose
// norm is 0.
func (t *Tensor) MatrixNorm(kind MatrixNormKind) *Tensor {
	if t.failure() == nil && t.Rank() < 2 {
		return t.argument("matrix_norm", "%v, expected at least the two axes of a matrix", t.shape())
	}
	switch kind {
	case Frobenius:
		return t.Norm(2, Over(-2, -1))
	case MaxColumn:
		return t.Abs().Sum(Over(-2)).Max(Over(-1))
	case MaxRow:
		return t.Abs().Sum(Over(-1)).Max(Over(-1))
	case Nuclear, Spectral, LeastSingular:
		_, s, _ := t.SVD()
		switch kind {
		case Nuclear:
			return s.Sum(Over(-1))
		case Spectral:
			return s.Max(Over(-1))
		}
		return s.Min(Over(-1))
	}
	return t.raise("matrix_norm", ir.Errorf(ir.ErrArgument, "there is no norm %d", kind))
}

// Expm returns the exponential of square matrices.
func (t *Tensor) Expm() *Tensor { return t.with("expm") }
