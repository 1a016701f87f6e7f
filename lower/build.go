package lower

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Key identifies the kernel that serves the piece: rows, dtypes, axes, access
// classes and trees. Sizes and attributes are not in it.
func (p *Piece) Key() string {
	buf := make([]byte, 0, 128)
	for i := range p.emits {
		m := &p.emits[i]
		n := &p.nodes[m.node]
		buf = append(buf, n.Row.Name...)
		buf = append(buf, 0, n.Row.Version, byte(len(n.In)))
		for j, t := range n.In {
			buf = append(buf, byte(t.DType))
			if m.empty {
				continue
			}
			if o := m.in[j]; o.arg >= 0 {
				buf = binary.AppendVarint(buf, int64(1+o.arg))
			} else {
				buf = binary.AppendVarint(buf, int64(-1-o.emit))
				buf = append(buf, byte(o.result))
			}
		}
		for j, t := range n.Out {
			buf = binary.AppendVarint(append(buf, byte(t.DType)), int64(m.stored[j]))
		}
		for _, o := range m.also {
			buf = binary.AppendVarint(append(buf, 'v', byte(o.from)), int64(o.to))
		}
		buf = append(buf, byte(m.tree.Kind))
		if m.empty {
			buf = append(buf, '0')
		}
		if m.linear != nil {
			buf = append(buf, 'l', p.linearForm(m.linear))
			if m.linear.offset != 0 {
				buf = append(buf, '+')
			}
			buf = appendClasses(buf, m.linear)
		}
	}
	for _, o := range p.copies {
		buf = binary.AppendVarint(binary.AppendVarint(append(buf, '='), int64(o.from)), int64(o.to))
	}
	buf = append(buf, ';')
	for _, k := range p.kinds {
		buf = append(buf, 'a'+byte(k))
	}
	for i, w := range p.walks {
		buf = append(buf, byte(p.types[i]))
		if w.gather {
			buf = append(buf, 'g')
		}
		if i >= p.inputs {
			buf = append(buf, '>')
		}
		buf = appendClasses(buf, w)
	}
	return string(buf)
}

func appendClasses(buf []byte, a *access) []byte {
	for _, st := range a.strides {
		buf = append(buf, '0'+byte(classOf(st)))
	}
	return buf
}

// The forms of a logical index: over all axes in row-major order, which extents
// tell, or by coefficients that are launch parameters.
const (
	rowMajorIndex = 'r'
	affineIndex   = 'a'
)

func (p *Piece) linearForm(l *access) byte {
	stride := int64(1)
	for a := len(p.Extents) - 1; a >= 0; a-- {
		if p.Extents[a] != 1 && l.strides[a] != stride || p.kinds[a] == kernel.Reduced && l.strides[a] == 0 {
			return affineIndex
		}
		stride *= p.Extents[a]
	}
	if l.offset != 0 {
		return affineIndex
	}
	return rowMajorIndex
}

// nameRows is how many rows the name of a kernel lists.
const nameRows = 12

// name lists the rows of the kernel.
func (p *Piece) name() string {
	var rows []string
	for i := range p.emits {
		rows = append(rows, p.nodes[p.emits[i].node].Row.Name)
	}
	switch {
	case len(rows) == 0:
		return "copy"
	case len(rows) > nameRows:
		return strings.Join(rows[:nameRows], "_") + "_and_" + strconv.Itoa(len(rows)-nameRows)
	}
	return strings.Join(rows, "_")
}

// Build makes the kernel of the piece and says what its parameters are.
func (p *Piece) Build() (*kernel.Kernel, []ParamRef, error) {
	name := p.name()
	kb := kernel.NewBuilder(name, append([]kernel.AxisKind(nil), p.kinds...))
	for i, w := range p.walks {
		dir := kernel.In
		if i >= p.inputs {
			dir = kernel.Out
		}
		kb.AddArg(kernel.Arg{Type: p.types[i], Dir: dir, Access: w.classes(), Gather: w.gather})
	}
	values := make([][]kernel.Ref, len(p.emits))
	var params []ParamRef
	for i := range p.emits {
		m := &p.emits[i]
		results, err := p.expand(kb, i, values, &params)
		if err != nil {
			n := &p.nodes[m.node]
			return nil, nil, &ir.Error{Kind: ir.ErrInternal, Op: n.Row.Name, Operands: n.InTypes(), Cause: err}
		}
		values[i] = results
		for j, v := range results {
			if k := m.stored[j]; k >= 0 {
				kb.Store(k, v)
			}
		}
		for _, o := range m.also {
			kb.Store(o.to, results[o.from])
		}
	}
	for _, o := range p.copies {
		kb.Store(o.to, kb.Load(o.from))
	}
	if err := kb.K.Verify(); err != nil {
		return nil, nil, &ir.Error{Kind: ir.ErrInternal, Op: name, Cause: err}
	}
	return kb.K, params, nil
}

// expand emits the body of a row and returns its results, rounded to their dtypes.
func (p *Piece) expand(kb *kernel.Builder, i int, values [][]kernel.Ref, params *[]ParamRef) ([]kernel.Ref, error) {
	m := &p.emits[i]
	n := &p.nodes[m.node]
	t := n.Row.ComputeType(n.InTypes(), n.OutTypes())
	program := n.Row.Program(t)
	if program == nil {
		return nil, ir.Errorf(ir.ErrDType, "%s does not compute in %s", n.Row.Name, t)
	}
	env := kernel.Env{T: t, Names: map[string]kernel.Ref{}, Gathered: map[string]int{}, Tree: m.tree, Empty: m.empty}
	if n.Row.Access == ir.Contraction {
		env.Narrow = n.In[0].Type.DType
	}
	for j := range n.In {
		o := n.Row.OperandAt(j)
		if m.empty {
			env.Names[o.Name] = kb.Const(t, 0)
			continue
		}
		var v kernel.Ref
		switch from := m.in[j]; {
		case from.arg < 0:
			v = values[from.emit][from.result]
		case p.walks[from.arg].gather:
			env.Gathered[o.Name] = from.arg
			continue
		default:
			v = kb.Load(from.arg)
		}
		if o.Class != ir.BoolClass && o.Class != ir.I64Class {
			v = kb.Convert(v, t)
		}
		env.Names[o.Name] = v
	}
	add := func(r ParamRef) kernel.Ref {
		r.Emit = i
		*params = append(*params, r)
		return kb.AddParam(r.Type)
	}
	env.Attr = func(name string) (kernel.Ref, bool) {
		for k, spec := range n.Row.Attrs {
			if spec.Name != name {
				continue
			}
			switch spec.Kind {
			case ir.AttrInt:
				return add(ParamRef{Kind: AttrParam, Attr: k, Type: ir.I64}), true
			case ir.AttrFloat, ir.AttrScalar:
				return add(ParamRef{Kind: AttrParam, Attr: k, Type: t}), true
			}
			return kernel.None, false
		}
		if name != "extent" {
			return kernel.None, false
		}
		return add(ParamRef{Kind: ExtentParam, Type: ir.I64}), true
	}
	index := kernel.None
	if m.linear != nil {
		env.Linear = func() kernel.Ref {
			if index == kernel.None {
				index = p.linear(kb, m.linear, add)
			}
			return index
		}
	}
	names, err := kb.Expand(program, env)
	if err != nil {
		return nil, err
	}
	results := make([]kernel.Ref, len(n.Out))
	for j, t := range n.Out {
		y, ok := names[n.Row.ResultName(j)]
		if !ok {
			return nil, ir.Errorf(ir.ErrInternal, "the body does not define %s", n.Row.ResultName(j))
		}
		results[j] = kb.Convert(y, t.DType)
	}
	return results, nil
}

// linear emits the logical index of the element that a row computes.
func (p *Piece) linear(kb *kernel.Builder, l *access, add func(ParamRef) kernel.Ref) kernel.Ref {
	if p.linearForm(l) == rowMajorIndex {
		v := kb.Index(0)
		for a := 1; a < len(p.kinds); a++ {
			v = kb.Op(kernel.OpAdd, ir.I64, kb.Op(kernel.OpMul, ir.I64, v, kb.Extent(a)), kb.Index(a))
		}
		return v
	}
	v := kernel.None
	plus := func(r kernel.Ref) {
		if v != kernel.None {
			r = kb.Op(kernel.OpAdd, ir.I64, v, r)
		}
		v = r
	}
	if l.offset != 0 {
		plus(add(ParamRef{Kind: OffsetParam, Type: ir.I64}))
	}
	for a, c := range l.classes() {
		switch c {
		case kernel.Unit:
			plus(kb.Index(a))
		case kernel.Strided:
			plus(kb.Op(kernel.OpMul, ir.I64, kb.Index(a), add(ParamRef{Kind: StrideParam, Axis: a, Type: ir.I64})))
		}
	}
	if v == kernel.None {
		return kb.Const(ir.I64, 0)
	}
	return v
}

// Bind returns the bits of the launch parameters.
func (p *Piece) Bind(params []ParamRef) []uint64 {
	if len(params) == 0 {
		return nil
	}
	out := make([]uint64, len(params))
	for i, r := range params {
		m := &p.emits[r.Emit]
		switch r.Kind {
		case ExtentParam:
			for _, o := range m.in {
				if o.arg >= 0 && p.walks[o.arg].gather {
					out[i] = uint64(p.walks[o.arg].gatherExtent)
				}
			}
		case OffsetParam:
			out[i] = uint64(m.linear.offset)
		case StrideParam:
			out[i] = uint64(m.linear.strides[r.Axis])
		default:
			out[i] = r.Bits(p.nodes[m.node].Attrs[r.Attr])
		}
	}
	return out
}
