package onnx

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter"
)

// Parts of models for tests.

func node(op string, in []string, out []string, attrs ...*Attr) *Node {
	return &Node{Name: op + " of " + out[0], Op: op, Inputs: in, Outputs: out, Attrs: attrs}
}

func list(names ...string) []string { return names }

func intA(name string, v int64) *Attr     { return &Attr{Name: name, Kind: AttrInt, Int: v} }
func floatA(name string, v float32) *Attr { return &Attr{Name: name, Kind: AttrFloat, Float: v} }
func strA(name, v string) *Attr           { return &Attr{Name: name, Kind: AttrString, Str: v} }
func intsA(name string, v ...int64) *Attr {
	return &Attr{Name: name, Kind: AttrInts, Ints: v}
}
func graphA(name string, g *Graph) *Attr { return &Attr{Name: name, Kind: AttrGraph, Graph: g} }

// value declares a value: a negative extent is not known.
func value(name string, e Elem, dims ...int64) *ValueInfo {
	t := &Type{Elem: e, HasShape: true}
	for _, d := range dims {
		t.Dims = append(t.Dims, Dim{Size: max(d, -1)})
	}
	return &ValueInfo{Name: name, Type: t}
}

// constant makes an initializer.
func initial[T sinter.Element](t testing.TB, name string, v []T, dims ...int) *Tensor {
	t.Helper()
	as, err := sinter.Read(context.Background(), sinter.FromSlice(v, dims...))
	if err != nil {
		t.Fatal(err)
	}
	if dims == nil {
		as[0].Shape = []int{len(v)}
	}
	c, err := MakeTensor(name, as[0])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func modelOf(g *Graph) *Model {
	return &Model{IRVersion: 10, Opsets: map[string]int64{"": 21}, Graph: g}
}

// through returns a model as it is after being written and read.
func through(t testing.TB, m *Model) *Model {
	t.Helper()
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func compiled(t testing.TB, m *Model, opts ...Option) *Program {
	t.Helper()
	p, err := through(t, m).Compile(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func floats(t testing.TB, x *sinter.Tensor) []float32 {
	t.Helper()
	v, err := sinter.Data[float32](context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
