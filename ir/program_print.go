package ir

import (
	"strconv"
	"strings"
)

// String returns the text form of the program, which [ParseProgram] reads:
//
//	program softmax
//	  in %1 f32[2,3]
//	  %2 f32[2,1] = max %1 {axes=[1],keepdims=true}
//	  %3 f32[2,3] = sub %1 %2 @ "model.go:12"
//	  out %3
//
// Attributes that have their default value are left out.
func (p *Program) String() string {
	var b strings.Builder
	b.WriteString("program")
	if p.Name != "" {
		b.WriteByte(' ')
		b.WriteString(quoteUnlessWord(p.Name))
	}
	b.WriteByte('\n')
	for _, t := range p.Inputs {
		b.WriteString("  in")
		writeTensor(&b, t)
		b.WriteByte('\n')
	}
	for i := range p.Nodes {
		b.WriteByte(' ')
		p.Nodes[i].write(&b)
		b.WriteByte('\n')
	}
	b.WriteString("  out")
	for _, id := range p.Outputs {
		writeID(&b, id)
	}
	b.WriteByte('\n')
	return b.String()
}

// String returns the node as a line of a program's text.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()[1:]
}

func (n *Node) write(b *strings.Builder) {
	for _, t := range n.Out {
		writeTensor(b, t)
	}
	b.WriteString(" = ")
	if n.Row == nil {
		b.WriteByte('?')
	} else {
		b.WriteString(n.Row.Name)
	}
	for _, t := range n.In {
		writeID(b, t.ID)
	}
	n.writeAttrs(b)
	if s := n.Site.String(); s != "" {
		b.WriteString(" @ ")
		b.WriteString(strconv.Quote(s))
	}
}

func (n *Node) writeAttrs(b *strings.Builder) {
	open := " {"
	for i, a := range n.Attrs {
		name := "?"
		if n.Row != nil && i < len(n.Row.Attrs) {
			spec := n.Row.Attrs[i]
			if spec.isDefault(a) {
				continue
			}
			name = spec.Name
		}
		b.WriteString(open)
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(a.String())
		open = ","
	}
	if open == "," {
		b.WriteByte('}')
	}
}

// isDefault reports whether a is the default value of the attribute.
func (s AttrSpec) isDefault(a Attr) bool {
	if s.Default == nil {
		return false
	}
	d, err := MakeAttr(s.Kind, s.Default)
	return err == nil && d.Equal(a)
}

func writeTensor(b *strings.Builder, t Tensor) {
	writeID(b, t.ID)
	b.WriteByte(' ')
	b.WriteString(t.Type.String())
}

func writeID(b *strings.Builder, id ID) {
	b.WriteString(" %")
	b.WriteString(strconv.FormatUint(uint64(id), 10))
}

// quoteUnlessWord returns s as it is if the parser reads it as one word, else
// as a quoted string.
func quoteUnlessWord(s string) string {
	for i := 0; i < len(s); i++ {
		if !isWordByte(s[i]) {
			return strconv.Quote(s)
		}
	}
	if s == "" || s == "@" {
		return strconv.Quote(s)
	}
	return s
}

// isWordByte reports whether c may stand in a word of a program's text: names
// of operations (custom ones too), attributes and dtypes, numbers, scalars.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '_' || c == '.' || c == '/' || c == '@' || c == ':' || c == '+' || c == '-'
}
