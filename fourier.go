package sinter

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// Complex numbers have no dtype: they are a last axis of 2, the real and the
// imaginary part. Axes of Fourier transforms count the axes without it, so -1 is
// the last axis before it. Transforms are in f32 (computed in f64 and rounded
// once) or f64; forward ones are sums, inverse ones are divided by their length.

// Complex makes complex numbers of real and imaginary parts.
func Complex(re, im *Tensor) *Tensor { return Stack(-1, re, im) }

// Real is the real part of complex numbers.
func (t *Tensor) Real() *Tensor { return t.part("real", 0) }

// Imag is the imaginary part of complex numbers.
func (t *Tensor) Imag() *Tensor { return t.part("imag", 1) }

func (t *Tensor) part(op string, i int) *Tensor {
	if t.failure() == nil && (t.Rank() == 0 || t.Dim(-1) != 2) {
		return t.argument(op, "%v, expected a last axis of 2, the real and the imaginary part", t.shape())
	}
	return t.At(-1, i)
}

// ComplexMul multiplies complex numbers.
func (t *Tensor) ComplexMul(z *Tensor) *Tensor {
	a, b, c, d := t.Real(), t.Imag(), z.Real(), z.Imag()
	return Complex(a.Mul(c).Sub(b.Mul(d)), a.Mul(d).Add(b.Mul(c)))
}

// ComplexAbs is the magnitude of complex numbers.
func (t *Tensor) ComplexAbs() *Tensor { return t.Real().Hypot(t.Imag()) }

// FFT is the discrete Fourier transform of complex numbers along an axis.
func (t *Tensor) FFT(axis int) *Tensor { return t.with("fft", "axis", axis, "inverse", false) }

// IFFT is the inverse of FFT.
func (t *Tensor) IFFT(axis int) *Tensor { return t.with("fft", "axis", axis, "inverse", true) }

// FFT2 is FFT along two axes.
func (t *Tensor) FFT2(axis1, axis2 int) *Tensor { return t.FFT(axis1).FFT(axis2) }

// IFFT2 is the inverse of FFT2.
func (t *Tensor) IFFT2(axis1, axis2 int) *Tensor { return t.IFFT(axis1).IFFT(axis2) }

// RFFT is FFT of real numbers: the first n/2+1 coefficients along the axis, of
// which the others are conjugates, as complex numbers.
func (t *Tensor) RFFT(axis int) *Tensor { return t.with("rfft", "axis", axis) }

// IRFFT is the inverse of RFFT: n real numbers along an axis, which has n/2+1
// complex coefficients.
func (t *Tensor) IRFFT(n, axis int) *Tensor { return t.with("irfft", "n", n, "axis", axis) }

// FFTFreq is the frequencies of the coefficients of FFT of n numbers that are
// spacing apart: 0, 1, ..., -2, -1 over n·spacing.
func (o Of) FFTFreq(n int, spacing float64, d DType) *Tensor {
	return o.frequencies("fftfreq", n, n, spacing, d)
}

// RFFTFreq is the frequencies of the coefficients of RFFT.
func (o Of) RFFTFreq(n int, spacing float64, d DType) *Tensor {
	return o.frequencies("rfftfreq", n, n/2+1, spacing, d)
}

func (o Of) frequencies(op string, n, count int, spacing float64, d DType) *Tensor {
	if n < 1 || n > ir.MaxElements || spacing == 0 || math.IsNaN(spacing) || !d.IsFloat() {
		return createError(op, ir.Errorf(ir.ErrArgument, "n is %d, spacing %v, dtype %s: expected at least 1, a number but 0, and a float dtype", n, spacing, d))
	}
	k := o.Arange(0, count, 1, I64)
	if count == n {
		k = Where(k.Ge((n+1)/2), k.Sub(n), k)
	}
	return k.Cast(F64).Div(float64(n) * spacing).Cast(d)
}

// FFTShift moves the coefficient of frequency 0 to the middle of an axis.
func (t *Tensor) FFTShift(axis int) *Tensor { return t.Roll(axis, t.Dim(axis)/2) }

// IFFTShift is the inverse of FFTShift.
func (t *Tensor) IFFTShift(axis int) *Tensor { return t.Roll(axis, -(t.Dim(axis) / 2)) }
