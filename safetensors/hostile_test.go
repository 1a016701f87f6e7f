package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestEveryTruncation(t *testing.T) {
	whole := []byte(golden[4].want)
	for n := range len(whole) {
		if _, err := Read(bytes.NewReader(whole[:n]), int64(n)); !errors.Is(err, ErrMalformed) {
			t.Errorf("cut to %d of %d bytes: error %v", n, len(whole), err)
		}
		// The same with a size that does not know of the cut.
		f, err := Read(bytes.NewReader(whole[:n]), int64(len(whole)))
		if err != nil {
			continue
		}
		for _, name := range f.Names() {
			_, terr := f.Tensor(name)
			err = errors.Join(err, terr)
		}
		if err == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(whole))
		}
	}
}

// one is a header with a tensor "w" of the given fields.
func one(fields string) string { return `{"w":{` + fields + `}}` }

var hostile = []struct {
	name   string
	header string
	data   string
	want   []string // parts of the message
}{
	{"empty object needs no data", `{}`, "x", []string{"1 bytes follow", "take 0 bytes", "has 1"}},
	{"not JSON", `hello, world`, "", []string{"byte 0", "'h'", "'{'"}},
	{"leading space", ` {}`, "", []string{"byte 0", "' '", "'{'"}},
	{"byte order mark", "\ufeff{}", "", []string{"'{'"}},
	{"array", `[]`, "", []string{"'['"}},
	{"unclosed", `{"w":{"dtype":"F32"`, "", []string{`"w"`, "header ends"}},
	{"unclosed string", `{"w`, "", []string{"within a string"}},
	{"trailing comma", `{"__metadata__":{},}`, "", []string{"byte 19", "'}'", "a string"}},
	{"garbage after the object", `{} x`, "", []string{"byte 3", "'x'", "end of the header"}},
	{"NUL padding", "{}\x00\x00", "", []string{`'\x00'`, "end of the header"}},
	{"second object", `{}{}`, "", []string{"end of the header"}},
	{"invalid UTF-8", "{\"a\xff\":{}}", "", []string{"byte 3", "UTF-8"}},
	{"UTF-8 of a surrogate", "{\"\xed\xa0\x80\":{}}", "", []string{"byte 2", "UTF-8"}},
	{"lone surrogate", `{"\ud800":{}}`, "", []string{`\ud800`, "surrogate"}},
	{"two high surrogates", `{"\ud800\ud800":{}}`, "", []string{"surrogate"}},
	{"low surrogate first", `{"\udc00\ud800":{}}`, "", []string{"surrogate"}},
	{"bad escape", `{"\x":{}}`, "", []string{"'x'", "an escape"}},
	{"bad hex", `{"\u00g0":{}}`, "", []string{"'g'", "hexadecimal"}},
	{"escape at the end", `{"\`, "", []string{"within a string"}},
	{"hex at the end", `{"\u12`, "", []string{"within a string"}},
	{"raw control character", "{\"a\nb\":{}}", "", []string{"0x0a"}},
	{"tensor is a number", `{"w":3}`, "", []string{`"w"`, "'3'", "an object"}},
	{"tensor is null", `{"w":null}`, "", []string{`"w"`, "an object"}},
	{"no colon", `{"w" {}}`, "", []string{"':'"}},

	{"metadata is a list", `{"__metadata__":[]}`, "", []string{"__metadata__", "an object"}},
	{"metadata value is a number", `{"__metadata__":{"a":1}}`, "", []string{`"a"`, "a string"}},
	{"metadata key twice", `{"__metadata__":{"a":"1","a":"2"}}`, "", []string{`duplicate key "a"`}},
	{"metadata twice", `{"__metadata__":{},"__metadata__":{}}`, "", []string{"duplicate", "__metadata__"}},

	{"no dtype", one(`"shape":[1],"data_offsets":[0,4]`), "abcd", []string{`"w"`, `"dtype" is missing`}},
	{"no shape", one(`"dtype":"F32","data_offsets":[0,4]`), "abcd", []string{`"shape" is missing`}},
	{"no offsets", one(`"dtype":"F32","shape":[1]`), "abcd", []string{`"data_offsets" is missing`}},
	{"field twice", one(`"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]`), "abcd", []string{`duplicate field "dtype"`}},
	{"field twice, escaped", one(`"dtype":"F32","\u0064type":"F64","shape":[1],"data_offsets":[0,4]`), "abcd", []string{`duplicate field "dtype"`}},
	{"unknown dtype", one(`"dtype":"Q4_K","shape":[1],"data_offsets":[0,4]`), "abcd", []string{`"w"`, `"Q4_K"`}},
	{"dtype in lower case", one(`"dtype":"f32","shape":[1],"data_offsets":[0,4]`), "abcd", []string{`"f32"`}},
	{"dtype is a number", one(`"dtype":32,"shape":[1],"data_offsets":[0,4]`), "abcd", []string{"dtype", "a string"}},
	{"shape is a number", one(`"dtype":"F32","shape":1,"data_offsets":[0,4]`), "abcd", []string{"shape", "an array"}},
	{"negative dimension", one(`"dtype":"F32","shape":[-1],"data_offsets":[0,4]`), "abcd", []string{"shape", "'-'", "non-negative"}},
	{"fraction", one(`"dtype":"F32","shape":[1.0],"data_offsets":[0,4]`), "abcd", []string{"shape", "'.'"}},
	{"exponent", one(`"dtype":"F32","shape":[1e0],"data_offsets":[0,4]`), "abcd", []string{"shape", "'e'"}},
	{"leading zero", one(`"dtype":"F32","shape":[01],"data_offsets":[0,4]`), "abcd", []string{"shape", "leading zero"}},
	{"dimension is a string", one(`"dtype":"F32","shape":["1"],"data_offsets":[0,4]`), "abcd", []string{"shape", "non-negative"}},
	{"dimension of 2^63", one(`"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]`), "abcd", []string{"9223372036854775807"}},
	{"dimension of 2^64+1", one(`"dtype":"U8","shape":[18446744073709551617],"data_offsets":[0,4]`), "abcd", []string{"9223372036854775807"}},
	{"product wraps to 4", one(`"dtype":"U8","shape":[4611686018427387905,4],"data_offsets":[0,4]`), "abcd", []string{`"w"`, "2^61-1"}},
	{"bytes wrap to 8", one(`"dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8]`), "abcdefgh", []string{`"w"`, "2^61-1"}},
	{"zero hides an overflow", one(`"dtype":"F32","shape":[0,4611686018427387904,4611686018427387904],"data_offsets":[0,0]`), "", []string{"2^61-1"}},
	{"half a byte", one(`"dtype":"F4","shape":[3],"data_offsets":[0,2]`), "ab", []string{"whole number of bytes"}},
	{"65 dimensions", one(`"dtype":"U8","shape":[1` + strings.Repeat(",1", 64) + `],"data_offsets":[0,1]`), "a", []string{"more than 64"}},

	{"one offset", one(`"dtype":"F32","shape":[1],"data_offsets":[0]`), "abcd", []string{"data_offsets", "1 numbers, want 2"}},
	{"no offset", one(`"dtype":"F32","shape":[1],"data_offsets":[]`), "abcd", []string{"0 numbers, want 2"}},
	{"three offsets", one(`"dtype":"F32","shape":[1],"data_offsets":[0,4,8]`), "abcd", []string{"more than 2"}},
	{"negative offset", one(`"dtype":"F32","shape":[1],"data_offsets":[-4,0]`), "abcd", []string{"data_offsets", "'-'"}},
	{"end before begin", one(`"dtype":"F32","shape":[1],"data_offsets":[4,0]`), "abcd", []string{`"w"`, "[4, 0]", "end before they begin"}},
	{"offsets out of range", one(`"dtype":"F32","shape":[2],"data_offsets":[0,8]`), "abcd", []string{`"w"`, "[0, 8]", "4 bytes"}},
	{"size does not match", one(`"dtype":"F32","shape":[2,3],"data_offsets":[0,20]`), strings.Repeat("x", 20), []string{`"w"`, "hold 20 bytes", "[2 3] of F32 takes 24"}},
	{"scalar without data", one(`"dtype":"F32","shape":[],"data_offsets":[0,0]`), "", []string{"hold 0 bytes", "[] of F32 takes 4"}},
	{"zero size with data", one(`"dtype":"F32","shape":[0],"data_offsets":[0,4]`), "abcd", []string{"hold 4 bytes", "takes 0"}},
	{"hole at the start", one(`"dtype":"U8","shape":[2],"data_offsets":[2,4]`), "abcd", []string{`"w"`, "hole", "begin at 0"}},
	{"trailing data", one(`"dtype":"U8","shape":[2],"data_offsets":[0,2]`), "abcd", []string{"2 bytes follow"}},
	{"hole", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`, "abcd",
		[]string{`"b"`, "hole", "begin at 1", `after tensor "a"`}},
	{"overlap", `{"b":{"dtype":"U8","shape":[3],"data_offsets":[1,4]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, "abcd",
		[]string{`"b"`, "overlap", "begin at 2", `after tensor "a"`}},
	{"same extent", `{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, "abcd",
		[]string{`"b"`, "overlap"}},
	{"zero size within another", `{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}}`, "abcd",
		[]string{`"b"`, "overlap"}},
	{"duplicate name", `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`, "abcd",
		[]string{`"a"`, "more than once"}},
	{"duplicate name, escaped", `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"\u0061":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`, "abcd",
		[]string{`"a"`, "more than once"}},

	{"unknown field is not JSON", one(`"x":nul,"dtype":"U8","shape":[],"data_offsets":[0,1]`), "a", []string{"a value"}},
	{"unknown field is a bad number", one(`"x":-,"dtype":"U8","shape":[],"data_offsets":[0,1]`), "a", []string{"bad number"}},
	{"unknown field is a bad exponent", one(`"x":1e+,"dtype":"U8","shape":[],"data_offsets":[0,1]`), "a", []string{"bad number"}},
	{"deep nesting", one(`"x":` + strings.Repeat("[", 1_000_000)), "", []string{`"w"`, "nested more than 32"}},
	{"deep objects", one(`"x":` + strings.Repeat(`{"x":`, 1_000_000)), "", []string{"nested more than 32"}},
	{"deep tensors", strings.Repeat(`{"x":`, 1_000_000), "", []string{`"x"`, "nested more than 32"}},
	{"deep shape", one(`"shape":` + strings.Repeat("[", 1_000_000)), "", []string{"non-negative integer"}},
	{"many dimensions", one(`"shape":[1` + strings.Repeat(",1", 1_000_000)), "", []string{"more than 64"}},
	{"long name", `{"` + strings.Repeat("n", 1_000_000) + `":3}`, "", []string{"(1000000 bytes)"}},
	{"long digits", one(`"shape":[` + strings.Repeat("9", 1_000_000)), "", []string{"above"}},
}

func TestHostileHeaders(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			b := file(h.header, h.data)
			start := time.Now()
			_, err := Read(bytes.NewReader(b), int64(len(b)))
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v", err)
			}
			if math.MaxInt == math.MaxInt32 && strings.Contains(err.Error(), "does not fit an int") {
				return
			}
			for _, part := range append(h.want, "safetensors: ") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %s", err, part)
				}
			}
			if len(err.Error()) > 500 {
				t.Errorf("the message takes %d bytes", len(err.Error()))
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestHostileLengths(t *testing.T) {
	for _, c := range []struct {
		length uint64
		want   string
	}{
		{0, "empty"},
		{1, "empty"},
		{3, "claims 3 bytes, but only 2"},
		{MaxHeader, "claims 100000000 bytes, but only 2"},
		{MaxHeader + 1, "the limit is 100000000"},
		{1 << 31, "limit"},
		{math.MaxInt64, "limit"},
		{math.MaxInt64 + 1, "limit"},
		{math.MaxUint64, "claims 18446744073709551615 bytes"},
		{math.MaxUint64 - 7, "limit"}, // 8 more wrap to 0
	} {
		b := append(binary.LittleEndian.AppendUint64(nil, c.length), "{}"...)
		_, err := Read(bytes.NewReader(b), int64(len(b)))
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("length %d: error %v, want %q", c.length, err, c.want)
		}
	}
	for _, size := range []int64{math.MinInt64, -1, 0, 7} {
		if _, err := Read(bytes.NewReader(nil), size); !errors.Is(err, ErrMalformed) {
			t.Errorf("size %d: error %v", size, err)
		}
	}
}

// A size that is far too large must not make the reader ask for that memory.
func TestLyingSize(t *testing.T) {
	head := binary.LittleEndian.AppendUint64(nil, MaxHeader)
	if _, err := Read(bytes.NewReader(head), 1<<40); err == nil {
		t.Error("no error for a header that is not there")
	}
	if math.MaxInt == math.MaxInt32 {
		t.Skip("shapes that large do not fit an int")
	}
	huge := int64(1) << 60
	b := file(fmt.Sprintf(`{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, huge, huge), "")
	f, err := Read(bytes.NewReader(b), int64(len(b))+huge)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Tensor("w"); err == nil {
		t.Error("no error for data that is not there")
	}
}

// Memory stays within a small multiple of the header, whatever it holds.
func TestMemoryIsBounded(t *testing.T) {
	var many strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&many, `,"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	var meta strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&meta, `,"%d":""`, i)
	}
	for name, header := range map[string]string{
		"many tensors":  `{` + many.String()[1:] + `}`,
		"metadata":      `{"__metadata__":{` + meta.String()[1:] + `}}`,
		"escapes":       one(`"` + strings.Repeat(`\u00e9`, 500_000) + `":3,"dtype":"U8","shape":[0],"data_offsets":[0,0]`),
		"ignored value": one(`"x":[` + strings.Repeat(`"",`, 500_000) + `1],"dtype":"U8","shape":[0],"data_offsets":[0,0]`),
	} {
		b := file(header, "")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Read(bytes.NewReader(b), int64(len(b))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32*uint64(len(b)) {
			t.Errorf("%s: allocated %d bytes for a header of %d", name, n, len(b))
		}
	}
}

// What the format allows, but this package never writes.
func TestForeignFiles(t *testing.T) {
	for name, c := range map[string]struct{ header, data string }{
		"other order":          {`{"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, "bbaa"},
		"fields in any order":  {`{"a":{"data_offsets":[0,2],"shape":[2],"dtype":"U8"}}`, "aa"},
		"white space":          {"{ \"a\"\t:\r\n{ \"dtype\" : \"U8\" , \"shape\" : [ 1 , 2 ] , \"data_offsets\" : [ 0 , 2 ] } } \n", "aa"},
		"empty shape, spaces":  {`{"a":{"dtype":"U16","shape":[ ],"data_offsets":[0,2]}}`, "aa"},
		"null metadata":        {`{"__metadata__":null,"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, "aa"},
		"metadata at the end":  {`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"__metadata__":{}}`, "aa"},
		"unknown fields":       {`{"a":{"x":{"y":[1,-2.5e-3,true,false,null,"s",{}]},"dtype":"U8","shape":[2],"data_offsets":[0,2],"x":0}}`, "aa"},
		"escaped name":         {`{"\u0061":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, "aa"},
		"zero sizes at a seam": {`{"z":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"F64","shape":[3,0],"data_offsets":[2,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`, "aabb"},
	} {
		f, err := Read(bytes.NewReader(file(c.header, c.data)), int64(8+len(c.header)+len(c.data)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a, err := f.Tensor("a"); err != nil || string(a.Data) != "aa" {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	f := read(t, file(`{"\ud83d\ude00\/\b\f\r":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, ""))
	if f.Names()[0] != "😀/\b\f\r" {
		t.Errorf("name %q", f.Names()[0])
	}
}

func TestBoolOtherThanZeroAndOne(t *testing.T) {
	f := read(t, file(`{"mask":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}`, "\x00\x01\x02"))
	_, err := f.Tensor("mask")
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), `"mask"`) || !strings.Contains(err.Error(), "element 2 of a BOOL tensor is 2") {
		t.Errorf("error %v", err)
	}
}
