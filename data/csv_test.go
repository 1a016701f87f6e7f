package data

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func TestReadCSV(t *testing.T) {
	for name, in := range map[string]string{
		"plain":           "1,2.5,7\n-3,4e2,-8\n",
		"no last newline": "1,2.5,7\n-3,4e2,-8",
		"header":          "width,height,kind\n1,2.5,7\n-3,4e2,-8\n",
		"quoted header":   "\"width, in m\",\"the \"\"height\"\"\",kind\n1,2.5,7\n-3,4e2,-8\n",
		"header with gap": ",height,kind\n1,2.5,7\n-3,4e2,-8\n",
		"blank lines":     "\n  \n1,2.5,7\n\n\t\n-3,4e2,-8\n\n\n",
		"CRLF":            "a,b,c\r\n\r\n1,2.5,7\r\n-3,4e2,-8\r\n",
		"spaces":          " 1 ,\t2.5, 7 \n -3,4e2 , -8\t\n",
		"quotes":          "\"1\",\"2.5\" , \"7\"\n\" -3 \",4e2,\"-8\"\n",
		"byte order mark": "\ufeff1,2.5,7\n-3,4e2,-8\n",
		"number forms":    "+1,.25e+1,+7\n-3.,4E2,-08\n",
		"compressed":      zip("1,2.5,7\n-3,4e2,-8\n"),
		"two members":     zip("1,2.5,7\n") + zip("-3,4e2,-8\n"),
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
			s, err := ReadCSV(r, 2)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !slices.Equal(s.Pixels, []float32{1, 2.5, -3, 400}) || !slices.Equal(s.Labels, []int64{7, -8}) || s.N != 2 || s.Validate() != nil {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	s, err := ReadCSV(strings.NewReader("x,y,z\n1,2,3\n4,5,6\n"), 3)
	if err != nil || s.Labels != nil || s.N != 2 || s.Validate() != nil || !slices.Equal(s.Row(1), []float32{4, 5, 6}) {
		t.Errorf("without labels: %+v, %v", s, err)
	}
	s, err = ReadCSV(strings.NewReader("9223372036854775807,9223372036854775807\n1e-60,-9223372036854775808"), 1)
	if err != nil || !slices.Equal(s.Pixels, []float32{1 << 63, 0}) || !slices.Equal(s.Labels, []int64{1<<63 - 1, -1 << 63}) {
		t.Errorf("extremes: %+v, %v", s, err)
	}
}

func TestReadCSVRefuses(t *testing.T) {
	long := strings.Repeat("9", 1_000_000)
	for name, c := range map[string]struct{ in, want string }{
		"nothing":               {"", "no sample in 0 lines"},
		"blank lines only":      {"\n\n \n", "no sample in 3 lines"},
		"header only":           {"a,b,c\n", "no sample in 1 lines"},
		"two headers":           {"a,b,c\na,b,c\n1,2,3\n", `line 2, column 1: "a" is not a number`},
		"too few columns":       {"1\n", "line 1: 1 columns, want 2, or 3 with a label"},
		"too many columns":      {"1,2,3,4\n", "line 1: 4 columns"},
		"header too short":      {"a\n1,2\n", "line 1: 1 columns"},
		"header without label":  {"a,b\n1,2,3\n", "line 2: 3 columns, want 2 as on the first line"},
		"fewer later":           {"1,2,3\n\n4,5\n", "line 3: 2 columns, want 3"},
		"more later":            {"1,2\n4,5,6\n", "line 2: 3 columns, want 2"},
		"trailing comma":        {"1,2,3\n4,5,6,\n", "line 2: 4 columns, want 3"},
		"semicolons":            {"1;2;3\n", "line 1: 1 columns"},
		"not a number":          {"1,2,3\n4,x,6\n", `line 2, column 2: "x" is not a number`},
		"one bad of a first":    {"1,x,3\n", `line 1, column 2: "x" is not a number`},
		"missing value":         {"1,,3\n", `line 1, column 2: "" is not a number`},
		"missing everything":    {",,\n1,2,3\n", `line 1, column 1: "" is not a number`},
		"infinity":              {"1,2,3\ninf,5,6\n", `line 2, column 1: "inf" is not a number`},
		"NaN on the first line": {"nan,nan\n1,2\n", `line 1, column 1: "nan" is not a number`},
		"hexadecimal":           {"1,2,3\n0x10,5,6\n", `"0x10" is not a number`},
		"underscore":            {"1,2,3\n1_0,5,6\n", `"1_0" is not a number`},
		"only a sign":           {"1,2,3\n-,5,6\n", `"-" is not a number`},
		"two numbers":           {"1,2,3\n1 2,5,6\n", `"1 2" is not a number`},
		"range":                 {"1,2,3\n1e39,5,6\n", `line 2, column 1: "1e39" is out of the range of float32`},
		"range, first line":     {"1e999,a\n", `line 1, column 1: "1e999" is out of the range`},
		"label is a fraction":   {"1,2,3.5\n", `line 1, column 3: label "3.5" is not an integer`},
		"label is empty":        {"1,2,\n", `line 1, column 3: label "" is not an integer`},
		"label is a word":       {"1,2,cat\n", `line 1, column 3: label "cat" is not an integer`},
		"label range":           {"1,2,9223372036854775808\n", `line 1, column 3: label "9223372036854775808" is out of the range of int64`},
		"open quote":            {"1,\"2,3\n", "line 1, column 2: the quote is not closed"},
		"text after a quote":    {"1,\"2\"x,3\n", "line 1, column 2: text follows the closing quote"},
		"NUL":                   {"1,2,3\n\x00,5,6\n", `"\x00" is not a number`},
		"binary":                {"\x89PNG\r\n\x1a\n", "line 1: 1 columns"},
		"long line":             {"1,2,3\n" + long, "line 2: longer than 4096 bytes"},
		"long first line":       {strings.Repeat("1,", 1_000_000), "line 1: longer than 4096 bytes"},
		"long field":            {"1,2,3\n" + long[:4000] + "x,5,6", "… (4001 bytes) is not a number"},
		"old Macintosh":         {"1,2,3\r4,5,6\r", "line 1: 5 columns"},
		"only the magic":        {"\x1f\x8b", "EOF"},
		"bad gzip header":       {"\x1f\x8b\x00\x00\x00\x00\x00\x00\x00\x00\x00", "gzip: invalid header"},
		"bad gzip body":         {zip("1,2,3\n")[:10] + "\xff\xff\xff\xff\xff", "line 1: flate: corrupt"},
		"garbage after gzip":    {zip("1,2,3\n") + "garbage, and a lot of it", "line 2: gzip: invalid header"},
		"error within gzip":     {zip("1,2,3\nx,5,6\n"), `line 2, column 1: "x" is not a number`},
	} {
		s, err := ReadCSV(strings.NewReader(c.in), 2)
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "data: ") || len(err.Error()) > 300 {
			t.Errorf("%s: set %v, error %v, want %q", name, s, err, c.want)
		}
	}
	for _, features := range []int{-1, 0, MaxFeatures + 1} {
		if _, err := ReadCSV(strings.NewReader("1,2\n"), features); err == nil || !strings.Contains(err.Error(), "features, want 1 to") {
			t.Errorf("%d features: error %v", features, err)
		}
	}
}

func TestReadCSVTruncatedGzip(t *testing.T) {
	whole := zip("1,2,3\n4,5,6\n7,8,9\n")
	for n := range len(whole) {
		if _, err := ReadCSV(strings.NewReader(whole[:n]), 2); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(whole))
		}
	}
}

func TestReadCSVFailingReader(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, in := range []string{"", "1,2,3\n", "1,2,3\n4,5", zip("1,2,3\n4,5,6\n")[:20]} {
		_, err := ReadCSV(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 2)
		if !errors.Is(err, broken) {
			t.Errorf("after %q: error %v", in, err)
		}
	}
}

// endless gives line over and over.
type endless struct {
	line string
	pos  int
}

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = e.line[e.pos]
		e.pos = (e.pos + 1) % len(e.line)
	}
	return len(b), nil
}

func TestReadCSVIsBounded(t *testing.T) {
	_, err := readCSV(&endless{line: "1,2,3\n"}, 2, 1000)
	if err == nil || !strings.Contains(err.Error(), "line 501: more than 1000 values") {
		t.Errorf("endless lines: error %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, line := range []string{"1", "1,", "\"", " "} {
		if _, err := ReadCSV(&endless{line: line}, 64); err == nil || !strings.Contains(err.Error(), "line 1: longer than 4160 bytes") {
			t.Errorf("an endless line of %q: error %v", line, err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("endless lines took %d bytes", n)
	}
}

// FuzzReadCSV checks that no input makes the reader panic, and that what it
// accepts is a valid set.
func FuzzReadCSV(f *testing.F) {
	f.Add([]byte("1,2.5,7\n-3,4e2,-8\n"), 2)
	f.Add([]byte("\ufeff\"a, b\",\"c\"\"d\"\r\n\r\n 1 ,\"2\"\r\n"), 2)
	f.Add([]byte("nan,,0x1p3\n1e999,\"\n"), 3)
	f.Add([]byte(zip("1,2,3\n4,5,6\n")), 2)
	f.Fuzz(func(t *testing.T, b []byte, features int) {
		s, err := readCSV(bytes.NewReader(b), features, 1<<16)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		if s.N < 1 || s.Features != features {
			t.Fatalf("%d samples of %d features, want some of %d", s.N, s.Features, features)
		}
		for i, v := range s.Pixels {
			if v-v != 0 {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	})
}
