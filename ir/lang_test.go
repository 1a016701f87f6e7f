package ir

import (
	"math"
	"strings"
	"testing"
)

// sexpr writes an expression with every application in parentheses.
func sexpr(e *Expr) string {
	switch e.Kind {
	case ExprName:
		return e.Name
	case ExprNumber:
		return e.Number.Text
	}
	var b strings.Builder
	b.WriteString("(" + e.Name)
	for _, a := range e.Args {
		b.WriteString(" " + sexpr(a))
	}
	return b.String() + ")"
}

func TestParsePrecedence(t *testing.T) {
	for _, c := range [][2]string{
		{"a + b * c", "(+ a (* b c))"},
		{"a * b + c", "(+ (* a b) c)"},
		{"a - b - c", "(- (- a b) c)"},
		{"a / b * c", "(* (/ a b) c)"},
		{"a < b + 1", "(< a (+ b 1))"},
		{"a < b == c", "(== (< a b) c)"},
		{"a || b && c", "(|| a (&& b c))"},
		{"a && b || c && d", "(|| (&& a b) (&& c d))"},
		{"a & b == c", "(== (& a b) c)"},
		{"a | b & c", "(| a (& b c))"},
		{"a ^ b << 2", "(^ a (<< b 2))"},
		{"a << 2 + 1", "(+ (<< a 2) 1)"},
		{"-a * b", "(* (neg a) b)"},
		{"a - -b", "(- a (neg b))"},
		{"-1", "-1"},
		{"--1", "(neg -1)"},
		{"a*-1", "(* a -1)"},
		{"a-1", "(- a 1)"},
		{"!a && b", "(&& (! a) b)"},
		{"!(a && b)", "(! (&& a b))"},
		{"(a + b) * c", "(* (+ a b) c)"},
		{"f()", "(f)"},
		{"f(a, g(b), c + 1)", "(f a (g b) (+ c 1))"},
		{"a >= b", "(>= a b)"},
		{"a>>b>>c", "(>> (>> a b) c)"},
		{"0x1p-24 * x", "(* 0x1p-24 x)"},
		{"1e+3-2", "(- 1e+3 2)"},
		{"0x1E+3", "(+ 0x1E 3)"},
		{".5 + 1.", "(+ .5 1.)"},
		{"-inf", "-inf"},
		{"nan", "nan"},
	} {
		b, err := Parse(c[0])
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		if got := sexpr(b.Stmts[0].Expr); got != c[1] || len(b.Stmts) != 1 || b.Stmts[0].Name != "y" {
			t.Errorf("%s: got %s, expected %s", c[0], got, c[1])
		}
	}
}

func TestParseBlock(t *testing.T) {
	b, err := Parse("# a comment\na = x + 1; m = a > 2 # another\nrare(m) {\n  c = log(a)\n  d = c * 2\n}\n\ny = select(m, d, a)\n")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range b.Stmts {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "a m c d y" {
		t.Errorf("statements %s", got)
	}
	if len(b.Rares) != 1 || b.Rares[0] != (RareRange{"m", 2, 4}) {
		t.Errorf("rare %v", b.Rares)
	}
}

func TestParseTextErrors(t *testing.T) {
	deep := strings.Repeat("(", 5000)
	for _, c := range [][2]string{
		{"", "no statement"},
		{" ; \n # x", "no statement"},
		{"a +", `unexpected ""`},
		{"a b", `expected end of statement, got "b"`},
		{"a = ", `unexpected ""`},
		{"(a", `expected ")"`},
		{"a)", `expected end of statement, got ")"`},
		{"f(a", `expected ","`},
		{"f(a,)", `unexpected ")"`},
		{"a $ b", "unexpected character '$'"},
		{"a · b", "unexpected character '·'"},
		{"é", "unexpected character 'é'"},
		{"a\u00a0b", "unexpected character"},
		{"1.2.3", `malformed number "1.2.3"`},
		{"1e", "malformed number"},
		{"0x", "malformed number"},
		{"2x", "malformed number"},
		{"rare(m { a = 1 }", `expected ")"`},
		{"rare(1) { a = 1 }", "rare needs the name of a condition"},
		{"rare(m) { a = 1", `unexpected ""`},
		{"rare(m) { rare(n) { a = 1 } }", "expected end of statement"},
		{"}", `unexpected "}"`},
		{"a == = b", `unexpected "="`},
		{deep, "nested too deeply"},
		{strings.Repeat("-", 5000) + "a", "nested too deeply"},
		{strings.Repeat("!", 5000) + "a", "nested too deeply"},
		{strings.Repeat("f(", 5000), "nested too deeply"},
		{strings.Repeat("a+", 1<<16) + "a", "at most 65536 are allowed"},
		{"1e99999999999999999999", "malformed number"},
	} {
		if _, err := Parse(c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%.40q: got error %v, expected it to contain %q", c[0], err, c[1])
		}
	}
}

func TestLiteralBits(t *testing.T) {
	for _, c := range []struct {
		text string
		t    DType
		bits uint64
		ok   bool
	}{
		{"1", F32, 0x3f800000, true},
		{"0.1", F32, 0x3dcccccd, true},
		{"-0", F32, 0x80000000, true},
		{"-0.0", F64, 1 << 63, true},
		{"inf", F32, 0x7f800000, true},
		{"-inf", F64, 0xfff0000000000000, true},
		{"0x1p-149", F32, 1, true},
		{"1e-400", F64, 0, true},
		{"1", Bool, 1, true},
		{"2", Bool, 0, false},
		{"-1", I32, 0xffffffff, true},
		{"-1", I64, math.MaxUint64, true},
		{"-1", U32, 0, false},
		{"4294967295", U32, 0xffffffff, true},
		{"4294967296", U32, 0, false},
		{"0x80000000", I32, 0, false},
		{"18446744073709551615", U64, math.MaxUint64, true},
		{"0.5", I32, 0, false},
		{"1e3", I32, 1000, true},
		{"1e999999999", I64, 0, false}, // at once, not after writing a billion digits
		{"nan", I32, 0, false},
		{"1", F16, 0, false}, // not a compute type
	} {
		got, err := Literal{c.text}.Bits(c.t)
		if (err == nil) != c.ok || c.ok && got != c.bits {
			t.Errorf("%s as %v: got %#x, %v, expected %#x", c.text, c.t, got, err, c.bits)
		}
	}
	if v := (Literal{"nan"}).Float(); v == v {
		t.Errorf("nan is %v", v)
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range Rows() {
		for _, text := range []string{r.Body.Any, r.Body.F32, r.Body.F64, r.Body.Int, r.Body.Bool} {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Parse(text)
		if err != nil {
			return
		}
		for _, s := range b.Stmts {
			// The fully parenthesised form is Lisp, but names must be words in it.
			if s.Name == "" || strings.ContainsAny(s.Name, " ()") || sexpr(s.Expr) == "" {
				t.Fatalf("statement %q of %q", s.Name, text)
			}
			checkLiterals(t, s.Expr)
		}
	})
}

func checkLiterals(t *testing.T, e *Expr) {
	if e.Kind == ExprNumber {
		e.Number.Float()
		for _, d := range []DType{Bool, I32, I64, U32, U64, F32, F64} {
			_, _ = e.Number.Bits(d)
		}
	}
	for _, a := range e.Args {
		checkLiterals(t, a)
	}
}
