package onnx

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
)

// applied is one operator to be run by itself.
type applied struct {
	domain, op string
	opset      int64 // 21 if 0
	attrs      []*Attr
	outs       int // 1 if 0
}

// tryValues runs the operator; a nil input is left out.
func (a applied) tryValues(in ...*Value) ([]*Value, error) {
	n := &Node{Name: "it", Op: a.op, Domain: a.domain, Attrs: a.attrs}
	g := &Graph{Name: "g", Nodes: []*Node{n}}
	values := map[string]*Value{}
	for i, v := range in {
		if v == nil {
			n.Inputs = append(n.Inputs, "")
			continue
		}
		name := fmt.Sprint("in", i)
		values[name] = v
		n.Inputs = append(n.Inputs, name)
		typ := &Type{Elem: v.Elem}
		if v.isSeq {
			typ = &Type{Sequence: &Type{Elem: Float}}
		}
		g.Inputs = append(g.Inputs, &ValueInfo{Name: name, Type: typ})
	}
	for i := range max(a.outs, 1) {
		name := fmt.Sprint("out", i)
		n.Outputs = append(n.Outputs, name)
		g.Outputs = append(g.Outputs, &ValueInfo{Name: name})
	}
	m := modelOf(g)
	if a.opset != 0 {
		m.Opsets[""] = a.opset
	}
	if a.domain != "" {
		m.Opsets[a.domain] = 1
	}
	p, err := m.Compile()
	if err != nil {
		return nil, err
	}
	defer p.Release()
	out, err := p.RunValues(context.Background(), values)
	if err != nil {
		return nil, err
	}
	vs := make([]*Value, len(n.Outputs))
	for i, name := range n.Outputs {
		if vs[i] = out[name]; vs[i].tensor != nil { // what data decides shows when it is read
			if _, err := sinter.Read(context.Background(), vs[i].tensor); err != nil {
				return nil, err
			}
		}
	}
	return vs, nil
}

// try is tryValues of tensors.
func (a applied) try(in ...*sinter.Tensor) ([]*Value, error) {
	vs := make([]*Value, len(in))
	for i, t := range in {
		if t != nil {
			vs[i] = TensorValue(t)
		}
	}
	return a.tryValues(vs...)
}

// run returns the outputs, which are tensors.
func (a applied) run(t testing.TB, in ...*sinter.Tensor) []*sinter.Tensor {
	t.Helper()
	out, err := a.try(in...)
	if err != nil {
		t.Fatal(err)
	}
	ts := make([]*sinter.Tensor, len(out))
	for i, v := range out {
		ts[i] = v.Tensor(sinter.DefaultDevice())
	}
	return ts
}

// one is run of an operator with one output, as an array for loops.
func (a applied) one(t testing.TB, in ...*sinter.Tensor) array {
	t.Helper()
	return arrayOf(t, a.run(t, in...)[0])
}

// array is a tensor's elements in float64: what tests compute with.
type array struct {
	shape []int
	v     []float64
}

func arrayOf(t testing.TB, x *sinter.Tensor) array {
	t.Helper()
	as, err := sinter.Read(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	v, err := hostOf(ElemOf(as[0].DType), as[0]).floats()
	if err != nil {
		t.Fatal(err)
	}
	return array{as[0].Shape, v}
}

func (a array) at(index ...int) float64 {
	i := 0
	for k, n := range a.shape {
		i = i*n + index[k]
	}
	return a.v[i]
}

// filled makes an array by a function of the index.
func filled(f func(at []int) float64, shape ...int) array {
	a := array{shape, make([]float64, product(shape))}
	at := make([]int, len(shape))
	for i := range a.v {
		rest := i
		for k := len(shape) - 1; k >= 0; k-- {
			at[k] = rest % shape[k]
			rest /= shape[k]
		}
		a.v[i] = f(at)
	}
	return a
}

// noise makes numbers between -1 and 1.
func noise(seed uint64, shape ...int) array {
	s := seed*0x9E3779B97F4A7C15 + 1
	return filled(func([]int) float64 {
		s ^= s << 13
		s ^= s >> 7
		s ^= s << 17
		return float64(float32(float64(s>>11)/(1<<52) - 1))
	}, shape...)
}

func (a array) f32() *sinter.Tensor {
	v := make([]float32, len(a.v))
	for i, x := range a.v {
		v[i] = float32(x)
	}
	return sinter.FromSlice(v, a.shape...)
}

// as makes a tensor of integers.
func (a array) as(d sinter.DType) *sinter.Tensor {
	v := make([]int64, len(a.v))
	for i, x := range a.v {
		v[i] = int64(x)
	}
	return sinter.FromSlice(v, a.shape...).Cast(d)
}

// near compares arrays to within tol, absolute and relative.
func near(t testing.TB, what string, got, want array, tol float64) {
	t.Helper()
	if fmt.Sprint(got.shape) != fmt.Sprint(want.shape) {
		t.Fatalf("%s: shape %v, expected %v", what, got.shape, want.shape)
	}
	for i, w := range want.v {
		if d := math.Abs(got.v[i] - w); !(d <= tol*(1+math.Abs(w))) {
			t.Fatalf("%s: element %d of %v is %v, expected %v", what, i, want.shape, got.v[i], w)
		}
	}
}
