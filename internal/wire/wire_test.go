package wire

import (
	"math"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	r := Reader{B: []byte{0, 0x7f, 0x80, 1, 2, 9, 9}}
	if a, b, c := r.Uint("a", 0), r.Uint("b", 200), r.Uint("c", 128); a != 0 || b != 127 || c != 128 || r.Err != nil {
		t.Fatal(a, b, c, r.Err)
	}
	if n := r.Count("things", 10, 1); n != 2 || r.Err != nil {
		t.Fatal(n, r.Err)
	}
	r.B = r.B[2:]
	if r.End(); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, c := range []struct {
		b    []byte
		most uint64
		want string
	}{
		{nil, 1, "end within"}, {[]byte{0x80}, 1, "end within"}, {[]byte{0x80, 0}, 1, "least number"}, {[]byte{2}, 1, "at most 1"},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, math.MaxUint64, "end within"},
	} {
		r := Reader{B: c.b}
		if v := r.Uint("x", c.most); v != 0 || r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
			t.Errorf("% x: %d, %v; want an error with %q", c.b, v, r.Err, c.want)
		}
		first := r.Err
		if r.Uint("y", 1); r.Err != first {
			t.Errorf("the first error did not stick: %v", r.Err)
		}
	}
	r = Reader{B: []byte{3, 1, 1}}
	if n := r.Count("things", 10, 1); n != 0 || r.Err == nil {
		t.Errorf("3 things in 2 bytes: %d, %v", n, r.Err)
	}
	r = Reader{B: []byte{1}}
	if r.End(); r.Err == nil {
		t.Error("a byte is left")
	}
}
