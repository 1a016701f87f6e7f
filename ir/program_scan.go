package ir

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// progToken is a token of a program's text: a word, an id (text without the
// percent sign), a quoted string (text unquoted), or one mark of "{}[],=@".
type progToken struct {
	kind byte // 'w', 'i', 's', or the mark itself; 0 at the end of the line
	text string
}

func (t progToken) String() string {
	switch t.kind {
	case 0:
		return "the end of the line"
	case 'i':
		return "%" + clip(t.text)
	case 's':
		return "the string " + strconv.Quote(clip(t.text))
	}
	return strconv.Quote(clip(t.text))
}

// clip shortens a text of unknown length for an error message.
func clip(s string) string { return cut(s, 60) }

// cut shortens a text to at most the given bytes, between runes.
func cut(s string, most int) string {
	const dots = "..."
	if len(s) <= most {
		return s
	}
	n := most - len(dots)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + dots
}

// progLine reads the tokens of one line. It scans as it goes, so that a long
// line costs no more memory than its text.
type progLine struct {
	rest   string
	number int
	tok    progToken
}

func (l *progLine) errorf(format string, args ...any) *Error {
	e := Errorf(ErrFormat, format, args...)
	e.Msg = "line " + strconv.Itoa(l.number) + ": " + e.Msg
	return e
}

// wrap gives an error of a rule the line's number.
func (l *progLine) wrap(err error) *Error {
	return &Error{Kind: ErrFormat, Msg: "line " + strconv.Itoa(l.number), Cause: err}
}

func (l *progLine) expected(what string) *Error {
	return l.errorf("got %v, expected %s", l.tok, what)
}

// next moves to the next token.
func (l *progLine) next() error {
	s := strings.TrimLeft(l.rest, " \t\r")
	if s == "" || s[0] == '#' {
		l.rest, l.tok = "", progToken{}
		return nil
	}
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	switch c := s[0]; {
	case n == 1 && c == '@':
		l.tok = progToken{'@', "@"}
	case n > 0:
		l.tok = progToken{'w', s[:n]}
	case c == '%':
		for n = 1; n < len(s) && '0' <= s[n] && s[n] <= '9'; n++ {
		}
		if n == 1 {
			return l.errorf("got %q, expected a number after it", "%")
		}
		l.tok = progToken{'i', s[1:n]}
	case c == '"':
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return l.errorf("got %s, expected a quoted string", clip(s))
		}
		text, _ := strconv.Unquote(q)
		l.tok, n = progToken{'s', text}, len(q)
	case strings.IndexByte("{}[],=", c) >= 0:
		l.tok, n = progToken{c, s[:1]}, 1
	default:
		r, _ := utf8.DecodeRuneInString(s)
		return l.errorf("unexpected character %q", r)
	}
	l.rest = s[n:]
	return nil
}

// take moves past a token of the given kind, if it is one.
func (l *progLine) take(kind byte) (text string, ok bool, err error) {
	if l.tok.kind != kind {
		return "", false, nil
	}
	text = l.tok.text
	return text, true, l.next()
}

// want moves past a token of the given kind, or says what was expected.
func (l *progLine) want(kind byte, what string) (string, error) {
	text, ok, err := l.take(kind)
	if err == nil && !ok {
		err = l.expected(what)
	}
	return text, err
}

func (l *progLine) id() (ID, error) {
	text, err := l.want('i', "an id such as %3")
	if err != nil {
		return 0, err
	}
	n, perr := strconv.ParseUint(text, 10, 64)
	if perr != nil || text != "0" && text[0] == '0' {
		return 0, l.errorf("got %%%s, expected an id of at most 64 bits without leading zeros", clip(text))
	}
	return ID(n), nil
}

// ints reads a list such as [1,-2,3].
func (l *progLine) ints() ([]int64, error) {
	if _, err := l.want('[', "a list such as [1,2]"); err != nil {
		return nil, err
	}
	var out []int64
	for first := true; ; first = false {
		if _, ok, err := l.take(']'); ok || err != nil {
			return out, err
		}
		if !first {
			if _, err := l.want(',', `"," or "]"`); err != nil {
				return nil, err
			}
		}
		v, err := l.int()
		if err != nil {
			return nil, err
		}
		if len(out) == MaxAttrList {
			return nil, l.wrap(tooMany("entries in a list", len(out)+1, MaxAttrList))
		}
		out = append(out, v)
	}
}

func (l *progLine) int() (int64, error) {
	tok := l.tok
	text, err := l.want('w', "an integer")
	if err != nil {
		return 0, err
	}
	v, perr := strconv.ParseInt(text, 10, 64)
	if perr != nil {
		return 0, l.errorf("got %v, expected an integer of 64 bits", tok)
	}
	return v, nil
}

// typ reads a type such as f32[2,3].
func (l *progLine) typ() (Type, error) {
	name, err := l.want('w', "a type such as f32[2,3]")
	if err != nil {
		return Type{}, err
	}
	d, err := ParseDType(name)
	if err != nil {
		return Type{}, l.errorf("got %q, expected one of the dtypes %v", clip(name), DTypes())
	}
	list, err := l.ints()
	if err != nil {
		return Type{}, err
	}
	t := Type{d, make(Shape, len(list))}
	for i, v := range list {
		t.Shape[i] = extent(v)
	}
	if err := t.Check(); err != nil {
		return Type{}, l.wrap(err)
	}
	return t, nil
}
