package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// TestFourier: transforms of every length up to 20, and some others, against the
// definition; inverses; real transforms against complex ones; any axis.
func TestFourier(t *testing.T) {
	ctx := context.Background()
	lengths := []int{31, 32, 45, 64, 97}
	for n := 1; n <= 20; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		x := normal(uint64(n), n, 2)
		v, err := sinter.Data[float64](ctx, x)
		if err != nil {
			t.Fatal(err)
		}
		want := array{[]int{n, 2}, make([]float64, 2*n)}
		for k := 0; k < n; k++ {
			sum := complex(0, 0)
			for j := 0; j < n; j++ {
				sum += complex(v[2*j], v[2*j+1]) * cmplx.Exp(complex(0, -2*math.Pi*float64(j*k%n)/float64(n)))
			}
			want.v[2*k], want.v[2*k+1] = real(sum), imag(sum)
		}
		name, tol := fmt.Sprint("length ", n), 1e-13*float64(n)
		near(t, name, x.FFT(0), want, tol)
		apart(t, name+", inverse", x.FFT(-1).IFFT(-1), x, tol)
		apart(t, name+", f32", x.Cast(sinter.F32).FFT(0), x.FFT(0).Cast(sinter.F32), 1e-6)
		re := x.Real()
		half := sinter.Complex(re, re.Mul(0)).FFT(0).Slice(sinter.Until(n/2 + 1))
		apart(t, name+", real", re.RFFT(0), half, tol)
		apart(t, name+", real inverse", re.RFFT(0).IRFFT(n, 0), re, tol)
		for axis := 0; axis < 3; axis++ {
			y := normal(uint64(n), n, 2, 3).MoveAxis(0, axis)
			lanes := y.MoveAxis(axis, -1)
			apart(t, name+", axes", y.RFFT(axis), lanes.RFFT(-1).MoveAxis(-2, axis), tol)
			apart(t, name+", axes back", y.RFFT(axis).IRFFT(n, axis), y, tol)
			z := sinter.Complex(y, y.Mul(2))
			apart(t, name+", complex axes", z.FFT(axis), sinter.Complex(lanes, lanes.Mul(2)).FFT(-1).MoveAxis(-2, axis), tol)
		}
	}
	x := normal(1, 4, 6, 2)
	apart(t, "2 d", x.FFT2(0, 1).IFFT2(0, 1), x, 1e-13)
	a, b := normal(2, 9, 2), normal(3, 9, 2)
	convolved := a.FFT(0).ComplexMul(b.FFT(0)).IFFT(0)
	direct := a.ComplexMul(b.Slice(sinter.Until(1))).Mul(0)
	for i := 0; i < 9; i++ {
		direct = direct.Add(a.Roll(0, i).ComplexMul(b.Slice(sinter.Span(i, i+1)).Expand(9, 2)))
	}
	apart(t, "convolution", convolved, direct, 1e-13)
	near(t, "magnitude", sinter.FromSlice([]float64{3, 4}).ComplexAbs(), array{nil, []float64{5}}, 0)
}

func TestFrequencies(t *testing.T) {
	o := sinter.Of{}
	near(t, "even", o.FFTFreq(4, 0.5, sinter.F64), array{[]int{4}, []float64{0, 0.5, -1, -0.5}}, 0)
	near(t, "odd", o.FFTFreq(5, 0.2, sinter.F64), array{[]int{5}, []float64{0, 1, 2, -2, -1}}, 0)
	near(t, "real", o.RFFTFreq(4, 0.5, sinter.F64), array{[]int{3}, []float64{0, 0.5, 1}}, 0)
	near(t, "shift", o.FFTFreq(5, 0.2, sinter.F64).FFTShift(0), array{[]int{5}, []float64{-2, -1, 0, 1, 2}}, 0)
	near(t, "back", o.FFTFreq(4, 0.5, sinter.F64).FFTShift(0).IFFTShift(0), array{[]int{4}, []float64{0, 0.5, -1, -0.5}}, 0)
	x := sinter.Ones(sinter.F32, 4, 3)
	for i, bad := range []*sinter.Tensor{o.FFTFreq(0, 1, sinter.F64), o.FFTFreq(4, 0, sinter.F64), o.RFFTFreq(4, 1, sinter.I32), x.FFT(0), x.Real(), x.RFFT(2),
		sinter.Ones(sinter.F32, 0).RFFT(0), sinter.Ones(sinter.F32, 2).FFT(0), sinter.Ones(sinter.F32, 3, 2).IRFFT(6, 0), sinter.Ones(sinter.F32, 3, 2).IRFFT(-1, 0),
		sinter.Ones(sinter.F16, 4).RFFT(0), x.FFTShift(5), x.ComplexMul(x)} {
		if err := bad.Err(); !errors.Is(err, ir.ErrShape) && !errors.Is(err, ir.ErrDType) && !errors.Is(err, ir.ErrArgument) {
			t.Errorf("case %d: %v", i, err)
		}
	}
	if y := sinter.Ones(sinter.F64, 3, 0, 2).FFT(0); y.Err() != nil || y.Size() != 0 {
		t.Errorf("an empty batch: %v", y.Err())
	}
}
