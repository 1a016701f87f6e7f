package lower

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// ParamKind says where a launch parameter comes from.
type ParamKind uint8

// The kinds of parameter.
const (
	AttrParam   ParamKind = iota // attribute number Attr of a node
	ExtentParam                  // the extent of a gathered axis
	OffsetParam                  // the constant of a logical index
	StrideParam                  // its coefficient of axis Axis
)

// ParamRef says where a launch parameter of a built kernel comes from. It holds
// for every piece of the same key.
type ParamRef struct {
	Kind       ParamKind
	Emit       int // position of the row in the kernel; [Piece.Node] tells the node
	Attr, Axis int
	Type       ir.DType
}

// Dynamic reports whether the parameter is the value of an attribute, which may
// differ from one launch to the next. All others follow from sizes.
func (r ParamRef) Dynamic() bool { return r.Kind == AttrParam }

// Bits returns the bits of a dynamic parameter, given its attribute.
func (r ParamRef) Bits(a ir.Attr) uint64 {
	switch a.Kind {
	case ir.AttrInt:
		return uint64(a.Int)
	case ir.AttrScalar:
		return kernel.Convert(r.Type, a.DType(), a.Bits)
	}
	return kernel.Convert(r.Type, ir.F64, a.Bits)
}

// Node returns the position in the block of the node whose parameter r is.
func (p *Piece) Node(r ParamRef) int { return p.emits[r.Emit].node }
