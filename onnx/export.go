package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// Traced is a function of tensors as a program of rows. See [Trace] and [Export].
type Traced struct {
	Program *ir.Program
	// Constants has the values of those inputs of the program that the function
	// takes from outside: parameters, tables.
	Constants map[ir.ID]sinter.Array
	// Inputs and Outputs name the other inputs of the program and its outputs, in
	// order. Missing names are made up.
	Inputs, Outputs []string
}

// What exported files state.
const (
	exportOpset = 20 // at least; operators of later ones raise it
	producer    = "sinter"
)

// irVersion gives the IR version that first knew an opset of ai.onnx.
func irVersion(opset int) int64 {
	switch {
	case opset <= 20:
		return 9
	case opset <= 22:
		return 10
	case opset <= 23:
		return 11
	case opset <= 24:
		return 12
	}
	return 13
}

// Export writes a program as an ONNX model, for [Model.Marshal]. Package onnx
// runs the model with the bits of the program; other systems compute the same
// functions with their own roundings. Extents are those of the trace.
//
// Rows without a counterpart in ONNX are refused: the error lists all of them, by
// the user's lines.
func Export(t *Traced) (*Model, error) {
	x := &exporter{opset: exportOpset, names: map[ir.ID]string{}, taken: map[string]bool{}, consts: map[string]string{}}
	g := &Graph{Name: t.Program.Name}
	if g.Name == "" {
		g.Name = "sinter"
	}
	x.graph = g
	for _, list := range [][]string{t.Inputs, t.Outputs} {
		for _, n := range list {
			if x.taken[n] {
				return nil, fmt.Errorf("onnx: export: two inputs or outputs are named %q", n)
			}
			x.taken[n] = n != ""
		}
	}
	k := 0
	for i, in := range t.Program.Inputs {
		a, constant := t.Constants[in.ID]
		name := ""
		if !constant && k < len(t.Inputs) {
			name = t.Inputs[k]
		}
		if !constant {
			k++
		}
		if name == "" {
			name = x.fresh(fmt.Sprintf("x%d", i))
		}
		x.names[in.ID] = name
		if constant {
			c, err := MakeTensor(name, a)
			if err != nil {
				return nil, err
			}
			g.Initializers = append(g.Initializers, c)
			continue
		}
		e := ElemOf(in.DType)
		if e == Undefined {
			return nil, fmt.Errorf("onnx: export: input %q: ONNX has no element type for %s", name, in.DType)
		}
		g.Inputs = append(g.Inputs, &ValueInfo{Name: name, Type: typeOf(in.Type)})
	}
	if k < len(t.Inputs) {
		return nil, fmt.Errorf("onnx: export: %d names for %d inputs", len(t.Inputs), k)
	}
	nodes, live, err := needed(t.Program)
	if err != nil {
		return nil, err
	}
	x.live = live
	for i := range nodes {
		x.node(&nodes[i])
	}
	if len(x.refused) > 0 {
		return nil, x.refusal()
	}
	if err := x.outputs(t); err != nil {
		return nil, err
	}
	x.dropUnused()
	return &Model{IRVersion: irVersion(x.opset), Producer: producer, Opsets: map[string]int64{"": int64(x.opset)}, Metadata: map[string]string{}, Graph: g}, nil
}

// typeOf is the declared type of a value.
func typeOf(t ir.Type) *Type {
	out := &Type{Elem: ElemOf(t.DType), HasShape: true}
	for _, d := range t.Shape {
		out.Dims = append(out.Dims, Dim{Size: int64(d)})
	}
	return out
}

// needed returns the nodes that the outputs of a program depend on, and the values
// that they or the outputs are made of.
func needed(p *ir.Program) (_ []ir.Node, live map[ir.ID]bool, _ error) {
	live = map[ir.ID]bool{}
	for _, id := range p.Outputs {
		live[id] = true
	}
	var out []ir.Node
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := p.Nodes[i]
		keep := false
		for _, o := range n.Out {
			keep = keep || live[o.ID]
		}
		if !keep {
			continue
		}
		for _, in := range n.In {
			live[in.ID] = true
		}
		out = append(out, n)
	}
	slices.Reverse(out)
	return out, live, nil
}

// exporter collects the nodes of a model.
type exporter struct {
	graph   *Graph
	opset   int
	names   map[ir.ID]string
	live    map[ir.ID]bool // values that are used
	taken   map[string]bool
	consts  map[string]string // names of constants, by their contents
	count   int
	site    string // of the row that is being written
	refused []refusedRow
}

type refusedRow struct{ row, why, site string }

// errNoCounterpart says that ONNX lacks what a row does.
var errNoCounterpart = errors.New("ONNX has no operator that does the same")

// node writes a row.
func (x *exporter) node(n *ir.Node) {
	in := make([]string, len(n.In))
	for i, t := range n.In {
		in[i] = x.names[t.ID]
	}
	for _, t := range append(slices.Clone(n.In), n.Out...) {
		if ElemOf(t.DType) == Undefined {
			x.refuse(n, fmt.Errorf("ONNX has no element type for %s", t.DType))
			return
		}
	}
	x.site = n.Site.String()
	before := len(x.graph.Nodes)
	err := errNoCounterpart
	var out []string
	if write := exported[n.Row.Name]; write != nil {
		out, err = write(x, n, in)
	}
	if errors.Is(err, errNoCounterpart) && (n.Row.Access == ir.Elementwise || n.Row.Access == ir.Reduce) {
		x.graph.Nodes = x.graph.Nodes[:before]
		out, err = x.expand(n, in)
	}
	if err != nil {
		x.graph.Nodes = x.graph.Nodes[:before]
		x.refuse(n, err)
		return
	}
	for i, t := range n.Out {
		x.names[t.ID] = out[i]
	}
}

// refuse notes a row, and names its results so that the rest is checked too.
func (x *exporter) refuse(n *ir.Node, err error) {
	x.refused = append(x.refused, refusedRow{n.Row.Name, err.Error(), n.Site.String()})
	for _, t := range n.Out {
		x.names[t.ID] = "refused"
	}
}

func (x *exporter) refusal() error {
	type key struct{ row, why string }
	sites := map[key][]string{}
	for _, r := range x.refused {
		k := key{r.row, r.why}
		if r.site != "" && !slices.Contains(sites[k], r.site) {
			sites[k] = append(sites[k], r.site)
		} else if _, ok := sites[k]; !ok {
			sites[k] = nil
		}
	}
	var lines []string
	for k, at := range sites {
		line := fmt.Sprintf("%s: %s", k.row, k.why)
		if len(at) > 4 {
			at = append(at[:4:4], fmt.Sprintf("and %d more", len(at)-4))
		}
		if len(at) > 0 {
			line += " (" + strings.Join(at, ", ") + ")"
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	return ir.Errorf(ir.ErrUnsupported, "onnx: export: %d operations cannot be written:\n\t%s", len(x.refused), strings.Join(lines, "\n\t"))
}

// fresh returns a name that nothing has yet.
func (x *exporter) fresh(name string) string {
	for i := 0; ; i++ {
		n := name
		if i > 0 {
			n = fmt.Sprintf("%s_%d", name, i)
		}
		if !x.taken[n] {
			x.taken[n] = true
			return n
		}
	}
}

// emit writes a node with one output and returns its name.
func (x *exporter) emit(op string, in []string, attrs ...*Attr) string {
	return x.emitN(op, 1, in, attrs...)[0]
}

// emitN writes a node with n outputs.
func (x *exporter) emitN(op string, n int, in []string, attrs ...*Attr) []string {
	x.count++
	out := make([]string, n)
	for i := range out {
		out[i] = x.fresh(fmt.Sprintf("v%d", x.count))
	}
	x.graph.Nodes = append(x.graph.Nodes, &Node{Name: fmt.Sprintf("%s_%d", op, x.count), Op: op, Inputs: in, Outputs: out, Attrs: attrs, Doc: x.site})
	return out
}

// need raises the opset to one that has an operator.
func (x *exporter) need(opset int) { x.opset = max(x.opset, opset) }

// constant returns the name of a constant.
func (x *exporter) constant(d ir.DType, shape []int, data []byte) string {
	key := fmt.Sprintf("%d%v:%s", d, shape, data)
	if name := x.consts[key]; name != "" {
		return name
	}
	name := x.fresh(fmt.Sprintf("c%d", len(x.consts)))
	x.consts[key] = name
	t, err := MakeTensor(name, sinter.Array{DType: d, Shape: shape, Bytes: data})
	if err != nil { // the dtypes of nodes were checked
		x.refused = append(x.refused, refusedRow{"a constant", err.Error(), x.site})
		return name
	}
	x.graph.Initializers = append(x.graph.Initializers, t)
	return name
}

// scalar returns the name of a constant without axes.
func (x *exporter) scalar(d ir.DType, bits uint64) string {
	return x.constant(d, []int{}, element(d, bits))
}

// element returns the bytes of an element of given bits.
func element(d ir.DType, bits uint64) []byte {
	switch d.Size() {
	case 1:
		return []byte{byte(bits)}
	case 2:
		return binary.NativeEndian.AppendUint16(nil, uint16(bits))
	case 4:
		return binary.NativeEndian.AppendUint32(nil, uint32(bits))
	}
	return binary.NativeEndian.AppendUint64(nil, bits)
}

// ints returns the name of a constant list of i64.
func (x *exporter) ints(v ...int64) string { return x.intTable(v, len(v)) }

// intTable is ints in a shape.
func (x *exporter) intTable(v []int64, shape ...int) string {
	var b []byte
	for _, n := range v {
		b = binary.NativeEndian.AppendUint64(b, uint64(n))
	}
	return x.constant(ir.I64, shape, b)
}

// shape is ints of extents.
func (x *exporter) shape(s []int) string {
	v := make([]int64, len(s))
	for i, d := range s {
		v[i] = int64(d)
	}
	return x.ints(v...)
}

// cast converts a value unless it has the dtype.
func (x *exporter) cast(v string, from, to ir.DType) string {
	if from == to {
		return v
	}
	return x.emit("Cast", []string{v}, putIntAttr("to", int64(ElemOf(to))))
}

func putIntAttr(name string, v int64) *Attr     { return &Attr{Name: name, Kind: AttrInt, Int: v} }
func putIntsAttr(name string, v []int64) *Attr  { return &Attr{Name: name, Kind: AttrInts, Ints: v} }
func putFloatAttr(name string, v float32) *Attr { return &Attr{Name: name, Kind: AttrFloat, Float: v} }
func putStrAttr(name, v string) *Attr           { return &Attr{Name: name, Kind: AttrString, Str: v} }

func putBoolAttr(name string, v bool) *Attr {
	if v {
		return putIntAttr(name, 1)
	}
	return putIntAttr(name, 0)
}

// outputs gives the results that the program returns their names. A result that
// is an input, a constant or another output passes through a node of its own.
func (x *exporter) outputs(t *Traced) error {
	if len(t.Outputs) > len(t.Program.Outputs) {
		return fmt.Errorf("onnx: export: %d names for %d outputs", len(t.Outputs), len(t.Program.Outputs))
	}
	types := map[ir.ID]ir.Type{}
	for _, in := range t.Program.Inputs {
		types[in.ID] = in.Type
	}
	for _, n := range t.Program.Nodes {
		for _, o := range n.Out {
			types[o.ID] = o.Type
		}
	}
	made := map[string]bool{}
	for _, n := range x.graph.Nodes {
		for _, o := range n.Outputs {
			made[o] = true
		}
	}
	rename := map[string]string{}
	for i, id := range t.Program.Outputs {
		typ, ok := types[id]
		if !ok {
			return fmt.Errorf("onnx: export: output %d of the program is made by nothing", i)
		}
		name := ""
		if i < len(t.Outputs) {
			name = t.Outputs[i]
		}
		if name == "" {
			name = x.fresh(fmt.Sprintf("y%d", i))
		}
		x.graph.Outputs = append(x.graph.Outputs, &ValueInfo{Name: name, Type: typeOf(typ)})
		v := x.names[id]
		if made[v] && rename[v] == "" {
			rename[v] = name
			continue
		}
		x.graph.Nodes = append(x.graph.Nodes, &Node{Name: "Identity_" + name, Op: "Identity", Inputs: []string{v}, Outputs: []string{name}})
	}
	for _, n := range x.graph.Nodes {
		for _, list := range [][]string{n.Inputs, n.Outputs} {
			for i, v := range list {
				if to := rename[v]; to != "" {
					list[i] = to
				}
			}
		}
	}
	return nil
}

// dropUnused removes constants that no node uses.
func (x *exporter) dropUnused() {
	used := map[string]bool{}
	for _, n := range x.graph.Nodes {
		for _, in := range n.Inputs {
			used[in] = true
		}
	}
	x.graph.Initializers = slices.DeleteFunc(x.graph.Initializers, func(t *Tensor) bool { return !used[t.Name] })
}
