package onnx

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

// results runs a model without inputs, or with those given, and returns its
// outputs by name.
func results(t testing.TB, g *Graph, in map[string]*sinter.Tensor) map[string]array {
	t.Helper()
	p := compiled(t, modelOf(g))
	out, err := p.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	as := map[string]array{}
	for name, v := range out {
		as[name] = arrayOf(t, v)
	}
	return as
}

func row(v ...float64) array    { return array{[]int{len(v)}, v} }
func single(v float64) array    { return array{[]int{}, []float64{v}} }
func named(n string) *ValueInfo { return &ValueInfo{Name: n} }

// TestLoopForms: loops that end by count, by condition and at once, with values
// of the outer graph, a state, and something collected.
func TestLoopForms(t *testing.T) {
	// x doubles while it is below bound; i·x is collected.
	body := &Graph{
		Inputs: []*ValueInfo{value("i", Int64), value("go", Bool), value("x", Float)},
		Nodes: []*Node{
			node("Mul", list("x", "two"), list("next")), node("Less", list("next", "bound"), list("on")),
			node("Cast", list("i"), list("f"), intA("to", int64(Float))), node("Mul", list("f", "next"), list("seen")),
		},
		Outputs: []*ValueInfo{named("on"), named("next"), value("seen", Float)},
	}
	two := initial(t, "two", []float32{2})
	two.Dims = nil // a scalar
	loop := func(trips, cond string) *Graph {
		return &Graph{
			Inputs:       []*ValueInfo{value("start", Float), value("bound", Float), value("n", Int64), value("c", Bool)},
			Initializers: []*Tensor{two},
			Nodes:        []*Node{node("Loop", list(trips, cond, "start"), list("last", "all"), graphA("body", body))},
			Outputs:      []*ValueInfo{named("last"), named("all")},
		}
	}
	in := func(n int64, c bool) map[string]*sinter.Tensor {
		return map[string]*sinter.Tensor{"start": sinter.Scalar(float32(1)), "bound": sinter.Scalar(float32(20)), "n": sinter.Scalar(n), "c": sinter.FromSlice([]bool{c}).Reshape()}
	}
	for _, c := range []struct {
		trips, cond string
		n           int64
		c           bool
		last        float64
		all         []float64
	}{
		{"n", "c", 3, true, 8, []float64{0, 4, 16}},
		{"n", "c", 100, true, 32, []float64{0, 4, 16, 48, 128}},
		{"", "c", 0, true, 32, []float64{0, 4, 16, 48, 128}},
		{"n", "", 2, false, 4, []float64{0, 4}},
		{"n", "c", 0, true, 1, nil},
		{"n", "c", 5, false, 1, nil},
	} {
		got := results(t, loop(c.trips, c.cond), in(c.n, c.c))
		what := fmt.Sprintf("%+v", c)
		near(t, what, got["last"], single(c.last), 0)
		near(t, what, got["all"], row(c.all...), 0)
	}
}

func TestLoopErrors(t *testing.T) {
	body := &Graph{Inputs: []*ValueInfo{value("i", Int64), value("go", Bool), value("x", Float)},
		Nodes: []*Node{node("Identity", list("go"), list("on")), node("Neg", list("x"), list("next"))}, Outputs: []*ValueInfo{named("on"), named("next")}}
	for what, n := range map[string]*Node{
		"without an end":  node("Loop", list("", "", "x0"), list("y"), graphA("body", body)),
		"two states more": node("Loop", list("n", "", "x0", "x0"), list("y"), graphA("body", body)),
		"outputs":         node("Loop", list("n", "", "x0"), list("y", "z"), graphA("body", body)),
	} {
		g := &Graph{Inputs: []*ValueInfo{value("x0", Float), value("n", Int64)}, Nodes: []*Node{n}, Outputs: []*ValueInfo{named("y")}}
		p, err := modelOf(g).Compile()
		if err == nil {
			_, err = p.Run(context.Background(), map[string]*sinter.Tensor{"x0": sinter.Scalar(float32(1)), "n": sinter.Scalar(int64(2))})
		}
		if err == nil || !strings.Contains(err.Error(), "Loop") {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}

// TestIfInLoop: branches in a loop that see the outer graphs at two depths, and
// pass on what they do not make.
func TestIfInLoop(t *testing.T) {
	branch := func(op string) *Graph {
		return &Graph{Nodes: []*Node{node(op, list("x", "step"), list("b"))}, Outputs: []*ValueInfo{named("b")}}
	}
	body := &Graph{
		Inputs: []*ValueInfo{value("i", Int64), value("go", Bool), value("x", Float, 2)},
		Nodes: []*Node{
			node("Mod", list("i", "two"), list("m")), node("Cast", list("m"), list("odd"), intA("to", int64(Bool))),
			node("If", list("odd"), list("next"), graphA("then_branch", branch("Mul")), graphA("else_branch", branch("Add"))),
			node("Identity", list("go"), list("on")),
		},
		Outputs: []*ValueInfo{named("on"), named("next"), named("x")},
	}
	g := &Graph{
		Inputs:       []*ValueInfo{value("x0", Float, 2), value("step", Float, 2)},
		Initializers: []*Tensor{initial(t, "two", []int64{2}), initial(t, "n", []int64{4})},
		Nodes:        []*Node{node("Loop", list("n", "", "x0"), list("y", "all"), graphA("body", body))},
		Outputs:      []*ValueInfo{named("y"), named("all")},
	}
	got := results(t, g, map[string]*sinter.Tensor{"x0": sinter.FromSlice([]float32{1, 2}), "step": sinter.FromSlice([]float32{3, 5})})
	near(t, "y", got["y"], row(((1+3)*3+3)*3, ((2+5)*5+5)*5), 0)
	near(t, "all", got["all"], array{[]int{4, 2}, []float64{1, 2, 4, 7, 12, 35, 15, 40}}, 0)
}

func scanBody() *Graph { // the running sum
	return &Graph{Inputs: []*ValueInfo{value("s", Float, 2), value("x", Float, 2)},
		Nodes:   []*Node{node("Add", list("s", "x"), list("next")), node("Identity", list("next"), list("seen"))},
		Outputs: []*ValueInfo{named("next"), value("seen", Float, 2)}}
}

func TestScanForms(t *testing.T) {
	x := array{[]int{2, 3}, []float64{1, 2, 3, 10, 20, 30}} // scanned along axis 1
	g := func(attrs ...*Attr) *Graph {
		attrs = append(attrs, graphA("body", scanBody()), intA("num_scan_inputs", 1), intsA("scan_input_axes", 1))
		return &Graph{Inputs: []*ValueInfo{value("s0", Float, 2), value("x", Float, 2, -1)},
			Nodes: []*Node{node("Scan", list("s0", "x"), list("s", "all"), attrs...)}, Outputs: []*ValueInfo{named("s"), named("all")}}
	}
	in := func(x array) map[string]*sinter.Tensor {
		return map[string]*sinter.Tensor{"s0": sinter.FromSlice([]float32{0, 100}), "x": x.f32()}
	}
	got := results(t, g(), in(x))
	near(t, "state", got["s"], row(6, 160), 0)
	near(t, "all", got["all"], array{[]int{3, 2}, []float64{1, 110, 3, 130, 6, 160}}, 0)
	got = results(t, g(intsA("scan_input_directions", 1), intsA("scan_output_axes", -1), intsA("scan_output_directions", 1)), in(x))
	near(t, "backwards", got["all"], array{[]int{2, 3}, []float64{6, 5, 3, 160, 150, 130}}, 0)
	got = results(t, g(), in(array{[]int{2, 0}, nil}))
	near(t, "nothing to scan", got["s"], row(0, 100), 0)
	near(t, "nothing collected", got["all"], array{[]int{0, 2}, nil}, 0)
}

// TestScanOfOpset8 has a batch, whose sequences have lengths.
func TestScanOfOpset8(t *testing.T) {
	x := noise(1, 2, 3, 2) // batch, sequence, elements
	g := &Graph{Inputs: []*ValueInfo{value("n", Int64, 2), value("s0", Float, 2, 2), value("x", Float, 2, 3, 2)},
		Nodes:   []*Node{node("Scan", list("n", "s0", "x"), list("s", "all"), graphA("body", scanBody()), intA("num_scan_inputs", 1))},
		Outputs: []*ValueInfo{named("s"), named("all")}}
	m := modelOf(g)
	m.Opsets[""] = 8
	p := compiled(t, m)
	out, err := p.Run(context.Background(), map[string]*sinter.Tensor{"n": sinter.FromSlice([]int64{2, 3}), "s0": sinter.Zeros(sinter.F32, 2, 2), "x": x.f32()})
	if err != nil {
		t.Fatal(err)
	}
	lengths := []int{2, 3}
	running := func(b, n, e int) float64 {
		s := 0.0
		for i := range n {
			s += x.at(b, i, e)
		}
		return s
	}
	near(t, "state", arrayOf(t, out["s"]), filled(func(at []int) float64 { return running(at[0], lengths[at[0]], at[1]) }, 2, 2), 1e-6)
	near(t, "all", arrayOf(t, out["all"]), filled(func(at []int) float64 {
		if at[1] >= lengths[at[0]] {
			return 0
		}
		return running(at[0], at[1]+1, at[2])
	}, 2, 3, 2), 1e-6)
}

func TestSequences(t *testing.T) {
	a, b, c := sinter.FromSlice([]float32{1, 2}), sinter.FromSlice([]float32{3}), sinter.FromSlice([]float32{4, 5, 6})
	g := &Graph{
		Inputs:       []*ValueInfo{value("a", Float, -2), value("b", Float, -2), value("c", Float, -2)},
		Initializers: []*Tensor{initial(t, "last", []int64{-1}), initial(t, "first", []int64{0})},
		Nodes: []*Node{
			node("SequenceConstruct", list("a", "b"), list("ab")), node("SequenceInsert", list("ab", "c", "first"), list("cab")),
			node("SequenceErase", list("cab", "last"), list("ca")), node("SequenceErase", list("ca"), list("c1")),
			node("ConcatFromSequence", list("cab"), list("flat"), intA("axis", 0)), node("SequenceAt", list("cab", "last"), list("b1")),
			node("SequenceLength", list("cab"), list("n")), node("SequenceAt", list("c1", "first"), list("c2")),
			node("SplitToSequence", list("c"), list("ones"), intA("keepdims", 0)),
			node("ConcatFromSequence", list("ones"), list("stacked"), intA("axis", 0), intA("new_axis", 1)),
		},
		Outputs: []*ValueInfo{named("flat"), named("b1"), named("n"), named("c2"), named("stacked")},
	}
	got := results(t, g, map[string]*sinter.Tensor{"a": a, "b": b, "c": c})
	near(t, "flat", got["flat"], row(4, 5, 6, 1, 2, 3), 0)
	near(t, "b1", got["b1"], row(3), 0)
	near(t, "n", got["n"], single(3), 0)
	near(t, "c2", got["c2"], row(4, 5, 6), 0)
	near(t, "stacked", got["stacked"], row(4, 5, 6), 0)

	seq := SequenceValue(TensorValue(a), TensorValue(b))
	at := func(i int64) *Value { return TensorValue(sinter.Scalar(i)) }
	for what, call := range map[string]func() ([]*Value, error){
		"beyond the end":     func() ([]*Value, error) { return applied{op: "SequenceAt"}.tryValues(seq, at(2)) },
		"before the start":   func() ([]*Value, error) { return applied{op: "SequenceErase"}.tryValues(seq, at(-3)) },
		"insert too far":     func() ([]*Value, error) { return applied{op: "SequenceInsert"}.tryValues(seq, TensorValue(a), at(3)) },
		"erase from nothing": func() ([]*Value, error) { return applied{op: "SequenceErase"}.tryValues(SequenceValue()) },
		"concat of nothing": func() ([]*Value, error) {
			return applied{op: "ConcatFromSequence", attrs: []*Attr{intA("axis", 0)}}.tryValues(SequenceValue())
		},
		"no sequence":       func() ([]*Value, error) { return applied{op: "SequenceLength"}.tryValues(TensorValue(a)) },
		"a sequence":        func() ([]*Value, error) { return applied{op: "Neg"}.tryValues(seq) },
		"a sequence in two": func() ([]*Value, error) { return applied{op: "SequenceConstruct"}.tryValues(seq, TensorValue(a)) },
		"sizes that are many": func() ([]*Value, error) {
			return applied{op: "SplitToSequence"}.tryValues(TensorValue(c), TensorValue(sinter.FromSlice([]int64{2, 2})))
		},
		"an optional of none": func() ([]*Value, error) { return applied{op: "OptionalGetElement"}.tryValues(NoValue()) },
	} {
		if out, err := call(); err == nil {
			t.Errorf("%s: no error but %v", what, out)
		}
	}
}
