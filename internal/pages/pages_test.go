package pages

import (
	"testing"
	"unsafe"
)

func TestMap(t *testing.T) {
	for _, n := range []int64{4096, 3 * 4096, HugeSize / 2, HugeSize, HugeSize + 4096, 5 * HugeSize} {
		b, err := Map(n)
		if err != nil {
			t.Fatal(err)
		}
		at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		if int64(len(b)) != n || at%4096 != 0 {
			t.Errorf("%d bytes at %#x, expected %d at the start of a page", len(b), at, n)
		}
		for i := 0; i < len(b); i += 1024 {
			if b[i] != 0 {
				t.Fatalf("byte %d of %d is not 0", i, n)
			}
			b[i] = 1
		}
		b[n-1] = 1
		Unmap(b)
	}
	if _, err := Map(1 << 60); err == nil {
		t.Error("an exabyte was mapped")
	}
	if _, err := Map(0); err == nil {
		t.Error("nothing was mapped")
	}
}
