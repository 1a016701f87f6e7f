package nn

import (
	"fmt"
	"reflect"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Mode says what a layer is applied for. The zero Mode is inference, which is
// what Forward methods do. It is a value that is passed down; nothing is switched.
type Mode struct {
	Train bool // normalise by the batch, update running statistics, drop out

	// Generator of what is random while training. A checkpoint of it is its
	// seed and number of draws.
	Generator *sinter.Generator
}

// Training is the mode of a training step.
func Training(g *sinter.Generator) Mode { return Mode{Train: true, Generator: g} }

// ModeLayer is a layer that does something else while training, or that has such
// layers inside.
type ModeLayer interface {
	Layer
	ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor
}

// Forward applies a layer in a mode: by ForwardMode if it has one, else by
// Forward. While training it is an error if a layer without ForwardMode has a
// [ModeLayer] inside, which would silently do what it does at inference; what a
// [Func] calls cannot be seen. A model of your own passes the mode on:
//
//	func (n *Net) Forward(x *sinter.Tensor) *sinter.Tensor { return n.ForwardMode(nn.Mode{}, x) }
//
//	func (n *Net) ForwardMode(m nn.Mode, x *sinter.Tensor) *sinter.Tensor {
//		return n.Out.Forward(nn.Forward(m, n.Dropout, n.Hidden.Forward(x).Relu()))
//	}
func Forward(m Mode, l Layer, x *sinter.Tensor) *sinter.Tensor {
	switch v := l.(type) {
	case nil:
		return failed("forward", []*sinter.Tensor{x}, "the layer is nil")
	case ModeLayer:
		return v.ForwardMode(m, x)
	}
	if m.Train {
		if inner := findModeLayer(l); inner != "" {
			return failed("forward", []*sinter.Tensor{x}, "%T has no ForwardMode, but %s inside: it would not be trained", l, inner)
		}
	}
	return l.Forward(x)
}

var modeLayerType = reflect.TypeFor[ModeLayer]()

// findModeLayer names a ModeLayer that the exported fields of a layer lead to.
func findModeLayer(l Layer) string {
	open := map[visit]bool{}
	var find func(v reflect.Value) string
	find = func(v reflect.Value) string {
		if !v.IsValid() || v.Type() == varType {
			return ""
		}
		switch v.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
			if v.IsNil() {
				return ""
			}
		}
		if v.Kind() != reflect.Interface && v.Type().Implements(modeLayerType) {
			return fmt.Sprint(v.Type())
		}
		switch v.Kind() {
		case reflect.Pointer:
			at := visit{v.Pointer(), v.Type()}
			if open[at] {
				return ""
			}
			open[at] = true
			return find(v.Elem())
		case reflect.Interface:
			return find(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					if s := find(v.Field(i)); s != "" {
						return s
					}
				}
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				if s := find(v.Index(i)); s != "" {
					return s
				}
			}
		case reflect.Map:
			for it := v.MapRange(); it.Next(); {
				if s := find(it.Value()); s != "" {
					return s
				}
			}
		}
		return ""
	}
	return find(reflect.ValueOf(l))
}

// failed returns an argument error at the user's line as a tensor, or the error
// that one of in carries already.
func failed(op string, in []*sinter.Tensor, format string, args ...any) *sinter.Tensor {
	for _, t := range in {
		if err := t.Err(); err != nil {
			return sinter.Failed(err)
		}
	}
	e := *ir.Errorf(ir.ErrArgument, format, args...)
	e.Op, e.Site = op, callsite.Find()
	return sinter.Failed(&e)
}

// constant is a number of the dtype, on the device and in the scope of x.
func constant(x *sinter.Tensor, v float64) *sinter.Tensor {
	g, err := sinter.GraphOf(x)
	if err != nil {
		return sinter.Failed(err)
	}
	return tensorOf(g.Scalar(v, x.DType()))
}

// arange is 0, 1, ..., n-1 as i64, on the device and in the scope of x.
func arange(x *sinter.Tensor, n int) *sinter.Tensor {
	g, err := sinter.GraphOf(x)
	if err != nil {
		return sinter.Failed(err)
	}
	return tensorOf(g.Apply("iota", nil, ir.A("shape", []int{n}, "dtype", sinter.I64)...))
}

func tensorOf(v ir.Value) *sinter.Tensor {
	t, ok := v.(*sinter.Tensor)
	if !ok {
		return sinter.Failed(ir.Errorf(ir.ErrInternal, "a constant is no tensor"))
	}
	return t
}

// optional is Use, and nil for a variable that is nil.
func optional(v *sinter.Var, x *sinter.Tensor) *sinter.Tensor {
	if v == nil {
		return nil
	}
	return Use(v, x)
}
