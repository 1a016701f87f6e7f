package ir_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

func checkNodes(t *testing.T, b []byte) bool {
	t.Helper()
	nodes, err := ir.DecodeNodes(b, nil)
	if err != nil {
		if !errors.Is(err, ir.ErrFormat) {
			t.Fatalf("%v: of another kind", err)
		}
		return false
	}
	if again := ir.AppendNodes(nil, nodes, ir.WithSites); !equalButVersions(b, again) {
		t.Fatalf("decoded from\n%x, encoded to\n%x", b, again)
	}
	return true
}

// equalButVersions reports whether bytes that were read equal those written again,
// but for versions of rows, which are written as they are here.
func equalButVersions(read, written []byte) bool {
	if len(read) != len(written) {
		return false
	}
	for i, b := range read {
		if newer := written[i]; b != newer && (b == 0 || b > newer || newer > 9) {
			return false
		}
	}
	return true
}

// TestNodes: lists of nodes keep ids, types, attributes and sites.
func TestNodes(t *testing.T) {
	for seed := uint64(0); seed < 100; seed++ {
		p := random(seed, 8)
		for i := range p.Nodes {
			for k, a := range p.Nodes[i].Attrs { // NaNs travel as one
				if a.Kind == ir.AttrScalar {
					p.Nodes[i].Attrs[k].Bits = a.Scalar().Canonical().Bits
				}
			}
		}
		b := ir.AppendNodes(nil, p.Nodes, ir.WithSites)
		nodes, err := ir.DecodeNodes(b, nil)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p)
		}
		q := &ir.Program{Name: p.Name, Inputs: p.Inputs, Nodes: nodes, Outputs: p.Outputs}
		if err := q.Verify(); err != nil || q.String() != p.String() {
			t.Fatalf("seed %d: %v: got\n%s\nwant\n%s", seed, err, q, p)
		}
		if seed > 8 {
			continue
		}
		for n := range b {
			if checkNodes(t, b[:n:n]) {
				t.Errorf("cut to %d bytes and accepted", n)
			}
		}
		for i := 0; i < 8*len(b); i++ {
			c := bytes.Clone(b)
			c[i/8] ^= 1 << (i % 8)
			checkNodes(t, c)
		}
	}
	if nodes, err := ir.DecodeNodes(ir.AppendNodes(nil, nil), nil); err != nil || len(nodes) != 0 {
		t.Errorf("an empty list: %v, %v", nodes, err)
	}
}

func TestErrorsTravel(t *testing.T) {
	kinds := []error{ir.ErrShape, ir.ErrDType, ir.ErrArgument, ir.ErrData, ir.ErrDevice, ir.ErrClosed,
		ir.ErrMemory, ir.ErrCancelled, ir.ErrUnsupported, ir.ErrInternal, ir.ErrFormat}
	for i, kind := range kinds {
		e := &ir.Error{Kind: kind, Op: "matmul", Device: "cuda:0", Msg: "extents differ", Cause: context.Canceled,
			Operands: []ir.Type{{DType: ir.F32, Shape: ir.Shape{2, -3}}, {DType: 200, Shape: ir.Shape{}}},
			Site:     ir.Site{Text: "model.go:12"}}
		b := ir.AppendError(nil, e)
		if b[5] != byte(i+1) {
			t.Errorf("%v has number %d on the wire, expected %d for ever", kind, b[5], i+1)
		}
		got, err := ir.DecodeError(b)
		if err != nil {
			t.Fatal(err)
		}
		if got.Error() != e.Error() || !errors.Is(got, kind) || !reflect.DeepEqual(got.Operands, e.Operands) {
			t.Errorf("got %v, want %v", got, e)
		}
		for n := range b {
			if _, err := ir.DecodeError(b[:n:n]); !errors.Is(err, ir.ErrFormat) {
				t.Errorf("cut to %d bytes: %v", n, err)
			}
		}
		for k := 0; k < 8*len(b); k++ {
			c := bytes.Clone(b)
			c[k/8] ^= 1 << (k % 8)
			if e, err := ir.DecodeError(c); err == nil {
				_ = e.Error()
			}
		}
	}
}

// TestErrorsAreCut: an error too long for the wire travels all the same.
func TestErrorsAreCut(t *testing.T) {
	e := &ir.Error{Kind: errors.New("foreign"), Msg: strings.Repeat("é", 1<<16), Op: "\xff\xfe",
		Operands: make([]ir.Type, 1000), Cause: errors.New(strings.Repeat("\xff", 1<<16))}
	got, err := ir.DecodeError(ir.AppendError(nil, e))
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(got, ir.ErrInternal) || !strings.HasSuffix(got.Msg, "é...") || len(got.Operands) != 64 || got.Op != "?" {
		t.Errorf("got %.100v", got)
	}
	if got, err = ir.DecodeError(ir.AppendError(nil, &ir.Error{})); err != nil || got.Error() != "" {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestScalars: every scalar survives its text form, and rounding from decimals
// is done once.
func TestScalars(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	check := func(s ir.Scalar) {
		got, err := ir.ParseScalar(s.String())
		if err != nil || got != s {
			t.Errorf("%v (%#x) reads back as %v (%#x), %v", s, s.Bits, got, got.Bits, err)
		}
	}
	for _, d := range ir.DTypes() {
		if d.Bits() <= 16 {
			for bits := uint64(0); bits < 1<<d.Bits(); bits++ {
				if d != ir.Bool || bits < 2 {
					check(ir.Scalar{DType: d, Bits: bits})
				}
			}
			continue
		}
		for i := 0; i < 20000; i++ {
			check(ir.Scalar{DType: d, Bits: rng.Uint64() >> (64 - d.Bits())})
		}
	}
	for _, c := range []struct{ text, want string }{
		{"f32:0.1", "f32:0.1"}, {"f32:0x3f000000", "f32:0.5"}, {"f32:0x7fc00000", "f32:nan"},
		{"f32:-inf", "f32:-inf"}, {"f32:0xffc00000", "f32:0xffc00000"}, {"f64:0x1p-1", "f64:0.5"},
		{"f32:1e39", ""}, {"f16:65519", "f16:65504"}, {"f16:65520", ""}, {"f16:1e-9", "f16:0"},
		{"f16:-1e-9", "f16:-0"}, {"f64:infinity", ""}, {"f64:1_0", ""}, {"f64:+1", "f64:1"}, {"f64:", ""},
		// Above, at and below the middle of 1 and the next f16, by less than a float64 shows.
		{"f16:1.00048828125000000000000000001", "f16:0x3c01"}, {"f16:1.00048828125", "f16:1"},
		{"f16:1.00048828124999999999999999999", "f16:1"}, {"f16:-1.00048828125000000000000000001", "f16:0xbc01"},
		{"f16:1.00146484375", "f16:0x3c02"}, {"f16:1.00146484374999999999999999999", "f16:0x3c01"},
		{"bool:true", "bool:true"}, {"bool:0x1", "bool:true"}, {"bool:0x2", ""}, {"bool:1", ""},
		{"i8:-128", "i8:-128"}, {"i8:128", ""}, {"i8:0xff", "i8:-1"}, {"i8:0x1ff", ""}, {"u8:-1", ""},
		{"u64:18446744073709551615", "u64:18446744073709551615"}, {"i32:1.5", ""}, {"f99:1", ""}, {"f32", ""},
		{"f32:1e99999999999", ""}, {"f32:0e99999999999", "f32:0"}, {"f16:1e-99999999999", "f16:0"},
	} {
		s, err := ir.ParseScalar(c.text)
		want, _ := ir.ParseScalar(c.want)
		if (err != nil) != (c.want == "") || err == nil && s != want {
			t.Errorf("%s: got %v (%#x), %v, expected %q", c.text, s, s.Bits, err, c.want)
		}
	}
}

func TestMakeScalar(t *testing.T) {
	for _, c := range []struct {
		d    ir.DType
		v    float64
		want string
	}{
		{ir.I8, 300, "127"}, {ir.I8, -1e9, "-128"}, {ir.I8, -1.9, "-1"}, {ir.U8, -1, "0"}, {ir.U8, 300, "255"},
		{ir.I64, 1e30, "9223372036854775807"}, {ir.U64, 1e30, "18446744073709551615"}, {ir.Bool, 0.25, "true"},
		{ir.F16, 1e6, "inf"}, {ir.F16, -1e6, "-inf"}, {ir.BF16, 3e38, "3e+38"}, {ir.BF16, 3.4e38, "inf"}, {ir.F32, 0.1, "0.1"},
	} {
		if got := ir.MakeScalar(c.d, c.v); got.String() != c.d.String()+":"+c.want {
			t.Errorf("%g as %s: got %v, expected %s", c.v, c.d, got, c.want)
		}
	}
}
