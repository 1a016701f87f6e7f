package ir

// ID names a tensor within one device or program. IDs are never reused.
type ID uint64

// Tensor is a typed name: the descriptor of a tensor in nodes and programs.
type Tensor struct {
	ID ID
	Type
}

// Node is one application of a row: operands, results, attributes, and the
// user's line.
type Node struct {
	Row   *Row
	Attrs Attrs
	In    []Tensor
	Out   []Tensor
	Site  Site
}

// InTypes returns the operand types of the node.
func (n *Node) InTypes() []Type {
	out := make([]Type, len(n.In))
	for i, t := range n.In {
		out[i] = t.Type
	}
	return out
}

// OutTypes returns the result types of the node.
func (n *Node) OutTypes() []Type {
	out := make([]Type, len(n.Out))
	for i, t := range n.Out {
		out[i] = t.Type
	}
	return out
}

// Attr returns the attribute with a name.
func (n *Node) Attr(name string) Attr { return n.Row.Attr(n.Attrs, name) }

// Program is a list of nodes in a legal order, with named inputs and outputs.
type Program struct {
	Name    string
	Inputs  []Tensor
	Nodes   []Node
	Outputs []ID
}

// Infer applies the type rule of a row: it checks the number and dtypes of the
// operands and returns the result types. The error names operation and operands.
func Infer(r *Row, in []Type, a Attrs) ([]Type, error) {
	out, err := infer(r, in, a)
	if err != nil {
		e := *AsError(err)
		e.Op = r.Name
		e.Operands = in
		return nil, &e
	}
	return out, nil
}

func infer(r *Row, in []Type, a Attrs) ([]Type, error) {
	switch {
	case r.Variadic && len(in) < len(r.Operands):
		return nil, Errorf(ErrArgument, "got %d operands, expected at least %d", len(in), len(r.Operands))
	case !r.Variadic && len(in) != len(r.Operands):
		return nil, Errorf(ErrArgument, "got %d operands, expected %d", len(in), len(r.Operands))
	case len(a) != len(r.Attrs):
		return nil, Errorf(ErrArgument, "got %d attributes, expected %d", len(a), len(r.Attrs))
	}
	for i := range a {
		if err := a[i].check(r.Attrs[i].Kind); err != nil {
			return nil, Errorf(ErrArgument, "attribute %q: %v", r.Attrs[i].Name, err)
		}
	}
	for i, t := range in {
		if err := t.Check(); err != nil {
			return nil, err
		}
		if o := r.OperandAt(i); !o.Class.Has(t.DType) {
			return nil, Errorf(ErrDType, "operand %s is %s, expected %s", o.Name, t.DType, o.Class)
		}
	}
	out, err := r.Infer(r, in, a)
	if err != nil {
		return nil, err
	}
	for _, t := range out {
		if err := t.Check(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
