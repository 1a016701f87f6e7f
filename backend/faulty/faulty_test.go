package faulty_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/backend/faulty"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
)

func TestScriptRoundTrip(t *testing.T) {
	const text = `delay add 20ms
hold mul 2
fail sub 3 data no luck
fail * * memory
disconnect after 40
panic after 50
drop Compiler HostMemory
lack op softmax nonzero
lack dtype f16 bf16
`
	s, err := faulty.Parse("# comment\n\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	for _, bad := range []string{"delay add", "delay add -1s", "hold add 0", "fail add 1", "fail add x data", "fail add 1 bug", "disconnect 4", "panic after x", "drop Soul", "lack op", "lack dtype f7", "lack of time", "frobnicate"} {
		if _, err := faulty.Parse("delay a 1s\n" + bad); !errors.Is(err, ir.ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzScript(f *testing.F) {
	f.Add("fail add 1 data x y\nlack op a")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := faulty.Parse(text)
		if err != nil {
			return
		}
		again, err := faulty.Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is written as %q and read as %q, %v", text, s, again, err)
		}
	})
}

// TestFaults: the same script has the same faults on every run, and marks what
// depends on them.
func TestFaults(t *testing.T) {
	for range 3 {
		d, err := cpu.New(cpu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := faulty.New(d, faulty.MustParse("fail neg 2 data no luck\nlack op exp\ndisconnect after 4"))
		x := ir.Tensor{ID: 1, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{1}}}
		if err := b.Upload(x, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		out := func(id ir.ID) ir.Tensor { return ir.Tensor{ID: id, Type: x.Type} }
		neg := func(in, id ir.ID, row string) ir.Node {
			return ir.Node{Row: ir.Lookup(row), In: []ir.Tensor{out(in)}, Out: []ir.Tensor{out(id)}}
		}
		ctx := context.Background()
		if err := b.Submit(ctx, []ir.Node{neg(1, 2, "neg"), neg(2, 3, "neg"), neg(3, 4, "abs"), neg(2, 5, "exp"), neg(2, 6, "abs")}); err != nil {
			t.Fatal(err)
		}
		_, errs, err := b.Read(ctx, 2, 3, 4, 5, 6)
		if err != nil || errs[0] != nil || !errors.Is(errs[1], ir.ErrData) || errs[2] != errs[1] || !errors.Is(errs[3], ir.ErrUnsupported) || errs[4] != nil {
			t.Fatalf("got %v, %v", errs, err)
		}
		if err := b.Submit(ctx, []ir.Node{neg(6, 7, "abs"), neg(7, 8, "abs"), neg(8, 9, "abs")}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Read(ctx, 7); !errors.Is(err, ir.ErrDevice) {
			t.Errorf("Read of a lost device: %v", err)
		}
		if err := b.Flush(); !errors.Is(err, ir.ErrDevice) {
			t.Errorf("Flush of a lost device: %v", err)
		}
		if _, ok := backend.As[backend.Memory](b); !ok {
			t.Error("a capability is gone that the script leaves")
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
