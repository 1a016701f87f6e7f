package ir

import (
	"strings"
	"testing"
)

// Misspelt names in the texts of a custom row are refused when it is added, with
// the name.
func TestMisspeltTexts(t *testing.T) {
	for _, c := range []struct {
		body string
		grad map[string]string
		want string
	}{
		{"x + q", nil, "q is not defined"},
		{"y", nil, "y is not defined"},
		{"a = x * 2", nil, "does not define y"},
		{"x * 2", map[string]string{"x": "qqq"}, "qqq is not defined"},
		{"x * 2", map[string]string{"x": "dz"}, "dz is not defined"},
		{"x * 2", map[string]string{"x": "dy; dy2"}, "dy2 is not defined"},
		{"x * 2", map[string]string{"w": "dy"}, "no such operand"},
		{"x * 2", map[string]string{"x": "foo(dy)"}, "foo is neither"},
	} {
		err := new(Table).Add(&Row{Name: "test/row@1", Access: Elementwise, Doc: "A test.", Infer: inferSame,
			Operands: oneOperand(FloatClass, AnyValue), Body: Body{Any: c.body}, Grad: c.grad})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("body %q, gradient %v: got %v, expected %q", c.body, c.grad, err, c.want)
		}
	}
}

// The gradients of built-in rows call rows only.
func TestGradientCalls(t *testing.T) {
	for _, r := range Rows() {
		for operand, b := range r.grads {
			for _, s := range b.Stmts {
				if err := s.Expr.checkCalls(); err != nil {
					t.Errorf("%s: gradient of %s: %v", r.Name, operand, err)
				}
			}
		}
	}
}
