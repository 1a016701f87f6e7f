package sinter_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

// A decomposition without a gradient of its own has that of its parts; with one,
// its parts are not looked at.
func TestDecompositionGradient(t *testing.T) {
	rt := sinter.NewRuntime()
	d, err := rt.Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	cube := func(g ir.Graph, in []ir.Value, _ ir.Attrs) []ir.Value {
		return []ir.Value{g.Apply("mul", []ir.Value{in[0], g.Apply("mul", []ir.Value{in[0], in[0]})})}
	}
	operands := []ir.Operand{{Name: "x", Class: ir.FloatClass}}
	for _, r := range []*ir.Row{
		{Name: "test/cube@1", Access: ir.Elementwise, Doc: "y = x cubed.", Operands: operands, Decompose: cube},
		{Name: "test/cube@2", Access: ir.Elementwise, Doc: "y = x cubed.", Operands: operands, Decompose: cube,
			Grad: map[string]string{"x": "dy * 1000"}}, // wrong on purpose, to be seen
	} {
		if err := rt.Define(r); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]float64{"test/cube@1": {12, 27}, "test/cube@2": {1000, 1000}} {
		x := sinter.FromSliceOn(sinter.On(d), []float64{2, -3}).Track()
		y := sinter.Apply(name, []*sinter.Tensor{x})[0]
		grads, err := autodiff.Grad(y.Sum(), x)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := sinter.Data[float64](context.Background(), grads[0])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: gradient %v (%v), expected %v", name, got, err, want)
		}
	}
}

// A body that no device could compile is refused when it is defined.
func TestDefineRefusesBodies(t *testing.T) {
	rt := sinter.NewRuntime()
	if err := rt.Define(nil); err == nil {
		t.Error("a nil row was defined")
	}
	for _, body := range []string{"foo(x)", "max(x)", "pow(x, 2, 3)", "select(x, x, x)", "x & 1", "sqrt(x"} {
		err := rt.Define(&ir.Row{Name: "test/body@1", Access: ir.Elementwise, Doc: "A test.",
			Operands: []ir.Operand{{Name: "x", Class: ir.FloatClass}}, Body: ir.Body{Any: body}})
		if err == nil {
			t.Errorf("%q was defined", body)
		}
	}
	err := rt.Define(&ir.Row{Name: "test/body@1", Access: ir.Elementwise, Doc: "A test.", Attrs: []ir.AttrSpec{{Name: "slope", Kind: ir.AttrFloat, Default: 0.5}},
		Operands: []ir.Operand{{Name: "c", Class: ir.BoolClass}, {Name: "x", Class: ir.FloatClass}, {Name: "z", Class: ir.FloatClass}},
		Body:     ir.Body{Any: "select(c, x, z * slope)"}})
	if err != nil {
		t.Error(err)
	}
}
