package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
)

var cosineAttrs = []attrSpec{intAttr("output_datatype", int64(Float)), intAttr("periodic", 1)}

// window is an operator that makes a window of cosines with given coefficients.
func window(name string, a ...float64) opDef {
	run := func(c *Call) error {
		n, err := c.HostInt(0)
		if err != nil {
			return err
		}
		e := Elem(c.Int("output_datatype"))
		if n < 0 || n > 1<<24 || !e.DType().Valid() || e.Narrow() {
			return fmt.Errorf("a window of %d elements of %s", n, e)
		}
		period := float64(n)
		if !c.Bool("periodic") {
			period--
		}
		h := &Host{Elem: Double, Shape: []int{n}, Floats: make([]float64, n)}
		for i := range h.Floats {
			for k, v := range a {
				h.Floats[i] += v * math.Cos(2*math.Pi*float64(k)*float64(i)/max(period, 1))
			}
		}
		c.Set(0, c.HostTensor(h).Cast(e.DType()))
		return nil
	}
	return opDef{name: name, since: 17, in: one, out: one, attrs: cosineAttrs, run: run}
}

var _ = register(
	window("HannWindow", 0.5, -0.5),
	window("HammingWindow", 25./46, -21./46),
	window("BlackmanWindow", 0.42, -0.5, 0.08),
	opDef{name: "DFT", since: 17, in: oneTwo, out: one, attrs: []attrSpec{intAttr("axis", 1), intAttr("inverse", 0), intAttr("onesided", 0)},
		run: func(c *Call) error { return dftOp(c, c.Int("axis")) }},
	opDef{name: "DFT", since: 20, in: arity{1, 3}, out: one, attrs: []attrSpec{intAttr("inverse", 0), intAttr("onesided", 0)}, run: func(c *Call) error {
		axis := -2
		if c.Has(2) {
			var err error
			if axis, err = c.HostInt(2); err != nil {
				return err
			}
		}
		return dftOp(c, axis)
	}},
	opDef{name: "STFT", since: 17, in: arity{2, 4}, out: one, attrs: []attrSpec{intAttr("onesided", 1)}, run: stftOp},
	opDef{name: "MelWeightMatrix", since: 17, in: arity{5, 5}, out: one, attrs: []attrSpec{intAttr("output_datatype", int64(Float))}, run: melOp},
)

// dftOp transforms along an axis of real numbers (a last axis of 1) or complex
// ones (of 2).
func dftOp(c *Call, axis int) error {
	x := c.In(0)
	rank := x.Rank()
	axis, err := Axis(axis, rank)
	if err != nil {
		return err
	}
	if axis == rank-1 || x.Dim(-1) != 1 && x.Dim(-1) != 2 {
		return fmt.Errorf("axis %d of %v, whose last axis is to have 1 or 2 parts of numbers", axis, x.Shape())
	}
	inverse, onesided := c.Bool("inverse"), c.Bool("onesided")
	n := x.Dim(axis)
	if onesided && inverse {
		n = 2 * (n - 1)
	}
	if c.Has(1) {
		if n, err = c.HostInt(1); err != nil {
			return err
		}
	}
	if n < 1 {
		return fmt.Errorf("a transform of length %d", n)
	}
	half := n/2 + 1
	length := n
	if onesided && inverse {
		length = half
	}
	if d := x.Dim(axis); d != length { // cut, or with zeros at the end
		pads := make([][2]int, rank)
		pads[axis] = [2]int{0, length - d}
		x = x.Pad(0, pads...)
	}
	d := x.DType()
	if d == sinter.F16 || d == sinter.BF16 {
		x = x.Cast(sinter.F32)
	}
	complex := x.Dim(-1) == 2
	var y *sinter.Tensor
	switch {
	case onesided && inverse:
		if !complex {
			x = complexOf(x)
		}
		y = x.IRFFT(n, axis).Unsqueeze(-1)
	case !complex && !inverse:
		y = x.Squeeze(-1).RFFT(axis)
		if !onesided {
			y = x.Squeeze(-1)
			y = sinter.Complex(y, y.ZerosLike()).FFT(axis)
		}
	default:
		if !complex {
			x = complexOf(x)
		}
		if inverse {
			y = x.IFFT(axis)
		} else {
			y = x.FFT(axis)
		}
		if onesided {
			ranges := make([]sinter.Range, rank)
			for a := range ranges {
				ranges[a] = sinter.All()
			}
			ranges[axis] = sinter.Until(half)
			y = y.Slice(ranges...)
		}
	}
	c.Set(0, y.Cast(d))
	return nil
}

// complexOf makes complex numbers of real ones, whose last axis has extent 1.
func complexOf(x *sinter.Tensor) *sinter.Tensor {
	re := x.Squeeze(-1)
	return sinter.Complex(re, re.ZerosLike())
}

// stftOp transforms windows of a signal [batch, length, 1 or 2].
func stftOp(c *Call) error {
	x := c.In(0)
	step, err := c.HostInt(1)
	if err != nil {
		return err
	}
	var w *sinter.Tensor
	length := 0
	if c.Has(2) {
		w = c.In(2)
		length = w.Size()
	}
	if c.Has(3) {
		if length, err = c.HostInt(3); err != nil {
			return err
		}
	}
	if x.Rank() == 2 {
		x = x.Unsqueeze(-1)
	}
	if x.Rank() != 3 || step < 1 || length < 1 || length > x.Dim(1) || w != nil && (w.Rank() != 1 || w.Dim(0) != length) {
		return fmt.Errorf("windows of %d elements in steps of %d over a signal of shape %v", length, step, x.Shape())
	}
	frame := func(t *sinter.Tensor) *sinter.Tensor { // [batch, frames, length]
		t = t.Unfold(1, length, step, 1)
		if w != nil {
			t = t.Mul(w)
		}
		return t
	}
	var y *sinter.Tensor
	switch {
	case x.Dim(2) == 1 && c.Bool("onesided"):
		y = frame(x.At(2, 0)).RFFT(-1)
	default:
		re := frame(x.At(2, 0))
		im := re.ZerosLike()
		if x.Dim(2) == 2 {
			im = frame(x.At(2, 1))
		}
		y = sinter.Complex(re, im).FFT(-1)
		if c.Bool("onesided") {
			y = y.Slice(sinter.All(), sinter.All(), sinter.Until(length/2+1))
		}
	}
	c.Set(0, y)
	return nil
}

// melOp makes the matrix that turns frequencies into mel bins: triangles between
// neighbouring bins, on the mel scale 2595·log10(1 + f/700).
func melOp(c *Call) error {
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = c.HostInt(i); err != nil {
			return err
		}
	}
	bins, length, rate := n[0], n[1], n[2]
	lower, err := c.HostFloat(3)
	if err != nil {
		return err
	}
	upper, err := c.HostFloat(4)
	if err != nil {
		return err
	}
	e := Elem(c.Int("output_datatype"))
	if bins < 1 || bins > 1<<16 || length < 1 || length > 1<<24 || rate < 1 || !e.DType().Valid() || e.Narrow() || !(lower >= 0) || !(upper >= lower) || math.IsInf(upper, 0) {
		return fmt.Errorf("%d bins of %d frequencies at %d samples per second, from %v to %v", bins, length, rate, lower, upper)
	}
	rows := length/2 + 1
	if rows*bins > 1<<24 {
		return fmt.Errorf("a matrix of %d by %d is too large", rows, bins)
	}
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	edges := make([]int, bins+2)
	low := mel(lower)
	width := (mel(upper) - low) / float64(bins+2)
	for i := range edges {
		hz := 700 * (math.Pow(10, (low+float64(i)*width)/2595) - 1)
		edges[i] = int(math.Floor(min(float64(length+1)*hz/float64(rate), 1<<40)))
	}
	h := &Host{Elem: Double, Shape: []int{rows, bins}, Floats: make([]float64, rows*bins)}
	set := func(row, bin int, v float64) {
		if row >= 0 && row < rows {
			h.Floats[row*bins+bin] = v
		}
	}
	for i := range bins {
		left, mid, right := edges[i], edges[i+1], edges[i+2]
		if mid == left {
			set(mid, i, 1)
		} else {
			for j := left; j <= min(mid, rows-1); j++ {
				set(j, i, float64(j-left)/float64(mid-left))
			}
		}
		for j := mid; j < min(right, rows); j++ {
			set(j, i, float64(right-j)/float64(right-mid))
		}
	}
	c.Set(0, c.HostTensor(h).Cast(e.DType()))
	return nil
}
