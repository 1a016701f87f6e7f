package onnx

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
)

// once runs a node on arrays and returns its outputs.
func once(t testing.TB, n *Node, in ...*Host) []*Host {
	t.Helper()
	g := &Graph{Nodes: []*Node{n}}
	values := map[string]*Value{}
	for i, h := range in {
		name := fmt.Sprint("in", i)
		if h == nil {
			n.Inputs = append(n.Inputs, "")
			continue
		}
		n.Inputs = append(n.Inputs, name)
		g.Inputs = append(g.Inputs, &ValueInfo{Name: name})
		values[name] = HostValue(h)
		if h.Elem != String {
			values[name] = TensorValue(h.tensor(sinter.DefaultDevice()))
		}
	}
	for _, o := range n.Outputs {
		g.Outputs = append(g.Outputs, &ValueInfo{Name: o})
	}
	m := modelOf(g)
	m.Opsets[""] = newestOpset
	out, err := compiled(t, m).RunValues(context.Background(), values)
	if err != nil {
		t.Fatalf("%s: %v", n.Op, err)
	}
	var hs []*Host
	for _, o := range n.Outputs {
		v := out[o]
		if v.Elem == String {
			hs = append(hs, v.host)
			continue
		}
		a, err := v.Array(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		hs = append(hs, hostOf(v.Elem, a))
	}
	return hs
}

func floatsOf(e Elem, shape []int, v ...float64) *Host {
	return &Host{Elem: e, Shape: shape, Floats: v}
}

func wholes(v ...int64) *Host { return &Host{Elem: Int64, Shape: []int{len(v)}, Ints: v} }

// A slice takes the elements that walking from start in steps meets before end.
func TestSpans(t *testing.T) {
	for extent := range 5 {
		for start := -7; start <= 7; start++ {
			for end := -7; end <= 7; end++ {
				for _, step := range []int{-math.MaxInt, -3, -2, -1, 1, 2, 3, math.MaxInt} {
					s, err := spanOf(start, end, step, extent)
					if err != nil {
						t.Fatal(err)
					}
					var got, want []int
					for i := range s.count {
						got = append(got, s.start+i*s.step)
					}
					from, to := start, end
					if from < 0 {
						from += extent
					}
					if to < 0 {
						to += extent
					}
					for i := range extent { // in the order of the walk
						if step < 0 {
							i = extent - 1 - i
						}
						inside := i >= from && i < to
						begin := max(from, 0)
						if step < 0 {
							inside = i <= from && i > to
							begin = min(from, extent-1)
						}
						if inside && (i-begin)%step == 0 {
							want = append(want, i)
						}
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%d:%d:%d of %d: %v, expected %v", start, end, step, extent, got, want)
					}
				}
			}
		}
	}
	for _, s := range []span{{0, 3, 1}, {1, 2, 2}, {4, 3, -2}, {2, 3, -1}, {3, 1, -1}, {0, 0, 1}} {
		x := sinter.Arange(5, sinter.I64).Slice(s.rangeOf())
		got, err := sinter.Data[int64](context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.count {
			if got[i] != int64(s.start+i*s.step) || len(got) != s.count {
				t.Errorf("%v takes %v", s, got)
			}
		}
	}
}

// Narrow floats are the nearest of all codes, the even one of two.
func TestNarrowFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for e, f := range floatFormats {
		if e == Float8E8M0 {
			continue
		}
		codes := 1 << elems[e].bits
		var x []float64
		for c := range codes { // each value, the middle to its neighbour, and what is beside that
			v, w := float64(f.decode(byte(c))), float64(f.decode(byte(min(c+1, codes-1))))
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			mid := float64(float32((v + w) / 2))
			x = append(x, v, -v, mid, float64(math.Nextafter32(float32(mid), 1e30)), float64(math.Nextafter32(float32(mid), -1e30)))
		}
		for range 2000 {
			x = append(x, float64(float32(math.Ldexp(rng.NormFloat64(), rng.IntN(30)-18))))
		}
		x = slices.DeleteFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > f.max() })
		got := once(t, node("Cast", nil, list("y"), intA("to", int64(e))), floatsOf(Float, []int{len(x)}, x...))[0]
		for i, v := range x {
			best, even := math.Inf(1), 0.0
			for c := range codes {
				w := float64(f.decode(byte(c)))
				if d := math.Abs(w - v); d < best || d == best && c%2 == 0 {
					best, even = d, w
				}
			}
			if got.Floats[i] != even {
				t.Fatalf("%v as %s is %v, expected %v", v, e, got.Floats[i], even)
			}
		}
	}
}

// Beyond the greatest value the result is that, or, without saturation, infinity
// or NaN as the type has them.
func TestNarrowFloatsBeyond(t *testing.T) {
	x := floatsOf(Float, []int{4}, 1e9, -1e9, math.Inf(1), math.NaN())
	for e, most := range map[Elem]float64{Float8E4M3FN: 448, Float8E4M3FNUZ: 240, Float8E5M2: 57344, Float8E5M2FNUZ: 57344} {
		if m := floatFormats[e].max(); m != most {
			t.Errorf("%s ends at %v, expected %v", e, m, most)
		}
		got := once(t, node("Cast", nil, list("y"), intA("to", int64(e))), x)[0].Floats
		if got[0] != most || got[1] != -most || got[2] != most || !math.IsNaN(got[3]) {
			t.Errorf("%s saturates to %v", e, got)
		}
		got = once(t, node("Cast", nil, list("y"), intA("to", int64(e)), intA("saturate", 0)), x)[0].Floats
		if inf := floatFormats[e].inf; inf && !math.IsInf(got[0], 1) || !inf && !math.IsNaN(got[0]) || !math.IsNaN(got[3]) {
			t.Errorf("%s without saturation: %v", e, got)
		}
	}
}

// sumDFT is the definition of the transform.
func sumDFT(x []complex128, n int, inverse bool) []complex128 {
	out := make([]complex128, n)
	for k := range out {
		for j := range min(n, len(x)) {
			angle := -2 * math.Pi * float64(k*j%n) / float64(n)
			if inverse {
				angle = -angle
			}
			out[k] += x[j] * cmplx.Exp(complex(0, angle))
		}
		if inverse {
			out[k] /= complex(float64(n), 0)
		}
	}
	return out
}

func TestDFT(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 4, 5, 6} {
		for _, length := range []int{0, 3, 8} {
			for _, parts := range []int{1, 2} {
				for _, inverse := range []int64{0, 1} {
					for _, onesided := range []int64{0, 1} {
						if onesided == 1 && (inverse == 1 || parts == 2) {
							continue // below
						}
						x := make([]complex128, n)
						h := floatsOf(Double, []int{1, n, parts})
						for i := range x {
							re, im := rng.NormFloat64(), 0.0
							h.Floats = append(h.Floats, re)
							if parts == 2 {
								im = rng.NormFloat64()
								h.Floats = append(h.Floats, im)
							}
							x[i] = complex(re, im)
						}
						m := n
						var l *Host
						if length > 0 {
							m, l = length, wholes(int64(length))
						}
						got := once(t, node("DFT", nil, list("y"), intA("inverse", inverse), intA("onesided", onesided)), h, l, wholes(1))[0]
						want := sumDFT(x, m, inverse == 1)
						if onesided == 1 {
							want = want[:m/2+1]
						}
						if !slices.Equal(got.Shape, []int{1, len(want), 2}) {
							t.Fatalf("shape %v, expected %d", got.Shape, len(want))
						}
						for i, w := range want {
							if g := complex(got.Floats[2*i], got.Floats[2*i+1]); cmplx.Abs(g-w) > 1e-12 {
								t.Errorf("n %d length %d parts %d inverse %d onesided %d: %d is %v, expected %v", n, length, parts, inverse, onesided, i, g, w)
							}
						}
					}
				}
			}
		}
	}
	// A one-sided inverse gives real numbers back.
	x := floatsOf(Double, []int{1, 6, 1}, 1, -2, 3, 0.5, 4, 2)
	half := once(t, node("DFT", nil, list("y"), intA("onesided", 1)), x, nil, wholes(1))[0]
	back := once(t, node("DFT", nil, list("y"), intA("onesided", 1), intA("inverse", 1)), half, nil, wholes(1))[0]
	for i := range x.Floats {
		if math.Abs(back.Floats[i]-x.Floats[i]) > 1e-12 || len(back.Floats) != 6 {
			t.Fatalf("%v came back as %v", x.Floats, back.Floats)
		}
	}
}

func TestUnique(t *testing.T) {
	x := floatsOf(Float, []int{7}, 2, 1, 1, 3, math.NaN(), 2, math.NaN())
	for sorted, want := range map[int64][][]float64{
		1: {{1, 2, 3, math.NaN()}, {1, 0, 3, 4}, {1, 0, 0, 2, 3, 1, 3}, {2, 2, 1, 2}},
		0: {{2, 1, 3, math.NaN()}, {0, 1, 3, 4}, {0, 1, 1, 2, 3, 0, 3}, {2, 2, 1, 2}},
	} {
		got := once(t, node("Unique", nil, list("y", "first", "inverse", "counts"), intA("sorted", sorted)), x)
		for i, w := range want {
			g, _ := got[i].floats()
			if !slices.EqualFunc(g, w, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
				t.Errorf("sorted %d, output %d: %v, expected %v", sorted, i, g, w)
			}
		}
	}
}

func TestIntegerDivisionTruncates(t *testing.T) {
	got := once(t, node("Div", nil, list("y")), wholes(7, -7, 7, -7, math.MinInt64, 6), wholes(2, 2, -2, -2, 1, 3))[0]
	if want := []int64{3, -3, -3, 3, math.MinInt64, 2}; !slices.Equal(got.Ints, want) {
		t.Errorf("%v, expected %v", got.Ints, want)
	}
}

// A string operator's corner cases, by Python's split and ONNX's text.
func TestStrings(t *testing.T) {
	text := func(s ...string) *Host { return &Host{Elem: String, Shape: []int{len(s)}, Strs: s} }
	got := once(t, node("StringSplit", nil, list("y", "n"), intA("maxsplit", 1)), text("  a b  c ", "", "a "))
	if want := []string{"a", "b  c ", "", "", "a", ""}; !slices.Equal(got[0].Strs, want) || !slices.Equal(got[1].Ints, []int64{2, 0, 1}) {
		t.Errorf("%q, %v, expected %q", got[0].Strs, got[1].Ints, want)
	}
	got = once(t, node("StringSplit", nil, list("y", "n"), strA("delimiter", ",")), text("a,,b", ""))
	if want := []string{"a", "", "b", "", "", ""}; !slices.Equal(got[0].Strs, want) || !slices.Equal(got[1].Ints, []int64{3, 1}) {
		t.Errorf("%q, %v, expected %q", got[0].Strs, got[1].Ints, want)
	}
	got = once(t, node("RegexFullMatch", nil, list("y"), strA("pattern", "a|ab")), text("a", "ab", "abc", "xa"))
	if !slices.Equal(got[0].Ints, []int64{1, 1, 0, 0}) {
		t.Errorf("matches %v", got[0].Ints)
	}
}
