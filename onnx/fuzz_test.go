package onnx

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter"
)

// FuzzModel checks that no file makes reading, compiling or running panic, run
// on for long, or take much memory; and that what was read can be written and
// read again.
func FuzzModel(f *testing.F) {
	for _, m := range []*Model{mlp(f), control(f)} {
		b, err := m.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, op := range []string{"Add", "Softmax", "Shape", "Transpose", "Flatten", "ArgMax", "Identity", "Det", "CumSum", "Split", "Gather", "Cast"} {
		g := &Graph{Inputs: []*ValueInfo{value("x", Float, 2, 2)}, Outputs: []*ValueInfo{value("y", Float)}, Initializers: []*Tensor{initial(f, "w", []float32{1, 2})}}
		in := list("x")
		switch op {
		case "Add":
			in = list("x", "w")
		case "CumSum", "Gather", "Split":
			g.Initializers = []*Tensor{initial(f, "i", []int64{1}, 1)}
			in = list("x", "i")
		}
		n := node(op, in, list("y"))
		if op == "Cast" {
			n.Attrs = []*Attr{intA("to", int64(Float8E4M3FN))}
		}
		g.Nodes = []*Node{n}
		b, err := modelOf(g).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		quick(t, "the file", func() {
			if err := attempt(t, b); errors.Is(err, sinter.ErrInternal) {
				t.Error(err)
			}
		})
		m, err := Parse(b)
		if err != nil {
			return
		}
		again, err := m.Marshal()
		if err != nil {
			return // tensors whose data does not fit
		}
		if _, err := Parse(again); err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
	})
}
