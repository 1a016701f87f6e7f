package sinter_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestPrint: as numpy prints, with dtype and shape behind. The strings were
// written by numpy's conventions, not by running this.
func TestPrint(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, x := range []struct {
		t    *sinter.Tensor
		want string
	}{
		{sinter.FromSlice([]float32{1, 2, 3}), "[1. 2. 3.] f32[3]"},
		{sinter.FromSlice([]float32{0.5, 1.25}), "[0.5  1.25] f32[2]"},
		{sinter.FromSlice([]float32{0.1, 0.25}), "[0.1  0.25] f32[2]"},
		{sinter.FromSlice([]float64{-1.5, 2}), "[-1.5  2. ] f64[2]"},
		{sinter.FromSlice([]int64{1, 10, -100}), "[   1   10 -100] i64[3]"},
		{sinter.FromSlice([]uint8{255, 3}), "[255   3] u8[2]"},
		{sinter.FromSlice([]float64{nan, 1}), "[nan  1.] f64[2]"},
		{sinter.FromSlice([]float64{inf, -inf, 1}), "[ inf -inf   1.] f64[3]"},
		{sinter.FromSlice([]float64{1e10, 1}), "[1.e+10 1.e+00] f64[2]"},
		{sinter.FromSlice([]float64{1e-5}), "[1.e-05] f64[1]"},
		{sinter.FromSlice([]float64{0.1, 0.123456789}), "[0.1        0.12345679] f64[2]"},
		{sinter.FromSlice([]float64{1000.5, 0.001}), "[1.0005e+03 1.0000e-03] f64[2]"},
		{sinter.FromSlice([]float32{16777216}), "[16777216.] f32[1]"},
		{sinter.FromSlice([]float64{math.Copysign(0, -1), 0}), "[-0.  0.] f64[2]"},
		{sinter.FromSlice([]int32{1, 2, 3, 4}, 2, 2), "[[1 2]\n [3 4]] i32[2,2]"},
		{sinter.Zeros(sinter.F32, 2, 1, 2), "[[[0. 0.]]\n\n [[0. 0.]]] f32[2,1,2]"},
		{sinter.Arange(2000, sinter.I64), "[   0    1    2 ... 1997 1998 1999] i64[2000]"},
		{sinter.Zeros(sinter.F32, 0), "[] f32[0]"},
		{sinter.Scalar(1.5), "1.5 f64[]"},
		{sinter.Scalar(int32(-7)), "-7 i32[]"},
		{sinter.FromSlice([]float32{1, 2.5}).Cast(sinter.F16), "[1.  2.5] f16[2]"},
		{sinter.FromSlice([]float32{1, 2.5}).Cast(sinter.BF16), "[1.  2.5] bf16[2]"},
		{sinter.Arange(40, sinter.I32).Reshape(2, 20).Expand(60, 2, 20).Slice(sinter.Until(1), sinter.All(), sinter.Until(2)), "[[[ 0  1]\n  [20 21]]] i32[1,2,2]"},
	} {
		if got := x.t.String(); got != x.want {
			t.Errorf("got  %q\nwant %q", got, x.want)
		}
	}
	wide := sinter.Arange(1200, sinter.I64).Reshape(300, 4)
	want := "[[   0    1    2    3]\n [   4    5    6    7]\n [   8    9   10   11]\n ...\n" +
		" [1188 1189 1190 1191]\n [1192 1193 1194 1195]\n [1196 1197 1198 1199]] i64[300,4]"
	if got := wide.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestPrintedLine: the error of a tensor that is printed names the line that prints, not one
// of package fmt.
func TestPrintedLine(t *testing.T) {
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	x := sinter.On(d).Ones(sinter.F32, 2)
	d.Close()
	if text := fmt.Sprint(x); !strings.Contains(text, "api_print_test.go:") {
		t.Error(text)
	}
}
