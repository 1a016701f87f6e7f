package fusion_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// TestCopyBeforeProduct: a view that only a copy makes (the windows of a
// convolution) is not drawn into a product that reads each of its elements often;
// the copy is made once and lies in order. Few rows read it in place.
func TestCopyBeforeProduct(t *testing.T) {
	for rows, launches := range map[int]int{64: 2, 2: 1} {
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
		d, err := cpu.New(cpu.Options{})
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
		if e.Launches != launches {
			t.Errorf("%d rows: %d launches, want %d:\n%s", rows, e.Launches, launches, e)
		}
		refused := false
		for _, b := range e.Blocks {
			for _, r := range b.Refusals {
				refused = refused || r.Rule == fusion.RuleWork && r.Got == float64(rows)
			}
		}
		if refused != (launches == 2) {
			t.Errorf("%d rows: refused for work: %v\n%s", rows, refused, e)
		}
	}
}
