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
