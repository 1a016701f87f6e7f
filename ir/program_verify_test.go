package ir

import (
	"errors"
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	const text = `program
  in %1 f32[2,3]
  in %2 bool[4]
  %3 = sum %1 {axes=[1]}
  %4 = neg %3 @ "model.go:3"
  %5 %6 = nonzero %2 {max=3}
  out %4 %6`
	f32 := Type{F32, Shape{2, 3}}
	for _, c := range []struct {
		change func(p *Program)
		want   string
		cause  error
	}{
		{func(p *Program) {}, "", nil},
		{func(p *Program) { p.Outputs = nil }, "", nil},
		{func(p *Program) { p.Inputs[1].ID = 1 }, "input 1: %1 is defined twice", nil},
		{func(p *Program) { p.Inputs[0].DType = 77 }, "input 0, %1: dtype(77) is not a dtype", ErrDType},
		{func(p *Program) { p.Inputs[0].Shape = Shape{-2} }, "negative extent", ErrShape},
		{func(p *Program) { p.Nodes[0].Row = nil }, "node 0: it has no row", nil},
		{func(p *Program) { p.Nodes[1].In[0].ID = 9 }, "model.go:3: node 1: neg: operand %9 is not defined before", nil},
		{func(p *Program) { p.Nodes[0].In[0].ID = 4 }, "node 0: sum: operand %4 is not defined before", nil},
		{func(p *Program) { p.Nodes[1].In[0].Type = f32 }, "operand %3 is stated as f32[2,3], but defined as f32[2]", nil},
		{func(p *Program) { p.Nodes[1].Out[0].Type = f32 }, "result %4 is stated as f32[2,3], expected f32[2]", nil},
		{func(p *Program) { p.Nodes[1].Out[0].ID = 3 }, "result %3 is defined twice", nil},
		{func(p *Program) { p.Nodes[2].Out[1].ID = 5 }, "result %5 is defined twice", nil},
		{func(p *Program) { p.Nodes[2].Out = p.Nodes[2].Out[:1] }, "nonzero: got 1 results, expected 2", nil},
		{func(p *Program) { p.Nodes[0].Attrs = nil }, "got 0 attributes, expected 2", ErrArgument},
		{func(p *Program) { p.Nodes[0].Attrs[0].Kind = AttrInt }, `attribute "axes": it is of kind 1, expected 2`, ErrArgument},
		{func(p *Program) { p.Nodes[0].Attrs[0].List = []int64{5} }, "axis 5 is out of range", ErrShape},
		{func(p *Program) { p.Nodes[0].Attrs[1].Int = 2 }, "2 is not a bool", ErrArgument},
		{func(p *Program) { p.Nodes[0].Attrs[0].List = make([]int64, MaxAttrList+1) }, "entries in a list, at most", nil},
		{func(p *Program) { p.Nodes[1].In = make([]Tensor, MaxOperands+1) }, "operands, at most", nil},
		{func(p *Program) { p.Nodes[1].Site.Text = strings.Repeat("x", MaxNameBytes+1) }, "bytes of site, at most", nil},
		{func(p *Program) { p.Name = strings.Repeat("x", MaxNameBytes+1) }, "bytes of name, at most", nil},
		{func(p *Program) { p.Inputs = make([]Tensor, MaxInputs+1) }, "inputs, at most", nil},
		{func(p *Program) { p.Nodes = make([]Node, MaxNodes+1) }, "nodes, at most", nil},
		{func(p *Program) { p.Outputs = make([]ID, MaxOutputs+1) }, "outputs, at most", nil},
		{func(p *Program) { p.Outputs[1] = 12 }, "output 1: %12 is not defined", nil},
	} {
		p, err := ParseProgram(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.change(p)
		err = p.Verify()
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, expected it to contain %q", err, c.want)
			continue
		}
		if !errors.Is(err, ErrFormat) || c.cause != nil && !errors.Is(err, c.cause) {
			t.Errorf("%v: not of the kinds %v and %v", err, ErrFormat, c.cause)
		}
	}
}

// TestScalarAttributesAreChecked: bits beyond a dtype's width never reach a row.
func TestScalarAttributesAreChecked(t *testing.T) {
	full := Lookup("full")
	for _, s := range []Scalar{{I8, 256}, {Bool, 2}, {F16, 1 << 16}, {Invalid, 0}, {99, 0}} {
		if _, err := full.MakeAttrs(A("shape", []int{}, "dtype", F32, "value", s)); err == nil {
			t.Errorf("%v is accepted as an attribute", s)
		}
		attrs := Attrs{{Kind: AttrInts}, {Kind: AttrDType, Int: int64(s.DType)}, {Kind: AttrScalar, Int: int64(s.DType), Bits: s.Bits}}
		if _, err := Infer(full, nil, attrs); err == nil {
			t.Errorf("%v is accepted by the rule", s)
		}
	}
}
