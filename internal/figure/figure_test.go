package figure

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"math"
	"strings"
	"testing"
)

func TestScale(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values          []float64
		share           bool
		low, high, step float64
	}{
		{[]float64{1.13, 0.19}, false, 0, 1.5, 0.5},
		{[]float64{0.91, 0.981}, true, 0.9, 1, 0.02},
		{[]float64{98, 99}, false, 98, 99, 0.5},
		{nil, false, 0, 1, 0.5},
		{[]float64{nan, math.Inf(1)}, false, 0, 1, 0.5},
		{[]float64{1, 1}, true, 0.5, 1, 0.5},
		{[]float64{0}, true, 0, 0.5, 0.5},
		{[]float64{-math.MaxFloat64, math.MaxFloat64}, false, 0, 1, 0.5},
	} {
		low, high, step := scale(c.values, c.share)
		for _, v := range c.values { // all are between, if they can be
			if finite(v) && finite(high-low) && math.Abs(v) < 1e300 && (v < low-1e-9 || v > high+1e-9) {
				t.Errorf("%v: %v to %v", c.values, low, high)
			}
		}
		if math.Abs(low-c.low) > 1e-9 || math.Abs(high-c.high) > 1e-9 || math.Abs(step-c.step) > 1e-9 {
			t.Errorf("%v: %v to %v by %v, want %v to %v by %v", c.values, low, high, step, c.low, c.high, c.step)
		}
	}
}

// TestFiguresOfNothing draws what has nothing to show, or strange values.
func TestFiguresOfNothing(t *testing.T) {
	r, err := NewRaster(200, 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &SVG{Width: 200, Height: 200, Label: `a "b" <c>`}
	b := Box{W: 200, H: 200}
	for _, to := range []Canvas{r, s} {
		for _, values := range [][]float64{nil, {1}, {math.NaN()}, {1, math.NaN(), 3, 4, math.Inf(-1)}} {
			Curve{Title: "<&>", Values: values, Color: Blue}.Draw(to, b)
		}
		Matrix{}.Draw(to, b)
		Matrix{Classes: 2, Counts: make([]int64, 4)}.Draw(to, b)
		Gallery{Pictures: []Picture{{}, {Width: 1, Values: []float32{2}}}}.Draw(to, b)
	}
	d := xml.NewDecoder(strings.NewReader(s.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(s.String(), "NaN") || strings.Contains(s.String(), "Inf") {
		t.Error("coordinates that are no numbers")
	}
}

func TestRaster(t *testing.T) {
	r, err := NewRaster(40, 20, 2)
	if err != nil {
		t.Fatal(err)
	}
	r.Rect(1, 1, 2, 2, Red)
	r.Line([]Point{{10, 5}, {10, 15}, {20, 15}}, 2, Blue)
	r.Text(30, 15, 12, Center, "8", Ink)
	white := color.NRGBA{0xff, 0xff, 0xff, 0xff}
	for at, want := range map[[2]int]color.NRGBA{{0, 0}: white, {3, 3}: Red, {6, 6}: white, {20, 20}: Blue, {20, 30}: Blue, {30, 30}: Blue, {30, 20}: white} {
		if got := r.Image.NRGBAAt(at[0], at[1]); got != want {
			t.Errorf("pixel %v is %v, want %v", at, got, want)
		}
	}
	left, right := 0, 0 // the text is centred at pixel 60
	for y := range 40 {
		for x := 45; x < 75; x++ {
			if r.Image.NRGBAAt(x, y) != white {
				if x < 60 {
					left++
				} else {
					right++
				}
			}
		}
	}
	if left == 0 || right == 0 || left > 2*right || right > 2*left {
		t.Errorf("%d pixels left of the middle, %d right of it", left, right)
	}
}
