package gradcheck_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

// gradients are those of the sum of a row's results, of which operands or results were
// released before.
func (c call) gradients(t *testing.T, r *ir.Row, operands, results bool) ([][]float64, error) {
	t.Helper()
	in, err := c.operands(r, 0)
	if err != nil {
		t.Fatal(err)
	}
	var leaves []*sinter.Tensor
	for i, x := range in {
		if x.DType() == sinter.F64 {
			x = x.Track()
			leaves = append(leaves, x)
			in[i] = x.Mul(1)
		}
	}
	out := c.apply(r, in)
	loss := sinter.FromSlice([]float64{0}).Sum()
	for _, y := range out {
		if y.DType() == sinter.F64 {
			loss = loss.Add(y.Sum())
		}
	}
	if operands {
		for _, x := range in {
			x.Release()
		}
	}
	if results {
		for _, y := range out {
			y.Release()
		}
	}
	if !loss.Tracked() {
		return nil, nil
	}
	grads, err := autodiff.Grad(loss, leaves...)
	if err != nil {
		return nil, err
	}
	var told [][]float64
	for _, g := range grads {
		data, err := sinter.Data[float64](t.Context(), g)
		if err != nil {
			return nil, err
		}
		told = append(told, data)
	}
	return told, nil
}

// TestReleased: whatever of a row's operands and results was released before its gradient is
// asked for, that is the one that it would be, or an error that says so.
func TestReleased(t *testing.T) {
	refused := 0
	for _, r := range ir.Rows() {
		if !r.Differentiable() {
			continue
		}
		for i, c := range callsOf(r) {
			want, err := c.gradients(t, r, false, false)
			if err != nil {
				t.Errorf("%s, call %d: %v", r.Name, i, err)
				continue
			}
			for _, which := range [][2]bool{{true, false}, {false, true}, {true, true}} {
				got, err := c.gradients(t, r, which[0], which[1])
				switch {
				case errors.Is(err, ir.ErrClosed):
					refused++
				case err != nil:
					t.Errorf("%s, call %d, operands released %v, results %v: %v", r.Name, i, which[0], which[1], err)
				case fmt.Sprint(got) != fmt.Sprint(want):
					t.Errorf("%s, call %d, operands released %v, results %v: %v, expected %v", r.Name, i, which[0], which[1], got, want)
				}
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d gradients found something released", refused)
	}
}
