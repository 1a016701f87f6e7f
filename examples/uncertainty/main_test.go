package main

import (
	"io"
	"math"
	"testing"
)

func TestUncertainty(t *testing.T) {
	points, err := run(t.Context(), io.Discard)
	if err != nil || len(points) != 7 {
		t.Fatal(points, err)
	}
	for _, p := range points {
		if want := curve(p.X); math.Abs(p.Mean-want) > deviation(p.X) {
			t.Errorf("at %.2f the mean is %.3f, want %.3f", p.X, p.Mean, want)
		}
		if ratio := p.Deviation / deviation(p.X); ratio < 0.6 || ratio > 1.5 {
			t.Errorf("at %.2f the deviation is %.3f, want %.3f", p.X, p.Deviation, deviation(p.X))
		}
	}
}
