package lower

import "github.com/sinter-go/sinter/ir"

// CopyNode returns a node that copies from into to, which have one type. Views
// that no strides express, and joins, are lowered through it.
func CopyNode(from, to ir.Tensor, site ir.Site) ir.Node {
	row := ir.Lookup("cast")
	attrs, _ := row.MakeAttrs(ir.A("dtype", to.DType))
	return ir.Node{Row: row, Attrs: attrs, In: []ir.Tensor{from}, Out: []ir.Tensor{to}, Site: site}
}

// JoinPart returns the layout of operand i of a join node inside its result.
// Operands are written in order: a later one may cover a part of an earlier one.
func JoinPart(n *ir.Node, i int, result ir.Layout) (ir.Layout, error) {
	if n.Row.Part != nil {
		return n.Row.Part(n.Row, n.InTypes(), i, n.Attrs, result), nil
	}
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(n.Out[0].Shape))
	if err != nil {
		return ir.Layout{}, err
	}
	l := ir.Layout{Offset: result.Offset, Strides: result.Strides}
	for j := 0; j < i; j++ {
		l.Offset += int64(n.In[j].Shape[axis]) * result.Strides[axis]
	}
	return l, nil
}
