package npy

import (
	"strconv"
	"strings"
)

// parseHeader reads the text of a header: a Python dictionary with three keys, in
// any order.
func parseHeader(text string) (header, error) {
	p := parser{rest: text}
	var h header
	seen := map[string]bool{}
	p.want('{')
	for !p.is('}') && p.err == nil {
		key := p.text()
		p.want(':')
		if seen[key] {
			p.fail("%q twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			h.descr = p.text()
		case "fortran_order":
			h.fortran = p.boolean()
		case "shape":
			h.shape = p.tuple()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.is('}') {
			p.want(',')
		}
	}
	p.want('}')
	switch {
	case p.err != nil:
	case strings.TrimSpace(p.rest) != "":
		p.fail("text follows it: %.20q", p.rest)
	case !seen["descr"] || !seen["fortran_order"] || !seen["shape"]:
		p.fail("it lacks descr, fortran_order or shape")
	case len(h.descr) < 2:
		p.fail("elements of type %q", h.descr)
	}
	return h, p.err
}

// parser reads a text from its beginning; the first error stays.
type parser struct {
	rest string
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = malformed("header: "+format, args...)
	}
}

// is tells whether c comes next, after spaces.
func (p *parser) is(c byte) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	return p.rest != "" && p.rest[0] == c
}

func (p *parser) want(c byte) {
	if !p.is(c) {
		p.fail("expected %q before %.20q", c, p.rest)
		return
	}
	p.rest = p.rest[1:]
}

// text reads a string without escapes: no key or type has any.
func (p *parser) text() string {
	quote := byte('\'')
	if p.is('"') {
		quote = '"'
	}
	p.want(quote)
	s, rest, ok := strings.Cut(p.rest, string(quote))
	if !ok || strings.ContainsAny(s, "\\\n") {
		p.fail("expected a text before %.20q", p.rest)
		return ""
	}
	p.rest = rest
	return s
}

func (p *parser) boolean() bool {
	p.is(' ')
	for word, v := range map[string]bool{"True": true, "False": false} {
		if rest, ok := strings.CutPrefix(p.rest, word); ok {
			p.rest = rest
			return v
		}
	}
	p.fail("expected True or False before %.20q", p.rest)
	return false
}

// tuple reads extents: (), (3,), (3, 4).
func (p *parser) tuple() []int {
	out := []int{}
	p.want('(')
	for !p.is(')') && p.err == nil {
		n := 0
		for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
			n++
		}
		v, err := strconv.Atoi(p.rest[:n])
		if err != nil {
			p.fail("expected an extent before %.20q", p.rest)
			return nil
		}
		p.rest = strings.TrimPrefix(p.rest[n:], "L") // as Python 2 wrote them
		out = append(out, v)
		if len(out) > maxAxes {
			p.fail("more than %d axes", maxAxes)
		}
		if p.is(')') {
			if len(out) == 1 {
				p.fail("the shape is no tuple")
			}
			break
		}
		p.want(',')
	}
	p.want(')')
	return out
}
