package fusion_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// TestErrorNamesFusion: the error of an operation that ran among others names it,
// its operands and its line, and says what it was fused with; what does not depend
// on it has its value, and the next work runs.
func TestErrorNamesFusion(t *testing.T) {
	r := newRecorder(t, fusion.Options{})
	x := r.upload(3)
	index, err := r.s.Upload(ir.Type{DType: ir.I64, Shape: ir.Shape{3}}, []byte{7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	doubled := r.do("add", []*fusion.Value{x, x})
	picked := r.do("gather", []*fusion.Value{x, index}, "axis", 0)
	y := r.do("mul", []*fusion.Value{picked, doubled})
	z := r.do("neg", []*fusion.Value{doubled})
	runs := 0
	stop := r.c.Inspect(func(x fusion.Run) {
		if e := x.Explain(); e.Kernels != 1 {
			t.Errorf("%d kernels, want all in one:\n%s", e.Kernels, e)
		}
		runs++
	})
	data, errs, err := r.c.ReadValues(context.Background(), []*fusion.Value{y, z})
	stop()
	if err != nil || runs != 1 {
		t.Fatal(err, runs)
	}
	if !errors.Is(errs[0], ir.ErrData) {
		t.Fatalf("the result of an index out of range: %v", errs[0])
	}
	e := ir.AsError(errs[0])
	if e.Op != "gather" || len(e.Operands) != 2 || e.Site.String() != "user.go:1" {
		t.Errorf("the error is %v", e)
	}
	if want := "fused with add user.go:1, mul user.go:1, neg user.go:1"; e.Detail != want && e.Detail != "fused with add user.go:1, neg user.go:1, mul user.go:1" {
		t.Errorf("its detail is %q, want %q", e.Detail, want)
	}
	if errs[1] != nil || len(data[1].Bytes) != 12 {
		t.Errorf("the independent result: %v", errs[1])
	}
	r.read(r.do("relu", []*fusion.Value{z}))
}
