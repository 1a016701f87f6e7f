package gradcheck_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
	"github.com/sinter-go/sinter/ir"
)

// call is one application of a row that is checked.
type call struct {
	shapes []ir.Shape
	attrs  []ir.Named
	step   float64                 // 0: the default
	f      gradcheck.Func          // nil: the row itself
	in     func() []*sinter.Tensor // nil: sampled
}

// elementwise shapes: the same, broadcast, extents 1 and 0, scalars.
var elementwise = map[int][][]ir.Shape{
	1: {{{2, 3}}, {{}}, {{1, 1}}, {{0, 3}}},
	2: {{{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{}, {2, 3}}, {{4}, {1}}, {{1, 1}, {}}, {{0, 3}, {1, 3}}, {{0, 1}, {3}}, {{2, 1, 3}, {2, 1}}},
	3: {{{2, 3}, {2, 3}, {2, 3}}, {{3}, {2, 1}, {}}, {{2, 3}, {}, {1, 3}}, {{0, 3}, {3}, {1, 1}}, {{}, {2, 1}, {2}}},
}

// callsOf returns what is checked of a row.
func callsOf(r *ir.Row) []call {
	var out []call
	for _, m := range []map[string][]call{linear, coded} {
		if calls := m[r.Name]; calls != nil {
			return calls
		}
	}
	for _, s := range r.Samples {
		out = append(out, call{shapes: s.Shapes, attrs: s.Attrs})
	}
	out = append(out, own[r.Name]...)
	if r.Access == ir.Elementwise && !needsAttrs(r) {
		for _, s := range elementwise[len(r.Operands)] {
			out = append(out, call{shapes: s})
		}
	}
	return out
}

func needsAttrs(r *ir.Row) bool {
	for _, a := range r.Attrs {
		if a.Default == nil {
			return true
		}
	}
	return false
}

// TestTable checks every differentiable row of the table, to the second order. A
// new elementwise row is checked by its operands' declarations alone; a new row
// of another kind by its samples.
func TestTable(t *testing.T) {
	for _, r := range ir.Rows() {
		if !r.Differentiable() {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			calls := callsOf(r)
			if len(calls) == 0 {
				t.Fatalf("nothing to check: give the row samples")
			}
			for i, c := range calls {
				if err := c.check(r, uint64(i)); err != nil {
					t.Errorf("call %d, shapes %v, attributes %v: %v", i, c.shapes, c.attrs, err)
				}
			}
			t.Logf("%d calls, first and second order", len(calls))
		})
	}
}

func (c call) apply(r *ir.Row, in []*sinter.Tensor) []*sinter.Tensor {
	if c.f != nil {
		return c.f(in)
	}
	return sinter.Apply(r.Name, in, c.attrs...)
}

func (c call) operands(r *ir.Row, seed uint64) (in []*sinter.Tensor, err error) {
	if c.in != nil {
		return c.in(), nil
	}
	s := sampler{state: seed*7919 + uint64(r.Number)*104729 + 1}
	extent := 1
	for i, shape := range c.shapes {
		if r.OperandAt(i).Domain == ir.Index {
			a, err := r.MakeAttrs(c.attrs)
			if err != nil {
				return nil, err
			}
			axis, err := ir.Axis(int(r.Attr(a, "axis").Int), len(c.shapes[0]))
			if err != nil {
				return nil, err
			}
			extent = c.shapes[0][axis]
		}
		in = append(in, s.tensor(r.OperandAt(i), shape, extent))
	}
	return in, nil
}

func (c call) check(r *ir.Row, seed uint64) error {
	f := func(in []*sinter.Tensor) []*sinter.Tensor { return c.apply(r, in) }
	in, err := c.operands(r, seed)
	if err != nil {
		return err
	}
	return gradcheck.Options{Step: c.step, Seed: seed}.Check(context.Background(), f, in...)
}

// sampler makes operands: numbers of the domain that are distinct within a call,
// and neither they nor their differences lie near an integer or a half, where
// kinks are.
type sampler struct{ state uint64 }

func (s *sampler) next() float64 {
	s.state = s.state*6364136223846793005 + 1442695040888963407
	return float64(s.state>>11) / (1 << 53)
}

func (s *sampler) tensor(o ir.Operand, shape ir.Shape, extent int) *sinter.Tensor {
	n := shape.Size()
	switch {
	case o.Class == ir.BoolClass:
		v := make([]bool, n)
		for i := range v {
			v[i] = s.next() < 0.5
		}
		return sinter.FromSlice(v, n).Reshape(shape...)
	case o.Domain == ir.Index:
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(s.next()*float64(2*extent)) - int64(extent) // repeated and negative ones
		}
		return sinter.FromSlice(v, n).Reshape(shape...)
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = s.number(o.Domain)
	}
	return sinter.FromSlice(v, n).Reshape(shape...)
}

func (s *sampler) number(d ir.Domain) float64 {
	whole := math.Floor(s.next()*6) - 3
	v := whole + 0.1 + 0.3*s.next()
	if s.next() < 0.5 {
		v += 0.5
	}
	switch d {
	case ir.Positive:
		return math.Abs(v)
	case ir.Unit:
		return v / 3.5
	case ir.Fraction:
		return math.Abs(v) / 3.5
	case ir.AboveOne:
		return math.Abs(v) + 1
	}
	return v
}

// TestReports checks that a wrong gradient is found, and how it is reported.
func TestReports(t *testing.T) {
	ctx := context.Background()
	x := sinter.FromSlice([]float64{0.5, 1.5, -2})
	cut := func(in []*sinter.Tensor) []*sinter.Tensor {
		return []*sinter.Tensor{in[0].Mul(in[0].Detach())}
	}
	var m *gradcheck.Mismatch
	if err := gradcheck.Check(ctx, cut, x); !errors.As(err, &m) {
		t.Fatalf("a gradient that is half of the right one gave %v", err)
	}
	if m.Order != 1 || m.Differ != 3 || m.Of != 3 || m.Argument != 0 || m.Element != 0 {
		t.Errorf("got %+v", m)
	}
	// The first order is right, the second is cut.
	second := func(in []*sinter.Tensor) []*sinter.Tensor {
		d := in[0].Detach()
		return []*sinter.Tensor{in[0].Mul(d).Mul(2).Sub(d.Mul(d))}
	}
	if err := gradcheck.Check(ctx, second, x); !errors.As(err, &m) || m.Order != 2 {
		t.Fatalf("a gradient with a wrong gradient gave %v", err)
	}
	if err := (gradcheck.Options{FirstOnly: true}).Check(ctx, second, x); err != nil {
		t.Errorf("first order only: %v", err)
	}
	bad := func(in []*sinter.Tensor) []*sinter.Tensor {
		return []*sinter.Tensor{in[0].Add(sinter.Zeros(sinter.F64, 7))}
	}
	if err := gradcheck.Check(ctx, bad, x); !errors.Is(err, ir.ErrShape) {
		t.Errorf("a failing function gave %v", err)
	}
	if err := gradcheck.Check(ctx, cut, sinter.FromSlice([]float32{1})); !errors.Is(err, ir.ErrDType) {
		t.Errorf("an f32 argument gave %v", err)
	}
	if err := gradcheck.Check(ctx, cut, sinter.FromSlice([]int64{1})); !errors.Is(err, ir.ErrArgument) {
		t.Errorf("no f64 argument gave %v", err)
	}
	gone := sinter.FromSlice([]float64{1})
	gone.Release()
	if err := gradcheck.Check(ctx, cut, gone); !errors.Is(err, ir.ErrClosed) {
		t.Errorf("a released argument gave %v", err)
	}
}

func ExampleCheck() {
	norm := func(in []*sinter.Tensor) []*sinter.Tensor {
		return []*sinter.Tensor{in[0].Mul(in[0]).Sum().Sqrt()}
	}
	fmt.Println(gradcheck.Check(context.Background(), norm, sinter.FromSlice([]float64{3, 4})))
	// Output: <nil>
}
