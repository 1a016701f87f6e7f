package ir

import "fmt"

// Limits of a program. They bound what hostile programs can ask for; the
// planner cuts segments far below them.
const (
	MaxNodes     = 1 << 20
	MaxInputs    = 1 << 16 // of a program
	MaxOutputs   = 1 << 16
	MaxOperands  = 1 << 12 // of a node
	MaxAttrList  = 1 << 12 // entries of a list attribute
	MaxNameBytes = 1 << 12 // of the name of a program, and of the text of a site
)

// Verify checks that the program is well formed: ids are unique and defined
// before they are used, operands have the types of their definitions, results
// have the types that the rows' rules give, and no limit is exceeded. The error
// is of kind [ErrFormat] and names the node; if a rule refused the node, the
// rule's error is its cause.
func (p *Program) Verify() error {
	switch {
	case len(p.Name) > MaxNameBytes:
		return tooMany("bytes of name", len(p.Name), MaxNameBytes)
	case len(p.Inputs) > MaxInputs:
		return tooMany("inputs", len(p.Inputs), MaxInputs)
	case len(p.Nodes) > MaxNodes:
		return tooMany("nodes", len(p.Nodes), MaxNodes)
	case len(p.Outputs) > MaxOutputs:
		return tooMany("outputs", len(p.Outputs), MaxOutputs)
	}
	defs := make(map[ID]Type, len(p.Inputs)+len(p.Nodes))
	for i, t := range p.Inputs {
		if err := t.Check(); err != nil {
			return &Error{Kind: ErrFormat, Msg: fmt.Sprintf("input %d, %%%d", i, t.ID), Cause: err}
		}
		if _, twice := defs[t.ID]; twice {
			return Errorf(ErrFormat, "input %d: %%%d is defined twice", i, t.ID)
		}
		defs[t.ID] = t.Type
	}
	for i := range p.Nodes {
		if err := p.Nodes[i].verify(defs); err != nil {
			return &Error{Kind: ErrFormat, Site: p.Nodes[i].Site, Msg: fmt.Sprintf("node %d", i), Cause: err}
		}
	}
	for i, id := range p.Outputs {
		if _, ok := defs[id]; !ok {
			return Errorf(ErrFormat, "output %d: %%%d is not defined", i, id)
		}
	}
	return nil
}

func tooMany(what string, n, limit int) error {
	return Errorf(ErrFormat, "%d %s, at most %d are allowed", n, what, limit)
}

// verify checks a node against the types defined so far, and adds its results.
func (n *Node) verify(defs map[ID]Type) error {
	if n.Row == nil {
		return Errorf(ErrFormat, "it has no row")
	}
	if err := n.checkLimits(); err != nil {
		return err
	}
	for _, t := range n.In {
		def, ok := defs[t.ID]
		if !ok {
			return Errorf(ErrFormat, "%s: operand %%%d is not defined before", n.Row.Name, t.ID)
		}
		if !def.Equal(t.Type) {
			return Errorf(ErrFormat, "%s: operand %%%d is stated as %v, but defined as %v", n.Row.Name, t.ID, t.Type, def)
		}
	}
	want, err := Infer(n.Row, n.InTypes(), n.Attrs)
	if err != nil {
		return err
	}
	if len(n.Out) != len(want) {
		return Errorf(ErrFormat, "%s: got %d results, expected %d", n.Row.Name, len(n.Out), len(want))
	}
	for i, t := range n.Out {
		if !t.Type.Equal(want[i]) {
			return Errorf(ErrFormat, "%s: result %%%d is stated as %v, expected %v", n.Row.Name, t.ID, t.Type, want[i])
		}
		if _, twice := defs[t.ID]; twice {
			return Errorf(ErrFormat, "%s: result %%%d is defined twice", n.Row.Name, t.ID)
		}
		defs[t.ID] = t.Type
	}
	return nil
}

func (n *Node) checkLimits() error {
	if len(n.In) > MaxOperands {
		return tooMany("operands", len(n.In), MaxOperands)
	}
	for _, a := range n.Attrs {
		if len(a.List) > MaxAttrList {
			return tooMany("entries in a list", len(a.List), MaxAttrList)
		}
	}
	if len(n.Site.Text) > MaxNameBytes {
		return tooMany("bytes of site", len(n.Site.Text), MaxNameBytes)
	}
	return nil
}
