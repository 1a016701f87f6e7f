package data_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
)

func idx[T data.IDXElement](t testing.TB, shape []int, values ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := data.WriteIDX(&b, shape, values); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func roundTrip[T data.IDXElement](t *testing.T, values ...T) {
	t.Helper()
	shape, got, err := data.ReadIDX[T](bytes.NewReader(idx(t, []int{len(values), 1}, values...)))
	if err != nil || len(shape) != 2 || shape[0] != len(values) || shape[1] != 1 {
		t.Fatalf("%T: %v, %v", values, shape, err)
	}
	for i := range values {
		if got[i] != values[i] {
			t.Errorf("%T: %v, want %v", values, got, values)
		}
	}
}

func TestIDX(t *testing.T) {
	roundTrip[uint8](t, 0, 1, 255)
	roundTrip[int8](t, -128, 127)
	roundTrip[int16](t, -32768, 258)
	roundTrip[int32](t, -1<<31, 1<<31-1)
	roundTrip[float32](t, 1.5, -3e38)
	roundTrip[float64](t, 1e300, -0.1)
	roundTrip[float64](t)
	// The example of the format's description: 00 00 08 01, then an extent.
	if _, v, err := data.ReadIDX[int32](bytes.NewReader([]byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 255})); err != nil || v[1] != 255 {
		t.Errorf("bytes as int32: %v, %v", v, err)
	}
	if _, _, err := data.ReadIDX[uint8](bytes.NewReader(idx(t, []int{2}, int16(4), int16(-1)))); err == nil || !strings.Contains(err.Error(), "value 1 is -1") {
		t.Errorf("-1 as uint8: %v", err)
	}
	for name, b := range map[string]string{
		"no header": "\x00\x00", "begins with": "\x00\x01\x08\x01", "a type": "\x00\x00\x0a\x01", "0 axes": "\x00\x00\x08\x00",
		"extent of axis 1": "\x00\x00\x08\x02\x00\x00\x00\x01\x00", "ends after 0": "\x00\x00\x08\x01\x00\x00\x00\x02a",
		"goes on": "\x00\x00\x08\x01\x00\x00\x00\x01ab", "more than": "\x00\x00\x08\x02\x7f\xff\xff\xff\x00\x00\x00\x00",
		"more than 268435456": "\x00\x00\x08\x03\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00", "EOF": "\x1f\x8b\x08\x00",
	} {
		if _, _, err := data.ReadIDX[uint8](strings.NewReader(b)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := data.WriteIDX(new(bytes.Buffer), []int{3}, []uint8{1}); err == nil {
		t.Error("a wrong shape was written")
	}
}

func TestMNIST(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(idx(t, []int{2, 2, 2}, []uint8{0, 255, 51, 102, 1, 2, 3, 4}...))
	w.Close()
	labels := idx(t, []int{2}, uint8(7), uint8(0))
	s, err := data.ReadMNIST(bytes.NewReader(z.Bytes()), bytes.NewReader(labels))
	if err != nil || s.N != 2 || s.Features != 4 || s.Labels[0] != 7 || s.Row(0)[1] != 1 || s.Row(0)[2] != 0.2 {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := data.ReadMNIST(bytes.NewReader(labels), bytes.NewReader(labels)); err == nil {
		t.Error("labels as images")
	}
	if _, err := data.ReadMNIST(bytes.NewReader(z.Bytes()[:z.Len()-9]), bytes.NewReader(labels)); err == nil {
		t.Error("damaged compression")
	}
}

func FuzzIDX(f *testing.F) {
	f.Add(idx(f, []int{2, 3}, make([]int16, 6)...))
	f.Add(idx(f, []int{1}, 2.5))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1 && b[0] == 0x1f { // what a bomb unfolds to is bounded, but slow
			return
		}
		shape, values, err := data.ReadIDX[float64](bytes.NewReader(b))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := data.WriteIDX(&out, shape, values); err != nil {
			t.Fatal(err)
		}
		if _, again, err := data.ReadIDX[float64](&out); err != nil || len(again) != len(values) {
			t.Errorf("%d values, then %d: %v", len(values), len(again), err)
		}
	})
}
