package amd64

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// reload saves code and loads it again.
func reload(t testing.TB, c *Code) *Code {
	t.Helper()
	saved := c.Save(nil)
	again, err := Load(c.k, c.level, saved)
	if err != nil {
		t.Fatalf("%v\n%v", err, c.k)
	}
	if b := again.Save(nil); !bytes.Equal(b, saved) {
		t.Fatalf("saved again, the code differs: %d and %d bytes", len(b), len(saved))
	}
	return again
}

// TestLoad: code that was saved and loaded gives the bits of the interpreter, with
// what was made for several reduced axes.
func TestLoad(t *testing.T) {
	r := rand.New(rand.NewSource(61))
	for seed := range int64(40) {
		for _, kind := range []string{"rows", "columns", "elementwise"} {
			k, axes := fusedKernel(r, kind, seed)
			codes, in := prepare(t, k, false)
			for i := range codes {
				codes[i] = reload(t, codes[i])
			}
			agree(t, r, k, codes, in, fusedExtents(r, axes), randomBits)
		}
	}
	k := batchNorm(ir.F32)
	codes, in := prepare(t, k, true)
	agree(t, r, k, codes, in, []int64{9, 40, 33}, plainBits) // makes code of rows
	for i, c := range codes {
		if codes[i] = reload(t, c); codes[i].nest.made.Load() == nil {
			t.Error("the code of rows was not saved")
		}
	}
	agree(t, r, k, codes, in, []int64{9, 40, 33}, plainBits)
}

// TestLoadRefuses: code that was cut, or of another kernel, is refused as far as the
// form tells; no bytes make Load panic.
func TestLoadRefuses(t *testing.T) {
	codes, _ := prepare(t, batchNorm(ir.F32), true)
	for _, c := range codes {
		saved := c.Save(nil)
		for n := range saved {
			if _, err := Load(c.k, c.level, saved[:n:n]); !errors.Is(err, ir.ErrFormat) {
				t.Fatalf("cut to %d of %d bytes: %v", n, len(saved), err)
			}
		}
		if _, err := Load(c.k, c.level, append(saved[:len(saved):len(saved)], 0)); !errors.Is(err, ir.ErrFormat) {
			t.Fatalf("a byte at the end: %v", err)
		}
		for i := range min(len(saved), 200) {
			for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
				b := bytes.Clone(saved)
				b[i] = v
				_, _ = Load(c.k, c.level, b)
			}
		}
	}
}

// TestBuildID: the probes are kernels, each taken by the generator, and levels have
// ids of their own.
func TestBuildID(t *testing.T) {
	for _, k := range probes() {
		if err := k.Verify(); err != nil {
			t.Errorf("%v\n%v", err, k)
		}
		if _, err := kernel.DecodeWire(k.AppendWire(nil)); err != nil {
			t.Error(err)
		}
		for _, level := range levels {
			if _, err := generate(k, level, false); err != nil {
				t.Error(err)
			}
		}
	}
	if BuildID(AVX2) == BuildID(AVX512) || BuildID(AVX2) != buildID(AVX2) {
		t.Error("ids do not tell levels apart, or differ from call to call")
	}
}
