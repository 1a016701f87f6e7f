package ir_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

func random(seed uint64, nodes int) *ir.Program {
	p := irtest.Random(rand.New(rand.NewPCG(seed, 5)), irtest.Options{Nodes: nodes})
	for i := range p.Nodes {
		if i%3 == 0 {
			p.Nodes[i].Site.Text = "model.go:7"
		}
	}
	return p
}

// checkDecode requires that bytes are refused, or give a program that verifies
// and encodes to the same bytes.
func checkDecode(t *testing.T, b []byte) bool {
	t.Helper()
	p, err := ir.DecodeWire(b, nil)
	if err != nil {
		if !errors.Is(err, ir.ErrFormat) || p != nil {
			t.Fatalf("%v: not a format error, or beside a program", err)
		}
		return false
	}
	if err := p.Verify(); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	if again := p.AppendWire(nil, ir.WithSites); !equalButVersions(b, again) {
		t.Fatalf("decoded from\n%x, encoded to\n%x\n%s", b, again, p)
	}
	return true
}

// TestWireHostile cuts and flips programs at every byte and bit.
func TestWireHostile(t *testing.T) {
	for seed := uint64(0); seed < 12; seed++ {
		b := random(seed, 10).AppendWire(nil, ir.WithSites)
		if !checkDecode(t, b) {
			t.Fatal("the program itself is refused")
		}
		for n := range b {
			if checkDecode(t, b[:n:n]) {
				t.Errorf("seed %d: cut to %d of %d bytes and accepted", seed, n, len(b))
			}
		}
		if checkDecode(t, append(b[:len(b):len(b)], 0)) {
			t.Error("a byte at the end is accepted")
		}
		for i := 0; i < 8*len(b); i++ {
			c := bytes.Clone(b)
			c[i/8] ^= 1 << (i % 8)
			checkDecode(t, c)
		}
		rng := rand.New(rand.NewPCG(seed, 6))
		for i := 0; i < 500; i++ { // several bytes at once
			c := bytes.Clone(b)
			for k := 1 + rng.IntN(4); k > 0; k-- {
				c[rng.IntN(len(c))] = byte(rng.Uint32())
			}
			checkDecode(t, c)
		}
	}
}

func wire(parts ...any) []byte {
	b := []byte("SNTR")
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.AppendUvarint(b, uint64(p))
		case uint64:
			b = binary.AppendUvarint(b, p)
		case string:
			b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func TestWireErrors(t *testing.T) {
	const huge = uint64(1) << 62
	f32 := int(ir.F32)
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{nil, `got "", expected "SNTR"`},
		{[]byte("PK\x03\x04zip"), "this is not a program"},
		{wire(), "the bytes end within: version"},
		{wire(0), "no wire version 0"},
		{wire(2, "anything"), "wire version 2 is newer than 1, the newest that this build reads"},
		{wire([]byte{0x81, 0}), "version is not encoded in the least number of bytes"},
		{wire(1, 2), "unknown flags 0x2"},
		{wire(1, 0, huge), "bytes of name, at most"},
		{wire(1, 0, 100, "x"), "100 bytes of name do not fit in the 2 bytes that are left"},
		{wire(1, 0, "\xff"), "name is not UTF-8"},
		{wire(1, 0, "", huge), "rows, at most"},
		{wire(1, 0, "", 3, 0), "3 rows do not fit"},
		{wire(1, 0, "", 4, 0, 1, "b/y@1", 0, 1, "a/x@2", 999, 1, 1, 7, 0, 0, 0),
			`unknown operations: "b/y@1", "a/x@2", number 999, add with numerics version 7 (here: 1)`},
		{wire(1, 0, "", 1, 0, 1, "add", 0, 0, 0), `unknown operations: "add"`},
		{wire(1, 0, "", 2, 1, 1, 1, 1, 0, 0, 0), "add is twice in the list"},
		{wire(1, 0, "", 1, 1, 1, 0, 0, 0), "operation 0 of the list is not used"},
		{wire(1, 0, "", 0, huge), "inputs, at most"},
		{wire(1, 0, "", 0, 1, 99, 0), "dtype 99: quantized formats are not in version 1"},
		{wire(1, 0, "", 0, 1, 33, 0), "dtype 33 is unknown"},
		{wire(1, 0, "", 0, 1, f32, 9, []byte("123456789")), "9 axes, at most 8"},
		{wire(1, 0, "", 0, 1, f32, 1, uint64(1)<<63), "extent is 9223372036854775808, at most"},
		{wire(1, 0, "", 0, 1, f32, 3, 1<<26, 1<<26, 1<<26), "too many elements"},
		{wire(1, 0, "", 0, 0, huge), "nodes, at most"},
		{wire(1, 0, "", 1, 9, 1, 1, f32, 0, 1, 0, 1, 1, 0, 0, 0), "operand 1 is not defined: there are 1 so far"},
		{wire(1, 0, "", 1, 9, 1, 1, f32, 0, 1, 1, 1, 0, 0, 0), "operation 1 is not defined"},
		{wire(1, 0, "", 2, 9, 1, 10, 1, 1, f32, 0, 1, 1, 1, 0, 0, 0), "not in order of use"},
		{wire(1, 0, "", 1, 9, 1, 1, f32, 0, 1, 0, 1, 0, 0, 3, 0), "neg has 3 regions: control flow is not in version 1"},
		{wire(1, 0, "", 1, 9, 1, 1, f32, 0, 1, 0, 2, 0, 0, 0, 0, 0), "got 2 operands, expected 1"},
		{wire(1, 0, "", 1, 9, 1, 1, f32, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0), "got 1 attributes, expected at most 0"},
		{wire(1, 0, "", 1, 36, 1, 1, f32, 0, 1, 0, 1, 0, 0, 0, 0), `cast needs the attribute "dtype"`},
		{wire(1, 0, "", 1, 36, 1, 1, f32, 0, 1, 0, 1, 0, 1, 77, f32, 0, 0), `"dtype" has the unknown tag 77, expected 5`},
		{wire(1, 0, "", 1, 36, 1, 1, f32, 0, 1, 0, 1, 0, 1, 1, f32, 0, 0), `"dtype" has the tag 1, expected 5`},
		{wire(1, 0, "", 1, 60, 1, 1, f32, 1, 2, 1, 0, 1, 0, 1, 1, 0, 0, 0), `"axis" has its default and stands last`},
		{wire(1, 0, "", 1, 40, 1, 0, 1, 0, 0, 3, 2, 0, 5, f32, 6, f32, []byte{1, 0, 0xc0, 0x7f}, 0, 0), "NaN other than the canonical one"},
		{wire(1, 1, "", 1, 9, 1, 1, f32, 0, 1, 0, 1, 0, 0, 0, "", 0), "sites are announced, but none is known"},
		{wire(1, 0, "", 0, 0, 0, 1, 0), "output 0 is not defined"},
	} {
		_, err := ir.DecodeWire(c.b, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x: got error %v, expected it to contain %q", c.b, err, c.want)
		} else if !errors.Is(err, ir.ErrFormat) {
			t.Errorf("%v: of another kind", err)
		}
	}
}

// allocated returns the bytes that f allocates, live or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestWireMemory: counts that the bytes cannot hold allocate nothing, and a long
// program costs memory in proportion to its bytes, however it ends.
func TestWireMemory(t *testing.T) {
	n := allocated(func() {
		for _, count := range []int{ir.MaxNodes, ir.MaxInputs} {
			if _, err := ir.DecodeWire(wire(1, 0, "", 0, count, count, count), nil); err == nil {
				t.Error("accepted")
			}
		}
	})
	if n > 1<<16 {
		t.Errorf("%d bytes allocated for a few bytes", n)
	}
	const nodes = 50000
	long := wire(1, 0, "", 1, 9, 1, 1, int(ir.F32), 8, []byte{1, 1, 1, 1, 1, 1, 1, 2}, nodes)
	for i := 0; i < nodes; i++ {
		long = append(long, wire(0, 1, i, 0, 0)[4:]...)
	}
	for _, end := range [][]byte{{0}, {1}, {}, {0, 0}} {
		b := append(long[:len(long):len(long)], end...)
		start := time.Now()
		n := allocated(func() {
			p, err := ir.DecodeWire(b, nil)
			if (err == nil) != (len(end) == 1 && end[0] == 0) {
				t.Errorf("end %v: %v", end, err)
			}
			if err == nil && p.Verify() != nil {
				t.Error("does not verify")
			}
		})
		if n > 400*uint64(len(b)) {
			t.Errorf("%d bytes allocated for %d bytes", n, len(b))
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%d bytes took %v", len(b), d)
		}
	}
}

// TestCanonicalIDs: renaming ids changes nothing, renaming the program does.
func TestCanonicalIDs(t *testing.T) {
	p := random(3, 15)
	q, err := ir.ParseProgram(p.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rename := func(ts []ir.Tensor) {
		for i := range ts {
			ts[i].ID = ts[i].ID*977 + 5
		}
	}
	rename(q.Inputs)
	for i := range q.Nodes {
		rename(q.Nodes[i].In)
		rename(q.Nodes[i].Out)
	}
	for i := range q.Outputs {
		q.Outputs[i] = q.Outputs[i]*977 + 5
	}
	if err := q.Verify(); err != nil {
		t.Fatal(err)
	}
	if p.Fingerprint() != q.Fingerprint() || !bytes.Equal(p.AppendWire(nil, ir.WithSites), q.AppendWire(nil, ir.WithSites)) {
		t.Error("ids change the bytes")
	}
	q.Name = "other"
	if p.Fingerprint() == q.Fingerprint() {
		t.Error("the name does not change the bytes")
	}
}

// TestInvalidProgramsDoNotEncode: what does not verify is refused on the way in.
func TestInvalidProgramsDoNotEncode(t *testing.T) {
	ok := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{}}}
	neg := ir.Node{Row: ir.Lookup("neg"), In: []ir.Tensor{{ID: 9, Type: ok.Type}}, Out: []ir.Tensor{{ID: 2, Type: ok.Type}}}
	for _, p := range []*ir.Program{
		{Inputs: []ir.Tensor{ok}, Nodes: []ir.Node{neg}},
		{Inputs: []ir.Tensor{ok}, Outputs: []ir.ID{2}},
		{Inputs: []ir.Tensor{ok}, Nodes: []ir.Node{{}}},
		{Inputs: []ir.Tensor{{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{-1}}}}},
		{Inputs: []ir.Tensor{ok, ok}, Outputs: []ir.ID{1}, Nodes: []ir.Node{neg}},
	} {
		if err := p.Verify(); err == nil || !errors.Is(err, ir.ErrFormat) {
			t.Errorf("%v for\n%s", err, p)
		}
		if q, err := ir.DecodeWire(p.AppendWire(nil), nil); err == nil {
			t.Errorf("accepted as\n%s", q)
		}
	}
}

func FuzzDecodeWire(f *testing.F) {
	for seed := uint64(0); seed < 8; seed++ {
		f.Add(random(seed, 6).AppendWire(nil, ir.WithSites))
		f.Add(random(seed, 3).AppendWire(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkDecode(t, b) })
}
