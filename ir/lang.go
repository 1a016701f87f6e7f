package ir

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ExprKind is the kind of an expression node.
type ExprKind uint8

// The kinds of expression.
const (
	ExprName   ExprKind = iota + 1 // an operand, attribute or earlier name
	ExprNumber                     // a literal
	ExprCall                       // an operator, instruction, conversion, reduction or other row
)

// Expr is a node of a parsed text. Operators are calls named by their symbol;
// unary minus is "neg".
type Expr struct {
	Kind   ExprKind
	Name   string
	Number Literal
	Args   []*Expr
}

// Literal is a number as written, so that each type can round it once.
type Literal struct{ Text string }

// Stmt gives a name to an expression.
type Stmt struct {
	Name string
	Expr *Expr
}

// RareRange says that statements [From,To) are needed only where Mask is true.
type RareRange struct {
	Mask     string
	From, To int
}

// Block is a parsed text.
type Block struct {
	Stmts []Stmt
	Rares []RareRange
}

// Parse parses the text of a scalar program, row program or gradient:
//
//	block = stmt { (";" | newline) stmt }
//	stmt  = name "=" expr | "rare" "(" name ")" "{" block "}"
//
// Expressions have Go's operators and precedences (+ - * / < <= > >= == != & |
// ^ << >> && || ! and unary -), calls, names and literals: decimal, hexadecimal
// floats, integers, inf, nan. A literal takes the type of the other operand, or
// the program's compute type. A text of one expression without "=" defines y.
// Package kernel lists the functions that bodies may call; every function that
// is not one of them is another row, whose body is expanded in place.
func Parse(text string) (*Block, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the text has %d bytes, at most %d are allowed", len(text), maxText)
	}
	p := &parser{}
	if err := p.scan(text); err != nil {
		return nil, err
	}
	b := &Block{}
	if err := p.block(b, false); err != nil {
		return nil, err
	}
	if len(b.Stmts) == 0 {
		return nil, fmt.Errorf("the text has no statement")
	}
	return b, nil
}

type token struct {
	text string
	kind byte // 'n' name, 'd' number, 'o' operator, ';' separator, 0 end
}

type parser struct {
	toks  []token
	pos   int
	depth int
}

// Limits of a text: of nested expressions while parsing, and of its bytes, which
// bounds how deep a chain such as a+b+c+... becomes.
const (
	maxDepth = 200
	maxText  = 1 << 16
)

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func (p *parser) scan(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\n' || c == ';':
			p.toks = append(p.toks, token{";", ';'})
			i++
		case c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case isLetter(c):
			j := i
			for j < len(s) && (isLetter(s[j]) || isDigit(s[j])) {
				j++
			}
			p.toks = append(p.toks, token{s[i:j], 'n'})
			i = j
		case isDigit(c) || c == '.' && i+1 < len(s) && isDigit(s[i+1]):
			j := i + 1
			hex := c == '0' && j < len(s) && (s[j] == 'x' || s[j] == 'X')
			for j < len(s) {
				d := s[j]
				exp := (s[j-1] == 'p' || s[j-1] == 'P') || !hex && (s[j-1] == 'e' || s[j-1] == 'E')
				if d == '.' || isLetter(d) || isDigit(d) || (d == '+' || d == '-') && exp {
					j++
					continue
				}
				break
			}
			p.toks = append(p.toks, token{s[i:j], 'd'})
			i = j
		default:
			two := ""
			if i+1 < len(s) {
				two = s[i : i+2]
			}
			if two != "" && strings.Contains(" <= >= == != << >> && || ", " "+two+" ") {
				p.toks = append(p.toks, token{two, 'o'})
				i += 2
				continue
			}
			if strings.IndexByte("+-*/<>=&|^!(){},", c) < 0 {
				r, _ := utf8.DecodeRuneInString(s[i:])
				return fmt.Errorf("unexpected character %q", r)
			}
			p.toks = append(p.toks, token{string(c), 'o'})
			i++
		}
	}
	return nil
}

func (p *parser) peek() token {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return token{}
}

func (p *parser) accept(text string) bool {
	if t := p.peek(); t.text == text && t.kind != 0 {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return fmt.Errorf("expected %q, got %q", text, p.peek().text)
	}
	return nil
}

func (p *parser) block(b *Block, inRare bool) error {
	for {
		for p.peek().kind == ';' {
			p.pos++
		}
		t := p.peek()
		switch {
		case t.kind == 0 && !inRare, t.text == "}" && inRare:
			return nil
		case t.kind == 'n' && t.text == "rare" && !inRare:
			p.pos++
			if err := p.rare(b); err != nil {
				return err
			}
		default:
			name := "y"
			if t.kind == 'n' && p.pos+1 < len(p.toks) && p.toks[p.pos+1].text == "=" {
				name = t.text
				p.pos += 2
			}
			e, err := p.expr(0)
			if err != nil {
				return err
			}
			b.Stmts = append(b.Stmts, Stmt{name, e})
		}
		if t := p.peek(); t.kind != ';' && t.kind != 0 && (t.text != "}" || !inRare) {
			return fmt.Errorf("expected end of statement, got %q", t.text)
		}
	}
}

func (p *parser) rare(b *Block) error {
	if err := p.expect("("); err != nil {
		return err
	}
	mask := p.peek()
	if mask.kind != 'n' {
		return fmt.Errorf("rare needs the name of a condition, got %q", mask.text)
	}
	p.pos++
	if err := p.expect(")"); err != nil {
		return err
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	from := len(b.Stmts)
	if err := p.block(b, true); err != nil {
		return err
	}
	if err := p.expect("}"); err != nil {
		return err
	}
	b.Rares = append(b.Rares, RareRange{mask.text, from, len(b.Stmts)})
	return nil
}

var precedence = map[string]int{
	"||": 1, "&&": 2,
	"==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3,
	"+": 4, "-": 4, "|": 4, "^": 4,
	"*": 5, "/": 5, "<<": 5, ">>": 5, "&": 5,
}

func (p *parser) expr(min int) (*Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		prec, ok := precedence[t.text]
		if !ok || t.kind != 'o' || prec <= min {
			return left, nil
		}
		p.pos++
		right, err := p.expr(prec)
		if err != nil {
			return nil, err
		}
		left = &Expr{Kind: ExprCall, Name: t.text, Args: []*Expr{left, right}}
	}
}

func (p *parser) unary() (*Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	switch {
	case p.accept("-"):
		e, err := p.unary()
		if err != nil {
			return nil, err
		}
		if e.Kind == ExprNumber && !strings.HasPrefix(e.Number.Text, "-") {
			e.Number.Text = "-" + e.Number.Text
			return e, nil
		}
		return &Expr{Kind: ExprCall, Name: "neg", Args: []*Expr{e}}, nil
	case p.accept("!"):
		e, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &Expr{Kind: ExprCall, Name: "!", Args: []*Expr{e}}, nil
	case p.accept("("):
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	}
	t := p.peek()
	p.pos++
	switch t.kind {
	case 'd':
		l := Literal{t.text}
		if _, _, err := big.ParseFloat(t.text, 0, 200, big.ToNearestEven); err != nil {
			return nil, fmt.Errorf("malformed number %q", t.text)
		}
		return &Expr{Kind: ExprNumber, Number: l}, nil
	case 'n':
		if t.text == "inf" || t.text == "nan" {
			return &Expr{Kind: ExprNumber, Number: Literal{t.text}}, nil
		}
		e := &Expr{Kind: ExprName, Name: t.text}
		if !p.accept("(") {
			return e, nil
		}
		e.Kind = ExprCall
		if p.accept(")") {
			return e, nil
		}
		for {
			a, err := p.expr(0)
			if err != nil {
				return nil, err
			}
			e.Args = append(e.Args, a)
			if p.accept(")") {
				return e, nil
			}
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("unexpected %q", t.text)
}

// Float returns the literal rounded to a float64.
func (l Literal) Float() float64 {
	switch l.Text {
	case "inf":
		return math.Inf(1)
	case "-inf":
		return math.Inf(-1)
	case "nan", "-nan":
		return math.NaN()
	}
	f, _, err := big.ParseFloat(l.Text, 0, 200, big.ToNearestEven)
	if err != nil {
		return math.NaN()
	}
	v, _ := f.Float64()
	if v == 0 && strings.HasPrefix(l.Text, "-") {
		return math.Copysign(0, -1)
	}
	return v
}

// Bits returns the literal as an element of a compute type: floats are rounded
// once from the exact value; integers must be representable.
func (l Literal) Bits(t DType) (uint64, error) {
	switch t {
	case F64:
		return math.Float64bits(l.Float()), nil
	case F32:
		switch l.Text {
		case "inf", "-inf", "nan", "-nan", "-0", "-0.0":
			return uint64(math.Float32bits(float32(l.Float()))), nil
		}
		f, _, err := big.ParseFloat(l.Text, 0, 200, big.ToNearestEven)
		if err != nil {
			return 0, fmt.Errorf("malformed number %q", l.Text)
		}
		v, _ := f.Float32()
		return uint64(math.Float32bits(v)), nil
	case Bool:
		if l.Text == "0" || l.Text == "1" {
			return uint64(l.Text[0] - '0'), nil
		}
		return 0, fmt.Errorf("%s is not a bool", l.Text)
	}
	if !t.IsInt() {
		return 0, fmt.Errorf("%s as %s", l.Text, t)
	}
	f, _, err := big.ParseFloat(l.Text, 0, 200, big.ToNearestEven)
	if err != nil || !f.IsInt() {
		return 0, fmt.Errorf("%s is not an integer, as %s must be", l.Text, t)
	}
	if f.MantExp(nil) > 64 { // before digits are written out
		return 0, fmt.Errorf("%s does not fit in %s", l.Text, t)
	}
	i, _ := f.Int(nil)
	if t.Kind() == KindUint {
		v, err := strconv.ParseUint(i.String(), 10, t.Bits())
		if err != nil {
			return 0, fmt.Errorf("%s does not fit in %s", l.Text, t)
		}
		return v, nil
	}
	v, err := strconv.ParseInt(i.String(), 10, t.Bits())
	if err != nil {
		return 0, fmt.Errorf("%s does not fit in %s", l.Text, t)
	}
	if t == I32 {
		return uint64(uint32(v)), nil
	}
	return uint64(v), nil
}
