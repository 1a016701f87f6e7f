package cuda

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// textHash tells the texts of entries apart. A text names the version of the ISA and the
// target that it is written for.
type textHash [sha256.Size]byte

// image is the machine code that a driver made of a text. Code runs on its own compute
// capability, under the driver that made it or a later one.
type image struct {
	text         textHash
	major, minor uint32 // compute capability
	driver       uint32 // that made it, as 1000 times the major version of CUDA plus 10 times the minor one
	code         []byte // an ELF file
}

// The form of an image: magic, compute capability and driver as words, hash of the text,
// code, SHA-256 of all that.
const (
	imageMagic    = "SNTCODE1"
	imageHead     = len(imageMagic) + 3*4 + sha256.Size
	maxImageBytes = 16 << 20 // of the code
)

func (x *image) appendTo(b []byte) []byte {
	from := len(b)
	b = append(b, imageMagic...)
	for _, v := range []uint32{x.major, x.minor, x.driver} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, x.text[:]...)
	b = append(b, x.code...)
	sum := sha256.Sum256(b[from:])
	return append(b, sum[:]...)
}

// readImage reads what appendTo wrote. The error, of kind [ir.ErrFormat], says what is
// damaged. The code is a copy.
func readImage(b []byte) (*image, error) {
	const least = imageHead + elfHead + sha256.Size
	switch {
	case len(b) < least:
		return nil, ir.Errorf(ir.ErrFormat, "%d bytes, at least %d are expected", len(b), least)
	case string(b[:len(imageMagic)]) != imageMagic:
		return nil, ir.Errorf(ir.ErrFormat, "it begins with %.20q, expected %q", b[:len(imageMagic)], imageMagic)
	}
	content, hash := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if sum := sha256.Sum256(content); !bytes.Equal(sum[:], hash) {
		return nil, ir.Errorf(ir.ErrFormat, "damaged: its hash is %x, expected %x", sum[:4], hash[:4])
	}
	x, words := &image{}, content[len(imageMagic):]
	for i, v := range []*uint32{&x.major, &x.minor, &x.driver} {
		*v = binary.LittleEndian.Uint32(words[4*i:])
	}
	copy(x.text[:], words[12:])
	x.code = bytes.Clone(content[imageHead:])
	return x, checkCode(x.code)
}

// fits says why the code does not run on a device under a driver.
func (x *image) fits(t ptx.Target, driver int) error {
	if int(x.major) != t.Major || int(x.minor) != t.Minor {
		return ir.Errorf(ir.ErrUnsupported, "code for compute capability %d.%d, the device has %d.%d", x.major, x.minor, t.Major, t.Minor)
	}
	if int64(x.driver) > int64(driver) {
		return ir.Errorf(ir.ErrUnsupported, "code by a driver of CUDA %s, the driver is one of %s", cudaVersion(int(x.driver)), cudaVersion(driver))
	}
	return nil
}

// cudaVersion writes the number of a driver.
func cudaVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// What of an ELF file is looked at: the sizes of its header and of the description of a
// section, and the numbers for GPUs and for sections that take no bytes.
const (
	elfHead     = 64
	elfSection  = 64
	elfCUDA     = 190
	elfNoBytes  = 8
	elfIdentity = "\x7fELF\x02\x01" // of 64 bits, little-endian
)

// checkCode makes sure that code is an ELF file for GPUs whose sections all lie in it: the
// driver is given an address and no length, and takes what is no ELF file for text.
func checkCode(code []byte) error {
	fail := func(format string, args ...any) error {
		return ir.Errorf(ir.ErrFormat, "no machine code: "+format, args...)
	}
	if len(code) > maxImageBytes {
		return fail("%d bytes, at most %d are expected", len(code), maxImageBytes)
	}
	if len(code) < elfHead || string(code[:len(elfIdentity)]) != elfIdentity {
		return fail("it begins with %.16q, expected an ELF file", code[:min(len(code), len(elfIdentity))])
	}
	if machine := binary.LittleEndian.Uint16(code[18:]); machine != elfCUDA {
		return fail("an ELF file for machine %d, expected %d", machine, elfCUDA)
	}
	within := func(at, n uint64) bool { return at <= uint64(len(code)) && n <= uint64(len(code))-at }
	for _, table := range []struct {
		what      string
		at        uint64
		each, num uint16
	}{
		{"segments", binary.LittleEndian.Uint64(code[32:]), binary.LittleEndian.Uint16(code[54:]), binary.LittleEndian.Uint16(code[56:])},
		{"sections", binary.LittleEndian.Uint64(code[40:]), binary.LittleEndian.Uint16(code[58:]), binary.LittleEndian.Uint16(code[60:])},
	} {
		if n := uint64(table.each) * uint64(table.num); !within(table.at, n) {
			return fail("%d %s at %d end behind its %d bytes", table.num, table.what, table.at, len(code))
		}
		if table.what != "sections" {
			continue
		}
		if table.num == 0 || table.each != elfSection {
			return fail("%d sections of %d bytes each, expected some of %d", table.num, table.each, elfSection)
		}
		for i := range uint64(table.num) {
			s := code[table.at+i*elfSection:][:elfSection]
			at, n := binary.LittleEndian.Uint64(s[24:]), binary.LittleEndian.Uint64(s[32:])
			if binary.LittleEndian.Uint32(s[4:]) != elfNoBytes && !within(at, n) {
				return fail("section %d of %d bytes at %d ends behind its %d", i, n, at, len(code))
			}
		}
	}
	return nil
}
