package ir

import (
	"crypto/sha256"
	enc "encoding/binary"
	"math"
	"strings"
)

// WireVersion is the version of the wire form that this package writes; it reads
// this one and those before it.
const WireVersion = 1

// The wire form of a program, version 1. Numbers are unsigned varints of the
// least length (zigzag for signed ones), strings are a length and UTF-8 bytes.
//
//	"SNTR" version flags name
//	rows:    count { number numerics-version [name of a custom row] }
//	inputs:  count { type }
//	nodes:   count { row operands:{count index} attrs:{count tag value} regions [site] }
//	outputs: count { index }
//
// Values are named by the order of their definition, from 0, inputs first. Rows
// stand in the order of their first use, each once. Types of results are not
// written: the rows' rules give them. Attributes at the end of the list that
// have their default are not written, so that a row may gain attributes. A
// program has one encoding, and the decoder accepts no other. Regions (the
// bodies of control flow) are reserved: their count is 0 in version 1.
const (
	wireMagic      = "SNTR"
	wireNodesMagic = "SNTN"
	wireErrorMagic = "SNTE"

	wireFlagSites = 1 << 0
)

// WireOption changes what the wire form contains.
type WireOption uint8

// WithSites includes the users' lines, where any is known.
const WithSites WireOption = 1

// AppendWire appends the binary form of the program to b. Programs that differ
// only in ids have the same bytes, and so do NaN scalars. The program must
// verify: types of results are not written, since the rows give them.
func (p *Program) AppendWire(b []byte, opts ...WireOption) []byte {
	w := wireWriter{b: append(b, wireMagic...)}
	w.header(p.Nodes, opts)
	w.string(p.Name)
	w.rowTable(p.Nodes)
	index := make(map[ID]uint64, len(p.Inputs)+len(p.Nodes))
	defined := uint64(0)
	define := func(t Tensor) {
		index[t.ID] = defined
		defined++
	}
	w.uint(uint64(len(p.Inputs)))
	for _, t := range p.Inputs {
		define(t)
		w.typ(t.Type)
	}
	ref := func(id ID) {
		i, ok := index[id]
		if !ok {
			i = math.MaxUint64 // which the decoder refuses as not defined
		}
		w.uint(i)
	}
	w.uint(uint64(len(p.Nodes)))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		w.uint(w.rows[n.Row])
		w.uint(uint64(len(n.In)))
		for _, t := range n.In {
			ref(t.ID)
		}
		w.nodeTail(n)
		for _, t := range n.Out {
			define(t)
		}
	}
	w.uint(uint64(len(p.Outputs)))
	for _, id := range p.Outputs {
		ref(id)
	}
	return w.b
}

// Fingerprint returns the SHA-256 of the program's wire form without sites.
func (p *Program) Fingerprint() [sha256.Size]byte {
	return sha256.Sum256(p.AppendWire(nil))
}

// AppendNodes appends the binary form of a list of nodes to b, ids and operand
// types included: what travels to a backend elsewhere, which knows tensors by
// their ids. It has the layout of a program, but for the magic "SNTN", no name,
// inputs and outputs, and "id type" for each operand and "id" for each result.
func AppendNodes(b []byte, nodes []Node, opts ...WireOption) []byte {
	w := wireWriter{b: append(b, wireNodesMagic...)}
	w.header(nodes, opts)
	w.rowTable(nodes)
	w.uint(uint64(len(nodes)))
	for i := range nodes {
		n := &nodes[i]
		w.uint(w.rows[n.Row])
		w.uint(uint64(len(n.In)))
		for _, t := range n.In {
			w.uint(uint64(t.ID))
			w.typ(t.Type)
		}
		w.uint(uint64(len(n.Out)))
		for _, t := range n.Out {
			w.uint(uint64(t.ID))
		}
		w.nodeTail(n)
	}
	return w.b
}

type wireWriter struct {
	b     []byte
	rows  map[*Row]uint64
	sites bool
}

func (w *wireWriter) uint(v uint64) { w.b = enc.AppendUvarint(w.b, v) }
func (w *wireWriter) int(v int64)   { w.b = enc.AppendVarint(w.b, v) }

func (w *wireWriter) string(s string) {
	s = strings.ToValidUTF8(s, "?") // never longer
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

// header writes the version and the flags; sites are announced only if there
// is one, so that nothing has two encodings.
func (w *wireWriter) header(nodes []Node, opts []WireOption) {
	for _, o := range opts {
		for i := range nodes {
			if o == WithSites && nodes[i].Site.String() != "" {
				w.sites = true
				break
			}
		}
	}
	w.uint(WireVersion)
	flags := uint64(0)
	if w.sites {
		flags |= wireFlagSites
	}
	w.uint(flags)
}

func (w *wireWriter) rowTable(nodes []Node) {
	w.rows = map[*Row]uint64{}
	var list []*Row
	for i := range nodes {
		r := nodes[i].Row
		if _, ok := w.rows[r]; !ok {
			w.rows[r] = uint64(len(list))
			list = append(list, r)
		}
	}
	w.uint(uint64(len(list)))
	for _, r := range list {
		if r == nil {
			r = &Row{} // no custom row has the empty name
		}
		w.uint(uint64(r.Number))
		w.uint(uint64(r.Version))
		if r.Number == 0 {
			w.string(r.Name)
		}
	}
}

func (w *wireWriter) typ(t Type) {
	w.uint(uint64(t.DType))
	w.uint(uint64(len(t.Shape)))
	for _, d := range t.Shape {
		w.uint(uint64(d))
	}
}

// nodeTail writes what nodes of programs and of lists have in common.
func (w *wireWriter) nodeTail(n *Node) {
	count := len(n.Attrs)
	for count > 0 && n.Row != nil && count <= len(n.Row.Attrs) && n.Row.Attrs[count-1].isDefault(n.Attrs[count-1].canonical()) {
		count--
	}
	w.uint(uint64(count))
	for _, a := range n.Attrs[:count] {
		w.attr(a.canonical())
	}
	w.uint(0) // regions
	if w.sites {
		w.string(n.Site.String())
	}
}

func (w *wireWriter) attr(a Attr) {
	w.uint(uint64(a.Kind))
	switch a.Kind {
	case AttrInt:
		w.int(a.Int)
	case AttrInts:
		w.uint(uint64(len(a.List)))
		for _, v := range a.List {
			w.int(v)
		}
	case AttrFloat:
		w.b = enc.LittleEndian.AppendUint64(w.b, a.Bits)
	case AttrBool, AttrDType:
		w.uint(uint64(a.Int))
	case AttrScalar:
		w.uint(uint64(a.Int))
		for i := 0; i < a.DType().Size(); i++ {
			w.b = append(w.b, byte(a.Bits>>(8*i)))
		}
	}
}

// canonical returns the attribute with the one NaN that travels.
func (a Attr) canonical() Attr {
	switch a.Kind {
	case AttrFloat:
		a.Bits = Scalar{F64, a.Bits}.Canonical().Bits
	case AttrScalar:
		a.Bits = a.Scalar().Canonical().Bits
	}
	return a
}
