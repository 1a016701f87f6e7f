package onnx

import "fmt"

// Model is an ONNX file. Its tensors refer to the file's bytes.
type Model struct {
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Domain          string
	Version         int64
	Doc             string
	Opsets          map[string]int64 // domain ("" is ai.onnx) to version
	Metadata        map[string]string
	Graph           *Graph
	Functions       []*Function

	dir string // where external data is looked for; "" forbids it
}

// Graph is a list of nodes between inputs and outputs.
type Graph struct {
	Name         string
	Doc          string
	Nodes        []*Node
	Initializers []*Tensor
	Sparse       []*SparseTensor
	Inputs       []*ValueInfo
	Outputs      []*ValueInfo
	Values       []*ValueInfo // types of values inside, where the file states them
}

// Node applies an operator, or a function of the model.
type Node struct {
	Name     string
	Op       string
	Domain   string // "" is ai.onnx
	Overload string
	Inputs   []string // "" is an input left out
	Outputs  []string
	Attrs    []*Attr
	Doc      string
}

// Attr returns an attribute of the node, nil if it has none of the name.
func (n *Node) Attr(name string) *Attr {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// label names a node in messages.
func (n *Node) label() string {
	op := n.Op
	if n.Domain != "" {
		op = n.Domain + "." + op
	}
	switch {
	case n.Name != "":
		return fmt.Sprintf("node %q (%s)", short(n.Name), short(op))
	case len(n.Outputs) > 0:
		return fmt.Sprintf("the node of %q (%s)", short(n.Outputs[0]), short(op))
	}
	return fmt.Sprintf("a node without a name (%s)", short(op))
}

// inside is the beginning of labels of nodes inside of the one with a label.
func inside(label string) string {
	if len(label) > 400 { // however deep it is
		label = label[:200] + "…" + label[len(label)-180:]
	}
	return label + " / "
}

// short cuts names in messages, which are as long as a file makes them.
func short(name string) string {
	if len(name) <= 120 {
		return name
	}
	return name[:100] + "…" + name[len(name)-16:]
}

// AttrKind is the type of an attribute, numbered as in ONNX files.
type AttrKind int32

// The types of attributes.
const (
	AttrUndefined AttrKind = iota
	AttrFloat
	AttrInt
	AttrString
	AttrTensor
	AttrGraph
	AttrFloats
	AttrInts
	AttrStrings
	AttrTensors
	AttrGraphs
	AttrSparse
	AttrSparses
	AttrType
	AttrTypes
)

var attrKindNames = [...]string{"undefined", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings", "tensors", "graphs", "sparse tensor", "sparse tensors", "type", "types"}

// String returns the name of the type.
func (k AttrKind) String() string {
	if k >= 0 && int(k) < len(attrKindNames) {
		return attrKindNames[k]
	}
	return fmt.Sprintf("attribute type %d", int32(k))
}

// Attr is an attribute of a node: its field for Kind is set.
type Attr struct {
	Name    string
	Ref     string // the attribute of the enclosing function that it stands for
	Kind    AttrKind
	Float   float32
	Int     int64
	Str     string
	Tensor  *Tensor
	Graph   *Graph
	Floats  []float32
	Ints    []int64
	Strs    []string
	Tensors []*Tensor
	Graphs  []*Graph
	Sparse  *SparseTensor
	Type    *Type
}

// Tensor is a constant of a file. See [Tensor.Bytes].
type Tensor struct {
	Name string
	Elem Elem
	Dims []int64
	Strs []string // of strings

	raw      []byte            // raw_data, little-endian; or the packed elements of another field
	ints     []int64           // int32_data, int64_data, uint64_data
	given    string            // the field that data came in
	external map[string]string // location, offset, length
	dir      string
}

// SparseTensor is a constant whose elements are 0 but for a few.
type SparseTensor struct {
	Values, Indices *Tensor
	Dims            []int64
}

// ValueInfo is the declared type of a value.
type ValueInfo struct {
	Name string
	Type *Type // nil if it is not stated
	Doc  string
}

// Type is the type of a value: a tensor's if Elem is set, or a sequence or an
// optional value of another type.
type Type struct {
	Elem     Elem
	HasShape bool
	Dims     []Dim
	Sequence *Type
	Optional *Type
	Other    string // a type that is not supported: "map", "sparse tensor"
}

// Dim is an extent: a number, a name, or neither.
type Dim struct {
	Size  int64 // -1 if not known
	Param string
}

// String returns the type as "float32[batch,3,?]".
func (t *Type) String() string {
	switch {
	case t == nil:
		return "unknown"
	case t.Sequence != nil:
		return "sequence(" + t.Sequence.String() + ")"
	case t.Optional != nil:
		return "optional(" + t.Optional.String() + ")"
	case t.Other != "":
		return t.Other
	case !t.HasShape:
		return t.Elem.String()
	}
	s := t.Elem.String() + "["
	for i, d := range t.Dims {
		if i > 0 {
			s += ","
		}
		switch {
		case d.Size >= 0:
			s += fmt.Sprint(d.Size)
		case d.Param != "":
			s += d.Param
		default:
			s += "?"
		}
	}
	return s + "]"
}

// Function is an operator that the model defines by nodes.
type Function struct {
	Name     string
	Domain   string
	Overload string
	Inputs   []string
	Outputs  []string
	Required []string // attributes without a default
	Defaults []*Attr
	Nodes    []*Node
	Opsets   map[string]int64
}
