package kernel_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// wireKernels returns the kernels of the nodes of random programs, by their bytes.
func wireKernels(t testing.TB, programs int) map[string]*kernel.Kernel {
	t.Helper()
	out := map[string]*kernel.Kernel{}
	for seed := range uint64(programs) {
		p := irtest.Random(rand.New(rand.NewPCG(seed, 17)), irtest.Options{Nodes: 20})
		types := map[ir.ID]ir.Type{}
		for _, in := range p.Inputs {
			types[in.ID] = in.Type
		}
		for i := range p.Nodes {
			for _, x := range p.Nodes[i].Out {
				types[x.ID] = x.Type
			}
			b, err := lower.New(p.Nodes[i:i+1], func(id ir.ID) ir.Layout { return ir.Layout{Strides: types[id].Shape.Strides()} }, nil)
			if err != nil {
				continue // a routine, or an empty result
			}
			for _, piece := range b.Pieces {
				k, _, err := piece.Build()
				if err != nil {
					t.Fatal(err)
				}
				out[string(k.AppendWire(nil))] = k
			}
		}
	}
	return out
}

// checkKernel requires that bytes are refused, or give a kernel that verifies and
// encodes to the same bytes.
func checkKernel(t testing.TB, b []byte) *kernel.Kernel {
	t.Helper()
	k, err := kernel.DecodeWire(b)
	if err != nil {
		if !errors.Is(err, ir.ErrFormat) || k != nil {
			t.Fatalf("%v: no error of the format, or beside a kernel", err)
		}
		return nil
	}
	if err := k.Verify(); err != nil {
		t.Fatal(err)
	}
	if again := k.AppendWire(nil); !bytes.Equal(again, b) {
		t.Fatalf("decoded from\n%x, encoded to\n%x", b, again)
	}
	return k
}

func TestWireKernels(t *testing.T) {
	all := wireKernels(t, 30)
	if len(all) < 100 {
		t.Fatalf("%d kernels, expected more", len(all))
	}
	for b, k := range all {
		got := checkKernel(t, []byte(b))
		if got == nil || got.String() != k.String() {
			t.Fatalf("got\n%v\nexpected\n%v", got, k)
		}
	}
}

// TestWireKernelsHostile cuts and changes kernels at every byte.
func TestWireKernelsHostile(t *testing.T) {
	n := 0
	for s := range wireKernels(t, 4) {
		b := []byte(s)
		if n++; n > 12 {
			break
		}
		for cut := range b {
			if checkKernel(t, b[:cut:cut]) != nil {
				t.Fatalf("cut to %d of %d bytes and accepted", cut, len(b))
			}
		}
		if checkKernel(t, append(b[:len(b):len(b)], 0)) != nil {
			t.Fatal("a byte at the end is accepted")
		}
		for i := range b {
			for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, b[i] ^ 1, b[i] ^ 4} {
				c := bytes.Clone(b)
				c[i] = v
				checkKernel(t, c)
			}
		}
	}
	// Counts that the bytes cannot hold allocate nothing.
	huge := []byte{kernel.WireVersion, 0, 0, 0, 0, 0x80, 0x80, 0x40, 1, 2, 3}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if checkKernel(t, huge) != nil {
		t.Error("accepted")
	}
	runtime.ReadMemStats(&after)
	if d := after.TotalAlloc - before.TotalAlloc; d > 1<<16 {
		t.Errorf("%d bytes allocated for %d bytes", d, len(huge))
	}
}

func FuzzWireKernel(f *testing.F) {
	for b := range wireKernels(f, 2) {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkKernel(t, b) })
}
