package cuda

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// elf is an ELF file for GPUs with one section that holds a text, and one that takes no bytes.
func elf(text string) []byte {
	b := make([]byte, elfHead+2*elfSection)
	copy(b, elfIdentity)
	binary.LittleEndian.PutUint16(b[18:], elfCUDA)
	binary.LittleEndian.PutUint64(b[40:], elfHead)
	binary.LittleEndian.PutUint16(b[58:], elfSection)
	binary.LittleEndian.PutUint16(b[60:], 2)
	first, second := b[elfHead:], b[elfHead+elfSection:]
	binary.LittleEndian.PutUint32(first[4:], 1) // of bytes
	binary.LittleEndian.PutUint64(first[24:], uint64(len(b)))
	binary.LittleEndian.PutUint64(first[32:], uint64(len(text)))
	binary.LittleEndian.PutUint32(second[4:], elfNoBytes)
	binary.LittleEndian.PutUint64(second[32:], 1<<40)
	return append(b, text...)
}

var hopper = ptx.Target{Major: 9}

// TestImage: an image is read as it was written, and every change of it is noticed.
func TestImage(t *testing.T) {
	want := image{text: sha256.Sum256([]byte("text")), major: 9, driver: 12040, code: elf("machine code")}
	b := want.appendTo(nil)
	x, err := readImage(b)
	if err != nil || x.text != want.text || x.major != 9 || x.minor != 0 || x.driver != 12040 || !bytes.Equal(x.code, want.code) {
		t.Fatalf("%+v, %v", x, err)
	}
	if err := x.fits(hopper, 12040); err != nil {
		t.Error(err)
	}
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 1
		if _, err := readImage(changed); err == nil || ir.AsError(err).Kind != ir.ErrFormat {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := readImage(b[:i]); err == nil || ir.AsError(err).Kind != ir.ErrFormat {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

// TestImageHostile: with the right hash, what is no machine code for this device is told
// from what is, and the error says what was expected.
func TestImageHostile(t *testing.T) {
	for _, c := range []struct {
		name, want string
		kind       error
		change     func(x *image)
	}{
		{"an older driver's", "", nil, func(x *image) { x.driver = 11080 }},
		{"another capability", "code for compute capability 8.9, the device has 9.0", ir.ErrUnsupported, func(x *image) { x.major, x.minor = 8, 9 }},
		{"a later minor", "code for compute capability 9.1, the device has 9.0", ir.ErrUnsupported, func(x *image) { x.minor = 1 }},
		{"a later driver's", "code by a driver of CUDA 13.0, the driver is one of 12.4", ir.ErrUnsupported, func(x *image) { x.driver = 13000 }},
		{"a driver beyond int", "code by a driver", ir.ErrUnsupported, func(x *image) { x.driver = 1<<32 - 1 }},
		{"text", "expected an ELF file", ir.ErrFormat, func(x *image) { copy(x.code, ".version 8.0") }},
		{"another machine", "for machine 62, expected 190", ir.ErrFormat, func(x *image) { x.code[18] = 62 }},
		{"sections beyond the end", "2 sections at", ir.ErrFormat, func(x *image) { binary.LittleEndian.PutUint64(x.code[40:], 1<<63) }},
		{"segments beyond the end", "9 segments at", ir.ErrFormat, func(x *image) { x.code[54], x.code[56] = 56, 9 }},
		{"no sections", "0 sections", ir.ErrFormat, func(x *image) { x.code[60] = 0 }},
		{"short sections", "of 63 bytes each", ir.ErrFormat, func(x *image) { x.code[58] = 63 }},
		{"a section beyond the end", "section 0 of", ir.ErrFormat, func(x *image) { x.code = x.code[:len(x.code)-1] }},
		{"a section whose end overflows", "section 0 of", ir.ErrFormat, func(x *image) { binary.LittleEndian.PutUint64(x.code[elfHead+32:], 1<<64-1) }},
		{"too long", "at most", ir.ErrFormat, func(x *image) { x.code = append(x.code, make([]byte, maxImageBytes)...) }},
	} {
		x := &image{major: 9, driver: 12040, code: elf(strings.Repeat("code", 40))}
		c.change(x)
		x, err := readImage(x.appendTo(nil))
		if err == nil {
			err = x.fits(hopper, 12040)
		}
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzImage(f *testing.F) {
	f.Add(elf("code"))
	f.Fuzz(func(t *testing.T, code []byte) {
		x := &image{code: code}
		if y, err := readImage(x.appendTo(nil)); err == nil && !bytes.Equal(y.code, code) {
			t.Errorf("read %d bytes of %d", len(y.code), len(code))
		}
	})
}
