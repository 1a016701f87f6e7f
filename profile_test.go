package sinter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// TestProfile: the kernels of a function are told apart, with their runs; what ran before
// and after stays out.
func TestProfile(t *testing.T) {
	ctx := context.Background()
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	x := sinter.On(d).Ones(sinter.F32, 300, 300)
	q := sinter.On(d).Ones(sinter.F32, 1, 2, 70, 8)
	if _, err := sinter.Data[float32](ctx, x.Exp()); err != nil {
		t.Fatal(err)
	}
	work := func() error {
		for range 3 {
			if _, err := sinter.Data[float32](ctx, x.MatMul(x)); err != nil {
				return err
			}
		}
		sorted, _ := x.Sort(1, false)
		if _, err := sinter.Data[float32](ctx, sorted); err != nil {
			return err
		}
		_, err := sinter.Data[float32](ctx, fnAttention(q))
		return err
	}
	p, err := d.Profile(ctx, work)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]int64{}
	last := p.Kernels[0].Time
	for _, k := range p.Kernels {
		if k.Time <= 0 || k.Time > last || k.Time > p.Time {
			t.Errorf("%s took %v after %v, of %v in all", k.Name, k.Time, last, p.Time)
		}
		runs[k.Name], last = k.Runs, k.Time
		if strings.Contains(k.Name, "exp") {
			t.Errorf("%s ran before", k.Name)
		}
	}
	products := int64(0)
	for name, n := range runs {
		if strings.Contains(name, "matmul") || strings.Contains(name, "dot") || strings.Contains(name, "mul") {
			products += n
		}
	}
	if products < 3 || runs["sort"] != 1 || runs["attention"] != 1 {
		t.Errorf("kernels %+v", p.Kernels)
	}
	if text := p.String(); strings.Count(text, "\n") != len(p.Kernels)+1 || !strings.Contains(text, "attention") {
		t.Errorf("table:\n%s", text)
	}
	again, err := d.Profile(ctx, func() error { return nil })
	if err != nil || len(again.Kernels) != 0 {
		t.Errorf("of nothing: %+v, %v", again, err)
	}
	failed := errors.New("of the function")
	if _, err := d.Profile(ctx, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

func fnAttention(q *sinter.Tensor) *sinter.Tensor {
	return fn.Attention(q, q, q, fn.AttentionOptions{})
}
