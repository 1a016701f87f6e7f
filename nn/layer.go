package nn

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter"
)

// Layer maps a tensor to a tensor. Models with other signatures need not be
// layers; [Params], [Save] and [Load] take any struct.
type Layer interface {
	Forward(x *sinter.Tensor) *sinter.Tensor
}

// Func is a layer without parameters.
type Func func(x *sinter.Tensor) *sinter.Tensor

// Forward calls the function.
func (f Func) Forward(x *sinter.Tensor) *sinter.Tensor { return f(x) }

// Sequential applies layers one after the other. Its parameters are named after
// the positions: "0.weight", "2.weight", …; in a field Layers, "layers.0.weight".
type Sequential []Layer

// Forward applies the layers in order. Without layers it returns x.
func (s Sequential) Forward(x *sinter.Tensor) *sinter.Tensor { return s.ForwardMode(Mode{}, x) }

// ForwardMode applies the layers in order, in a mode.
func (s Sequential) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	for _, l := range s {
		x = Forward(m, l, x)
	}
	return x
}

// String lists the layers, one a line.
func (s Sequential) String() string {
	var b strings.Builder
	b.WriteString("Sequential(")
	for i, l := range s {
		text := describe(l)
		fmt.Fprintf(&b, "\n  %d: %s", i, strings.ReplaceAll(text, "\n", "\n  "))
	}
	if len(s) > 0 {
		b.WriteByte('\n')
	}
	b.WriteByte(')')
	return b.String()
}

// Residual is Shortcut(x) + Body(x); a nil Shortcut is x itself.
type Residual struct{ Body, Shortcut Layer }

// Forward adds the two.
func (r Residual) Forward(x *sinter.Tensor) *sinter.Tensor { return r.ForwardMode(Mode{}, x) }

// ForwardMode adds the two, in a mode.
func (r Residual) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	y := Forward(m, r.Body, x)
	if r.Shortcut != nil {
		x = Forward(m, r.Shortcut, x)
	}
	return x.Add(y)
}

// String describes the layers.
func (r Residual) String() string {
	body, shortcut := "nothing", "x"
	if r.Body != nil {
		body = describe(r.Body)
	}
	if r.Shortcut != nil {
		shortcut = describe(r.Shortcut)
	}
	return "Residual(" + shortcut + " + " + body + ")"
}

// Flatten turns [n, ...] into [n, features].
var Flatten Layer = activation{"Flatten", func(x *sinter.Tensor) *sinter.Tensor {
	s := x.Shape()
	if len(s) < 2 {
		return failed("flatten", []*sinter.Tensor{x}, "%v has nothing to flatten behind a first axis", s)
	}
	features := 1
	for _, d := range s[1:] {
		features *= d
	}
	return x.Reshape(s[0], features)
}}

// Identity returns its input.
var Identity Layer = activation{"Identity", func(x *sinter.Tensor) *sinter.Tensor { return x }}

// describe names a layer: by its String method, else by its type.
func describe(l Layer) string {
	if s, ok := l.(fmt.Stringer); ok {
		return s.String()
	}
	return strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", l), "*"), "nn.")
}

// Use returns the present value of a parameter for use with x: as a member of the
// scope that x belongs to, and as [sinter.Var.Value] returns it if x belongs to
// none. Layers take their parameters through it.
//
// A parameter in f32 is cast to the dtype of an x in f16 or bf16: mixed precision
// is to cast x. The parameter and its gradient stay in f32, so that small steps
// are not rounded away. Other dtypes that differ are an error of the operation, as
// always.
func Use(v *sinter.Var, x *sinter.Tensor) *sinter.Tensor {
	t := present(v, x)
	if d := x.DType(); t.DType() == sinter.F32 && half(d) {
		return t.Cast(d)
	}
	return t
}

// present is Use without a cast.
func present(v *sinter.Var, x *sinter.Tensor) *sinter.Tensor {
	if s := x.Scope(); s != nil {
		return v.In(s)
	}
	return v.Value()
}

func half(d sinter.DType) bool { return d == sinter.F16 || d == sinter.BF16 }
