package fusion_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// TestCopyBeforeProduct: a view that only a copy makes (the windows of a
// convolution) is not drawn into a product that reads each of its elements often, or
// whose columns it would cut short: the copy is made once and lies in order.
func TestCopyBeforeProduct(t *testing.T) {
	for _, rows := range []int{64, 2} {
		p, err := ir.ParseProgram(fmt.Sprintf(`program windows
  in %%1 f32[%d,32]
  in %%2 f32[16,32,8]
  %%3 = permute %%2 {axes=[1,0,2]}
  %%4 = reshape %%3 {shape=[32,128]}
  %%5 = matmul %%1 %%4
  %%6 = relu %%5
  out %%6
`, rows), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := cpu.New(cpu.Options{Generator: cpu.Interpret})
		if err != nil {
			t.Fatal(err)
		}
		c := fusion.New(d)
		var runs []fusion.Run
		stop := c.Inspect(func(r fusion.Run) { runs = append(runs, r) })
		_, errs, err := c.RunProgram(t.Context(), p, nil)
		stop()
		if err != nil || errs[0] != nil {
			t.Fatal(err, errs)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		e := runs[0].Explain()
		if e.Launches != 2 {
			t.Errorf("%d rows: %d launches, want 2:\n%s", rows, e.Launches, e)
		}
		refused := false
		for _, b := range e.Blocks {
			for _, r := range b.Refusals {
				refused = refused || r.Rule == fusion.RuleWork
			}
		}
		if !refused {
			t.Errorf("%d rows: the work is no reason:\n%s", rows, e)
		}
	}
}

// TestBorderAfterProduct: a border around the result of a product is not drawn into
// it, since each row of the picture would be a loop of its own; what keeps the
// columns whole is.
func TestBorderAfterProduct(t *testing.T) {
	p, err := ir.ParseProgram(`program border
  in %1 f32[8,32]
  in %2 f32[32,256]
  in %3 f32[8,16,2]
  in %4 f32[8,8,18]
  %5 = matmul %1 %2
  %6 = relu %5
  %7 = reshape %6 {shape=[8,16,16]}
  %8 = concat %7 %3 {axis=2}
  %9 = concat %8 %4 {axis=1}
  out %9
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := cpu.New(cpu.Options{Generator: cpu.Interpret})
	if err != nil {
		t.Fatal(err)
	}
	c := fusion.New(d)
	defer c.Close()
	var runs []fusion.Run
	defer c.Inspect(func(r fusion.Run) { runs = append(runs, r) })()
	if _, errs, err := c.RunProgram(t.Context(), p, nil); err != nil || errs[0] != nil {
		t.Fatal(err, errs)
	}
	e := runs[0].Explain()
	if e.Launches != 2 || len(e.Blocks[0].Ops) != 2 {
		t.Errorf("want the product with relu, then the border:\n%s", e)
	}
}
