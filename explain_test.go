package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestExplain: a composed softmax is one kernel, which stores the result and, since
// nobody released them, the two small sums; its operations have the lines
// of this file.
func TestExplain(t *testing.T) {
	ctx := context.Background()
	dev := sinter.NewRuntime()
	d, err := dev.Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	x := sinter.On(d).Zeros(sinter.F32, 64, 1000)
	plans, err := d.Explain(func() error {
		s := sinter.NewScope("softmax")
		defer s.End()
		row := sinter.Over(1).KeepDims()
		e := s.In(x).Sub(s.In(x).Max(row)).Exp()
		_, err := sinter.Data[float32](ctx, e.Div(e.Sum(row)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(plans) != 1 || plans[0].Kernels != 1 || plans[0].Written != 4*64*1000+2*4*64 {
		t.Fatalf("plans: %v", plans)
	}
	for _, op := range plans[0].Blocks[0].Ops {
		if !strings.Contains(op.Site, "explain_test.go:") {
			t.Errorf("%s was recorded at %q", op.Op, op.Site)
		}
	}
	broken := errors.New("broken")
	if _, err := d.Explain(func() error { return broken }); err != broken {
		t.Errorf("the error of the function: %v", err)
	}
}

func ExampleDevice_Explain() {
	ctx := context.Background()
	dev := sinter.DefaultDevice()
	x := sinter.Zeros(sinter.F32, 100000)
	plans, err := dev.Explain(func() error {
		y := x.Mul(2).Add(1).Exp().Sum()
		_, err := sinter.Item[float32](ctx, y)
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range plans {
		fmt.Println(p.Kernels, "kernel,", p.Read, "bytes read,", p.Written, "written; unfused", p.Unfused.Launches, "launches")
	}
	// Output: 1 kernel, 400000 bytes read, 4 written; unfused 6 launches
}
