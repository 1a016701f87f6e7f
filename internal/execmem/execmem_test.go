package execmem

import (
	"testing"
	"unsafe"
)

func TestMap(t *testing.T) {
	if !Supported() {
		t.Skip("no executable memory here")
	}
	code := make([]byte, 5000)
	for i := range code {
		code[i] = byte(i)
	}
	r, err := Map(code)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Free()
	if r.Size() < len(code) || r.Addr()%4096 != 0 {
		t.Fatalf("region of %d bytes at %#x", r.Size(), r.Addr())
	}
	got := unsafe.Slice(unsafe.SliceData(r.mem), len(code))
	for i := range code {
		if got[i] != byte(i) {
			t.Fatalf("byte %d is %d", i, got[i])
		}
	}
}

func TestEmpty(t *testing.T) {
	if !Supported() {
		t.Skip("no executable memory here")
	}
	r, err := Map(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Free()
}
