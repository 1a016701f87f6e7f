package safetensors

import (
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of values that are skipped. The format itself
// nests three deep.
const maxDepth = 32

// scanner reads JSON from a header. The standard library's decoder is not used
// because it accepts what the format forbids (duplicate keys, invalid UTF-8,
// numbers such as 1e3 for sizes) and cannot say where a value stood.
//
// Errors carry the offset within the header. The caller has checked that b is
// valid UTF-8.
type scanner struct {
	b   []byte
	pos int
}

func (s *scanner) errorf(msg string, args ...any) error {
	return fmt.Errorf("header byte %d: %s", s.pos, fmt.Sprintf(msg, args...))
}

// unexpected is the error for a token other than want.
func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.b) {
		return s.errorf("header ends, want %s", want)
	}
	r, _ := utf8.DecodeRune(s.b[s.pos:])
	return s.errorf("found %q, want %s", r, want)
}

// next skips white space and returns the byte that follows, without consuming
// it; 0 at the end. A NUL byte in the header is not mistaken for the end,
// since no caller expects it.
func (s *scanner) next() byte {
	for ; s.pos < len(s.b); s.pos++ {
		switch c := s.b[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	if s.next() != c {
		return s.unexpected(fmt.Sprintf("%q", rune(c)))
	}
	s.pos++
	return nil
}

// end checks that nothing but white space is left.
func (s *scanner) end() error {
	if s.next(); s.pos < len(s.b) {
		return s.unexpected("the end of the header")
	}
	return nil
}

// object reads an object and calls field for each key, which must read the
// value.
func (s *scanner) object(field func(key []byte) error) error {
	if s.next() != '{' {
		return s.unexpected("an object")
	}
	s.pos++
	if s.next() == '}' {
		s.pos++
		return nil
	}
	for {
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := field(key); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or '}'")
		}
	}
}

// array reads an array and calls element for each element, which must read it.
func (s *scanner) array(element func() error) error {
	if s.next() != '[' {
		return s.unexpected("an array")
	}
	s.pos++
	if s.next() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.unexpected("',' or ']'")
		}
	}
}

// count reads a non-negative integer of at most 63 bits, written in digits
// only.
func (s *scanner) count() (int64, error) {
	c := s.next()
	if c < '0' || c > '9' {
		return 0, s.unexpected("a non-negative integer")
	}
	start, n := s.pos, int64(0)
	for ; s.pos < len(s.b); s.pos++ {
		c := s.b[s.pos]
		if c < '0' || c > '9' {
			break
		}
		digit := int64(c - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, s.errorf("number is above %d", int64(math.MaxInt64))
		}
		n = n*10 + digit
	}
	if s.pos-start > 1 && s.b[start] == '0' {
		return 0, s.errorf("number has a leading zero")
	}
	if s.pos < len(s.b) {
		switch s.b[s.pos] {
		case '.', 'e', 'E':
			return 0, s.unexpected("an integer without fraction or exponent")
		}
	}
	return n, nil
}

// str reads a string. The result may alias the header: copy what is kept.
func (s *scanner) str() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.unexpected("a string")
	}
	s.pos++
	start := s.pos
	var unescaped []byte // nil until the first escape
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; {
		case c == '"':
			out := s.b[start:s.pos]
			if unescaped != nil {
				out = append(unescaped, out...)
			}
			s.pos++
			return out, nil
		case c == '\\':
			unescaped = append(unescaped, s.b[start:s.pos]...)
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			unescaped = utf8.AppendRune(unescaped, r)
			start = s.pos
		case c < ' ':
			return nil, s.errorf("control character %#02x in a string", c)
		default:
			s.pos++
		}
	}
	return nil, s.errorf("header ends within a string")
}

// escape reads a backslash and what it stands for, both halves where that is a
// surrogate pair.
func (s *scanner) escape() (rune, error) {
	s.pos++
	if s.pos >= len(s.b) {
		return 0, s.errorf("header ends within a string")
	}
	c := s.b[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
	default:
		s.pos--
		return 0, s.unexpected("an escape")
	}
	r, err := s.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if s.pos+1 < len(s.b) && s.b[s.pos] == '\\' && s.b[s.pos+1] == 'u' {
		s.pos += 2
		low, err := s.hex4()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, nil
		}
	}
	return 0, s.errorf("surrogate \\u%04x without its other half", r)
}

func (s *scanner) hex4() (rune, error) {
	var r rune
	for range 4 {
		if s.pos >= len(s.b) {
			return 0, s.errorf("header ends within a string")
		}
		switch c := s.b[s.pos]; {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, s.unexpected("a hexadecimal digit")
		}
		s.pos++
	}
	return r, nil
}

// skip reads any value and drops it.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.errorf("values are nested more than %d deep", maxDepth)
	}
	switch c := s.next(); {
	case c == '{':
		return s.object(func([]byte) error { return s.skip(depth + 1) })
	case c == '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case c == '"':
		_, err := s.str()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.skipNumber()
	}
	for _, word := range []string{"true", "false", "null"} {
		if s.word(word) {
			return nil
		}
	}
	return s.unexpected("a value")
}

// word consumes w if it is next.
func (s *scanner) word(w string) bool {
	if rest := s.b[s.pos:]; len(rest) >= len(w) && string(rest[:len(w)]) == w {
		s.pos += len(w)
		return true
	}
	return false
}

func (s *scanner) skipNumber() error {
	digits := func() int {
		start := s.pos
		for s.pos < len(s.b) && s.b[s.pos] >= '0' && s.b[s.pos] <= '9' {
			s.pos++
		}
		return s.pos - start
	}
	is := func(a, b byte) bool {
		if s.pos < len(s.b) && (s.b[s.pos] == a || s.b[s.pos] == b) {
			s.pos++
			return true
		}
		return false
	}
	is('-', '-')
	first := s.pos
	if n := digits(); n == 0 || n > 1 && s.b[first] == '0' {
		return s.errorf("bad number")
	}
	if is('.', '.') && digits() == 0 {
		return s.errorf("bad number")
	}
	if is('e', 'E') {
		is('+', '-')
		if digits() == 0 {
			return s.errorf("bad number")
		}
	}
	return nil
}
