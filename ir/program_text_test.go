package ir

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestGoldenText parses each text in testdata and compares its canonical form
// with the golden file beside it, which must be a fixed point.
func TestGoldenText(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		t.Fatal("no golden cases")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParseProgram(string(text), nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := p.Verify(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		got := p.String()
		golden := strings.TrimSuffix(file, ".txt") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
		again, err := ParseProgram(got, nil)
		if err != nil {
			t.Fatalf("%s: canonical text: %v", file, err)
		}
		if again.String() != got {
			t.Errorf("%s: the canonical text is no fixed point:\n%s\n%s", file, got, again)
		}
		roundTripWire(t, p)
	}
}

func TestParseErrors(t *testing.T) {
	const head = "program p\n  in %1 f32[2,3]\n  in %2 i64[3]\n"
	for _, c := range []struct {
		text, want string
		cause      error
	}{
		{"", "line 1: got the end of the text, expected a line that starts with \"program\"", nil},
		{"in %1 f32[]", `line 1: got "in", expected "program"`, nil},
		{"program p", `line 1: got the end of the text, expected a line that starts with "out"`, nil},
		{"program p q\nout", `line 1: got "q", expected the end of the line`, nil},
		{"program p\nprogram q\nout", `line 2: got "program", expected "in", "out" or an id`, nil},
		{"program p\nin 1 f32[]", `line 2: got "1", expected an id such as %3`, nil},
		{"program p\nin %1 f31[]", `line 2: got "f31", expected one of the dtypes [bool i8`, nil},
		{"program p\nin %1 f32", "line 2: got the end of the line, expected a list such as [1,2]", nil},
		{"program p\nin %1 f32[2", `line 2: got the end of the line, expected "," or "]"`, nil},
		{"program p\nin %1 f32[2,]", `line 2: got "]", expected an integer`, nil},
		{"program p\nin %1 f32[x]", `line 2: got "x", expected an integer of 64 bits`, nil},
		{"program p\nin %1 f32[-1]", "line 2: shape [-1] has a negative extent", ErrShape},
		{"program p\nin %1 f32[99999999999,99999999999]", "too many elements", ErrShape},
		{"program p\nin %1 f32[1,1,1,1,1,1,1,1,1]", "has 9 axes, at most 8", ErrShape},
		{"program p\nin %01 f32[]", "line 2: got %01, expected an id of at most 64 bits without leading zeros", nil},
		{"program p\nin %18446744073709551616 f32[]", "expected an id of at most 64 bits", nil},
		{"program p\nin % f32[]", `got "%", expected a number after it`, nil},
		{"program p\nin %1 f32[]\nin %1 f32[]", "line 3: %1 is defined twice", nil},
		{head + "%3 = neg %1\nin %4 f32[]", "line 5: got an input, expected inputs before the first operation", nil},
		{head + "%1 = neg %1", "line 4: %1 is defined twice", nil},
		{head + "%3 %3 = nonzero %1 {max=4}", "line 4: nonzero(f32[2,3]): operand x is f32, expected bool", ErrDType},
		{head + "%3 = frobnicate %1", `line 4: got "frobnicate", expected the name of an operation`, nil},
		{head + "%3 = neg %9", "line 4: operand %9 is not defined before", nil},
		{head + "%3 = neg %1 %2", "line 4: neg(f32[2,3], i64[3]): got 2 operands, expected 1", ErrArgument},
		{head + "%3 = add %1 %2", "line 4: add(f32[2,3], i64[3]): operand x is f32 but z is i64", ErrDType},
		{head + "%3 f32[2] = neg %1", "line 4: got the type f32[2] of %3, expected f32[2,3] from neg", nil},
		{head + "%3 %4 = neg %1", "line 4: got 2 results, expected 1 of neg", nil},
		{head + "%3 = sum %1 {axis=1}", `line 4: got the attribute "axis", expected one of sum's: axes, keepdims`, nil},
		{head + "%3 = neg %1 {axis=1}", "expected one of neg's: it has none", nil},
		{head + "%3 = sum %1 {axes=[1],axes=[1]}", `line 4: the attribute "axes" is given twice`, nil},
		{head + "%3 = sum %1 {axes=1}", `line 4: got "1", expected a list such as [1,2]`, nil},
		{head + "%3 = sum %1 {axes=[7]}", "axis 7 is out of range for rank 2", ErrShape},
		{head + "%3 = sum %1 {keepdims=yes}", `line 4: got "yes", expected true or false`, nil},
		{head + "%3 = sum %1 {axes=[1] keepdims=true}", `line 4: got "keepdims", expected "," or "}"`, nil},
		{head + "%3 = cast %1", `line 4: cast needs the attribute "dtype"`, nil},
		{head + "%3 = cast %1 {dtype=f8}", `unknown dtype "f8"`, nil},
		{head + "%3 = full {shape=[],dtype=f32,value=0.5}", `got "0.5", expected a scalar such as f32:0.5`, nil},
		{head + "%3 = full {shape=[],dtype=f32,value=f16:0.5}", "value is f16, expected f32", ErrDType},
		{head + "%3 = full {shape=[],dtype=i8,value=i8:128}", `got "128", expected an integer that fits in i8`, nil},
		{head + "%3 = neg %1 @", "line 4: got the end of the line, expected a site", nil},
		{head + "%3 = neg %1 @ \"x", "expected a quoted string", nil},
		{head + "%3 = neg %1 ; out", "line 4: unexpected character ';'", nil},
		{head + "%3 neg %1", `line 4: got "neg", expected one of the dtypes [bool`, nil},
		{head + "%3 f32 neg %1", `line 4: got "neg", expected a list such as [1,2]`, nil},
		{head + "%3 %1", `line 4: got the end of the line, expected a type, another id or "="`, nil},
		{head + "%3 = ", "line 4: got the end of the line, expected the name of an operation", nil},
		{head + "out %3", "line 4: output %3 is not defined", nil},
		{head + "out %1 f32[2,3]", `line 4: got "f32", expected an id such as %3`, nil},
		{head + "out %1\nout %1", `line 5: got "out", expected nothing after the outputs`, nil},
	} {
		_, err := ParseProgram(c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got error %v, expected it to contain %q", c.text, err, c.want)
			continue
		}
		if !errors.Is(err, ErrFormat) || c.cause != nil && !errors.Is(err, c.cause) {
			t.Errorf("%q: %v: not of the kinds %v and %v", c.text, err, ErrFormat, c.cause)
		}
	}
}

// TestSites: a site survives text and, if asked for, wire.
func TestSites(t *testing.T) {
	const text = "program \"two words\"\n  in %7 f32[2]\n  %9 f32[2] = neg %7 @ \"dir/a \\\"b\\\".go:12\"\n  out %9\n"
	p, err := ParseProgram(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.String() != text {
		t.Errorf("got\n%s\nwant\n%s", p, text)
	}
	if got := p.Nodes[0].Site.Text; got != `dir/a "b".go:12` {
		t.Errorf("site %q", got)
	}
	if p.Nodes[0].String() != `%9 f32[2] = neg %7 @ "dir/a \"b\".go:12"` {
		t.Errorf("node %s", p.Nodes[0].String())
	}
	q, err := DecodeWire(p.AppendWire(nil, WithSites), nil)
	if err != nil {
		t.Fatal(err)
	}
	if q.Nodes[0].Site != p.Nodes[0].Site || q.Name != "two words" {
		t.Errorf("got %s", q)
	}
	if q, err = DecodeWire(p.AppendWire(nil), nil); err != nil || q.Nodes[0].Site.Text != "" {
		t.Errorf("got %v, %v", q, err)
	}
}

func FuzzParseProgram(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProgram(text, nil)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("kind of %v", err)
			}
			return
		}
		if err := p.Verify(); err != nil {
			t.Fatal(err)
		}
		canonical := p.String()
		q, err := ParseProgram(canonical, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, canonical)
		}
		if q.String() != canonical {
			t.Fatalf("%s\n%s", canonical, q)
		}
		roundTripWire(t, p)
	})
}
