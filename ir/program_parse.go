package ir

import "strings"

// ParseProgram reads the text form of a program, as [Program.String] writes it:
//
//	program [name]
//	  in %1 f32[2,3]
//	  %2 f32[2] = sum %1 {axes=[1]} @ "file.go:12"
//	  %3 %4 = nonzero %5 {max=4}
//	  out %2 %3
//
// Every line is one statement; "#" starts a comment. Result types may be left
// out, and are then inferred; so may attributes that have a default. Names that
// are not words stand in quotes. The rows come from the table, or from the
// built-in ones if it is nil. The program that is returned verifies; errors are
// of kind [ErrFormat], name the line, and have the error of the type rule, if
// one refused, as their cause.
func ParseProgram(text string, table *Table) (*Program, error) {
	p := &programParser{table: table, prog: &Program{}, defs: map[ID]Type{}}
	number := 0
	for more := true; more; {
		var line string
		line, text, more = strings.Cut(text, "\n")
		number++
		p.progLine = progLine{rest: line, number: number}
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.tok.kind == 0 {
			continue
		}
		if err := p.statement(); err != nil {
			return nil, err
		}
		if p.tok.kind != 0 {
			return nil, p.expected("the end of the line")
		}
	}
	if p.state != afterOut {
		missing := "out"
		if p.state == beforeProgram {
			missing = "program"
		}
		return nil, p.errorf("got the end of the text, expected a line that starts with %q", missing)
	}
	return p.prog, nil
}

// parseState is the part of the text that the parser is in.
type parseState uint8

const (
	beforeProgram parseState = iota
	inInputs
	inNodes
	afterOut
)

type programParser struct {
	progLine
	table *Table
	prog  *Program
	defs  map[ID]Type
	state parseState
}

func (p *programParser) statement() error {
	word := ""
	if p.tok.kind == 'w' {
		word = p.tok.text
	}
	switch {
	case p.state == beforeProgram && word != "program":
		return p.expected(`"program"`)
	case p.state == afterOut:
		return p.expected("nothing after the outputs")
	case p.state == beforeProgram:
		p.state = inInputs
		return p.header()
	case word == "in" && p.state == inInputs:
		return p.input()
	case word == "in":
		return p.errorf("got an input, expected inputs before the first operation")
	case word == "out":
		p.state = afterOut
		return p.outputs()
	case p.tok.kind == 'i':
		p.state = inNodes
		return p.node()
	}
	return p.expected(`"in", "out" or an id`)
}

func (p *programParser) header() error {
	if err := p.next(); err != nil {
		return err
	}
	name, kind := p.tok.text, p.tok.kind
	if kind != 'w' && kind != 's' {
		return nil
	}
	if len(name) > MaxNameBytes {
		return p.wrap(tooMany("bytes of name", len(name), MaxNameBytes))
	}
	p.prog.Name = name
	return p.next()
}

func (p *programParser) define(t Tensor) error {
	if _, twice := p.defs[t.ID]; twice {
		return p.errorf("%%%d is defined twice", t.ID)
	}
	p.defs[t.ID] = t.Type
	return nil
}

func (p *programParser) input() error {
	if err := p.next(); err != nil {
		return err
	}
	id, err := p.id()
	if err != nil {
		return err
	}
	typ, err := p.typ()
	if err != nil {
		return err
	}
	if len(p.prog.Inputs) == MaxInputs {
		return p.wrap(tooMany("inputs", MaxInputs+1, MaxInputs))
	}
	t := Tensor{id, typ}
	p.prog.Inputs = append(p.prog.Inputs, t)
	return p.define(t)
}

func (p *programParser) outputs() error {
	if err := p.next(); err != nil {
		return err
	}
	for p.tok.kind == 'i' {
		id, err := p.id()
		if err != nil {
			return err
		}
		if _, ok := p.defs[id]; !ok {
			return p.errorf("output %%%d is not defined", id)
		}
		if len(p.prog.Outputs) == MaxOutputs {
			return p.wrap(tooMany("outputs", MaxOutputs+1, MaxOutputs))
		}
		p.prog.Outputs = append(p.prog.Outputs, id)
	}
	if p.tok.kind != 0 {
		return p.expected("an id such as %3")
	}
	return nil
}

// node reads "%3 f32[2] = row %1 %2 {name=value} @ site".
func (p *programParser) node() error {
	n := Node{}
	for p.tok.kind == 'i' {
		id, err := p.id()
		if err != nil {
			return err
		}
		t := Tensor{ID: id}
		if p.tok.kind == 'w' {
			if t.Type, err = p.typ(); err != nil {
				return err
			}
		}
		n.Out = append(n.Out, t)
	}
	if _, err := p.want('=', `a type, another id or "="`); err != nil {
		return err
	}
	name, err := p.want('w', "the name of an operation")
	if err != nil {
		return err
	}
	if n.Row = p.table.Lookup(name); n.Row == nil {
		return p.errorf("got %q, expected the name of an operation", clip(name))
	}
	for p.tok.kind == 'i' {
		id, err := p.id()
		if err != nil {
			return err
		}
		typ, ok := p.defs[id]
		if !ok {
			return p.errorf("operand %%%d is not defined before", id)
		}
		n.In = append(n.In, Tensor{id, typ})
	}
	if n.Attrs, err = p.attrs(n.Row); err != nil {
		return err
	}
	if _, ok, err := p.take('@'); err != nil {
		return err
	} else if ok {
		if n.Site.Text, err = p.want('s', `a site such as "file.go:12"`); err != nil {
			return err
		}
	}
	if p.tok.kind != 0 {
		return p.expected("an id, attributes in braces, a site or the end of the line")
	}
	if err := n.checkLimits(); err != nil {
		return p.wrap(err)
	}
	if len(p.prog.Nodes) == MaxNodes {
		return p.wrap(tooMany("nodes", MaxNodes+1, MaxNodes))
	}
	if err := p.results(&n); err != nil {
		return err
	}
	p.prog.Nodes = append(p.prog.Nodes, n)
	return nil
}

// results infers the types of the results, fills in those that were left out
// and checks the others.
func (p *programParser) results(n *Node) error {
	want, err := Infer(n.Row, n.InTypes(), n.Attrs)
	if err != nil {
		return p.wrap(err)
	}
	if len(n.Out) != len(want) {
		return p.errorf("got %d results, expected %d of %s", len(n.Out), len(want), n.Row.Name)
	}
	for i := range n.Out {
		switch t := &n.Out[i]; {
		case t.DType == Invalid:
			t.Type = want[i]
		case !t.Type.Equal(want[i]):
			return p.errorf("got the type %v of %%%d, expected %v from %s", t.Type, t.ID, want[i], n.Row.Name)
		}
		if err := p.define(n.Out[i]); err != nil {
			return err
		}
	}
	return nil
}

// attrs reads "{name=value,...}", which may be missing, into the row's order,
// and fills in defaults.
func (p *programParser) attrs(r *Row) (Attrs, error) {
	var out Attrs
	if len(r.Attrs) > 0 {
		out = make(Attrs, len(r.Attrs))
	}
	_, some, err := p.take('{')
	if err != nil {
		return nil, err
	}
	for first := true; some; first = false {
		if _, ok, err := p.take('}'); err != nil {
			return nil, err
		} else if ok {
			break
		}
		if !first {
			if _, err := p.want(',', `"," or "}"`); err != nil {
				return nil, err
			}
		}
		name, err := p.want('w', "the name of an attribute")
		if err != nil {
			return nil, err
		}
		i := r.attrIndex(name)
		switch {
		case i < 0:
			return nil, p.errorf("got the attribute %q, expected one of %s's: %s", clip(name), r.Name, r.attrNames())
		case out[i].Kind != 0:
			return nil, p.errorf("the attribute %q is given twice", name)
		}
		if _, err := p.want('=', `"="`); err != nil {
			return nil, err
		}
		if out[i], err = p.attr(r.Attrs[i].Kind); err != nil {
			return nil, err
		}
	}
	for i, s := range r.Attrs {
		if out[i].Kind != 0 {
			continue
		}
		if s.Default == nil {
			return nil, p.errorf("%s needs the attribute %q", r.Name, s.Name)
		}
		if out[i], err = MakeAttr(s.Kind, s.Default); err != nil {
			return nil, p.wrap(err)
		}
	}
	return out, nil
}

func (r *Row) attrNames() string {
	if len(r.Attrs) == 0 {
		return "it has none"
	}
	names := make([]string, len(r.Attrs))
	for i, s := range r.Attrs {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

// maxValueBytes bounds the text of a value; the exact decimal of any float64 is
// shorter.
const maxValueBytes = 1200

// attr reads the value of an attribute.
func (p *programParser) attr(kind AttrKind) (Attr, error) {
	a := Attr{Kind: kind}
	var err error
	switch kind {
	case AttrInt:
		a.Int, err = p.int()
		return a, err
	case AttrInts:
		a.List, err = p.ints()
		return a, err
	}
	tok := p.tok
	text, err := p.want('w', "a value")
	if err != nil {
		return a, err
	}
	if len(text) > maxValueBytes {
		return a, p.errorf("got a value of %d bytes, expected at most %d", len(text), maxValueBytes)
	}
	switch kind {
	case AttrFloat:
		a.Bits, err = parseScalarBits(text, F64)
	case AttrBool:
		var bits uint64
		bits, err = parseScalarBits(text, Bool)
		a.Int = int64(bits)
	case AttrDType:
		var d DType
		d, err = ParseDType(text)
		a.Int = int64(d)
	case AttrScalar:
		var s Scalar
		s, err = ParseScalar(text)
		a.Int, a.Bits = int64(s.DType), s.Bits
	default:
		return a, p.errorf("got %v for an attribute of kind %d, which has no text form", tok, kind)
	}
	if err != nil {
		return a, p.wrap(err)
	}
	return a, nil
}
