package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Load reads a model file. External data is read from the directory of the file,
// when the model is compiled.
func Load(path string) (*Model, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.setDir(filepath.Dir(path))
	return m, nil
}

// Parse reads a model from the bytes of a file. The model refers to them: they
// must not be changed.
func Parse(data []byte) (*Model, error) {
	m, err := newReader(len(data)).model(data)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if m.Graph == nil {
		return nil, errors.New("onnx: the file has no graph; is it an ONNX model?")
	}
	return m, nil
}

// ParseTensor reads a TensorProto, as files input_0.pb of test cases hold.
func ParseTensor(data []byte) (*Tensor, error) {
	t, err := newReader(len(data)).tensor(data)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return t, nil
}

// setDir tells all tensors where external data lies.
func (m *Model) setDir(dir string) {
	m.dir = dir
	var graph func(*Graph)
	nodes := func(ns []*Node) {
		for _, n := range ns {
			for _, a := range n.Attrs {
				if a.Tensor != nil {
					a.Tensor.dir = dir
				}
				for _, t := range a.Tensors {
					t.dir = dir
				}
				if a.Graph != nil {
					graph(a.Graph)
				}
				for _, g := range a.Graphs {
					graph(g)
				}
			}
		}
	}
	graph = func(g *Graph) {
		for _, t := range g.Initializers {
			t.dir = dir
		}
		nodes(g.Nodes)
	}
	graph(m.Graph)
	for _, f := range m.Functions {
		nodes(f.Nodes)
	}
}

// ParseValue reads the value of a file of the ONNX test layout (input_0.pb) by
// its declared type: a TensorProto, a SequenceProto or an OptionalProto. A nil
// type is that of a tensor.
func ParseValue(data []byte, t *Type) (*Value, error) {
	v, err := newReader(len(data)).value(data, t)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return v, nil
}

// value decodes a value of a declared type.
func (r *reader) value(b []byte, t *Type) (*Value, error) {
	switch {
	case t != nil && t.Sequence != nil:
		return r.sequenceProto(b, t.Sequence)
	case t != nil && t.Optional != nil:
		return r.optionalProto(b, t.Optional)
	}
	p, err := r.tensor(b)
	if err != nil {
		return nil, err
	}
	return p.Value()
}

// Value returns the tensor as a value.
func (t *Tensor) Value() (*Value, error) {
	if t.Elem == String {
		return stringsValue(t)
	}
	a, err := t.Array()
	if err != nil {
		return nil, err
	}
	return ArrayValue(t.Elem, a), nil
}

func (r *reader) sequenceProto(b []byte, t *Type) (*Value, error) {
	v := SequenceValue()
	err := r.each(b, func(f field) error {
		if f.num < 3 || f.num > 7 {
			return nil
		}
		e, err := message(f, 64, r, func(r *reader, b []byte) (*Value, error) { return r.value(b, t) })
		v.seq = append(v.seq, e)
		return err
	})
	return v, err
}

func (r *reader) optionalProto(b []byte, t *Type) (*Value, error) {
	v := NoValue()
	err := r.each(b, func(f field) error {
		if f.num < 3 || f.num > 7 {
			return nil
		}
		e, err := message(f, 64, r, func(r *reader, b []byte) (*Value, error) { return r.value(b, t) })
		if err == nil {
			v = e
		}
		return err
	})
	return v, err
}
