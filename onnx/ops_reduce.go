package onnx

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter"
)

// reduction is what one reducing operator does over given axes.
type reduction struct {
	name  string
	f     func(x *sinter.Tensor, over sinter.Axes) *sinter.Tensor
	empty float64 // the result of no elements; NaN: f knows
}

var reductions = []reduction{
	{"ReduceSum", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return x.Sum(o) }, 0},
	{"ReduceMean", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return x.Mean(o) }, math.NaN()},
	{"ReduceMax", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return extreme(x, o, true) }, math.Inf(-1)},
	{"ReduceMin", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return extreme(x, o, false) }, math.Inf(1)},
	{"ReduceProd", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return x.Prod(o) }, 1},
	{"ReduceL1", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return absolute(x).Sum(o) }, 0},
	{"ReduceL2", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor {
		return floating(x).Mul(floating(x)).Sum(o).Sqrt()
	}, 0},
	{"ReduceSumSquare", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return x.Mul(x).Sum(o) }, 0},
	{"ReduceLogSum", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return floating(x).Sum(o).Log() }, math.Inf(-1)},
	{"ReduceLogSumExp", func(x *sinter.Tensor, o sinter.Axes) *sinter.Tensor { return floating(x).LogSumExp(o) }, math.Inf(-1)},
}

// floating returns integers as f64.
func floating(x *sinter.Tensor) *sinter.Tensor {
	if x.DType().IsFloat() {
		return x
	}
	return x.Cast(sinter.F64)
}

func absolute(x *sinter.Tensor) *sinter.Tensor {
	if unsigned(x.DType()) {
		return x
	}
	return x.Abs()
}

func extreme(x *sinter.Tensor, o sinter.Axes, greatest bool) *sinter.Tensor {
	switch {
	case x.DType() == sinter.Bool && greatest:
		return x.Any(o)
	case x.DType() == sinter.Bool:
		return x.All(o)
	case greatest:
		return x.Max(o)
	}
	return x.Min(o)
}

var _ = func() struct{} {
	for _, r := range reductions {
		later := 18 // from which on axes are an input
		if r.name == "ReduceSum" {
			later = 13
		}
		register(
			opDef{name: r.name, in: one, out: one, attrs: []attrSpec{plainAttr("axes", AttrInts), intAttr("keepdims", 1)},
				run: func(c *Call) error { return r.run(c, c.Ints("axes")) }, host: r.host},
			opDef{name: r.name, since: later, in: oneTwo, out: one, attrs: []attrSpec{intAttr("keepdims", 1), intAttr("noop_with_empty_axes", 0)},
				run: func(c *Call) error {
					var axes []int
					if c.Has(1) {
						var err error
						if axes, err = c.HostInts(1); err != nil {
							return err
						}
					}
					return r.run(c, axes)
				}, host: r.host},
		)
	}
	return struct{}{}
}()

// run reduces input 0 over axes, or all. The result has its dtype.
func (r reduction) run(c *Call, axes []int) error {
	x := c.In(0)
	rank := x.Rank()
	if len(axes) == 0 && c.Bool("noop_with_empty_axes") {
		// Each element is reduced by itself.
		y := r.f(x.Unsqueeze(-1), sinter.Over(-1))
		c.Set(0, y.Cast(x.DType()))
		return nil
	}
	all := make([]bool, rank)
	for _, a := range axes {
		a, err := Axis(a, rank)
		if err != nil {
			return err
		}
		all[a] = true
	}
	var over []int
	empty := false
	shape := x.Shape()
	var kept []int
	for a := range rank {
		if len(axes) > 0 && !all[a] {
			kept = append(kept, shape[a])
			continue
		}
		over = append(over, a)
		empty = empty || shape[a] == 0
		if c.Bool("keepdims") {
			kept = append(kept, 1)
		}
	}
	if len(over) == 0 { // a scalar: as over one axis of extent 1
		c.Set(0, r.f(x.Unsqueeze(0), sinter.Over(0)).Cast(x.DType()))
		return nil
	}
	if empty && !math.IsNaN(r.empty) {
		c.Set(0, c.Full(limit(r.empty, x.DType()), x.DType(), kept...))
		return nil
	}
	axs := sinter.Over(over...)
	if c.Bool("keepdims") {
		axs = axs.KeepDims()
	}
	c.Set(0, r.f(x, axs).Cast(x.DType()))
	return nil
}

// limit returns an infinity as the furthest number of a dtype.
func limit(v float64, d sinter.DType) any {
	switch {
	case d == sinter.Bool:
		return v > 0
	case !math.IsInf(v, 0) || d.IsFloat():
		return v
	case unsigned(d) && v < 0:
		return 0
	case unsigned(d):
		return uint64(math.MaxUint64) >> (64 - d.Bits())
	case v < 0:
		return int64(math.MinInt64) >> (64 - d.Bits())
	}
	return int64(math.MaxInt64) >> (64 - d.Bits())
}

// host reduces integers over all axes: products of shapes and the like.
func (r reduction) host(c *Call) error {
	x := c.in[0].host
	if x.Elem != Int64 && x.Elem != Int32 || len(x.Shape) != 1 || x.Size() == 0 || c.Bool("noop_with_empty_axes") {
		return errNotHost
	}
	axes := c.Ints("axes")
	if len(c.in) == 2 && c.in[1] != nil {
		var err error
		if axes, err = c.HostInts(1); err != nil {
			return err
		}
	}
	if len(axes) > 1 || len(axes) == 1 && axes[0] != 0 && axes[0] != -1 {
		return errNotHost
	}
	y := x.Ints[0]
	for _, v := range x.Ints[1:] {
		switch r.name {
		case "ReduceSum":
			y += v
		case "ReduceProd":
			y *= v
		case "ReduceMax":
			y = max(y, v)
		case "ReduceMin":
			y = min(y, v)
		default:
			return errNotHost
		}
	}
	if !slices.Contains([]string{"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"}, r.name) {
		return errNotHost
	}
	shape := []int{}
	if c.Bool("keepdims") {
		shape = []int{1}
	}
	c.SetHost(0, &Host{Elem: x.Elem, Shape: shape, Ints: []int64{wrap(x.Elem, y)}})
	return nil
}
