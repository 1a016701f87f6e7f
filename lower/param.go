package lower

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Dynamic reports whether the parameter is the value of an attribute, which may
// differ from one launch to the next. All others follow from sizes.
func (p ParamRef) Dynamic() bool { return p.Attr >= 0 }

// Bits returns the bits of a dynamic parameter, given its attribute.
func (p ParamRef) Bits(a ir.Attr) uint64 {
	switch a.Kind {
	case ir.AttrInt:
		return uint64(a.Int)
	case ir.AttrScalar:
		return kernel.Convert(p.Type, a.DType(), a.Bits)
	}
	return kernel.Convert(p.Type, ir.F64, a.Bits)
}
