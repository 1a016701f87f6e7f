package onnx

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sinter-go/sinter"
)

// MakeTensor makes a constant of an array, for models that a program builds.
func MakeTensor(name string, a sinter.Array) (*Tensor, error) {
	e := ElemOf(a.DType)
	if e == Undefined {
		return nil, fmt.Errorf("onnx: tensor %q: ONNX has no element type for %s", name, a.DType)
	}
	t := &Tensor{Name: name, Elem: e, given: "raw_data", raw: a.Bytes}
	size := int64(a.DType.Size())
	for _, d := range a.Shape {
		t.Dims = append(t.Dims, int64(d))
		size *= int64(d)
	}
	if size != int64(len(a.Bytes)) {
		return nil, fmt.Errorf("onnx: tensor %q: %d bytes, %s%v has %d", name, len(a.Bytes), a.DType, a.Shape, size)
	}
	if w := a.DType.Size(); w > 1 && binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.raw = slices.Clone(a.Bytes)
		for b := t.raw; len(b) >= w; b = b[w:] {
			slices.Reverse(b[:w])
		}
	}
	return t, nil
}

// Marshal returns the bytes of a file that holds the model. Equal models give
// equal bytes. External data is written into the file; a model with tensors in
// files that cannot be read is an error.
func (m *Model) Marshal() ([]byte, error) {
	w := &writer{}
	b := w.model(m)
	if w.err != nil {
		return nil, fmt.Errorf("onnx: %w", w.err)
	}
	return b, nil
}

// Marshal returns the bytes of a TensorProto, as files of test cases hold them.
func (t *Tensor) Marshal() ([]byte, error) {
	w := &writer{}
	b := w.tensor(t)
	if w.err != nil {
		return nil, fmt.Errorf("onnx: %w", w.err)
	}
	return b, nil
}

// writer encodes messages; the first error is kept.
type writer struct{ err error }

func putInt(b []byte, num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

func putBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func putStr(b []byte, num protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// putText writes a string that is not empty.
func putText(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return putStr(b, num, v)
}

func putEach[T any](b []byte, num protowire.Number, list []T, encode func(T) []byte) []byte {
	for _, v := range list {
		b = putBytes(b, num, encode(v))
	}
	return b
}

func putTexts(b []byte, num protowire.Number, list []string) []byte {
	for _, v := range list {
		b = putStr(b, num, v)
	}
	return b
}

// putInts writes integers packed.
func putInts(b []byte, num protowire.Number, list []int64) []byte {
	if len(list) == 0 {
		return b
	}
	var packed []byte
	for _, v := range list {
		packed = protowire.AppendVarint(packed, uint64(v))
	}
	return putBytes(b, num, packed)
}

func (w *writer) model(m *Model) []byte {
	b := putInt(nil, 1, m.IRVersion)
	b = putText(b, 2, m.Producer)
	b = putText(b, 3, m.ProducerVersion)
	b = putText(b, 4, m.Domain)
	if m.Version != 0 {
		b = putInt(b, 5, m.Version)
	}
	b = putText(b, 6, m.Doc)
	if m.Graph != nil {
		b = putBytes(b, 7, w.graph(m.Graph))
	}
	b = w.opsets(b, 8, m.Opsets)
	for _, k := range slices.Sorted(maps.Keys(m.Metadata)) {
		b = putBytes(b, 14, putText(putText(nil, 1, k), 2, m.Metadata[k]))
	}
	return putEach(b, 25, m.Functions, w.function)
}

func (w *writer) opsets(b []byte, num protowire.Number, opsets map[string]int64) []byte {
	for _, d := range slices.Sorted(maps.Keys(opsets)) {
		b = putBytes(b, num, putInt(putText(nil, 1, d), 2, opsets[d]))
	}
	return b
}

func (w *writer) graph(g *Graph) []byte {
	b := putEach(nil, 1, g.Nodes, w.node)
	b = putText(b, 2, g.Name)
	b = putEach(b, 5, g.Initializers, w.tensor)
	b = putText(b, 10, g.Doc)
	b = putEach(b, 11, g.Inputs, w.valueInfo)
	b = putEach(b, 12, g.Outputs, w.valueInfo)
	b = putEach(b, 13, g.Values, w.valueInfo)
	return putEach(b, 15, g.Sparse, w.sparse)
}

func (w *writer) node(n *Node) []byte {
	b := putTexts(nil, 1, n.Inputs)
	b = putTexts(b, 2, n.Outputs)
	b = putText(b, 3, n.Name)
	b = putText(b, 4, n.Op)
	b = putEach(b, 5, n.Attrs, w.attr)
	b = putText(b, 6, n.Doc)
	b = putText(b, 7, n.Domain)
	return putText(b, 8, n.Overload)
}

func (w *writer) attr(a *Attr) []byte {
	b := putText(nil, 1, a.Name)
	switch a.Kind {
	case AttrFloat:
		b = protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), math.Float32bits(a.Float))
	case AttrInt:
		b = putInt(b, 3, a.Int)
	case AttrString:
		b = putStr(b, 4, a.Str)
	case AttrTensor:
		if a.Tensor != nil {
			b = putBytes(b, 5, w.tensor(a.Tensor))
		}
	case AttrGraph:
		if a.Graph != nil {
			b = putBytes(b, 6, w.graph(a.Graph))
		}
	case AttrFloats:
		if len(a.Floats) > 0 {
			var packed []byte
			for _, v := range a.Floats {
				packed = protowire.AppendFixed32(packed, math.Float32bits(v))
			}
			b = putBytes(b, 7, packed)
		}
	case AttrInts:
		b = putInts(b, 8, a.Ints)
	case AttrStrings:
		b = putTexts(b, 9, a.Strs)
	case AttrTensors:
		b = putEach(b, 10, a.Tensors, w.tensor)
	case AttrGraphs:
		b = putEach(b, 11, a.Graphs, w.graph)
	case AttrType:
		if a.Type != nil {
			b = putBytes(b, 14, w.typ(a.Type))
		}
	case AttrSparse:
		if a.Sparse != nil {
			b = putBytes(b, 22, w.sparse(a.Sparse))
		}
	}
	b = putInt(b, 20, int64(a.Kind))
	return putText(b, 21, a.Ref)
}

func (w *writer) tensor(t *Tensor) []byte {
	b := putInts(nil, 1, t.Dims)
	b = putInt(b, 2, int64(t.Elem))
	given, raw := t.given, t.raw
	if t.external != nil {
		data, err := t.externalData()
		if err != nil && w.err == nil {
			w.err = fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		given, raw = "raw_data", data
	}
	switch given {
	case "float_data":
		b = putBytes(b, 4, raw)
	case "double_data":
		b = putBytes(b, 10, raw)
	case "int32_data":
		b = putInts(b, 5, t.ints)
	case "int64_data":
		b = putInts(b, 7, t.ints)
	case "uint64_data":
		b = putInts(b, 11, t.ints)
	case "string_data":
		b = putTexts(b, 6, t.Strs)
	case "raw_data":
		b = putBytes(b, 9, raw)
	}
	return putText(b, 8, t.Name)
}

// externalData reads the bytes of a tensor in another file.
func (t *Tensor) externalData() ([]byte, error) {
	_, size, err := shapeOf(t.Dims)
	if err != nil {
		return nil, err
	}
	return t.readExternal((int64(size)*int64(elems[t.Elem].bits) + 7) / 8)
}

func (w *writer) sparse(s *SparseTensor) []byte {
	var b []byte
	if s.Values != nil {
		b = putBytes(b, 1, w.tensor(s.Values))
	}
	if s.Indices != nil {
		b = putBytes(b, 2, w.tensor(s.Indices))
	}
	return putInts(b, 3, s.Dims)
}

func (w *writer) valueInfo(v *ValueInfo) []byte {
	b := putText(nil, 1, v.Name)
	if v.Type != nil {
		b = putBytes(b, 2, w.typ(v.Type))
	}
	return putText(b, 3, v.Doc)
}

func (w *writer) typ(t *Type) []byte {
	switch {
	case t.Sequence != nil:
		return putBytes(nil, 4, putBytes(nil, 1, w.typ(t.Sequence)))
	case t.Optional != nil:
		return putBytes(nil, 9, putBytes(nil, 1, w.typ(t.Optional)))
	case t.Other != "":
		if w.err == nil {
			w.err = fmt.Errorf("the type %s cannot be written", t.Other)
		}
		return nil
	}
	in := putInt(nil, 1, int64(t.Elem))
	if t.HasShape {
		var dims []byte
		for _, d := range t.Dims {
			var one []byte
			switch {
			case d.Size >= 0:
				one = putInt(nil, 1, d.Size)
			case d.Param != "":
				one = putStr(nil, 2, d.Param)
			}
			dims = putBytes(dims, 1, one)
		}
		in = putBytes(in, 2, dims)
	}
	return putBytes(nil, 1, in)
}

func (w *writer) function(f *Function) []byte {
	b := putText(nil, 1, f.Name)
	b = putTexts(b, 4, f.Inputs)
	b = putTexts(b, 5, f.Outputs)
	b = putTexts(b, 6, f.Required)
	b = putEach(b, 7, f.Nodes, w.node)
	b = w.opsets(b, 9, f.Opsets)
	b = putText(b, 10, f.Domain)
	b = putEach(b, 11, f.Defaults, w.attr)
	return putText(b, 13, f.Overload)
}
