package onnx

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
)

// attempt does with a file what a program would: it reads, compiles and runs it,
// on a device of little memory, for a moment. It returns the error, if any.
func attempt(t testing.TB, data []byte) error {
	t.Helper()
	m, err := Parse(data)
	if err != nil {
		return err
	}
	p, err := m.Compile()
	if err != nil {
		return err
	}
	b, err := cpu.New(cpu.Options{Memory: 64 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.NewRuntime().Adopt(b)
	defer d.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	in := map[string]*Value{}
	for _, v := range p.Inputs() {
		if in[v.Name], err = sampleInput(d, v.Type); err != nil {
			return err
		}
	}
	out, err := p.RunValues(ctx, in)
	if err != nil {
		return err
	}
	for _, v := range out {
		if v.IsSequence() || v.IsNone() || v.Elem == String {
			continue
		}
		if _, err := v.Array(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sampleInput makes ones of a declared type, if they are few.
func sampleInput(d *sinter.Device, t *Type) (*Value, error) {
	switch {
	case t == nil:
		t = &Type{Elem: Float}
	case t.Sequence != nil:
		return SequenceValue(), nil
	case t.Optional != nil:
		return NoValue(), nil
	}
	var shape []int
	for _, dim := range t.Dims {
		shape = append(shape, int(min(max(dim.Size, 2), 1<<20)))
	}
	if product(shape) > 1<<20 || !t.Elem.DType().Valid() {
		return nil, fmt.Errorf("inputs of type %s", t)
	}
	v := TensorValue(sinter.On(d).Ones(t.Elem.DType(), shape...))
	v.Elem = t.Elem
	return v, v.tensor.Err()
}

// quick fails the test if f takes long or much memory.
func quick(t testing.TB, name string, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	f()
	if took := time.Since(began); took > 30*time.Second { // on a busy machine: a hundredth of it elsewhere
		t.Errorf("%s: took %v", name, took)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<30 {
		t.Errorf("%s: allocated %d MB", name, got>>20)
	}
}

// control is a model with graphs in graphs, a function and folded constants.
func control(t testing.TB) *Model {
	body := &Graph{Name: "body", Inputs: []*ValueInfo{value("i", Int64), value("go", Bool), value("s", Float, 2)},
		Outputs: []*ValueInfo{value("more", Bool), value("t", Float, 2)},
		Nodes:   []*Node{node("Identity", list("go"), list("more")), node("Twice", list("s"), list("t"))}}
	body.Nodes[1].Domain = "local"
	branch := func(name, op string) *Graph {
		return &Graph{Name: name, Outputs: []*ValueInfo{value(name+"_out", Float, 2)}, Nodes: []*Node{node(op, list("x"), list(name+"_out"))}}
	}
	m := modelOf(&Graph{Name: "main",
		Inputs:       []*ValueInfo{value("x", Float, 2)},
		Outputs:      []*ValueInfo{value("y", Float, 2), value("z", Float, 2)},
		Initializers: []*Tensor{initial(t, "n", []int64{2}), initial(t, "yes", []bool{true}), initial(t, "k", []float32{1, 2})},
		Nodes: []*Node{
			node("Neg", list("k"), list("nk")),
			node("Loop", list("n", "yes", "x"), list("loop"), graphA("body", body)),
			node("If", list("yes"), list("z"), graphA("then_branch", branch("then", "Relu")), graphA("else_branch", branch("else", "Neg"))),
			node("Add", list("loop", "nk"), list("y")),
		}})
	m.Opsets["local"] = 1
	m.Functions = []*Function{{Domain: "local", Name: "Twice", Inputs: list("a"), Outputs: list("b"), Opsets: map[string]int64{"": 21},
		Nodes: []*Node{node("Add", list("a", "a"), list("b"))}}}
	return m
}

func TestControlModelRuns(t *testing.T) {
	p := compiled(t, control(t))
	out, err := p.Run(context.Background(), map[string]*sinter.Tensor{"x": sinter.FromSlice([]float32{3, -5})})
	if err != nil {
		t.Fatal(err)
	}
	if y, z := floats(t, out["y"]), floats(t, out["z"]); y[0] != 3*4-1 || y[1] != -5*4-2 || z[0] != 3 || z[1] != 0 {
		t.Errorf("%v and %v", y, z)
	}
}

// No cut and no flipped bit of a file is more than an error.
func TestEveryTruncationAndFlip(t *testing.T) {
	for name, m := range map[string]*Model{"mlp": mlp(t), "control": control(t)} {
		whole, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := attempt(t, whole); err != nil {
			t.Fatal(err)
		}
		step := 1
		if testing.Short() {
			step = 17
		}
		for n := 0; n < len(whole); n += step {
			quick(t, fmt.Sprintf("%s cut to %d bytes", name, n), func() {
				_ = attempt(t, whole[:n:n]) // a cut between fields may leave a valid model
			})
		}
		for n := 0; n < len(whole); n += step {
			b := append([]byte(nil), whole...)
			b[n] ^= 1 << (n % 8)
			quick(t, fmt.Sprintf("%s with byte %d flipped", name, n), func() {
				if err := attempt(t, b); errors.Is(err, sinter.ErrInternal) {
					t.Errorf("%s with byte %d flipped: %v", name, n, err)
				}
			})
		}
	}
}

// deepGraph nests graphs of If, n deep.
func deepGraph(n int) *Graph {
	g := &Graph{Outputs: []*ValueInfo{value("x", Float)}}
	for range n {
		g = &Graph{Outputs: []*ValueInfo{value("y", Float)}, Nodes: []*Node{node("If", list("c"), list("y"), graphA("then_branch", g), graphA("else_branch", &Graph{Outputs: []*ValueInfo{value("x", Float)}}))}}
	}
	g.Inputs = []*ValueInfo{value("x", Float), value("c", Bool)}
	return g
}

func TestHostileModels(t *testing.T) {
	huge := int64(1) << 62
	raw := func(name string, e Elem, b []byte, dims ...int64) *Tensor {
		return &Tensor{Name: name, Elem: e, Dims: dims, given: "raw_data", raw: b}
	}
	relu := func(init *Tensor) *Graph {
		return &Graph{Outputs: []*ValueInfo{value("y", Float)}, Initializers: []*Tensor{init}, Nodes: []*Node{node("Relu", list("w"), list("y"))}}
	}
	chain := func(nodes ...*Node) *Graph {
		return &Graph{Inputs: []*ValueInfo{value("x", Float, 2)}, Outputs: []*ValueInfo{value("y", Float)}, Nodes: nodes}
	}
	calls := modelOf(chain(&Node{Op: "F0", Domain: "f", Inputs: list("x"), Outputs: list("y")}))
	for i := range 40 { // each calls the next one twice
		next := func(in, out string) *Node {
			return &Node{Op: fmt.Sprint("F", i+1), Domain: "f", Inputs: list(in), Outputs: list(out)}
		}
		calls.Functions = append(calls.Functions, &Function{Domain: "f", Name: fmt.Sprint("F", i), Inputs: list("a"), Outputs: list("c"), Nodes: []*Node{next("a", "b"), next("b", "c")}})
	}
	calls.Functions = append(calls.Functions, &Function{Domain: "f", Name: "F40", Inputs: list("a"), Outputs: list("b"), Nodes: []*Node{node("Neg", list("a"), list("b"))}})
	self := modelOf(chain(&Node{Op: "F", Domain: "f", Inputs: list("x"), Outputs: list("y")}))
	self.Functions = []*Function{{Domain: "f", Name: "F", Inputs: list("a"), Outputs: list("b"), Nodes: []*Node{{Op: "F", Domain: "f", Inputs: list("a"), Outputs: list("b")}}}}
	foldBomb := &Graph{Outputs: []*ValueInfo{value("y", Float)}, Initializers: []*Tensor{initial(t, "c", []float32{1}), initial(t, "to", []int64{1 << 24})}}
	for i := range 2000 { // 64 MB each
		foldBomb.Nodes = append(foldBomb.Nodes, node("Expand", list("c", "to"), list(fmt.Sprint("v", i))), node("ReduceSum", list(fmt.Sprint("v", i)), list(fmt.Sprint("s", i))))
	}
	foldBomb.Nodes = append(foldBomb.Nodes, node("Identity", list("s1999"), list("y")))
	for _, tc := range []struct {
		name string
		m    *Model
		want []string
	}{
		{"a huge extent", modelOf(relu(raw("w", Float, make([]byte, 8), huge))), []string{`"w"`, "extents"}},
		{"extents that overflow", modelOf(relu(raw("w", Float, make([]byte, 8), 1<<31, 1<<31, 1<<31))), []string{`"w"`, "too many elements"}},
		{"extents that overflow to 0", modelOf(relu(raw("w", Float, nil, 1<<32, 1<<32))), []string{`"w"`, "too many elements"}},
		{"a negative extent", modelOf(relu(raw("w", Float, make([]byte, 8), -2))), []string{`"w"`, "extents"}},
		{"many axes", modelOf(relu(raw("w", Float, make([]byte, 4), make([]int64, 1000)...))), []string{`"w"`, "1000 axes"}},
		{"less data than declared", modelOf(relu(raw("w", Float, make([]byte, 8), 3))), []string{`"w"`, "8 bytes", "needs 12"}},
		{"more data than declared", modelOf(relu(raw("w", Float, make([]byte, 9), 2))), []string{`"w"`, "9 bytes", "needs 8"}},
		{"data in another field", modelOf(relu(&Tensor{Name: "w", Elem: Float, Dims: []int64{1}, given: "int64_data", ints: []int64{1}})), []string{`"w"`, "int64_data", "float32"}},
		{"an unknown element type", modelOf(relu(raw("w", 99, make([]byte, 8), 2))), []string{`"w"`, "99"}},
		{"no data", modelOf(relu(&Tensor{Name: "w", Elem: Float, Dims: []int64{2}})), []string{`"w"`, "no data"}},
		{"an initializer twice", modelOf(&Graph{Initializers: []*Tensor{raw("w", Float, nil, 0), raw("w", Float, nil, 0)}}), []string{`"w"`, "twice"}},
		{"a missing value", modelOf(chain(node("Add", list("x", "w"), list("y")))), []string{"Add of y", `"w"`, "made by no node"}},
		{"a cycle", modelOf(chain(node("Add", list("x", "b"), list("a")), node("Neg", list("a"), list("b")), node("Neg", list("b"), list("y")))), []string{"3 nodes", "Add of a"}},
		{"a node that needs itself", modelOf(chain(node("Add", list("x", "y"), list("y")))), []string{"Add of y"}},
		{"a value twice", modelOf(chain(node("Neg", list("x"), list("y")), node("Abs", list("x"), list("y")))), []string{`"y"`, "exists already"}},
		{"a value with an input's name", modelOf(chain(node("Neg", list("x"), list("x")))), []string{`"x"`, "exists already"}},
		{"an output that nobody makes", modelOf(chain()), []string{`"y"`, "made by no node"}},
		{"graphs in graphs", modelOf(deepGraph(30)), nil},
		{"functions that multiply", calls, []string{"more than 200000 nodes"}},
		{"a function that calls itself", self, []string{"more than 64 deep"}},
		{"an unknown operator", modelOf(chain(node("Frobnicate", list("x"), list("y")))), []string{"Frobnicate", "not supported"}},
		{"an unknown attribute", modelOf(chain(node("Relu", list("x"), list("y"), intA("alpha", 1)))), []string{"alpha", "not supported"}},
		{"an attribute of another type", modelOf(chain(node("LeakyRelu", list("x"), list("y"), strA("alpha", "1")))), []string{"alpha", "string", "float"}},
		{"too few inputs", modelOf(chain(node("Add", list("x"), list("y")))), []string{"1 inputs", "takes 2"}},
		{"constants that grow", modelOf(foldBomb), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := tc.m.Marshal()
			if err != nil {
				m := tc.m // what cannot be written is compiled as it is
				quick(t, tc.name, func() { _, err = m.Compile() })
			} else {
				quick(t, tc.name, func() { err = attempt(t, b) })
			}
			if err == nil && tc.want != nil {
				t.Fatal("no error")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
}

// All problems of a model come in one error.
func TestAllProblemsAtOnce(t *testing.T) {
	g := &Graph{Inputs: []*ValueInfo{value("x", Float, 2), value("z", Complex64)}, Outputs: []*ValueInfo{value("y", Float)},
		Nodes: []*Node{node("Frobnicate", list("x"), list("a")), node("Add", list("a", "nothing"), list("b")), node("Relu", list("b"), list("y"), intA("k", 1))}}
	_, err := through(t, modelOf(g)).Compile()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"4 problems", "Frobnicate of a", `"nothing"`, "Relu of y", "complex64"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	many := &Graph{Inputs: []*ValueInfo{value("x", Float, 2)}, Outputs: []*ValueInfo{value("x", Float)}}
	for i := range 100_000 {
		many.Nodes = append(many.Nodes, node("Frobnicate", list("x"), list(fmt.Sprint(i))))
	}
	if _, err := modelOf(many).Compile(); err == nil || len(err.Error()) > 10_000 || !strings.Contains(err.Error(), "100000 problems") {
		t.Errorf("100000 problems give %.300v", err)
	}
}

// Files whose few bytes ask for much.
func TestAmplification(t *testing.T) {
	field := func(num protowire.Number, b []byte) []byte { return putBytes(nil, num, b) }
	nest := func(n int, nums ...protowire.Number) []byte {
		b := []byte{}
		for i := range n {
			b = field(nums[len(nums)-1-i%len(nums)], b)
		}
		return b
	}
	nodes := func(n int) []byte { // of two bytes each
		g := []byte{}
		for range n {
			g = append(g, 0x0a, 0)
		}
		return field(7, g)
	}
	for name, b := range map[string][]byte{
		"types in types":    field(7, field(11, field(2, nest(5000, 4, 1)))),
		"graphs in graphs":  nest(6000, 7, 1, 5, 6)[0:],
		"ten million nodes": nodes(10_000_000),
		"a length beyond":   protowire.AppendVarint([]byte{0x3a}, math.MaxUint64),
		"endless varint":    {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a group":           {0x3b, 0x3c},
		"field 0":           {0x02, 0x00},
		"nothing":           {},
		"a graph of none":   {0x3a, 0x00},
		"text":              []byte("this is no model"),
	} {
		quick(t, name, func() {
			if err := attempt(t, b); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

// Strides beyond any size are an error of the operands, not of Sinter.
func TestHugeStrides(t *testing.T) {
	for _, op := range []string{"Conv", "ConvTranspose", "MaxPool", "AveragePool"} {
		n := node(op, list("x", "w"), list("y"), intsA("strides", 1<<40, 1<<62))
		if op == "MaxPool" || op == "AveragePool" {
			n.Inputs = n.Inputs[:1]
			n.Attrs = append(n.Attrs, intsA("kernel_shape", 2, 2))
		}
		p := compiled(t, modelOf(&Graph{Inputs: []*ValueInfo{value("x", Float, 1, 1, 3, 3), value("w", Float, 1, 1, 2, 2)}, Outputs: []*ValueInfo{value("y", Float)}, Nodes: []*Node{n}}))
		out, err := p.Run(context.Background(), map[string]*sinter.Tensor{"x": sinter.Ones(sinter.F32, 1, 1, 3, 3), "w": sinter.Ones(sinter.F32, 1, 1, 2, 2)})
		if err == nil { // one window fits
			_, err = sinter.Data[float32](context.Background(), out["y"])
		}
		if errors.Is(err, sinter.ErrInternal) || op == "ConvTranspose" && err == nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}
