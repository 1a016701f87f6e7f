package fusion_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// TestErrorLines: an operation that fails has its own line, though the same
// operations were recorded from another one before, fused or not.
func TestErrorLines(t *testing.T) {
	for _, off := range []bool{false, true} {
		r := newRecorder(t, fusion.Options{Off: off})
		up := func(v ...byte) *fusion.Value {
			var b []byte
			for _, x := range v {
				b = append(b, x, 0, 0, 0)
			}
			x, err := r.s.Upload(ir.Type{DType: ir.I32, Shape: ir.Shape{len(v)}}, b)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		x, good, bad := up(1, 2, 3), up(1, 1, 1), up(1, 0, 3)
		row := ir.Lookup("fmod")
		attrs, err := row.MakeAttrs(nil)
		if err != nil {
			t.Fatal(err)
		}
		for round := 0; round < 3; round++ {
			for line, z := range map[int]*fusion.Value{18: good, 19: bad} {
				in := []*fusion.Value{x, z}
				op := fusion.OpOf(row, attrs)
				types, err := r.s.Infer(op, attrs, []ir.Type{x.Type(), z.Type()})
				if err != nil {
					t.Fatal(err)
				}
				y := new(fusion.Value)
				site := ir.Site{Text: fmt.Sprintf("user.go:%d", line)}
				if err := r.s.Record(op, attrs, in, types, []*fusion.Value{y}, nil, func() ir.Site { return site }); err != nil {
					t.Fatal(err)
				}
				_, errs, err := r.c.ReadValues(context.Background(), []*fusion.Value{y})
				if err != nil {
					t.Fatal(err)
				}
				if (errs[0] != nil) != (line == 19) {
					t.Errorf("off %v, round %d, line %d: %v", off, round, line, errs[0])
				} else if errs[0] != nil && ir.AsError(errs[0]).Site.String() != "user.go:19" {
					t.Errorf("off %v, round %d: the error names %s", off, round, ir.AsError(errs[0]).Site)
				}
			}
		}
	}
}

// TestOracleSync: an error that only the oracle has looked at is still one that
// Sync returns, once.
func TestOracleSync(t *testing.T) {
	r := newRecorder(t, fusion.Options{Oracle: true})
	index, err := r.s.Upload(ir.Type{DType: ir.I64, Shape: ir.Shape{1}}, []byte{9, 0, 0, 0, 0, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	y := r.do("gather", []*fusion.Value{r.upload(3), index}, "axis", 0)
	y = r.do("add", []*fusion.Value{y, y})
	if err := r.c.Sync(context.Background()); err == nil {
		t.Error("Sync returned nothing")
	}
	if err := r.c.Sync(context.Background()); err != nil {
		t.Errorf("Sync returned it twice: %v", err)
	}
	y.Release()
}
