package ir

import (
	"fmt"
	"strings"
)

// DecodeWire reads the binary form of a program. Custom rows come from the
// table, which may be nil if there are none; names that it lacks are listed in
// one error. The program that is returned verifies, its ids count from 1, and
// [Program.AppendWire] gives the same bytes again (with [WithSites]). Bytes that
// no program encodes to are refused, as are wire and numerics versions newer
// than this package's, with an error of kind [ErrFormat] that names the
// position. An operation with an older numerics version is taken, and gives the
// bits of this build's version. Hostile bytes cost time and memory in proportion to their number.
func DecodeWire(b []byte, table *Table) (*Program, error) {
	r := wireReader{b: b}
	r.header(wireMagic, "program")
	p := &Program{Name: r.string("name", MaxNameBytes)}
	rows := r.rowTable(table)

	var values []Tensor
	define := func(t Type) Tensor {
		v := Tensor{ID(len(values) + 1), t}
		values = append(values, v)
		return v
	}
	for n := r.count("inputs", MaxInputs, 2); n > 0 && r.err == nil; n-- {
		p.Inputs = append(p.Inputs, define(r.typ()))
	}
	for n := r.count("nodes", MaxNodes, 4); n > 0 && r.err == nil; n-- {
		node := Node{Row: r.row(rows)}
		for k := r.count("operands", MaxOperands, 1); k > 0 && r.err == nil; k-- {
			if i := r.index("operand", len(values)); r.err == nil {
				node.In = append(node.In, values[i])
			}
		}
		r.nodeTail(&node)
		for _, t := range r.infer(&node) {
			node.Out = append(node.Out, define(t))
		}
		p.Nodes = append(p.Nodes, node)
	}
	for n := r.count("outputs", MaxOutputs, 1); n > 0 && r.err == nil; n-- {
		if i := r.index("output", len(values)); r.err == nil {
			p.Outputs = append(p.Outputs, values[i].ID)
		}
	}
	r.end(rows)
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

// DecodeNodes reads the binary form of a list of nodes, as [AppendNodes] writes
// it, under the rules of [DecodeWire]. Every id has one type and is defined at
// most once in the list; whether operands exist is for the receiver to check.
func DecodeNodes(b []byte, table *Table) ([]Node, error) {
	r := wireReader{b: b}
	r.header(wireNodesMagic, "list of nodes")
	rows := r.rowTable(table)
	var nodes []Node
	known := map[ID]Type{}
	for n := r.count("nodes", MaxNodes, 5); n > 0 && r.err == nil; n-- {
		node := Node{Row: r.row(rows)}
		for k := r.count("operands", MaxOperands, 3); k > 0 && r.err == nil; k-- {
			t := Tensor{ID(r.uint("id")), r.typ()}
			if def, ok := known[t.ID]; ok && !def.Equal(t.Type) {
				r.fail("operand %%%d is stated as %v, but was %v before", t.ID, t.Type, def)
			}
			known[t.ID] = t.Type
			node.In = append(node.In, t)
		}
		for k := r.count("results", MaxOperands, 1); k > 0 && r.err == nil; k-- {
			node.Out = append(node.Out, Tensor{ID: ID(r.uint("id"))})
		}
		r.nodeTail(&node)
		types := r.infer(&node)
		if r.err == nil && len(types) != len(node.Out) {
			r.fail("%s: got %d results, expected %d", node.Row.Name, len(node.Out), len(types))
		}
		for i := 0; i < len(node.Out) && r.err == nil; i++ {
			t := &node.Out[i]
			if _, twice := known[t.ID]; twice {
				r.fail("result %%%d is defined after its use, or twice", t.ID)
			}
			t.Type = types[i]
			known[t.ID] = t.Type
		}
		nodes = append(nodes, node)
	}
	r.end(rows)
	if r.err != nil {
		return nil, r.err
	}
	return nodes, nil
}

// rowTable reads the rows that the nodes use. What this build lacks is listed
// in one error, so that whoever gets it need not find them one by one.
func (r *wireReader) rowTable(table *Table) []*Row {
	var rows []*Row
	var lacking []string
	seen := map[*Row]bool{}
	for n := r.count("rows", MaxNodes, 2); n > 0 && r.err == nil; n-- {
		number := r.uint("row number")
		version := r.uint("numerics version")
		name := ""
		if number == 0 {
			name = r.string("name of a custom operation", MaxNameBytes)
		}
		if r.err != nil {
			break
		}
		var row *Row
		switch {
		case number == 0 && builtin.byName[name] == nil:
			row = table.Lookup(name)
		case number <= 0xffff:
			row = ByNumber(uint16(number))
		}
		switch {
		case row == nil && number == 0:
			lacking = append(lacking, fmt.Sprintf("%q", name))
		case row == nil:
			lacking = append(lacking, fmt.Sprintf("number %d", number))
		case version > uint64(row.Version) || version == 0 && row.Version > 0:
			lacking = append(lacking, fmt.Sprintf("%s with numerics version %d (here: %d)", row.Name, version, row.Version))
		case seen[row]:
			r.fail("%s is twice in the list of operations", row.Name)
		}
		seen[row] = true
		rows = append(rows, row)
	}
	if r.err == nil && len(lacking) > 0 {
		r.fail("unknown operations: %s", strings.Join(lacking, ", "))
	}
	return rows
}

// row reads the row of a node: one that was used before, or the next one.
func (r *wireReader) row(rows []*Row) *Row {
	i := r.index("operation", len(rows))
	if r.err != nil {
		return nil
	}
	if i > r.rowsUsed {
		r.fail("operation %d is used before operation %d: the list is not in order of use", i, r.rowsUsed)
		return nil
	}
	r.rowsUsed = max(r.rowsUsed, i+1)
	return rows[i]
}

// nodeTail reads attributes, regions and site.
func (r *wireReader) nodeTail(n *Node) {
	count := r.count("attributes", MaxAttrList, 2)
	if r.err != nil {
		return
	}
	specs := n.Row.Attrs
	if count > len(specs) {
		r.fail("%s: got %d attributes, expected at most %d", n.Row.Name, count, len(specs))
		return
	}
	for i, s := range specs {
		var a Attr
		switch {
		case i < count:
			if a = r.attr(s); r.err == nil && i == count-1 && s.isDefault(a) {
				r.fail("%s: the attribute %q has its default and stands last, where it is left out", n.Row.Name, s.Name)
			}
		case s.Default == nil:
			r.fail("%s needs the attribute %q", n.Row.Name, s.Name)
		default:
			var err error
			if a, err = MakeAttr(s.Kind, s.Default); err != nil {
				r.fail("%s: the default of %q: %v", n.Row.Name, s.Name, err)
			}
		}
		if r.err != nil {
			return
		}
		n.Attrs = append(n.Attrs, a)
	}
	if regions := r.uint("regions"); regions != 0 {
		r.fail("%s has %d regions: control flow is not in version %d", n.Row.Name, regions, WireVersion)
	}
	if r.sites {
		n.Site.Text = r.string("site", MaxNameBytes)
		r.someSite = r.someSite || n.Site.Text != ""
	}
}

func (r *wireReader) attr(s AttrSpec) Attr {
	a := Attr{Kind: AttrKind(r.uintUpTo("tag of an attribute", 0xff))}
	switch {
	case r.err != nil:
		return a
	case a.Kind < AttrInt || a.Kind > AttrScalar:
		r.fail("attribute %q has the unknown tag %d, expected %d", s.Name, a.Kind, s.Kind)
		return a
	case a.Kind != s.Kind:
		r.fail("attribute %q has the tag %d, expected %d", s.Name, a.Kind, s.Kind)
		return a
	}
	switch a.Kind {
	case AttrInt:
		a.Int = r.int("attribute")
	case AttrInts:
		for n := r.count("entries", MaxAttrList, 1); n > 0 && r.err == nil; n-- {
			a.List = append(a.List, r.int("entry of a list"))
		}
	case AttrFloat:
		a.Bits = r.fixed("float", 8)
	case AttrBool:
		a.Int = int64(r.uintUpTo("bool", 1))
	case AttrDType:
		a.Int = int64(r.dtype())
	case AttrScalar:
		d := r.dtype()
		a.Int, a.Bits = int64(d), r.fixed("scalar", d.Size())
	}
	if r.err == nil {
		if err := a.check(s.Kind); err != nil {
			r.fail("attribute %q: %v", s.Name, err)
		} else if a.Bits != a.canonical().Bits {
			r.fail("attribute %q is a NaN other than the canonical one", s.Name)
		}
	}
	return a
}

func (r *wireReader) infer(n *Node) []Type {
	if r.err != nil {
		return nil
	}
	types, err := Infer(n.Row, n.InTypes(), n.Attrs)
	if err != nil {
		r.fail("a node")
		r.err.Site, r.err.Cause = n.Site, err
		return nil
	}
	return types
}

// end checks what only the whole can show.
func (r *wireReader) end(rows []*Row) {
	switch {
	case r.err != nil:
	case r.rowsUsed < len(rows):
		r.fail("operation %d of the list is not used", r.rowsUsed)
	case r.sites && !r.someSite:
		r.fail("sites are announced, but none is known")
	case r.off < len(r.b):
		r.fail("%d bytes follow the end", len(r.b)-r.off)
	}
}
