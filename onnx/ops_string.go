package onnx

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Operators of strings, which are known on the host alone.

var _ = register(
	opDef{name: "StringConcat", since: 20, in: two, out: one, narrow: true, run: stringConcatOp},
	opDef{name: "StringSplit", since: 20, in: one, out: two, narrow: true, attrs: []attrSpec{strAttr("delimiter", ""), plainAttr("maxsplit", AttrInt)}, run: stringSplitOp},
	opDef{name: "StringNormalizer", since: 10, in: one, out: one, narrow: true, attrs: []attrSpec{strAttr("case_change_action", "NONE"),
		intAttr("is_case_sensitive", 0), strAttr("locale", ""), plainAttr("stopwords", AttrStrings)}, run: stringNormalizerOp},
	opDef{name: "RegexFullMatch", since: 20, in: one, out: one, narrow: true, attrs: []attrSpec{need("pattern", AttrString)}, run: regexFullMatchOp},
)

// strings returns input i, which holds strings.
func (c *Call) strings(i int) (*Host, error) {
	h, err := c.Host(i)
	if err == nil && h.Elem != String {
		err = fmt.Errorf("input %d has elements of type %s, expected strings", i, h.Elem)
	}
	return h, err
}

func stringConcatOp(c *Call) error {
	x, err := c.strings(0)
	if err != nil {
		return err
	}
	y, err := c.strings(1)
	if err != nil {
		return err
	}
	shape, err := broadcast(x.Shape, y.Shape)
	if err != nil {
		return err
	}
	if product(shape) > 1<<20 {
		return fmt.Errorf("%d strings are too many", product(shape))
	}
	out := &Host{Elem: String, Shape: shape, Strs: []string{}}
	total := 0
	walk(shape, [][]int{strides(x.Shape, len(shape)), strides(y.Shape, len(shape))}, func(at []int) {
		a, b := x.Strs[at[0]], y.Strs[at[1]]
		if total += len(a) + len(b); total <= maxText {
			out.Strs = append(out.Strs, a+b)
		}
	})
	if total > maxText {
		return fmt.Errorf("%d bytes of text are too many", total)
	}
	c.SetHost(0, out)
	return nil
}

// maxText bounds the bytes that joining strings makes: they double with each
// node.
const maxText = 64 << 20

// stringSplitOp cuts strings at a delimiter, or at white space; the pieces lie
// along a new last axis, filled up with empty strings.
func stringSplitOp(c *Call) error {
	x, err := c.strings(0)
	if err != nil {
		return err
	}
	most := -1 // cuts
	if c.HasAttr("maxsplit") {
		most = c.Int("maxsplit")
	}
	pieces := make([][]string, len(x.Strs))
	counts := &Host{Elem: Int64, Shape: x.Shape, Ints: make([]int64, len(x.Strs))}
	width := 0
	for i, s := range x.Strs {
		pieces[i] = splitString(s, c.Str("delimiter"), most)
		counts.Ints[i] = int64(len(pieces[i]))
		width = max(width, len(pieces[i]))
	}
	if len(x.Strs)*width > 1<<22 {
		return fmt.Errorf("%d strings in up to %d pieces are too many", len(x.Strs), width)
	}
	out := &Host{Elem: String, Shape: append(slices.Clone(x.Shape), width), Strs: make([]string, len(x.Strs)*width)}
	for i, p := range pieces {
		copy(out.Strs[i*width:], p)
	}
	c.SetHost(0, out)
	c.SetHost(1, counts)
	return nil
}

// splitString cuts a string at most a number of times; -1 is any number.
func splitString(s, delimiter string, most int) []string {
	if delimiter != "" {
		if most < 0 {
			return strings.Split(s, delimiter)
		}
		return strings.SplitN(s, delimiter, most+1)
	}
	if most < 0 {
		return strings.Fields(s)
	}
	var out []string
	for s = strings.TrimLeftFunc(s, unicode.IsSpace); s != ""; s = strings.TrimLeftFunc(s, unicode.IsSpace) {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if len(out) == most || end < 0 {
			return append(out, s)
		}
		out, s = append(out, s[:end]), s[end:]
	}
	return out
}

// stringNormalizerOp leaves out stop words and changes the case of the others.
// Where nothing is left, there is one empty string.
func stringNormalizerOp(c *Call) error {
	x, err := c.strings(0)
	if err != nil {
		return err
	}
	if n := len(x.Shape); n != 1 && (n != 2 || x.Shape[0] != 1) {
		return fmt.Errorf("strings of shape %v, expected [n] or [1,n]", x.Shape)
	}
	fold := func(s string) string { return s }
	if !c.Bool("is_case_sensitive") {
		fold = strings.ToLower
	}
	stop := map[string]bool{}
	for _, w := range c.Strs("stopwords") {
		stop[fold(w)] = true
	}
	change := func(s string) string { return s }
	switch action := c.Str("case_change_action"); action {
	case "NONE":
	case "LOWER":
		change = strings.ToLower
	case "UPPER":
		change = strings.ToUpper
	default:
		return fmt.Errorf("the action %q, expected LOWER, UPPER or NONE", action)
	}
	out := &Host{Elem: String}
	for _, s := range x.Strs {
		if !stop[fold(s)] {
			out.Strs = append(out.Strs, change(s))
		}
	}
	if out.Strs == nil {
		out.Strs = []string{""}
	}
	if out.Shape = []int{len(out.Strs)}; len(x.Shape) == 2 {
		out.Shape = []int{1, len(out.Strs)}
	}
	c.SetHost(0, out)
	return nil
}

func regexFullMatchOp(c *Call) error {
	x, err := c.strings(0)
	if err != nil {
		return err
	}
	// ONNX has the syntax of RE2, which is that of Go.
	re, err := regexp.Compile(`\A(?:` + c.Str("pattern") + `)\z`)
	if err != nil {
		return err
	}
	out := &Host{Elem: Bool, Shape: x.Shape, Ints: make([]int64, len(x.Strs))}
	for i, s := range x.Strs {
		out.Ints[i] = flag(re.MatchString(s))
	}
	c.SetHost(0, out)
	return nil
}
