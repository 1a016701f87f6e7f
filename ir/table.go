package ir

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Table is a set of rows. The built-in rows are in every table; custom rows
// belong to the table they were added to. It is safe for concurrent use.
type Table struct {
	mu     sync.RWMutex
	byName map[string]*Row
}

var builtin = struct {
	byName   map[string]*Row
	byNumber map[uint16]*Row
	rows     []*Row
}{map[string]*Row{}, map[uint16]*Row{}, nil}

// register adds a built-in row; it is called by the files of the table when the
// package starts, and panics on a malformed row, so that no program starts with one.
func register(rows ...*Row) {
	for _, r := range rows {
		if err := r.prepare(); err != nil {
			panic("sinter/ir: BUG: row " + r.Name + ": " + err.Error())
		}
		if r.Number == 0 || builtin.byNumber[r.Number] != nil || builtin.byName[r.Name] != nil {
			panic(fmt.Sprintf("sinter/ir: BUG: row %s: name or number %d is taken", r.Name, r.Number))
		}
		builtin.byName[r.Name] = r
		builtin.byNumber[r.Number] = r
		builtin.rows = append(builtin.rows, r)
	}
}

// Rows returns the built-in rows in order of their wire numbers.
func Rows() []*Row {
	out := append([]*Row(nil), builtin.rows...)
	sort.Slice(out, func(i, j int) bool { return out[i].Number < out[j].Number })
	return out
}

// Lookup returns a built-in row by name, nil if there is none.
func Lookup(name string) *Row { return builtin.byName[name] }

// ByNumber returns a built-in row by wire number, nil if there is none.
func ByNumber(n uint16) *Row { return builtin.byNumber[n] }

// Lookup returns a row of the table by name, nil if there is none.
func (t *Table) Lookup(name string) *Row {
	if r := builtin.byName[name]; r != nil {
		return r
	}
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[name]
}

// Add adds a custom row named domain/name@version. It is of one of three kinds:
// elementwise or reducing with a Body, decomposed with Decompose, or Opaque.
func (t *Table) Add(r *Row) error {
	domain, rest, ok := strings.Cut(r.Name, "/")
	name, version, ok2 := strings.Cut(rest, "@")
	if !ok || !ok2 || !isNamePart(domain) || !isNamePart(name) || !isNamePart(version) {
		return Errorf(ErrArgument, "custom operation %q: the name must be domain/name@version, of letters, digits, _, . and -", clip(r.Name))
	}
	if r.Number != 0 {
		return Errorf(ErrArgument, "custom operation %q: the wire number must be 0", r.Name)
	}
	if err := r.prepare(); err != nil {
		return &Error{Kind: ErrArgument, Op: r.Name, Cause: err}
	}
	for operand, b := range r.grads {
		for _, st := range b.Stmts {
			if err := st.Expr.checkCalls(); err != nil {
				return &Error{Kind: ErrArgument, Op: r.Name, Cause: fmt.Errorf("gradient of %s: %w", operand, err)}
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]*Row{}
	}
	if t.byName[r.Name] != nil {
		return Errorf(ErrArgument, "custom operation %q is already defined", r.Name)
	}
	t.byName[r.Name] = r
	return nil
}

// isNamePart reports whether s can be a part of a custom row's name, so that the
// name is one word in a program's text.
func isNamePart(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isWordByte(s[i]) || strings.IndexByte("/@:+", s[i]) >= 0 {
			return false
		}
	}
	return s != "" && len(s) <= 255
}

// checkAttrs checks the declarations of attributes: programs name them in text,
// and defaults must be values of their kind.
func (r *Row) checkAttrs() error {
	for i, s := range r.Attrs {
		for j := 0; j < len(s.Name); j++ {
			if !isLetter(s.Name[j]) && !isDigit(s.Name[j]) {
				return fmt.Errorf("attribute %q: the name is not a word", s.Name)
			}
		}
		if s.Name == "" || r.attrIndex(s.Name) != i {
			return fmt.Errorf("attribute %d, %q: the name is missing or taken", i, s.Name)
		}
		if s.Kind < AttrInt || s.Kind > AttrScalar {
			return fmt.Errorf("attribute %q: there is no kind %d", s.Name, s.Kind)
		}
		if s.Default == nil {
			continue
		}
		if _, err := MakeAttr(s.Kind, s.Default); err != nil {
			return fmt.Errorf("the default of %q: %w", s.Name, err)
		}
	}
	return nil
}

// prepare checks a row and parses its texts.
func (r *Row) prepare() error {
	if r.Doc == "" || r.Access == 0 || r.Infer == nil {
		return fmt.Errorf("doc, access and type rule are required")
	}
	if (r.Access == View) != (r.View != nil) {
		return fmt.Errorf("view rows, and only they, have a View")
	}
	if r.Variadic && len(r.Operands) == 0 {
		return fmt.Errorf("a variadic row declares the operand that repeats")
	}
	if err := r.checkAttrs(); err != nil {
		return err
	}
	r.programs = map[DType]*Block{}
	parsed := map[string]*Block{}
	for _, t := range []DType{Bool, I32, I64, U32, U64, F32, F64} {
		text := r.Body.For(t)
		if text == "" {
			continue
		}
		if parsed[text] == nil {
			b, err := Parse(text)
			if err != nil {
				return fmt.Errorf("body for %s: %w", t, err)
			}
			parsed[text] = b
		}
		r.programs[t] = parsed[text]
	}
	needsBody := r.Access != View && r.Access != Join && r.Access != Scatter && r.Access != Opaque && r.Access != Recurrence && r.Decompose == nil
	if needsBody != (len(r.programs) > 0) {
		return fmt.Errorf("a body is required for this access kind, and for no other")
	}
	r.grads = map[string]*Block{}
	for name, text := range r.Grad {
		b, err := Parse(text)
		if err != nil {
			return fmt.Errorf("gradient of %s: %w", name, err)
		}
		r.grads[name] = b
	}
	return r.checkTexts()
}
